//! What is stored under a label key: how many objects carry it, and in which clusters.

use armadex_storage::StoreError;

use super::TypeKey;
use super::begun::Begun;
use crate::backend::{Connection, row, rows};
use crate::form::namespace_id::{cluster_of, ids_of};
use crate::sql::{dictionary, post};

/// Blocks of a key whose objects are added up, 16 million in full ones: some megabytes are read for that, in a moment. A key of more of them stays posted.
const MOST_BLOCKS: usize = 65_536;
/// Clusters that are looked for: each takes a statement.
const MOST_CLUSTERS: usize = 64;
/// Those that were met have to be as many as one in so many of all that carry the key: several processes fill a store, and none meets the clusters of the others.
const ONE_IN: usize = 8;

/// How many objects within these ranges of namespace ids carry a key, where that is no more than were met. No more is read than it takes to know that: there is an object in
/// each block.
pub(super) async fn stored(
    connection: &mut dyn Connection,
    (resource, key): TypeKey,
    ranges: &[(i64, i64)],
    met: u64,
) -> Result<u64, StoreError> {
    let enough = usize::try_from(met).map_or(MOST_BLOCKS, |met| MOST_BLOCKS.min(met + 1));
    let (mut blocks, mut carriers) = (0, 0_u64);
    let dialect = connection.dialect();
    for part in dialect.ranges(ranges, 1) {
        let left = i64::try_from(enough - blocks).unwrap_or(i64::MAX);
        let sizes = post::sizes_in(dialect, &[key], resource, part, left);
        let sizes = rows(connection, sizes, |row| row.int(1)).await?;
        blocks += sizes.len();
        if blocks >= enough {
            return Ok(u64::MAX);
        }
        carriers += sizes.iter().map(|n| n.unsigned_abs()).sum::<u64>();
    }
    Ok(carriers)
}

/// Whether those that were met from their first object on are of enough clusters, among those that carry a key, to decide for all of them: whoever may bring one cluster
/// decides nothing for the others, nor for those that may carry the key one day.
pub(super) async fn has_spoken(
    connection: &mut dyn Connection,
    due: TypeKey,
    begun: &Begun,
) -> Result<bool, StoreError> {
    let (resource, _) = due;
    let mut shown = rows(connection, dictionary::clusters(resource), |r| r.int(0)).await?;
    shown.sort_unstable();
    if shown.is_empty() {
        return Ok(false);
    }
    let from = rand::random_range(0..shown.len());
    let carriers = carriers(connection, due, &shown, from).await?;
    let met = carriers
        .iter()
        .filter(|cluster| begun.has(resource, **cluster));
    Ok(match met.count() {
        0 => false,
        1 => shown.len() == 1,
        met => met * ONE_IN >= carriers.len(),
    })
}

/// Some of the shown clusters that carry a key, in turn from one of them on: all, unless they are very many.
async fn carriers(
    connection: &mut dyn Connection,
    (resource, key): TypeKey,
    shown: &[i64],
    from: usize,
) -> Result<Vec<i64>, StoreError> {
    let mut carriers = Vec::new();
    let (mut next, mut is_behind) = (ids_of(shown[from]).0, true);
    for _ in 0..MOST_CLUSTERS {
        let found = post::next_namespace(connection.dialect(), key, resource, next);
        let found = row(connection, found, |r| r.int(0)).await?.map(cluster_of);
        next = match found {
            Some(cluster) if is_behind || cluster < shown[from] => {
                if shown.binary_search(&cluster).is_ok() {
                    carriers.push(cluster);
                }
                ids_of(cluster).1
            }
            None if is_behind => {
                is_behind = false;
                0
            }
            _ => break,
        };
    }
    Ok(carriers)
}
