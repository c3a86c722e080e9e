//! Mending what a check finds: everything that is not an object is made anew from the objects.

use std::collections::{BTreeMap, BTreeSet};

use armadex_storage::StoreError;

use super::check::{Findings, TypeNamespace, examine};
use crate::backend::error::broken;
use crate::backend::{Connection, Lane, rows};
use crate::sql::catalog::type_id;
use crate::sql::{audit, mend};
use crate::store::SqlStore;
use crate::write::mend::{Mending, PlaceMending, Step};
use crate::write::work::{Done, Work};

/// What was mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Namespaces of a type whose index and counter were made anew.
    pub places: u64,
    /// Objects that were damaged themselves, and are gone until an audit of their cluster brings them back.
    pub removed: u64,
}

/// What is mended may leave something behind that only then is seen: a version of an object that was removed. A third time finds nothing, unless
/// somebody writes meanwhile.
const ROUNDS: usize = 3;

impl SqlStore {
    /// Checks, and makes anew what does not agree with the objects, each place in a transaction of its own, for which its stream is taken from whoever
    /// writes it, the log in several. Where it is broken off, another time makes the rest anew.
    pub async fn mend(&self) -> Result<Mended, StoreError> {
        let mut mended = Mended::default();
        for _ in 0..ROUNDS {
            let mut transaction = self.database.read(Lane::Whole).await?;
            let plan = self.plan(&mut *transaction).await;
            transaction.rollback().await?;
            let plan = plan?;
            if plan.is_empty() {
                break;
            }
            for mending in plan {
                mended.places += u64::from(matches!(mending, Mending::Place(_)));
                let mut next = Some(mending);
                while let Some(mending) = next {
                    let step = self.mend_step(mending).await?;
                    mended.removed += step.removed;
                    next = step.next;
                }
            }
        }
        Ok(mended)
    }

    async fn mend_step(&self, mending: Mending) -> Result<Step, StoreError> {
        match self.order(Work::Mend(mending)).await? {
            Done::Mended(step) => Ok(step),
            other => {
                let words = format!("the writer answered {other:?} to a mending");
                Err(broken(words))
            }
        }
    }

    /// What is to be done, in this order.
    async fn plan(&self, connection: &mut dyn Connection) -> Result<Vec<Mending>, StoreError> {
        let (_, found) = examine(connection, &self.hasher).await?;
        let Findings {
            dictionaries,
            mut places,
            mut unreadable,
            namespaces,
            streams,
            is_log_damaged,
            are_histories_damaged,
            are_notes_wrong,
        } = found;
        places.extend(rows(connection, mend::without_version(), TypeNamespace::decode).await?);
        // Types are counted by the streams, so these come first.
        let mut plan = Vec::new();
        if !dictionaries.is_empty() {
            plan.push(Mending::Dictionaries(dictionaries));
        }
        for (cluster, resource) in streams {
            let resource = type_id(resource)?;
            plan.push(Mending::Stream { cluster, resource });
        }
        let names = match places.is_empty() {
            true => BTreeMap::new(),
            false => lost_names(connection).await?,
        };
        for (place, terms) in known_terms(connection, places).await? {
            plan.push(Mending::Place(PlaceMending {
                resource: type_id(place.resource)?,
                nsid: place.nsid,
                lost_name: names.get(&place.nsid).cloned(),
                terms,
                unreadable: unreadable.remove(&place).unwrap_or_default(),
                hasher: self.hasher,
            }));
        }
        plan.extend(namespaces.into_iter().map(Mending::Namespace));
        plan.extend(are_notes_wrong.then_some(Mending::Notes));
        plan.extend(are_histories_damaged.then_some(Mending::Histories));
        plan.extend(is_log_damaged.then_some(Mending::Log));
        Ok(plan)
    }
}

/// What namespaces are called that have no row of their own.
async fn lost_names(connection: &mut dyn Connection) -> Result<BTreeMap<i64, String>, StoreError> {
    let lost = mend::lost_namespaces();
    let lost = rows(connection, lost, |row| Ok((row.int(0)?, row.text(1)?))).await?;
    Ok(lost.into_iter().collect())
}

/// The terms by which these places have blocks.
async fn known_terms(
    connection: &mut dyn Connection,
    places: BTreeSet<TypeNamespace>,
) -> Result<BTreeMap<TypeNamespace, BTreeSet<i64>>, StoreError> {
    let mut known: BTreeMap<TypeNamespace, BTreeSet<i64>> = places
        .into_iter()
        .map(|place| (place, BTreeSet::new()))
        .collect();
    connection
        .fetch(audit::blocks(), &mut |row| {
            if let Some(terms) = known.get_mut(&TypeNamespace::decode(row)?) {
                terms.insert(row.int(2)?);
            }
            Ok(())
        })
        .await?;
    Ok(known)
}

#[cfg(test)]
mod tests;
