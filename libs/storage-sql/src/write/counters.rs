//! Counters: how many objects of a type each namespace has, and in which namespaces there are any.

use std::collections::{BTreeMap, HashMap};

use armadex_storage::StoreError;

use crate::backend::error::{broken, collided};
use crate::backend::{Connection, rows};
use crate::sql::counter::{self, CounterRow};
use crate::sql::dialect::Dialect;
use crate::sql::namespace;
use crate::sql::statement::{MAX_LIST, pieces};

/// Changes of the counters of one type in one cluster.
#[derive(Debug)]
pub(crate) struct CounterChange {
    pub(crate) resource: i32,
    pub(crate) cluster: i64,
    /// Namespace, its id, and how many objects come (or go, if negative).
    pub(crate) deltas: BTreeMap<String, (i64, i64)>,
}

impl CounterChange {
    /// How many objects more there are altogether.
    pub(crate) fn total(&self) -> i64 {
        self.deltas.values().map(|&(_, delta)| delta).sum()
    }

    /// Writes the counters. A stream has one writer at a time, so what is read here is still right when it is written.
    pub(crate) async fn write(
        self,
        connection: &mut dyn Connection,
        dialect: Dialect,
    ) -> Result<(), StoreError> {
        let Self {
            resource,
            cluster,
            deltas,
        } = self;
        let deltas: Vec<(String, (i64, i64))> = deltas
            .into_iter()
            .filter(|(_, (_, delta))| *delta != 0)
            .collect();
        for part in deltas.chunks(MAX_LIST) {
            let names: Vec<&str> = part.iter().map(|(name, _)| name.as_str()).collect();
            let statement = counter::named(resource, &[cluster], &names);
            let known = rows(connection, statement, counter::decode).await?;
            let change = settle(cluster, part, known)?;
            change.write(connection, dialect, resource, cluster).await?;
        }
        Ok(())
    }
}

/// What becomes of some counters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Settled {
    written: Vec<CounterRow>,
    gone: Vec<String>,
    /// Namespaces in which the type has objects from now on.
    occupied: Vec<i64>,
    /// Namespaces in which it has none any more.
    vacated: Vec<i64>,
}

fn settle(
    cluster: i64,
    deltas: &[(String, (i64, i64))],
    known: Vec<CounterRow>,
) -> Result<Settled, StoreError> {
    let mut known: HashMap<String, i64> = known
        .into_iter()
        .map(|row| (row.namespace, row.objects))
        .collect();
    let mut settled = Settled::default();
    for (namespace, (nsid, delta)) in deltas {
        let before = known.remove(namespace).unwrap_or(0);
        match before + delta {
            ..0 => {
                return Err(broken(format!(
                    "fewer than no objects in namespace id {nsid}"
                )));
            }
            0 => {
                settled.gone.push(namespace.clone());
                settled.vacated.push(*nsid);
            }
            objects => {
                if before == 0 {
                    settled.occupied.push(*nsid);
                }
                settled.written.push(CounterRow {
                    cluster,
                    namespace: namespace.clone(),
                    nsid: *nsid,
                    objects,
                });
            }
        }
    }
    Ok(settled)
}

impl Settled {
    async fn write(
        self,
        connection: &mut dyn Connection,
        dialect: Dialect,
        resource: i32,
        cluster: i64,
    ) -> Result<(), StoreError> {
        for piece in pieces(&self.written) {
            connection
                .execute(counter::put(dialect, resource, piece))
                .await?;
        }
        if !self.gone.is_empty() {
            let gone: Vec<&str> = self.gone.iter().map(String::as_str).collect();
            connection
                .execute(counter::delete(resource, cluster, &gone))
                .await?;
        }
        if !self.occupied.is_empty() {
            let there = connection
                .execute(namespace::occupy(&self.occupied))
                .await?;
            if there != self.occupied.len() as u64 {
                return Err(collided("a namespace was purged while it was written to"));
            }
        }
        if !self.vacated.is_empty() {
            connection.execute(namespace::vacate(&self.vacated)).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(namespace: &str, nsid: i64, objects: i64) -> CounterRow {
        CounterRow {
            cluster: 1,
            namespace: namespace.into(),
            nsid,
            objects,
        }
    }

    #[test]
    fn a_namespace_is_occupied_by_the_first_object_and_vacated_by_the_last() {
        let delta = |name: &str, nsid, delta| (name.to_owned(), (nsid, delta));
        let deltas = [delta("a", 1, 2), delta("b", 2, 3), delta("c", 3, -4)];
        let settled = settle(1, &deltas, vec![row("b", 2, 1), row("c", 3, 4)]).expect("sound");
        let expected = Settled {
            written: vec![row("a", 1, 2), row("b", 2, 4)],
            gone: vec!["c".into()],
            occupied: vec![1],
            vacated: vec![3],
        };
        assert_eq!(settled, expected);
        assert!(settle(1, &[delta("c", 3, -5)], vec![row("c", 3, 4)]).is_err());
    }
}
