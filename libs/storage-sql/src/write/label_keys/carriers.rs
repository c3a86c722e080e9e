//! What is stored under a label key: how many objects carry it, and in which clusters.

use std::collections::BTreeSet;

use armadex_storage::StoreError;

use super::begun::Begun;
use crate::backend::{Connection, row, rows};
use crate::form::namespace_id::{cluster_of, ids_of};
use crate::sql::{dictionary, post};

/// Blocks of a key whose objects are added up, 16 million in full ones: some megabytes are read for that, in a moment. A key of more of them stays posted.
const MOST_BLOCKS: usize = 65_536;
/// Clusters that are looked for: each takes a statement.
const MOST_CLUSTERS: usize = 64;
/// Those that were met have to be as many as one in so many of those that were found: several processes fill a store, and none meets the clusters of the others.
const ONE_IN: usize = 8;

/// How many objects within these ranges of namespace ids carry a key, where that is no more than so many. No more is read than it takes to know that: there is an object in
/// each block.
pub(super) async fn stored(
    connection: &mut dyn Connection,
    (resource, key): (i32, i64),
    ranges: &[(i64, i64)],
    most: u64,
) -> Result<u64, StoreError> {
    let enough = usize::try_from(most).map_or(MOST_BLOCKS, |most| MOST_BLOCKS.min(most + 1));
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
/// decides nothing for the others, nor for those that may carry the key one day. Where one cluster alone shows the type, it decides.
pub(super) async fn has_spoken(
    connection: &mut dyn Connection,
    due: (i32, i64),
    begun: &Begun,
) -> Result<bool, StoreError> {
    let (resource, _) = due;
    let mut shown = rows(connection, dictionary::clusters(resource), |r| r.int(0)).await?;
    shown.sort_unstable();
    if shown.is_empty() {
        return Ok(false);
    }
    // Where there are many they are drawn: whoever brings one after the other has numbers in a row.
    let (draws, in_a_row) = match shown.len() <= MOST_CLUSTERS {
        true => (1, MOST_CLUSTERS),
        false => (MOST_CLUSTERS, 1),
    };
    let mut found = BTreeSet::new();
    for _ in 0..draws {
        let from = shown[rand::random_range(0..shown.len())];
        found.extend(carriers(connection, due, (&shown, from), in_a_row).await?);
    }
    let met = found
        .iter()
        .filter(|cluster| begun.has(resource, **cluster));
    Ok(match met.count() {
        0 => false,
        1 => shown.len() == 1,
        met => met * ONE_IN >= found.len(),
    })
}

/// Some of the shown clusters that carry a key, from one of them on and then from the first on.
async fn carriers(
    connection: &mut dyn Connection,
    (resource, key): (i32, i64),
    (shown, from): (&[i64], i64),
    most: usize,
) -> Result<Vec<i64>, StoreError> {
    let mut carriers = Vec::new();
    let (mut next, mut is_behind) = (ids_of(from).0, true);
    // Once more for where it begins anew.
    for _ in 0..=most {
        let found = post::next_namespace(connection.dialect(), key, resource, next);
        let found = row(connection, found, |r| r.int(0)).await?.map(cluster_of);
        next = match found {
            Some(cluster) if is_behind || cluster < from => {
                if shown.binary_search(&cluster).is_ok() {
                    carriers.push(cluster);
                }
                if carriers.len() == most {
                    break;
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
