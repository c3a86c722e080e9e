//! The write side. What is read of it decides what is deleted and what leaves, so no read is made on a server that is behind what this process has seen.

use std::sync::Arc;
use std::time::Duration;

use armadex_model::{ClusterLabels, ClusterName, ObjectKey, ResourceType};
use armadex_storage::{
    Batch, ClusterId, Health, Holder, Joined, Purged, Rules, Sink, StoreError, StoredVersion,
    Stream, StreamState, Tenure, TypeId, Written,
};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::SqlStore;
use crate::backend::Lane;
use crate::backend::error::broken;
use crate::form::codec::Family;
use crate::read::inventory::{self, Inventory, Told};
use crate::read::streams::{self, States};
use crate::write::clusters::{self, Differs, Present};
use crate::write::prepare::{Prepared, prepare};
use crate::write::types::Opening;
use crate::write::work::{Done, Work};

#[async_trait]
impl Sink for SqlStore {
    async fn join(
        &self,
        cluster: &ClusterName,
        incarnation: &str,
        owner: &str,
    ) -> Result<ClusterId, StoreError> {
        let work = Work::Join(cluster.clone(), incarnation.to_owned(), owner.to_owned());
        match self.order(work).await? {
            Done::Joined(id) => Ok(id),
            other => Err(unexpected(&other)),
        }
    }

    async fn leave(&self, cluster: &ClusterName, incarnation: &str) -> Result<(), StoreError> {
        let work = Work::Leave(cluster.clone(), incarnation.to_owned());
        self.order(work).await.map(drop)
    }

    async fn begin(&self, owner: &str) -> Result<Tenure, StoreError> {
        let given_up = CancellationToken::new();
        let _waits = given_up.clone().drop_guard();
        match self.order(Work::Begin(owner.to_owned(), given_up)).await? {
            Done::Begun(tenure) => Ok(tenure),
            other => Err(unexpected(&other)),
        }
    }

    async fn keep_alive(&self, owner: &str, tenure: Tenure) -> Result<bool, StoreError> {
        match self
            .order(Work::KeepAlive(owner.to_owned(), tenure))
            .await?
        {
            Done::Kept(lasts) => Ok(lasts),
            other => Err(unexpected(&other)),
        }
    }

    async fn adopt(
        &self,
        cluster: &ClusterName,
        incarnation: &str,
        member: &str,
    ) -> Result<ClusterId, StoreError> {
        let (mut transaction, _) = self.begin(Lane::Short).await?;
        let present = clusters::present(&mut *transaction, cluster, incarnation).await?;
        transaction.rollback().await?;
        // At each connection but the first the cluster has streams, and nothing is written.
        if let Present::Settled(cluster) = present {
            return Ok(cluster);
        }
        let work = Work::Adopt(cluster.clone(), incarnation.to_owned(), member.to_owned());
        match self.order(work).await? {
            Done::Joined(id) => Ok(id),
            other => Err(unexpected(&other)),
        }
    }

    async fn clusters(&self) -> Result<Vec<Joined>, StoreError> {
        let (mut transaction, _) = self.begin(Lane::Upkeep).await?;
        let clusters = streams::clusters(&mut *transaction).await?;
        transaction.rollback().await?;
        Ok(clusters)
    }

    async fn holder(&self, cluster: &ClusterName) -> Result<Option<Holder>, StoreError> {
        let (mut transaction, _) = self.begin(Lane::Upkeep).await?;
        let holder = streams::holder(&mut *transaction, cluster).await?;
        transaction.rollback().await?;
        Ok(holder)
    }

    async fn set_labels(
        &self,
        cluster: ClusterId,
        owner: &str,
        labels: &ClusterLabels,
    ) -> Result<(), StoreError> {
        let work = Work::Label(cluster, owner.to_owned(), labels.clone());
        self.order(work).await.map(drop)
    }

    async fn set_health(
        &self,
        cluster: ClusterId,
        owner: &str,
        health: &Health,
        version: Option<&str>,
    ) -> Result<(), StoreError> {
        let (owner, version) = (owner.to_owned(), version.map(String::from));
        let work = Work::Health(cluster, owner, health.clone(), version);
        self.order(work).await.map(drop)
    }

