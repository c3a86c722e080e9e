//! Rows in another order than that of pages. Few are fetched and sorted; many are found along the index of the order's first key.

mod along;
mod top;

use armadex_model::NameFilter;
use armadex_model::query::{END, OrderBy, OrderField};
use armadex_storage::StoreError;

use super::collect::Collector;
use super::fetch::Only;
use super::matches::hits;
use super::named;
use super::place::Located;
use super::places::Places;
use super::plan::order::Rank;
use super::plan::{Plan, TypePlan};
use super::reading::{Reading, Tuning, work_of};
use super::walk::{Step, Walk};
use crate::backend::error::broken;
use crate::sql::sort::SortColumn;
use crate::sql::stream;
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
    collector.extend(top.finish());
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
    match column_of(&plan.order) {
        Some(column) if column.0.is_indexed() => {
            let bound = Bound::of_page(reading.tuning, reading.tuning.sorted);
            if at_most(reading, plan, bound).await?.is_err() {
                return indexed_page(reading, plan, column, after, collector).await;
            }
            if fetch_page(reading, plan, bound, after, collector).await? {
                return Ok(None);
            }
            // It would cost the page as much once more, and probably in vain.
            reading.begin();
            let walked = along_index(reading, plan, column, after, collector.reach());
            let (rows, until) = walked.await?;
            collector.extend(rows);
            Ok(until)
        }
        column => unindexed_page(reading, plan, column, after, collector).await,
    }
}

/// A page in an order that no index has: all that matches is looked at, or nothing.
async fn unindexed_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    column: Option<(SortColumn, bool)>,
    after: Option<&Rank>,
    collector: &mut Collector,
) -> Result<Option<Rank>, StoreError> {
    let bound = Bound::of_answer(reading.tuning);
    let objects = match at_most(reading, plan, bound).await? {
        Ok(objects) => objects,
        Err(excess) => return Err(refusal(plan, excess, bound)),
    };
    if let Some(column) = column
        && objects > reading.tuning.sorted
        && plan.is_whole()
        && let Some(all) = few_of_all(reading, plan).await?
    {
        // The database looks at all of them to sort them.
        reading.looked_at += all;
        let wanted = collector.reach();
        reading.begin();
        if let Some((rows, until)) = along::page(reading, plan, column, after, wanted).await? {
            collector.extend(rows);
            return Ok(until);
        }
    }
    match fetch_page(reading, plan, bound, after, collector).await? {
        true => Ok(None),
        false => Err(refusal(plan, Excess::Looks, bound)),
    }
}

/// By how much less than a page may an index is walked at first, to see how often something matches.
const GLANCE: u64 = 8;

/// A page along an index, unless that would take longer than to fetch all that matches: a few thousand objects among millions are
/// met too seldom. The first stretch of it tells.
async fn indexed_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    column: (SortColumn, bool),
    after: Option<&Rank>,
    collector: &mut Collector,
) -> Result<Option<Rank>, StoreError> {
    let (wanted, work, before) = (collector.reach(), reading.tuning.work, reading.looked_at);
    reading.allow(work / GLANCE);
    let (mut rows, mut until) = along_index(reading, plan, column, after, wanted).await?;
    let looked_at = reading.looked_at - before;
    let whole_page = looked_at.saturating_mul(wanted as u64) / rows.len().max(1) as u64;
    if until.is_some() && rows.len() < wanted && whole_page > work {
        let bound = Bound::of_page(reading.tuning, reading.tuning.refetched);
        let objects = at_most(reading, plan, bound).await?;
        if objects.is_ok_and(|objects| (objects as u64) < whole_page)
            && fetch_page(reading, plan, bound, after, collector).await?
        {
            return Ok(None);
        }
    }
    // Who goes on among many objects of one value reads again how many they are.
    let goes_on = |reached: &Rank| reached.cluster == END && rows.len() < wanted;
    if let Some(reached) = until.take_if(|reached| goes_on(reached)) {
        reading.allow(work.saturating_sub(looked_at));
        let missing = wanted - rows.len();
        let (more, end) = along_index(reading, plan, column, Some(&reached), missing).await?;
        rows.extend(more);
        until = end;
    }
    collector.extend(rows);
    Ok(until)
}

/// The first rows of an order that has an index, and how far was looked.
async fn along_index(
    reading: &mut Reading<'_>,
    plan: &Plan,
    column: (SortColumn, bool),
    after: Option<&Rank>,
    wanted: usize,
) -> Result<(Vec<Located>, Option<Rank>), StoreError> {
    let found = along::page(reading, plan, column, after, wanted).await?;
    found.ok_or_else(|| broken("an index was not walked"))
}

/// Fetches all that matches and keeps the page; whether that could be done within the bound. If not, nothing is kept.
async fn fetch_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    bound: Bound,
    after: Option<&Rank>,
    collector: &mut Collector,
) -> Result<bool, StoreError> {
    let mut top = Top::new(&plan.order, after, collector.reach());
    let is_whole = fetch_all(reading, plan, bound, &mut top).await?;
    if is_whole {
        collector.extend(top.finish());
    }
    Ok(is_whole)
}

/// How many objects there are of the types that are searched, in whatever cluster, if those may be sorted: where no index has the order the
/// database sorts a type as a whole, for each part of it that is read.
async fn few_of_all(reading: &mut Reading<'_>, plan: &Plan) -> Result<Option<u64>, StoreError> {
    let mut sum = 0;
    for planned in &plan.types {
        let all = stream::all_objects(reading.dialect, planned.id);
        for (objects, streams) in reading.pairs(all).await? {
            sum += u64::try_from(objects).unwrap_or(0);
            reading.looked_at += u64::try_from(streams).unwrap_or(0);
        }
    }
    Ok((sum <= reading.tuning.most_sorted as u64).then_some(sum))
}

