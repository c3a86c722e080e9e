//! The read side.

use std::sync::Arc;

use armadex_model::query::Start;
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query};
use armadex_storage::{Catalog, Found, Head, MemberPosition, Page, PageBudget, Search, StoreError};
use async_trait::async_trait;

use super::{Moment, SqlStore};
use crate::aside::aside;
use crate::backend::error::{broken, is_short_collision};
use crate::backend::{Lane, Transaction, row};
use crate::form::dictionaries::Dictionaries;
use crate::read::bodies::{self, Chosen};
use crate::read::place::{Located, Place};
use crate::read::plan::order::Rank;
use crate::read::plan::{Plan, plan};
use crate::read::streams;
use crate::read::{self, Reading};
use crate::sql::{select, stream};

#[async_trait]
impl Search for SqlStore {
    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        // Where it is known that the store does not answer nobody waits for who may not know yet.
        let (catalog, transaction) = match self.availability().reads {
            true => self.catalogs.read(self.read_catalog()).await?,
            false => self.read_catalog().await.map(|(it, by)| (it, Some(by)))?,
        };
        if let Some(transaction) = transaction {
            // It has said what there is.
            let _ = transaction.rollback().await;
        }
        Ok(catalog)
    }

    async fn head(&self) -> Result<Head, StoreError> {
        once_more(|| async {
            // Of no catalogue: whoever asks only whether the store answers needs none, and may be the only one who ever asks.
            let (transaction, head) = self.begin(Lane::Short).await?;
            transaction.rollback().await?;
            Ok(Head {
                revision: head.revision,
                incarnation: head.incarnation,
            })
        })
        .await
    }

    async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        once_more(|| async {
            let planned = self.planned(query).await?;
            self.paged(planned, query, start, budget).await
        })
        .await
    }

    async fn counted_page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<(Page, Option<u64>), StoreError> {
        once_more(|| async {
            let mut planned = self.planned(query).await?;
            match self.counted(&mut planned).await {
                Ok((count, looked_at)) => {
                    let mut page = self.paged(planned, query, start, budget).await?;
                    page.looked_at += looked_at;
                    Ok((page, count))
                }
                Err(err) => ended(planned.transaction, Err(err)).await,
            }
        })
        .await
    }

    async fn count(&self, query: &Query) -> Result<Option<u64>, StoreError> {
        once_more(|| async {
            let mut planned = self.planned(query).await?;
            let count = self.counted(&mut planned).await;
            let (count, _) = ended(planned.transaction, count).await?;
            Ok(count)
        })
        .await
    }

    async fn get(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
        key: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        once_more(|| async {
            let mut moment = self.moment(Lane::Short).await?;
            let found = one(&mut moment, &self.dictionaries, cluster, resource, key).await;
            let found = ended(moment.transaction, found).await?;
            Ok(unpacked(found).await?.pop())
        })
        .await
    }

    async fn position(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
    ) -> Result<Option<MemberPosition>, StoreError> {
        once_more(|| async {
            let mut moment = self.moment(Lane::Short).await?;
            let found = position(&mut moment, cluster, resource).await;
            ended(moment.transaction, found).await
        })
        .await
    }

    fn follows(&self) -> bool {
        self.is_replica()
    }

    fn secret(&self) -> [u8; 32] {
        self.hasher.secret()
    }

    async fn has_namespace(
        &self,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<bool, StoreError> {
        once_more(|| async {
            let mut moment = self.moment(Lane::Short).await?;
            let found = has_namespace(&mut moment, cluster, namespace).await;
            ended(moment.transaction, found).await
        })
        .await
    }
}

/// Does a read, and once more where another transaction was in its way: nobody has been told anything of it. Whoever is in the way again and again is
/// told, for the same would happen to all who read; so is who has waited for it, and holds a connection meanwhile.
async fn once_more<T, F>(read: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    match read().await {
        Err(err) if is_short_collision(&err) => read().await,
        done => done,
    }
}

/// Ends a read, however it went: a transaction that is dropped takes its connection along, and the next reader has to open another.
async fn ended<T>(
    transaction: Box<dyn Transaction>,
    done: Result<T, StoreError>,
) -> Result<T, StoreError> {
    let ended = transaction.rollback().await;
    // The first error says what went wrong.
    let value = done?;
    ended.map(|()| value)
}

/// Where the stream of a type stands in its member, if that is shown.
async fn position(
    moment: &mut Moment,
    cluster: &ClusterName,
    resource: &GroupVersionResource,
) -> Result<Option<MemberPosition>, StoreError> {
    let Moment {
        transaction,
        snapshot,
        ..
    } = moment;
    let shown = snapshot.type_id(resource).and_then(|id| {
        let member = snapshot.member(cluster)?;
        member.shows(id).then_some((member.id, id))
    });
    let Some(stream) = shown else {
        return Ok(None);
    };
    let statement = stream::several(transaction.dialect(), &[stream]);
    let found = row(&mut **transaction, statement, stream::decode).await?;
    Ok(found.and_then(|stream| stream.position))
}

