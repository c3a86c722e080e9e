//! Where the objects of batches are: namespaces with their ids, and how many objects the batch's type has there. New namespaces get the
//! next numbers of their cluster.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::form::namespace_id::namespace_id;
use crate::sql::catalog;
use crate::sql::namespace::{self, NamespaceRow};
use crate::write::prepare::{Prepared, PreparedChange};

/// A namespace as a batch finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundNamespace {
    pub(crate) nsid: i64,
    /// How many objects of the batch's type there are. Where there is none nothing is stored, and nothing has to be read.
    pub(crate) objects: i64,
}

/// The namespaces of one batch by name.
pub(crate) type Places = HashMap<String, FoundNamespace>;

/// The namespaces of each batch. Those of puts that have no id yet get one, and are to be made.
pub(crate) async fn resolve(
    connection: &mut dyn Connection,
    batches: &[&Prepared],
) -> Result<(Vec<Places>, Vec<NamespaceRow>), StoreError> {
    let mut places = known(connection, batches).await?;
    let missing = missing(batches, &places);
    if missing.is_empty() {
        return Ok((places, vec![]));
    }
    let new = number(connection, missing).await?;
    let ids: HashMap<(i64, &str), i64> = new
        .iter()
        .map(|row| ((row.cluster, row.namespace.as_str()), row.id))
        .collect();
    for (batch, places) in batches.iter().zip(&mut places) {
        for namespace in puts(batch) {
            if let Some(&nsid) = ids.get(&(batch.cluster, namespace)) {
                places.insert(namespace.to_owned(), FoundNamespace { nsid, objects: 0 });
            }
        }
    }
    Ok((places, new))
}

/// What is stored of the batches' namespaces.
async fn known(
    connection: &mut dyn Connection,
    batches: &[&Prepared],
) -> Result<Vec<Places>, StoreError> {
    let index: HashMap<(i64, i32), usize> = batches
        .iter()
        .enumerate()
        .map(|(index, batch)| ((batch.cluster, batch.resource), index))
        .collect();
    let asked: BTreeSet<(i32, i64, &str)> = batches
        .iter()
        .flat_map(|batch| {
            let namespaces = batch.changes.iter().map(|change| &change.key().namespace);
            namespaces.map(|name| (batch.resource, batch.cluster, name.as_str()))
        })
        .collect();
    let mut places = vec![Places::new(); batches.len()];
    let dialect = connection.dialect();
    for part in Vec::from_iter(asked).chunks(dialect.most_values()) {
        let statement = namespace::places(dialect, part);
        let found = rows(connection, statement, namespace::decode_place).await?;
        for row in found {
            let place = FoundNamespace {
                nsid: row.nsid,
                objects: row.objects,
            };
            places[index[&(row.cluster, row.resource)]].insert(row.namespace, place);
        }
    }
    Ok(places)
}

fn puts(batch: &Prepared) -> impl Iterator<Item = &str> {
    batch.changes.iter().filter_map(|change| match change {
        PreparedChange::Put(object) => Some(object.key.namespace.as_str()),
        PreparedChange::Delete(_) => None,
    })
}

/// The namespaces of puts that have no id yet, by cluster.
fn missing(batches: &[&Prepared], places: &[Places]) -> BTreeMap<i64, BTreeSet<String>> {
    let mut missing: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
    for (batch, places) in batches.iter().zip(places) {
        for namespace in puts(batch).filter(|name| !places.contains_key(*name)) {
            let names = missing.entry(batch.cluster).or_default();
            if !names.contains(namespace) {
                names.insert(namespace.to_owned());
            }
        }
    }
    missing
}

/// Numbers namespaces within their clusters. How many are taken is rounded up to a power of two, so that clusters share statements.
async fn number(
    connection: &mut dyn Connection,
    missing: BTreeMap<i64, BTreeSet<String>>,
) -> Result<Vec<NamespaceRow>, StoreError> {
    let mut counts: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (cluster, names) in &missing {
        let count = i64::try_from(names.len().next_power_of_two()).expect("a batch fits memory");
        counts.entry(count).or_default().push(*cluster);
    }
    let mut next = HashMap::with_capacity(missing.len());
    let dialect = connection.dialect();
    for (count, clusters) in counts {
        for part in clusters.chunks(dialect.most_values()) {
            connection
                .execute(catalog::take_namespaces(dialect, count, part))
                .await?;
            let statement = catalog::next_namespaces(dialect, part);
            let found = rows(connection, statement, |r| Ok((r.int(0)?, r.int(1)?))).await?;
            next.extend(found.into_iter().map(|(id, next)| (id, next - count)));
        }
    }
    let mut new = Vec::new();
    for (cluster, names) in missing {
        let first = next.get(&cluster).copied();
        let first =
            first.ok_or_else(|| broken(format!("cluster {cluster} has streams and no row")))?;
        for (namespace, number) in names.into_iter().zip(first..) {
            let id = namespace_id(cluster, number)
                .ok_or_else(|| broken(format!("cluster {cluster} has no free namespace id")))?;
            new.push(NamespaceRow {
                id,
                cluster,
                namespace,
                types: 0,
            });
        }
    }
    Ok(new)
}