/// How much is fetched to be sorted.
#[derive(Clone, Copy)]
struct Bound {
    objects: usize,
    work: u64,
}

impl Bound {
    /// Where a walk along an index is the other way: what a page may look at besides the objects.
    fn of_page(tuning: &Tuning, objects: usize) -> Self {
        Self::new(objects, tuning.work)
    }

    /// Where there is no other way: what ten pages may.
    fn of_answer(tuning: &Tuning) -> Self {
        Self::new(tuning.most_sorted, tuning.work.saturating_mul(10))
    }

    /// An object is a row, its terms are another, and it may be alone in its namespace.
    fn new(objects: usize, besides: u64) -> Self {
        let work = besides.saturating_add((objects as u64).saturating_mul(3));
        Self { objects, work }
    }
}

/// What there is too much of to be sorted.
#[derive(Clone, Copy)]
enum Excess {
    Objects,
    /// Names or values that are looked for in many places.
    Lookups,
    /// What had to be looked at to find what matches.
    Looks,
}

fn refusal(plan: &Plan, excess: Excess, bound: Bound) -> StoreError {
    let field = plan.order.first().map(|key| match key.field {
        OrderField::Cluster => "cluster",
        OrderField::Namespace => "namespace",
        OrderField::Name => "name",
        OrderField::CreatedAt => "created_at",
        OrderField::ResourceVersion => "resource_version",
        OrderField::Uid => "uid",
    });
    let field = field.unwrap_or("nothing");
    let what = match excess {
        Excess::Objects => {
            let most = bound.objects;
            format!(
                "more than {most} objects by {field} cannot be sorted: restrict clusters, namespaces or labels, or sort by name or created_at"
            )
        }
        Excess::Lookups => format!(
            "so many names or values cannot be looked for in every namespace to be sorted by {field}: \
             ask for fewer of them, restrict clusters or namespaces, or sort by name or created_at"
        ),
        Excess::Looks => format!(
            "this search looks at too much to be sorted by {field}: \
             restrict clusters, namespaces or labels, ask for fewer values, or sort by name or created_at"
        ),
    };
    StoreError::Unsupported { what }
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

/// At least as many objects as match, unless they may be more than the bound, or are in too many places to tell.
async fn at_most(
    reading: &mut Reading<'_>,
    plan: &Plan,
    bound: Bound,
) -> Result<Result<usize, Excess>, StoreError> {
    // As many places as objects are worth a look, and then once more to fetch what is there.
    reading.allow(reading.tuning.work.max(bound.objects as u64));
    let mut left = Left {
        objects: i64::try_from(bound.objects).unwrap_or(i64::MAX),
        lookups: bound.work,
    };
    for planned in &plan.types {
        // Where a type has its matches may take some thousand blocks to tell, and there may be hundreds of types.
        if reading.is_spent() {
            return Ok(Err(Excess::Looks));
        }
        if let Err(excess) = left.take(reading, plan, planned).await? {
            return Ok(Err(excess));
        }
    }
    let objects = usize::try_from(left.objects).unwrap_or(0);
    Ok(Ok(bound.objects - objects))
}

/// What is left of a bound.
struct Left {
    objects: i64,
    /// Work of looking for what may not be there.
    lookups: u64,
}

impl Left {
    /// Takes one type off.
    async fn take(
        &mut self,
        reading: &mut Reading<'_>,
        plan: &Plan,
        planned: &TypePlan,
    ) -> Result<Result<(), Excess>, StoreError> {
        let names = match &plan.names {
            NameFilter::In(names) => names.len(),
            NameFilter::Any | NameFilter::NotIn(_) => 0,
        };
        let hits = hits(reading, plan, planned).await?.1;
        let lookups = names + plan.lookups(planned, hits.is_some());
        let mut places = match &hits {
            Some(hits) if hits.values().sum::<i64>() <= self.objects => {
                return Ok(self.pay(hits.values().sum(), hits.len(), lookups));
            }
            Some(hits) => Places::of_hits(planned, false, None, hits),
            None => Places::all(planned, false, None),
        };
        let each = match names {
            0 => i64::MAX,
            names => i64::try_from(names).unwrap_or(i64::MAX),
        };
        while let Some(found) = places.next(reading, reading.tuning.places).await? {
            let objects = found.iter().map(|place| place.objects.min(each)).sum();
            if let Err(excess) = self.pay(objects, found.len(), lookups) {
                return Ok(Err(excess));
            }
            if reading.is_spent() {
                return Ok(Err(Excess::Objects));
            }
        }
        Ok(Ok(()))
    }

    fn pay(&mut self, objects: i64, places: usize, lookups: usize) -> Result<(), Excess> {
        if objects > self.objects {
            return Err(Excess::Objects);
        }
        self.objects -= objects;
        let cost = work_of(places.saturating_mul(lookups));
        self.lookups = self.lookups.checked_sub(cost).ok_or(Excess::Lookups)?;
        Ok(())
    }
}

/// Looks at all that matches, and at as many places as were looked at to know that they are few; whether the bound was enough.
async fn fetch_all(
    reading: &mut Reading<'_>,
    plan: &Plan,
    bound: Bound,
    top: &mut Top<'_>,
) -> Result<bool, StoreError> {
    reading.allow(bound.work);
    for planned in &plan.types {
        let only = Only::Named(&plan.names);
        let mut walk = Walk::begin(reading, plan, planned, (only, false), None).await?;
        let mut portion = Collector::endless();
        let mut step = Step::More;
        while step == Step::More {
            if reading.is_spent() {
                return Ok(false);
            }
            step = walk.step(reading, &mut portion).await?;
            top.extend(portion.drain());
        }
    }
    Ok(true)
}