    async fn open(
        &self,
        cluster: ClusterId,
        owner: &str,
        resource: &ResourceType,
        rules: Rules,
    ) -> Result<Stream, StoreError> {
        let family = Family::of(&resource.gvr);
        let opening = Opening {
            cluster,
            owner: owner.to_owned(),
            resource: resource.clone(),
            rules,
        };
        match self.order(Work::Open(opening)).await? {
            Done::Opened(Ok(stream)) => {
                self.note_family(stream.resource, family).await;
                Ok(stream)
            }
            Done::Opened(Err(Differs(what))) => Err(StoreError::Differs { what }),
            other => Err(unexpected(&other)),
        }
    }

    async fn write(&self, batch: Batch) -> Result<Written, StoreError> {
        let dictionary = self.families.of(batch.resource);
        let hasher = self.hasher;
        let prepared = match batch.changes.is_empty() {
            true => prepare(batch, &dictionary, &hasher)?,
            // Packing takes 10 µs an object, 5 ms a batch: other threads do it while the writer writes, as many as there are cores. A thread for each batch
            // that a fleet has at once would take the time from those who answer.
            false => {
                let packing = Arc::clone(&self.packing).acquire_owned().await;
                let packing = packing.map_err(|err| broken(err.to_string()))?;
                let prepared = tokio::task::spawn_blocking(move || {
                    let _packing = packing;
                    prepare(batch, &dictionary, &hasher)
                });
                prepared.await.map_err(|err| broken(err.to_string()))??
            }
        };
        self.store(prepared).await
    }

    async fn keys(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<ObjectKey>, StoreError> {
        self.told(&inventory::KEYS, (cluster, resource), after, limit)
            .await
    }

    async fn versions(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<StoredVersion>, StoreError> {
        self.told(&inventory::VERSIONS, (cluster, resource), after, limit)
            .await
    }

    async fn streams(&self, cluster: ClusterId) -> Result<Vec<StreamState>, StoreError> {
        let (mut transaction, _) = self.begin(Lane::Upkeep).await?;
        let States { known, untyped } = streams::states(&mut *transaction, cluster).await?;
        transaction.rollback().await?;
        for TypeId(number) in untyped {
            // Nobody could ask for it, nor close it by name.
            warn!(
                cluster = cluster.0,
                number, "a stream is of a type that is not there, and is closed"
            );
            let close = Work::Close(cluster, None, TypeId(number));
            self.order(close).await?;
        }
        Ok(known)
    }

    async fn close(
        &self,
        cluster: ClusterId,
        owner: &str,
        resource: TypeId,
    ) -> Result<(), StoreError> {
        let work = Work::Close(cluster, Some(owner.to_owned()), resource);
        self.order(work).await.map(drop)
    }

    async fn purge(&self, limit: u32, grace: Duration) -> Result<Purged, StoreError> {
        match self.order(Work::Purge(limit, grace)).await? {
            Done::Purged(purged) => {
                // Where much is written, a long time no step is the last one.
                self.see_to_dictionaries().await;
                Ok(purged)
            }
            other => Err(unexpected(&other)),
        }
    }
}

impl SqlStore {
    /// Stores a batch, in as many transactions as it is worth: others have their turn between two of them. Who is interrupted between finds the position
    /// behind the objects and is told of them once more.
    async fn store(&self, batch: Prepared) -> Result<Written, StoreError> {
        let mut written = Written::default();
        let mut left = vec![batch];
        while let Some(batch) = left.pop() {
            match self.order(Work::Write(batch)).await? {
                Done::Written(part) => written += part,
                Done::TooMuch(batch) => left.extend(batch.halves().into_iter().rev()),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(written)
    }

    async fn told<T: Send>(
        &self,
        told: &Told<T>,
        (cluster, resource): (ClusterId, TypeId),
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<T>, StoreError> {
        let (mut transaction, _) = self.begin(Lane::Upkeep).await?;
        let mut inventory = Inventory {
            connection: &mut *transaction,
            dialect: self.database.dialect(),
            cluster,
            resource,
        };
        let found = inventory.page(told, after, limit).await?;
        transaction.rollback().await?;
        Ok(found)
    }
}

/// The writer answers each kind of work with one kind of answer.
fn unexpected(done: &Done) -> StoreError {
    broken(format!("the writer answered {done:?} to something else"))
}