/// Whether a cluster that is shown has a namespace.
async fn has_namespace(
    moment: &mut Moment,
    cluster: &ClusterName,
    namespace: &str,
) -> Result<bool, StoreError> {
    let Some(member) = moment.snapshot.member(cluster) else {
        return Ok(false);
    };
    let (id, types) = (member.id, member.types());
    streams::has_namespace(&mut *moment.transaction, id, types, namespace).await
}

/// The row of one object, if it is there and is shown.
async fn one(
    moment: &mut Moment,
    dictionaries: &Dictionaries,
    cluster: &ClusterName,
    resource: &GroupVersionResource,
    key: &ObjectKey,
) -> Result<Chosen, StoreError> {
    let Moment {
        transaction,
        snapshot,
        ..
    } = moment;
    let shown = snapshot.type_id(resource).and_then(|id| {
        let member = snapshot.member(cluster)?;
        let resource = snapshot.resource(id)?;
        member.shows(id).then_some((member.id, id, resource))
    });
    let Some((cluster_id, id, resource)) = shown else {
        return Ok(Chosen::default());
    };
    let (namespace, name) = (&key.namespace, &key.name);
    let statement = select::one(transaction.dialect(), id, cluster_id, namespace, name);
    let Some(object) = row(&mut **transaction, statement, select::decode).await? else {
        return Ok(Chosen::default());
    };
    let place = Arc::new(Place {
        index: 0,
        cluster: cluster.clone(),
        namespace: key.namespace.as_str().into(),
        nsid: object.nsid,
        objects: 1,
    });
    let chosen = vec![(Arc::clone(resource), Located { place, object })];
    bodies::fetch(&mut **transaction, dictionaries, chosen).await
}

/// A query that is planned, and the state of the database that it is planned for.
struct Planned {
    transaction: Box<dyn Transaction>,
    plan: Plan,
    head: Head,
}

impl SqlStore {
    /// The catalogue, and by what it was read.
    async fn read_catalog(&self) -> Result<(Arc<Catalog>, Box<dyn Transaction>), StoreError> {
        once_more(|| async {
            let moment = self.moment(Lane::Short).await?;
            Ok((Arc::clone(&moment.snapshot.catalog), moment.transaction))
        })
        .await
    }

    async fn planned(&self, query: &Query) -> Result<Planned, StoreError> {
        let Moment {
            transaction,
            snapshot,
            head,
        } = self.moment(Lane::Search).await?;
        match plan(query, &snapshot, &self.hasher) {
            Ok(plan) => Ok(Planned {
                transaction,
                plan,
                head,
            }),
            Err(err) => ended(transaction, Err(err)).await,
        }
    }

    /// How many rows there are, and what was looked at to tell.
    async fn counted(&self, planned: &mut Planned) -> Result<(Option<u64>, u64), StoreError> {
        let dialect = self.database.dialect();
        let mut reading = Reading::new(&mut *planned.transaction, dialect, &self.tuning);
        let count = read::count(&mut reading, &planned.plan).await?;
        Ok((count, reading.looked_at))
    }

    async fn paged(
        &self,
        planned: Planned,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        let mut planned = planned;
        let found = self.chosen(&mut planned, query, start, budget).await;
        let (chosen, next, looked_at) = ended(planned.transaction, found).await?;
        Ok(Page {
            rows: unpacked(chosen).await?,
            next: next.map(|rank| rank.into_position(query)),
            head: planned.head,
            looked_at,
        })
    }

    /// The rows of a page, packed; where the next one begins, and what was looked at.
    async fn chosen(
        &self,
        planned: &mut Planned,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<(Chosen, Option<Rank>, u64), StoreError> {
        let Planned {
            transaction, plan, ..
        } = planned;
        let dialect = self.database.dialect();
        let mut reading = Reading::new(&mut **transaction, dialect, &self.tuning);
        let (rows, next) = read::page(&mut reading, plan, query, start, budget).await?;
        let looked_at = reading.looked_at;
        let chosen = rows.into_iter().map(|row| {
            let planned = plan.types.iter().find(|one| one.index == row.place.index);
            let planned = planned.ok_or_else(|| broken("a row is of no type"))?;
            Ok((Arc::clone(&planned.resource), row))
        });
        let chosen = chosen.collect::<Result<Vec<_>, StoreError>>()?;
        let chosen = bodies::fetch(&mut **transaction, &self.dictionaries, chosen).await?;
        Ok((chosen, next, looked_at))
    }
}

/// Bytes that are unpacked in a tenth of a millisecond.
const SMALL: i64 = 64 << 10;

async fn unpacked(chosen: Chosen) -> Result<Vec<Found>, StoreError> {
    aside(chosen.size() > SMALL, move || bodies::unpack(chosen)).await
}

#[cfg(test)]
mod tests;
