//! Counters: how many objects of a type each namespace has, and in which namespaces there are any.

use std::collections::BTreeMap;

use armadex_storage::StoreError;

use crate::backend::Connection;
use crate::backend::error::{broken, collided};
use crate::sql::counter::{self, CounterKey, Keyed};
use crate::sql::dialect::Dialect;
use crate::sql::namespace::{self, NamespaceRow};

/// A change of one counter. A stream has one writer at a time, so what was read is still right when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CounterDelta {
    pub(crate) key: CounterKey,
    pub(crate) nsid: i64,
    /// How many objects there are.
    pub(crate) before: i64,
    /// How many come, or go, if negative; never 0.
    pub(crate) delta: i64,
}

/// Writes the counters, and makes the namespaces that are new.
pub(crate) async fn write(
    connection: &mut dyn Connection,
    dialect: Dialect,
    deltas: Vec<CounterDelta>,
    new: Vec<NamespaceRow>,
) -> Result<(), StoreError> {
    match write_all(connection, dialect, deltas, new).await? {
        true => Ok(()),
        false => Err(collided("a namespace was purged while it was written to")),
    }
}

/// Takes what is purged off its counters. Nobody else removes namespaces meanwhile, so one that is missing is damage, and would be in the way for ever.
pub(crate) async fn take_off(
    connection: &mut dyn Connection,
    dialect: Dialect,
    deltas: Vec<CounterDelta>,
) -> Result<(), StoreError> {
    let written = write_all(connection, dialect, deltas, vec![]).await;
    written.map(drop)
}

/// Whether all namespaces were there.
async fn write_all(
    connection: &mut dyn Connection,
    dialect: Dialect,
    mut deltas: Vec<CounterDelta>,
    mut new: Vec<NamespaceRow>,
) -> Result<bool, StoreError> {
    deltas.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let Settled {
        written,
        gone,
        mut types,
    } = settle(deltas)?;
    for piece in dialect.pieces(&written) {
        connection.execute(counter::put(dialect, piece)).await?;
    }
    for part in gone.chunks(dialect.most_values()) {
        connection.execute(counter::delete(dialect, part)).await?;
    }
    for row in &mut new {
        row.types = types.remove(&row.id).unwrap_or(0);
    }
    for piece in dialect.pieces(&new) {
        connection
            .execute(namespace::insert(dialect, piece))
            .await?;
    }
    write_types(connection, types).await
}

/// What becomes of some counters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Settled {
    written: Vec<Keyed>,
    gone: Vec<CounterKey>,
    /// How many types more have objects in a namespace, or fewer, by its id.
    types: BTreeMap<i64, i64>,
}

fn settle(deltas: Vec<CounterDelta>) -> Result<Settled, StoreError> {
    let mut settled = Settled::default();
    for CounterDelta {
        key,
        nsid,
        before,
        delta,
    } in deltas
    {
        match before + delta {
            ..0 => {
                return Err(broken(format!(
                    "fewer than no objects in namespace id {nsid}"
                )));
            }
            0 => {
                *settled.types.entry(nsid).or_default() -= 1;
                settled.gone.push(key);
            }
            objects => {
                if before == 0 {
                    *settled.types.entry(nsid).or_default() += 1;
                }
                settled.written.push((key, nsid, objects));
            }
        }
    }
    Ok(settled)
}

/// Counts the types of namespaces: a statement for each number, of which there are few. Whether all were there.
async fn write_types(
    connection: &mut dyn Connection,
    types: BTreeMap<i64, i64>,
) -> Result<bool, StoreError> {
    let dialect = connection.dialect();
    let mut are_all_there = true;
    let mut by_delta: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (nsid, delta) in types {
        by_delta.entry(delta).or_default().push(nsid);
    }
    for (delta, ids) in by_delta.iter().filter(|(delta, _)| **delta != 0) {
        for part in ids.chunks(dialect.most_values()) {
            let statement = match *delta {
                ..0 => namespace::vacate(dialect, -delta, part),
                _ => namespace::occupy(dialect, *delta, part),
            };
            are_all_there &= connection.execute(statement).await? == part.len() as u64;
        }
    }
    Ok(are_all_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str) -> CounterKey {
        CounterKey {
            resource: 3,
            cluster: 1,
            namespace: namespace.into(),
        }
    }

    fn delta(namespace: &str, nsid: i64, before: i64, delta: i64) -> CounterDelta {
        CounterDelta {
            key: key(namespace),
            nsid,
            before,
            delta,
        }
    }

    #[test]
    fn a_namespace_is_occupied_by_the_first_object_and_vacated_by_the_last() {
        let other_type = CounterDelta {
            key: CounterKey {
                resource: 4,
                ..key("a")
            },
            ..delta("a", 1, 0, 7)
        };
        let deltas = vec![
            delta("a", 1, 0, 2),
            delta("b", 2, 1, 3),
            delta("c", 3, 4, -4),
            other_type.clone(),
        ];
        let expected = Settled {
            written: vec![(key("a"), 1, 2), (key("b"), 2, 4), (other_type.key, 1, 7)],
            gone: vec![key("c")],
            types: BTreeMap::from([(1, 2), (3, -1)]),
        };
        assert_eq!(settle(deltas).expect("sound"), expected);
        assert!(settle(vec![delta("c", 3, 4, -5)]).is_err());
    }
}
