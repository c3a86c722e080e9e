//! The read side.

use std::sync::Arc;

use armadex_model::query::{Position, Start};
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query};
use armadex_storage::{Catalog, Found, Head, Page, PageBudget, Search, StoreError};
use async_trait::async_trait;

use super::{SqlStore, read_head};
use crate::backend::error::broken;
use crate::backend::{Connection, row};
use crate::catalog::{Member, Snapshot};
use crate::form::term::TermHasher;
use crate::read::bodies;
use crate::read::plan::{Plan, named_namespaces, plan};
use crate::read::{self, Reading, sort_values};
use crate::sql::select::{self, Candidate};

#[async_trait]
impl Search for SqlStore {
    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        Ok(Arc::clone(&self.refresh().await?.catalog))
    }

    async fn head(&self) -> Result<Head, StoreError> {
        let mut transaction = self.database.read().await?;
        let head = read_head(&mut *transaction).await?;
        transaction.rollback().await?;
        Ok(Head {
            revision: head.revision,
            incarnation: head.incarnation,
        })
    }

    async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        let mut transaction = self.database.read().await?;
        let (snapshot, _) = self.current(&mut *transaction).await?;
        let Some(mut reading) = self.reading(&mut *transaction, query, &snapshot) else {
            return Ok(Page {
                rows: Vec::new(),
                next: None,
            });
        };
        let plan = make_plan(&mut reading, query, &snapshot, &self.hasher).await?;
        let (chosen, more) = read::page(&mut reading, &plan, start, budget, &snapshot).await?;
        let last = chosen.last().cloned();
        let chosen = bodies::fetch(reading.connection, chosen).await?;
        transaction.rollback().await?;
        let unpacking = Arc::clone(&snapshot);
        let rows = off_thread(move || bodies::unpack(chosen, &unpacking)).await?;
        let next = match (more, last, rows.last()) {
            (true, Some(last), Some(row)) => {
                Some(position(&last, query, &row.key.namespace, &snapshot))
            }
            _ => None,
        };
        Ok(Page { rows, next })
    }

    async fn count(&self, query: &Query) -> Result<u64, StoreError> {
        let mut transaction = self.database.read().await?;
        let (snapshot, _) = self.current(&mut *transaction).await?;
        let Some(mut reading) = self.reading(&mut *transaction, query, &snapshot) else {
            return Ok(0);
        };
        let plan = make_plan(&mut reading, query, &snapshot, &self.hasher).await?;
        let count = read::count(&mut reading, &plan).await?;
        transaction.rollback().await?;
        Ok(count)
    }

    async fn get(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
        key: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        let mut transaction = self.database.read().await?;
        let (snapshot, _) = self.current(&mut *transaction).await?;
        let Some((cluster, resource)) = visible(&snapshot, cluster, resource) else {
            return Ok(None);
        };
        let statement = select::one(resource, cluster, &key.namespace, &key.name);
        let Some(found) = row(&mut *transaction, statement, select::decode).await? else {
            return Ok(None);
        };
        let chosen = bodies::fetch(&mut *transaction, vec![found]).await?;
        transaction.rollback().await?;
        Ok(bodies::unpack(chosen, &snapshot)?.pop())
    }
}

impl SqlStore {
    /// How a query would be answered, in words.
    pub async fn explain(&self, query: &Query) -> Result<String, StoreError> {
        let mut transaction = self.database.read().await?;
        let (snapshot, _) = self.current(&mut *transaction).await?;
        let Some(mut reading) = self.reading(&mut *transaction, query, &snapshot) else {
            return Ok("nothing: no cluster has this type".to_owned());
        };
        let plan = make_plan(&mut reading, query, &snapshot, &self.hasher).await?;
        transaction.rollback().await?;
        Ok(plan.to_string())
    }

    /// What is needed to read a type; `None` for a type that nobody stores.
    fn reading<'a>(
        &self,
        connection: &'a mut dyn Connection,
        query: &Query,
        snapshot: &Snapshot,
    ) -> Option<Reading<'a>> {
        Some(Reading {
            connection,
            dialect: self.database.dialect(),
            resource: snapshot.type_id(&query.resource)?,
        })
    }
}

/// Looks up what the plan needs to know, and plans.
async fn make_plan(
    reading: &mut Reading<'_>,
    query: &Query,
    snapshot: &Snapshot,
    hasher: &TermHasher,
) -> Result<Plan, StoreError> {
    let names = named_namespaces(query, reading.resource, snapshot);
    let known = reading.namespaces(&names).await?;
    plan(query, reading.resource, snapshot, hasher, &known)
}

/// The place of a row in the total order of a query.
fn position(row: &Candidate, query: &Query, namespace: &str, snapshot: &Snapshot) -> Position {
    Position {
        keys: sort_values(row, &query.order, namespace, snapshot),
        namespace_id: row.nsid,
        name: row.name.clone(),
    }
}

/// The numbers of a cluster and a type whose rows may be shown.
fn visible(
    snapshot: &Snapshot,
    cluster: &ClusterName,
    resource: &GroupVersionResource,
) -> Option<(i64, i32)> {
    let resource = snapshot.type_id(resource)?;
    let shown = |member: &&Member| member.name == *cluster && snapshot.is_visible(member, resource);
    let member = snapshot.clusters().iter().find(shown)?;
    Some((member.id, resource))
}

/// Runs what takes more than half a millisecond of the processor beside the async threads.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|err| broken(err.to_string()))?
}
