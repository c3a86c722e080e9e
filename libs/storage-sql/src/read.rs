//! Running plans. Everything of one page is read in one short transaction.

mod blocks;
pub(crate) mod bodies;
mod collect;
mod hits;
mod matches;
pub(crate) mod plan;
mod sorted;
mod walk;

use std::collections::{BTreeSet, HashMap};

use armadex_model::NameFilter;
use armadex_model::query::{OrderField, Start};
use armadex_storage::{PageBudget, StoreError};

use crate::backend::{Connection, row, rows};
use crate::catalog::Snapshot;
use crate::read::plan::{Plan, Rank, Segment, Strategy};
use crate::sql::dialect::Dialect;
use crate::sql::namespace::{self, NamespaceRow};
use crate::sql::post;
use crate::sql::select::{self, Candidate};
use crate::sql::sort::Placed;
use crate::sql::statement::{MAX_LIST, Statement};
use blocks::BlockWalk;
use collect::Collector;
use matches::Matcher;
use sorted::Top;
use walk::Walk;

pub(crate) use sorted::sort_values;

/// Rows of matching objects that are read at a time where all of them are looked at.
const PORTION: usize = 2000;

/// A snapshot of the database and what is needed to ask it.
pub(crate) struct Reading<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    pub(crate) dialect: Dialect,
    pub(crate) resource: i32,
}

impl Reading<'_> {
    /// How many objects each of these namespaces has, in page order, without those that have none.
    pub(crate) async fn counts(&mut self, nsids: &[i64]) -> Result<Vec<(i64, i64)>, StoreError> {
        let mut counts = Vec::new();
        for part in nsids.chunks(MAX_LIST) {
            let statement = select::counts(self.resource, part);
            counts.extend(self.pairs(statement).await?);
        }
        Ok(counts)
    }

    /// The namespaces of any cluster that are called so.
    pub(crate) async fn namespaces(
        &mut self,
        names: &BTreeSet<String>,
    ) -> Result<Vec<NamespaceRow>, StoreError> {
        let mut found = Vec::new();
        for part in Vec::from_iter(names.iter().cloned()).chunks(MAX_LIST) {
            found.extend(rows(self.connection, namespace::called(part), namespace::decode).await?);
        }
        Ok(found)
    }

    /// The names of these namespaces by id.
    pub(crate) async fn namespace_names(
        &mut self,
        ids: impl IntoIterator<Item = i64>,
    ) -> Result<HashMap<i64, String>, StoreError> {
        let ids: Vec<i64> = BTreeSet::from_iter(ids).into_iter().collect();
        let mut names = HashMap::with_capacity(ids.len());
        for part in ids.chunks(MAX_LIST) {
            let found = rows(self.connection, namespace::by_id(part), namespace::decode).await?;
            names.extend(found.into_iter().map(|row| (row.id, row.namespace)));
        }
        Ok(names)
    }

    /// Rows with their namespaces, if the order needs those.
    async fn placed(
        &mut self,
        rows: Vec<Candidate>,
        plan: &Plan,
    ) -> Result<Vec<Placed>, StoreError> {
        let needed = plan
            .order
            .iter()
            .any(|key| key.field == OrderField::Namespace);
        let names = match needed {
            true => {
                self.namespace_names(rows.iter().map(|row| row.nsid))
                    .await?
            }
            false => HashMap::new(),
        };
        let place = |row: Candidate| Placed {
            namespace: names.get(&row.nsid).cloned().unwrap_or_default(),
            row,
        };
        Ok(rows.into_iter().map(place).collect())
    }

    /// A number that is always there.
    async fn number(&mut self, statement: Statement) -> Result<i64, StoreError> {
        Ok(row(self.connection, statement, |row| row.int(0))
            .await?
            .unwrap_or(0))
    }

    /// Rows of two numbers.
    pub(crate) async fn pairs(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        rows(self.connection, statement, |row| {
            Ok((row.int(0)?, row.int(1)?))
        })
        .await
    }
}

