//! Rows in another order than that of pages: the first of each part of the space, merged.

use std::cmp::Ordering;
use std::ops::Range;

use armadex_model::query::{OrderBy, OrderField, SortValue};
use armadex_storage::StoreError;

use super::blocks::BlockWalk;
use super::hits::Hits;
use super::{PORTION, Reading};
use crate::backend::rows;
use crate::catalog::Snapshot;
use crate::read::plan::{EVERYTHING, Plan, Rank, Segment, index_of, ranked_before};
use crate::sql::dialect::ObjIndex;
use crate::sql::select::{self, Candidate};
use crate::sql::sort::{self, Placed, Sorting};
use crate::sql::statement::MAX_LIST;

/// Keeps the first rows of an order.
pub(crate) struct Top<'a> {
    order: &'a [OrderBy],
    snapshot: &'a Snapshot,
    after: Option<&'a Rank>,
    wanted: usize,
    best: Vec<(Rank, Candidate)>,
}

impl<'a> Top<'a> {
    pub(crate) fn new(
        order: &'a [OrderBy],
        snapshot: &'a Snapshot,
        after: Option<&'a Rank>,
        wanted: usize,
    ) -> Self {
        Self {
            order,
            snapshot,
            after,
            wanted,
            best: Vec::new(),
        }
    }

    /// The best rows in order.
    pub(crate) fn finish(mut self) -> Vec<Candidate> {
        self.settle();
        self.best.into_iter().map(|(_, row)| row).collect()
    }

    /// Takes more rows into account. What cannot be among the first any more is dropped now and then, so that memory stays
    /// at twice what is wanted and one portion.
    fn extend(&mut self, rows: Vec<Placed>) {
        for placed in rows {
            let rank = rank(&placed, self.order, self.snapshot);
            let before = self
                .after
                .is_some_and(|after| ranked_before(self.order, &rank, after) != Ordering::Greater);
            if !before {
                self.best.push((rank, placed.row));
            }
        }
        if self.best.len() > self.wanted.saturating_mul(2) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let order = self.order;
        self.best
            .sort_by(|(a, _), (b, _)| ranked_before(order, a, b));
        self.best.truncate(self.wanted);
    }
}

fn rank(placed: &Placed, order: &[OrderBy], snapshot: &Snapshot) -> Rank {
    let Placed { row, namespace } = placed;
    Rank {
        keys: sort_values(row, order, namespace, snapshot),
        nsid: row.nsid,
        name: row.name.clone(),
    }
}

/// A row's value for each key of an order.
pub(crate) fn sort_values(
    row: &Candidate,
    order: &[OrderBy],
    namespace: &str,
    snapshot: &Snapshot,
) -> Vec<SortValue> {
    let cluster = || {
        snapshot
            .cluster_at(row.nsid)
            .map_or_else(String::new, |member| member.name.to_string())
    };
    let value = |key: &OrderBy| match key.field {
        OrderField::Cluster => SortValue::Text(cluster()),
        OrderField::Namespace => SortValue::Text(namespace.to_owned()),
        OrderField::Name => SortValue::Text(row.name.clone()),
        OrderField::CreatedAt => SortValue::Number(row.created),
        OrderField::ResourceVersion => SortValue::Number(row.version.number()),
        OrderField::Uid => SortValue::Text(row.uid.clone()),
    };
    order.iter().map(value).collect()
}

/// The first rows, sorted by the database.
pub(crate) async fn sort(
    reading: &mut Reading<'_>,
    plan: &Plan,
    index: Option<ObjIndex>,
    mut top: Top<'_>,
) -> Result<Vec<Candidate>, StoreError> {
    let limit = i64::try_from(top.wanted).unwrap_or(i64::MAX);
    for segment in &plan.segments {
        let index = choose(reading, plan, segment, index, limit).await?;
        let sorting = Sorting {
            resource: plan.resource,
            index,
            names: &plan.names,
            order: &plan.order,
            after: top.after,
            limit,
        };
        match segment {
            Segment::Range(range) => {
                let statement = sort::range(reading.dialect, &sorting, range);
                top.extend(rows(reading.connection, statement, sort::decode).await?);
            }
            Segment::Ids(ids) => {
                for part in ids.chunks(MAX_LIST) {
                    let statement = sort::within(reading.dialect, &sorting, part);
                    top.extend(rows(reading.connection, statement, sort::decode).await?);
                }
            }
        }
    }
    Ok(top.finish())
}

/// A walk along the sort index passes `limit * all / here` rows until it has met enough of this segment; sorting takes each of
/// the segment's rows, which costs about twice as much a row.
async fn choose(
    reading: &mut Reading<'_>,
    plan: &Plan,
    segment: &Segment,
    index: Option<ObjIndex>,
    limit: i64,
) -> Result<ObjIndex, StoreError> {
    let (Some(index), Segment::Range(range)) = (index, segment) else {
        return Ok(ObjIndex::Key);
    };
    if *range == EVERYTHING {
        return Ok(index);
    }
    let here = reading
        .number(select::count_range(plan.resource, range))
        .await?
        .max(1);
    let all = reading
        .number(select::count_range(plan.resource, &EVERYTHING))
        .await?;
    let walked = limit.saturating_mul(all) / here;
    Ok(if walked < here.saturating_mul(2) {
        index
    } else {
        ObjIndex::Key
    })
}

/// The first rows of those that match.
pub(crate) async fn top_of_blocks(
    reading: &mut Reading<'_>,
    plan: &Plan,
    top: Top<'_>,
) -> Result<Vec<Candidate>, StoreError> {
    if let (Some(index), [Segment::Range(range)]) = (index_of(&plan.order), &*plan.segments) {
        let hits = Hits::read(reading, plan).await?;
        let all = reading
            .number(select::count_range(plan.resource, range))
            .await?;
        if hits.are_dense(top.wanted, all) {
            return along_index(reading, plan, (index, range), &hits, top).await;
        }
    }
    fetch_all(reading, plan, top).await
}

/// Fetches all that match and keeps the best.
async fn fetch_all(
    reading: &mut Reading<'_>,
    plan: &Plan,
    mut top: Top<'_>,
) -> Result<Vec<Candidate>, StoreError> {
    let mut walk = BlockWalk::new(reading, plan, None).await?;
    while let Some(found) = walk.next(reading, PORTION).await? {
        top.extend(reading.placed(found, plan).await?);
    }
    Ok(top.finish())
}

/// Walks the index of the order and keeps what matches, until there is enough.
async fn along_index(
    reading: &mut Reading<'_>,
    plan: &Plan,
    (index, range): (ObjIndex, &Range<i64>),
    hits: &Hits,
    mut top: Top<'_>,
) -> Result<Vec<Candidate>, StoreError> {
    let mut after = top.after.cloned();
    while top.best.len() < top.wanted {
        let sorting = Sorting {
            resource: plan.resource,
            index,
            names: &plan.names,
            order: &plan.order,
            after: after.as_ref(),
            limit: i64::try_from(PORTION).unwrap_or(i64::MAX),
        };
        let statement = sort::range(reading.dialect, &sorting, range);
        let mut found = rows(reading.connection, statement, sort::decode).await?;
        let Some(last) = found.last() else {
            break;
        };
        after = Some(rank(last, top.order, top.snapshot));
        found.retain(|placed| hits.admit(placed.row.nsid, placed.row.oid));
        top.extend(found);
    }
    Ok(top.finish())
}
