//! Rows in another order than that of pages. Few are fetched and sorted; many are found along the index of the order's first key.

mod along;
mod top;

use armadex_model::NameFilter;
use armadex_model::query::{OrderBy, OrderField};
use armadex_storage::StoreError;

use super::collect::Collector;
use super::count::objects;
use super::fetch::Only;
use super::matches::hits;
use super::named;
use super::place::Located;
use super::places::Places;
use super::plan::order::Rank;
use super::plan::{Plan, TypePlan};
use super::reading::Reading;
use super::walk::{Step, Walk};
use crate::sql::sort::SortColumn;
use top::Top;

/// The page of rows that are all there, in no order. Nothing is left after them.
pub(crate) fn take(
    all: Vec<Located>,
    plan: &Plan,
    after: Option<&Rank>,
    collector: &mut Collector,
) -> Option<Rank> {
    let mut top = Top::new(&plan.order, after, collector.reach());
    top.extend(all);
    collector.extend(top.finish().into_iter().map(|(_, row)| row));
    None
}

/// The rows of a page, and how far was looked if that was not to the end.
pub(crate) async fn page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    after: Option<&Rank>,
    collector: &mut Collector,
) -> Result<Option<Rank>, StoreError> {
    if let Some(all) = named::all(reading, plan).await? {
        return Ok(take(all, plan, after, collector));
    }
    let (few, most) = (reading.tuning.sorted, reading.tuning.most_sorted);
    let column = column_of(&plan.order);
    let indexed = column.filter(|(column, _)| column.is_indexed());
    let enough = if indexed.is_some() { few } else { most };
    let objects = at_most(reading, plan, enough).await?;
    let few = objects.is_some_and(|objects| objects <= few);
    match (indexed, column) {
        _ if few => fetch_page(reading, plan, after, collector).await,
        (Some(column), _) => indexed_page(reading, plan, column, after, collector).await,
        _ if objects.is_none() => Err(too_many(plan, most)),
        (None, Some(column)) if plan.is_whole() => {
            // The database looks at all of them to sort them.
            reading.looked_at += total(reading, plan).await?;
            let wanted = collector.reach();
            let (rows, until) = along::page(reading, plan, column, after, wanted).await?;
            collector.extend(rows);
            Ok(until)
        }
        _ => fetch_page(reading, plan, after, collector).await,
    }
}

/// A page along an index, unless that would take longer than to fetch all that matches: a few thousand objects among millions are
/// met too seldom.
async fn indexed_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    column: (SortColumn, bool),
    after: Option<&Rank>,
    collector: &mut Collector,
) -> Result<Option<Rank>, StoreError> {
    let (wanted, before) = (collector.reach(), reading.looked_at);
    let (rows, until) = along::page(reading, plan, column, after, wanted).await?;
    if until.is_some() && rows.len() < wanted {
        let looked_at = reading.looked_at - before;
        let whole_page = looked_at.saturating_mul(wanted as u64) / rows.len().max(1) as u64;
        let objects = at_most(reading, plan, reading.tuning.refetched).await?;
        if objects.is_some_and(|objects| (objects as u64) < whole_page) {
            return fetch_page(reading, plan, after, collector).await;
        }
    }
    collector.extend(rows);
    Ok(until)
}

/// Fetches all that matches and keeps the page.
async fn fetch_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    after: Option<&Rank>,
    collector: &mut Collector,
) -> Result<Option<Rank>, StoreError> {
    let mut top = Top::new(&plan.order, after, collector.reach());
    fetch_all(reading, plan, &mut top).await?;
    collector.extend(top.finish().into_iter().map(|(_, row)| row));
    Ok(None)
}

/// How many objects there are of the types that are searched.
async fn total(reading: &mut Reading<'_>, plan: &Plan) -> Result<u64, StoreError> {
    let mut sum = 0;
    for planned in &plan.types {
        sum += objects(reading, planned).await?;
    }
    Ok(u64::try_from(sum).unwrap_or(0))
}

fn too_many(plan: &Plan, most: usize) -> StoreError {
    let field = plan.order.first().map(|key| match key.field {
        OrderField::Cluster => "cluster",
        OrderField::Namespace => "namespace",
        OrderField::Name => "name",
        OrderField::CreatedAt => "created_at",
        OrderField::ResourceVersion => "resource_version",
        OrderField::Uid => "uid",
    });
    StoreError::Unsupported {
        what: format!(
            "more than {most} objects by {} cannot be sorted: restrict clusters, namespaces or labels, or sort by name or created_at",
            field.unwrap_or("nothing")
        ),
    }
}

/// The column of the order's first key, and its direction.
fn column_of(order: &[OrderBy]) -> Option<(SortColumn, bool)> {
    let first = order.first()?;
    let column = match first.field {
        OrderField::Name => SortColumn::Name,
        OrderField::CreatedAt => SortColumn::Created,
        OrderField::Uid => SortColumn::Uid,
        OrderField::ResourceVersion => SortColumn::Version,
        OrderField::Cluster | OrderField::Namespace => return None,
    };
    Some((column, first.descending))
}

/// At least as many objects as match; `None` if they may be more than `enough`, or are in too many places to tell.
async fn at_most(
    reading: &mut Reading<'_>,
    plan: &Plan,
    enough: usize,
) -> Result<Option<usize>, StoreError> {
    // As many places as objects are worth a look, and then once more to fetch what is there.
    reading.allow(reading.tuning.work.max(enough as u64));
    let mut left = i64::try_from(enough).unwrap_or(i64::MAX);
    for planned in &plan.types {
        match at_most_of(reading, plan, planned, left).await? {
            Some(objects) => left -= objects,
            None => return Ok(None),
        }
    }
    let left = usize::try_from(left).unwrap_or(0);
    Ok(Some(enough - left))
}

/// The same for one type.
async fn at_most_of(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    enough: i64,
) -> Result<Option<i64>, StoreError> {
    let mut places = match hits(reading, plan, planned).await?.1 {
        Some(hits) if hits.values().sum::<i64>() <= enough => {
            return Ok(Some(hits.values().sum()));
        }
        Some(hits) => Places::of_hits(planned, false, None, &hits),
        None => Places::all(planned, false, None),
    };
    let each = match &plan.names {
        NameFilter::In(names) => i64::try_from(names.len()).unwrap_or(i64::MAX),
        NameFilter::Any | NameFilter::NotIn(_) => i64::MAX,
    };
    let most = reading.tuning.places;
    let mut sum = 0;
    while let Some(found) = places.next(reading, most).await? {
        sum += found
            .iter()
            .map(|place| place.objects.min(each))
            .sum::<i64>();
        if sum > enough || reading.is_spent() {
            return Ok(None);
        }
    }
    Ok(Some(sum))
}

/// Looks at all that matches, and at as many places as were looked at to know that they are few.
async fn fetch_all(
    reading: &mut Reading<'_>,
    plan: &Plan,
    top: &mut Top<'_>,
) -> Result<(), StoreError> {
    for planned in &plan.types {
        let only = Only::Named(&plan.names);
        let mut walk = Walk::begin(reading, plan, planned, (only, false), None).await?;
        let mut portion = Collector::endless();
        let mut step = Step::More;
        while step == Step::More {
            step = walk.step(reading, &mut portion).await?;
            top.extend(portion.drain());
        }
    }
    Ok(())
}
