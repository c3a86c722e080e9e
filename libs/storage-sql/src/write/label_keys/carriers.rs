//! What is stored under a label key: how many objects carry it, and in which clusters.

use armadex_storage::StoreError;
use rand::seq::SliceRandom as _;

use super::begun::Begun;
use crate::backend::{Connection, rows};
use crate::form::namespace_id::{cluster_of, ids_of};
use crate::sql::{dictionary, post};

/// Blocks of a key whose objects are added up, 16 million in full ones: some megabytes are read for that, in a moment. A key of more of them stays posted.
const MOST_BLOCKS: usize = 65_536;
/// Clusters in which it is looked for whether they carry a key, each in a few reads. Where more show the type as many are drawn by lot, whichever of them carry it.
const MOST_CLUSTERS: usize = 4096;
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
    let (resource, key) = due;
    let mut shown = rows(connection, dictionary::clusters(resource), |r| r.int(0)).await?;
    let is_alone = shown.len() == 1;
    let (drawn, _) = shown.partial_shuffle(&mut rand::rng(), MOST_CLUSTERS);
    // Those that are next to each other are stored next to each other.
    drawn.sort_unstable();
    let ranges = Vec::from_iter(drawn.iter().copied().map(ids_of));
    let dialect = connection.dialect();
    let (mut met, mut carriers) = (0, 0);
    for part in dialect.ranges(&ranges, 1) {
        let first = post::first_in(dialect, key, resource, part);
        let found = rows(connection, first, |r| r.int(0)).await?;
        carriers += found.len();
        let found = found.into_iter().map(cluster_of);
        met += found.filter(|one| begun.has(resource, *one)).count();
    }
    Ok(match met {
        0 => false,
        1 => is_alone,
        met => met * ONE_IN >= carriers,
    })
}
