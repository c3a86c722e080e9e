//! Running plans. Everything of one page is read in one short transaction.

pub(crate) mod collect;
pub(crate) mod walk;

use std::collections::BTreeSet;

use armadex_model::query::Start;
use armadex_storage::{PageBudget, StoreError};

use crate::connection::{Connection, row, rows};
use crate::dialect::Dialect;
use crate::plan::{Plan, Segment};
use crate::sql::namespace::{self, NamespaceRow};
use crate::sql::select::{self, Candidate};
use crate::statement::{MAX_LIST, Statement};
use collect::Collector;
use walk::Walk;

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
) -> Result<(Vec<Candidate>, bool), StoreError> {
    let (after, skip) = match start {
        Start::Beginning => (None, 0),
        Start::After(position) => (Some(position), 0),
        Start::Offset(rows) => (None, *rows),
    };
    let place = after.map(|position| (position.namespace_id, position.name.as_str()));
    let mut walk = Walk::new(&plan.segments, &plan.names, place);
    let mut collector = Collector::new(skip, budget);
    while collector.missing() > 0 {
        let found = walk.next(reading, collector.missing()).await?;
        if found.is_empty() {
            break;
        }
        collector.extend(found);
    }
    Ok(collector.finish(budget))
}

/// How many rows there are.
pub(crate) async fn count(reading: &mut Reading<'_>, plan: &Plan) -> Result<u64, StoreError> {
    let mut sum = 0;
    for segment in &plan.segments {
        sum += match segment {
            Segment::Range(range) => {
                let statement = select::count_range(plan.resource, range);
                row(reading.connection, statement, |row| row.int(0))
                    .await?
                    .unwrap_or(0)
            }
            Segment::Ids(ids) => reading.counts(ids).await?.iter().map(|(_, n)| n).sum(),
        };
    }
    Ok(u64::try_from(sum).unwrap_or(0))
}
