//! From queries to pages. Everything of one page is read in one short transaction, and costs a bounded amount of work.

pub(crate) mod bodies;
mod collect;
mod count;
mod fetch;
mod ids;
pub(crate) mod inventory;
mod matches;
mod named;
pub(crate) mod place;
mod places;
pub(crate) mod plan;
mod reading;
mod sorted;
pub(crate) mod streams;
mod tested;
mod walk;

use armadex_model::Query;
use armadex_model::query::Start;
use armadex_storage::{PageBudget, StoreError};

use collect::Collector;
use fetch::Only;
use place::Located;
use places::Point;
use plan::order::Rank;
use plan::{Plan, Strategy};
use walk::{Step, Walk};

pub(crate) use count::count;
pub(crate) use reading::Reading;
pub use reading::Tuning;

/// The rows of a page, and the place up to which everything was looked at; `None` for it where nothing is left.
pub(crate) async fn page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    query: &Query,
    start: &Start,
    budget: PageBudget,
) -> Result<(Vec<Located>, Option<Rank>), StoreError> {
    let (after, skip) = match start {
        Start::Beginning => (None, 0),
        Start::After(position) => (Some(Rank::of_position(position, query)?), 0),
        Start::Offset(rows) => (None, *rows),
    };
    check_skip(plan, reading.tuning, skip)?;
    let rows = usize::try_from(budget.rows.max(1)).unwrap_or(usize::MAX);
    let mut collector = Collector::new(skip, rows);
    let reached = match plan.strategy {
        Strategy::Nothing => None,
        Strategy::Walk { backwards } => match named::all(reading, plan).await? {
            Some(all) => sorted::take(all, plan, after.as_ref(), &mut collector),
            None => walk_page(reading, plan, backwards, after, &mut collector).await?,
        },
        Strategy::Sort => sorted::page(reading, plan, after.as_ref(), &mut collector).await?,
    };
    if reached.is_some() && collector.skip() > 0 {
        return Err(too_far(skip));
    }
    let (page, more) = collector.finish(budget);
    let next = match page.last() {
        Some(last) if more => Some(Rank::of_row(last, &plan.order)),
        _ => reached,
    };
    Ok((page, next))
}

/// Rows that match by name, by a term of their own or in an order have to be looked at to be skipped.
fn check_skip(plan: &Plan, tuning: &Tuning, skip: u64) -> Result<(), StoreError> {
    let counted = matches!(plan.strategy, Strategy::Walk { .. })
        && plan.names == armadex_model::NameFilter::Any
        && plan.types.iter().all(|planned| plan.is_decided(planned));
    if counted || skip <= tuning.most_skipped {
        return Ok(());
    }
    Err(too_far(skip))
}

fn too_far(skip: u64) -> StoreError {
    StoreError::Unsupported {
        what: format!(
            "an offset of {skip} is too far into this search: go on with the continue token of the page before, or restrict the search"
        ),
    }
}

/// Walks type by type; where the walk stopped, if that was before its end and the page is not full.
async fn walk_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    backwards: bool,
    after: Option<Rank>,
    collector: &mut Collector,
) -> Result<Option<Rank>, StoreError> {
    let begin = after.as_ref().map_or(0, |rank| rank.index);
    reading.begin();
    let types = plan.types.iter().filter(|planned| planned.index >= begin);
    for (count, planned) in types.enumerate() {
        if count > 0 && reading.is_spent() {
            return Ok(Some(Point::default().into_rank(planned.index, plan)));
        }
        let from = after
            .as_ref()
            .filter(|rank| rank.index == planned.index)
            .map(Point::of_rank);
        let only = Only::Named(&plan.names);
        let mut walk = Walk::begin(reading, plan, planned, (only, backwards), from).await?;
        while walk.step(reading, collector).await? == Step::More {
            if collector.missing() == 0 {
                return Ok(None);
            }
            if reading.is_spent() {
                let reached = walk.reached();
                return Ok(reached.map(|from| from.into_rank(planned.index, plan)));
            }
        }
    }
    Ok(None)
}
