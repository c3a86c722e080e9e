//! Objects that match by their own terms, as they are stored beside each version: what no index decides.

use std::collections::HashSet;
use std::sync::Arc;

use armadex_storage::StoreError;

use super::plan::{Clause, Plan};
use super::reading::Reading;
use crate::aside::aside;
use crate::form::term::TermSet;
use crate::sql::object;

/// Versions whose terms are held at a time. An object may have two thousand terms: 16 KiB.
const AT_ONCE: usize = 128;

/// Comparisons that take a quarter of a millisecond.
const MOST_HERE: u64 = 8192;

/// Keeps what matches by its own terms.
pub(crate) async fn tested<T>(
    reading: &mut Reading<'_>,
    plan: &Plan,
    rows: Vec<T>,
    rev: impl Fn(&T) -> i64,
) -> Result<Vec<T>, StoreError> {
    if rows.is_empty() || !plan.has_terms() {
        return Ok(rows);
    }
    let revs: Vec<i64> = rows.iter().map(&rev).collect();
    let mut matching = HashSet::with_capacity(revs.len());
    for part in revs.chunks(AT_ONCE) {
        let statement = object::terms(reading.dialect, part);
        let versions = reading.rows(statement, object::decode_terms).await?;
        let test = Test::of(plan);
        let cost = versions.iter().map(|(_, terms)| test.cost(terms)).sum();
        reading.compared(cost);
        matching.extend(aside(cost > MOST_HERE, move || Ok(test.matching(&versions))).await?);
    }
    Ok(rows
        .into_iter()
        .filter(|row| matching.contains(&rev(row)))
        .collect())
}

/// What the terms of an object have to be.
struct Test {
    /// Of each list each.
    has: [Arc<[Clause]>; 2],
    has_not: [Arc<[Clause]>; 2],
}

impl Test {
    fn of(plan: &Plan) -> Self {
        Self {
            has: [&plan.has, &plan.told].map(Arc::clone),
            has_not: [&plan.has_not, &plan.told_not].map(Arc::clone),
        }
    }

    /// How many terms are compared at most: for each clause those of the shorter side, and all to read them.
    fn cost(&self, terms: &TermSet) -> u64 {
        let clauses = self.has.iter().chain(&self.has_not);
        let clauses = clauses.flat_map(|clauses| clauses.iter());
        let shorter = clauses.map(|clause| clause.terms.len().min(terms.len()));
        (terms.len() / TERMS_READ + shorter.sum::<usize>()) as u64
    }

    /// The revisions of those that pass.
    fn matching(&self, versions: &[(i64, TermSet)]) -> Vec<i64> {
        let matching = versions.iter().filter(|(_, terms)| self.holds(terms));
        matching.map(|(rev, _)| *rev).collect()
    }

    fn holds(&self, terms: &TermSet) -> bool {
        let has = |clause: &Clause| terms.has_any(&clause.terms);
        let all = |clauses: &Arc<[Clause]>| clauses.iter().all(has);
        let any = |clauses: &Arc<[Clause]>| clauses.iter().any(has);
        self.has.iter().all(all) && !self.has_not.iter().any(any)
    }
}

/// Terms that are read in the time that one is looked for in.
const TERMS_READ: usize = 16;
