//! How many rows a query has: by counters, by the sizes of posting blocks, or by looking; and not at all where that would take too long.

use armadex_model::NameFilter;
use armadex_storage::StoreError;

use super::collect::Collector;
use super::fetch::Only;
use super::matches::{hits, matches};
use super::named;
use super::places::Places;
use super::plan::{Plan, Strategy, TypePlan};
use super::reading::Reading;
use super::walk::{Step, Walk};
use crate::form::namespace_id::ids_of;
use crate::sql::{post, stream};

/// How many rows a plan has; `None` if it would take more work than ten pages to tell.
pub(crate) async fn count(
    reading: &mut Reading<'_>,
    plan: &Plan,
) -> Result<Option<u64>, StoreError> {
    if plan.strategy == Strategy::Nothing {
        return Ok(Some(0));
    }
    if let Some(all) = named::all(reading, plan).await? {
        return Ok(Some(all.len() as u64));
    }
    reading.begin_long();
    let mut sum = 0;
    for planned in &plan.types {
        if reading.is_spent() {
            return Ok(None);
        }
        let count = match (&plan.names, plan.has_terms()) {
            (NameFilter::Any, false) if planned.is_whole() => {
                Some(objects(reading, planned).await?)
            }
            (NameFilter::Any, _) if plan.is_decided(planned) => {
                by_place(reading, plan, planned).await?
            }
            _ => by_row(reading, plan, planned).await?,
        };
        let Some(count) = count else {
            return Ok(None);
        };
        sum += count;
    }
    Ok(Some(u64::try_from(sum).unwrap_or(0)))
}

/// All objects of some clusters: each stream knows its own.
async fn objects(reading: &mut Reading<'_>, planned: &TypePlan) -> Result<i64, StoreError> {
    let clusters: Vec<i64> = planned.clusters.iter().map(|space| space.id).collect();
    let mut sum = 0;
    for part in clusters.chunks(reading.tuning.list) {
        let found = reading
            .pairs(stream::objects(reading.dialect, planned.id, part))
            .await?;
        sum += found.iter().map(|(_, objects)| objects).sum::<i64>();
    }
    Ok(sum)
}

/// Objects by terms: posting blocks are enough, and for a single clause not even their ids are needed.
async fn by_place(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
) -> Result<Option<i64>, StoreError> {
    let (first, hits) = hits(reading, plan, planned).await?;
    let one_clause = plan.has.len() == 1 && plan.has_not.is_empty();
    if one_clause && hits.is_none() && planned.is_whole() {
        return sums(reading, plan, planned).await;
    }
    let mut places = match &hits {
        Some(hits) => Places::of_hits(planned, false, None, hits),
        None => Places::all(planned, false, None),
    };
    let most = reading.tuning.places;
    let mut sum = 0;
    while let Some(found) = places.next(reading, most).await? {
        if one_clause && hits.is_some() {
            sum += found.iter().map(|place| place.objects).sum::<i64>();
            continue;
        }
        let mut left = found.as_slice();
        while !left.is_empty() {
            let matched = matches(reading, plan, planned, first, (left, false)).await?;
            for (place, matches) in left.iter().zip(&matched) {
                let Some(count) = matches.count(place) else {
                    return Ok(None);
                };
                sum += count;
            }
            left = &left[matched.len()..];
            if reading.is_spent() {
                return Ok(None);
            }
        }
        if reading.is_spent() {
            return Ok(None);
        }
    }
    Ok(Some(sum))
}

/// The sizes of all blocks of one clause, some clusters at a time: blocks of what has left are still there.
async fn sums(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
) -> Result<Option<i64>, StoreError> {
    let ranges: Vec<(i64, i64)> = planned
        .clusters
        .iter()
        .map(|space| ids_of(space.id))
        .collect();
    let dialect = reading.dialect;
    let mut sum = 0;
    for terms in plan.has[0].terms.chunks(reading.tuning.list) {
        for ranges in dialect.ranges(&ranges, terms.len()) {
            let statement = post::sum(dialect, terms, planned.id, ranges);
            reading.looked_for(terms.len() * ranges.len());
            for (objects, blocks) in reading.pairs(statement).await? {
                sum += objects;
                reading.looked_at += u64::try_from(blocks).unwrap_or(0);
            }
            if reading.is_spent() {
                return Ok(None);
            }
        }
    }
    Ok(Some(sum))
}

/// Objects by terms and names: each has to be looked at.
async fn by_row(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
) -> Result<Option<i64>, StoreError> {
    let only = Only::Named(&plan.names);
    let mut walk = Walk::begin(reading, plan, planned, (only, false), None).await?;
    let mut portion = Collector::endless();
    let mut sum = 0;
    loop {
        let step = walk.step(reading, &mut portion).await?;
        sum += i64::try_from(portion.drain().len()).unwrap_or(i64::MAX);
        match step {
            Step::Done => return Ok(Some(sum)),
            Step::More if reading.is_spent() => return Ok(None),
            Step::More => {}
        }
    }
}

#[cfg(test)]
mod tests;
