//! The ids of objects by namespace, out of posting blocks, and their algebra: long ones beside the threads that serve.

use std::collections::{BTreeMap, BTreeSet};

use armadex_postings::{Block, IdSet};
use armadex_storage::StoreError;

use super::reading::{Reading, Tuning};
use crate::aside::aside;
use crate::backend::error::broken;
use crate::sql::post;

/// Objects of some namespaces.
pub(super) type Ids = BTreeMap<i64, IdSet>;

/// Of the blocks that may be held, one in so many takes some tenths of a millisecond to decode.
const LONG: usize = 8;
/// The most ids of a block.
const IDS_IN_BLOCK: usize = 256;

/// The objects of some namespaces that have any of these terms; `None` if that takes more blocks than there is room for.
pub(super) async fn id_sets(
    reading: &mut Reading<'_>,
    terms: &[i64],
    resource: i32,
    nsids: &[i64],
    room: &mut usize,
) -> Result<Option<Ids>, StoreError> {
    let Some(blocks) = blocks(reading, terms, resource, nsids, room).await? else {
        return Ok(None);
    };
    let is_long = blocks.len() > reading.tuning.blocks / LONG;
    aside(is_long, move || decoded(blocks)).await.map(Some)
}

/// Which of some namespaces have objects with any of these terms; `None` if that takes more blocks than there is room for.
pub(super) async fn holders(
    reading: &mut Reading<'_>,
    terms: &[i64],
    resource: i32,
    nsids: &[i64],
    room: &mut usize,
) -> Result<Option<BTreeSet<i64>>, StoreError> {
    let blocks = blocks(reading, terms, resource, nsids, room).await?;
    Ok(blocks.map(|blocks| blocks.into_iter().map(|(nsid, _)| nsid).collect()))
}

/// The blocks of any of these terms in some namespaces, each with its namespace. They take their part of the room; where there are more, nothing
/// is left of it, and one more than fits was read.
async fn blocks(
    reading: &mut Reading<'_>,
    terms: &[i64],
    resource: i32,
    nsids: &[i64],
    room: &mut usize,
) -> Result<Option<Vec<(i64, Block)>>, StoreError> {
    let mut blocks = Vec::new();
    for terms in terms.chunks(reading.tuning.list) {
        for part in nsids.chunks(reading.tuning.list) {
            let limit = i64::try_from(*room).map_or(i64::MAX, |room| room.saturating_add(1));
            let statement = post::within(reading.dialect, terms, resource, part, limit);
            let found = reading.rows(statement, post::decode).await?;
            reading.looked_for(terms.len() * part.len());
            let Some(left) = room.checked_sub(found.len()) else {
                *room = 0;
                return Ok(None);
            };
            *room = left;
            blocks.extend(found);
        }
    }
    Ok(Some(blocks))
}

fn decoded(blocks: Vec<(i64, Block)>) -> Result<Ids, StoreError> {
    let mut ids: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (nsid, block) in blocks {
        let decoded = block.decode().map_err(|err| broken(err.to_string()))?;
        ids.entry(nsid)
            .or_default()
            .extend_from_slice(decoded.as_slice());
    }
    let sets = ids.into_iter();
    Ok(sets
        .map(|(nsid, ids)| (nsid, ids.into_iter().collect()))
        .collect())
}

/// Those that are in others too, or in none of them; without namespaces that have none.
pub(super) async fn combined(
    tuning: &Tuning,
    ids: Ids,
    others: Ids,
    wanted: bool,
) -> Result<Ids, StoreError> {
    aside(is_long(tuning, &ids, &others), move || {
        let nothing = IdSet::new();
        let left = ids.into_iter().map(|(nsid, ids)| {
            let other = others.get(&nsid).unwrap_or(&nothing);
            let ids = match wanted {
                true => ids.intersection(other),
                false => ids.difference(other),
            };
            (nsid, ids)
        });
        Ok(left.filter(|(_, ids)| !ids.is_empty()).collect())
    })
    .await
}

fn is_long(tuning: &Tuning, ids: &Ids, others: &Ids) -> bool {
    let count = ids.values().chain(others.values()).map(IdSet::len);
    count.sum::<usize>() > tuning.blocks / LONG * IDS_IN_BLOCK
}
