//! From a query to a plan: which namespace ids to read, along which index, in which order. Pure; a plan prints itself.

mod clause;
mod order;
mod space;

use std::fmt;

use armadex_model::query::OrderBy;
use armadex_model::{NameFilter, Query};
use armadex_storage::StoreError;

use crate::catalog::Snapshot;
use crate::form::term::TermHasher;
use crate::sql::dialect::ObjIndex;
use crate::sql::namespace::NamespaceRow;

pub(crate) use clause::Clause;
pub(crate) use order::{Rank, index_of, ranked_before};
pub(crate) use space::{EVERYTHING, Segment, named_namespaces};

/// How a query is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) resource: i32,
    /// Where to look, in page order.
    pub(crate) segments: Vec<Segment>,
    /// Which names pass.
    pub(crate) names: NameFilter,
    /// Each of these must hold: the object has one of the terms.
    pub(crate) has: Vec<Clause>,
    /// Each of these must hold: the object has none of the terms.
    pub(crate) has_not: Vec<Clause>,
    /// The order as it was asked for; positions carry its values.
    pub(crate) order: Vec<OrderBy>,
    pub(crate) strategy: Strategy,
}

/// What is read, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The query admits nothing.
    Nothing,
    /// Objects in page order.
    Walk,
    /// Posting blocks in page order, then the objects they name.
    Blocks,
    /// Objects in another order: along an index that has it, or sorted by the database.
    Sort(Option<ObjIndex>),
    /// Posting blocks, and of the objects they name the first in another order.
    TopOfBlocks,
}

/// Plans a query; `named` are the namespaces of [`named_namespaces`] that are stored.
pub(crate) fn plan(
    query: &Query,
    resource: i32,
    snapshot: &Snapshot,
    hasher: &TermHasher,
    named: &[NamespaceRow],
) -> Result<Plan, StoreError> {
    let (has, has_not) = clause::clauses(query, hasher)?;
    check_size("names", names_in(&query.names))?;
    for clause in has.iter().chain(&has_not) {
        check_size("values", clause.terms.len())?;
    }
    let mut plan = Plan {
        resource,
        segments: space::space(query, resource, snapshot, named),
        names: query.names.clone(),
        has,
        has_not,
        order: query.order.clone(),
        strategy: Strategy::Nothing,
    };
    plan.strategy = strategy(&plan, order::is_page_order(query, resource, snapshot));
    Ok(plan)
}

/// The most names or values in one requirement: what all databases take as parameters of one statement, rounded down.
const MOST_VALUES: usize = 16_000;

fn check_size(what: &str, count: usize) -> Result<(), StoreError> {
    if count <= MOST_VALUES {
        return Ok(());
    }
    Err(StoreError::Unsupported {
        what: format!("{count} {what} at once, which is more than {MOST_VALUES}"),
    })
}

fn names_in(names: &NameFilter) -> usize {
    match names {
        NameFilter::Any => 0,
        NameFilter::In(names) | NameFilter::NotIn(names) => names.len(),
    }
}

fn strategy(plan: &Plan, page_order: bool) -> Strategy {
    let no_name = matches!(&plan.names, NameFilter::In(names) if names.is_empty());
    let no_term = plan.has.iter().any(|clause| clause.terms.is_empty());
    let plain = plan.has.is_empty() && plan.has_not.is_empty();
    match (plain, page_order) {
        _ if plan.segments.is_empty() || no_name || no_term => Strategy::Nothing,
        (true, true) => Strategy::Walk,
        (false, true) => Strategy::Blocks,
        (true, false) => Strategy::Sort(order::index_of(&plan.order)),
        (false, false) => Strategy::TopOfBlocks,
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.strategy {
            Strategy::Nothing => return f.write_str("nothing: the query admits no object"),
            Strategy::Walk => f.write_str("walk objects in page order")?,
            Strategy::Blocks => f.write_str("read posting blocks in page order")?,
            Strategy::Sort(Some(index)) => write!(f, "walk objects along {index:?}, or sort few")?,
            Strategy::Sort(None) => f.write_str("sort objects in the database")?,
            Strategy::TopOfBlocks => f.write_str("read posting blocks, keep the first")?,
        }
        write!(f, "\n  type {}", self.resource)?;
        for segment in &self.segments {
            write!(f, "\n  in {segment}")?;
        }
        match &self.names {
            NameFilter::Any => {}
            NameFilter::In(names) => write!(f, "\n  {} names, along Name", names.len())?,
            NameFilter::NotIn(names) => write!(f, "\n  without {} names", names.len())?,
        }
        for clause in &self.has {
            write!(f, "\n  has {clause}")?;
        }
        for clause in &self.has_not {
            write!(f, "\n  has not {clause}")?;
        }
        for key in &self.order {
            let direction = if key.descending {
                "descending"
            } else {
                "ascending"
            };
            write!(f, "\n  by {:?}, {direction}", key.field)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
