//! From namespaces of a batch to their ids; new ones get the next numbers of their cluster.

use std::collections::{BTreeSet, HashMap};

use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::sql::catalog;
use crate::sql::namespace::{self, NamespaceRow};
use crate::sql::statement::{MAX_LIST, pieces};
use crate::write::prepare::{Prepared, PreparedChange};

/// Bits of a namespace id that number the namespace within its cluster: more than any cluster makes in its life.
const NAMESPACE_BITS: u32 = 32;

/// The id of a namespace by its number within a cluster; `None` when either has run out.
fn namespace_id(cluster: i64, number: i64) -> Option<i64> {
    let fits = (0..1 << (63 - NAMESPACE_BITS)).contains(&cluster)
        && (0..1 << NAMESPACE_BITS).contains(&number);
    fits.then_some((cluster << NAMESPACE_BITS) | number)
}

/// The cluster that a namespace id belongs to.
pub(crate) fn cluster_of(nsid: i64) -> i64 {
    nsid >> NAMESPACE_BITS
}

/// The namespace ids of a cluster: the first, and the one after the last.
pub(crate) fn ids_of(cluster: i64) -> (i64, i64) {
    let first = cluster << NAMESPACE_BITS;
    (first, first.saturating_add(1 << NAMESPACE_BITS))
}

/// The ids of the batch's namespaces; those of puts are made if they are not there.
pub(crate) async fn resolve(
    connection: &mut dyn Connection,
    batch: &Prepared,
) -> Result<HashMap<String, i64>, StoreError> {
    let asked: BTreeSet<&str> = batch
        .changes
        .iter()
        .map(|change| change.key().namespace.as_str())
        .collect();
    let asked: Vec<String> = asked.into_iter().map(String::from).collect();
    let mut known = HashMap::with_capacity(asked.len());
    for part in asked.chunks(MAX_LIST) {
        let statement = namespace::of_cluster(batch.cluster, part);
        let found = rows(connection, statement, namespace::decode).await?;
        known.extend(found.into_iter().map(|row| (row.namespace, row.id)));
    }
    let missing = missing(batch, &known);
    if !missing.is_empty() {
        known.extend(make(connection, batch.cluster, missing).await?);
    }
    Ok(known)
}

/// The namespaces of puts that have no id yet, in order.
fn missing(batch: &Prepared, known: &HashMap<String, i64>) -> BTreeSet<String> {
    batch
        .changes
        .iter()
        .filter(|change| matches!(change, PreparedChange::Put(_)))
        .map(|change| &change.key().namespace)
        .filter(|namespace| !known.contains_key(*namespace))
        .cloned()
        .collect()
}

async fn make(
    connection: &mut dyn Connection,
    cluster: i64,
    names: BTreeSet<String>,
) -> Result<Vec<(String, i64)>, StoreError> {
    let count = i64::try_from(names.len()).expect("a batch fits memory");
    connection
        .execute(catalog::take_namespaces(cluster, count))
        .await?;
    let next = row(connection, catalog::next_namespace(cluster), |r| r.int(0)).await?;
    let next = next.ok_or_else(|| broken(format!("cluster {cluster} has streams and no row")))?;
    let rows = names
        .into_iter()
        .zip(next - count..)
        .map(|(namespace, number)| {
            let id = namespace_id(cluster, number)
                .ok_or_else(|| broken(format!("cluster {cluster} has no free namespace id")))?;
            Ok(NamespaceRow {
                id,
                cluster,
                namespace,
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    for piece in pieces(&rows) {
        connection.execute(namespace::insert(piece)).await?;
    }
    Ok(rows
        .into_iter()
        .map(|row| (row.namespace, row.id))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_their_cluster_and_end_before_they_overflow() {
        let last_cluster = (1 << 31) - 1;
        for (cluster, number) in [(0, 0), (7, 3), (last_cluster, (1 << 32) - 1)] {
            let id = namespace_id(cluster, number).expect("in range");
            assert_eq!(cluster_of(id), cluster);
            assert!(id >= ids_of(cluster).0 && id - ids_of(cluster).0 < 1 << 32);
        }
        assert_eq!(namespace_id(last_cluster + 1, 0), None);
        assert_eq!(namespace_id(1, 1 << 32), None);
    }
}