/// The rows of a page, and whether more follow.
pub(crate) async fn page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    start: &Start,
    budget: PageBudget,
    snapshot: &Snapshot,
) -> Result<(Vec<Candidate>, bool), StoreError> {
    let (after, skip) = match start {
        Start::Beginning => (None, 0),
        Start::After(position) => (Some(Rank::of_position(position, &plan.order)?), 0),
        Start::Offset(rows) => (None, *rows),
    };
    let place = after.as_ref().map(|rank| (rank.nsid, rank.name.as_str()));
    let mut collector = Collector::new(skip, budget);
    let top = Top::new(&plan.order, snapshot, after.as_ref(), collector.reach());
    match plan.strategy {
        Strategy::Nothing => {}
        Strategy::Walk => walk_page(reading, plan, place, &mut collector).await?,
        Strategy::Blocks => block_page(reading, plan, place, &mut collector).await?,
        Strategy::Sort(index) => {
            collector.extend(sorted::sort(reading, plan, index, top).await?);
        }
        Strategy::TopOfBlocks => {
            collector.extend(sorted::top_of_blocks(reading, plan, top).await?);
        }
    }
    Ok(collector.finish(budget))
}

async fn walk_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    place: Option<(i64, &str)>,
    collector: &mut Collector,
) -> Result<(), StoreError> {
    let mut walk = Walk::new(&plan.segments, &plan.names, place);
    while collector.missing() > 0 {
        let found = walk.next(reading, collector.missing()).await?;
        if found.is_empty() {
            break;
        }
        collector.extend(found);
    }
    Ok(())
}

async fn block_page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    place: Option<(i64, &str)>,
    collector: &mut Collector,
) -> Result<(), StoreError> {
    let mut walk = BlockWalk::new(reading, plan, place).await?;
    while collector.missing() > 0 {
        let Some(found) = walk.next(reading, collector.missing()).await? else {
            break;
        };
        collector.extend(found);
    }
    Ok(())
}

/// How many rows there are.
pub(crate) async fn count(reading: &mut Reading<'_>, plan: &Plan) -> Result<u64, StoreError> {
    let plain = plan.has.is_empty() && plan.has_not.is_empty();
    let sum = match (plan.strategy, &plan.names) {
        (Strategy::Nothing, _) => 0,
        (_, NameFilter::Any) if plain => count_segments(reading, plan).await?,
        _ if plain => count_named(reading, plan).await?,
        (_, NameFilter::Any) => count_matches(reading, plan).await?,
        _ => count_rows(reading, plan).await?,
    };
    Ok(u64::try_from(sum).unwrap_or(0))
}

/// All objects: counters are enough.
async fn count_segments(reading: &mut Reading<'_>, plan: &Plan) -> Result<i64, StoreError> {
    let mut sum = 0;
    for segment in &plan.segments {
        sum += match segment {
            Segment::Range(range) => {
                reading
                    .number(select::count_range(plan.resource, range))
                    .await?
            }
            Segment::Ids(ids) => reading.counts(ids).await?.iter().map(|(_, n)| n).sum(),
        };
    }
    Ok(sum)
}

/// Objects by name: the index of names is enough.
async fn count_named(reading: &mut Reading<'_>, plan: &Plan) -> Result<i64, StoreError> {
    let (dialect, resource, names) = (reading.dialect, plan.resource, &plan.names);
    let mut sum = 0;
    for segment in &plan.segments {
        match segment {
            Segment::Range(range) => {
                let statement = select::count_named(dialect, resource, range, names);
                sum += reading.number(statement).await?;
            }
            Segment::Ids(ids) => {
                for part in ids.chunks(MAX_LIST) {
                    let statement = select::count_named_in(dialect, resource, part, names);
                    sum += reading.number(statement).await?;
                }
            }
        }
    }
    Ok(sum)
}

/// Objects by terms: posting blocks are enough. With a single positive clause not even their ids are needed.
async fn count_matches(reading: &mut Reading<'_>, plan: &Plan) -> Result<i64, StoreError> {
    let mut sum = 0;
    if let ([clause], [], [Segment::Range(range)]) = (
        plan.has.as_slice(),
        plan.has_not.as_slice(),
        plan.segments.as_slice(),
    ) {
        return reading
            .number(post::sum(&clause.terms, plan.resource, range))
            .await;
    }
    let mut matcher = Matcher::new(reading, plan, None).await?;
    while let Some(chunk) = matcher.next(reading).await? {
        sum += chunk
            .iter()
            .map(|(_, matches)| matches.count())
            .sum::<i64>();
    }
    Ok(sum)
}

/// Objects by terms and names: each has to be looked at.
async fn count_rows(reading: &mut Reading<'_>, plan: &Plan) -> Result<i64, StoreError> {
    let mut sum = 0;
    let mut walk = BlockWalk::new(reading, plan, None).await?;
    while let Some(found) = walk.next(reading, PORTION).await? {
        sum += i64::try_from(found.len()).unwrap_or(i64::MAX);
    }
    Ok(sum)
}
