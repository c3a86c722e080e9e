//! Columns and cells: how each kind looks in a Table, with the same text that the member's own kube-apiserver would print.
//!
//! A printer is a table of columns, and each column has a cell that says where its text comes from: a path through the object, an
//! age, a count, or a function for the kinds whose cells have to be worked out. All paths of a printer are found in one walk along
//! the object's bytes, borrowed; nothing else of it is parsed. Columns are owned values, so that those of a custom resource are
//! printed by the same engine as those of the built-in kinds. A printer knows neither clock nor store. Every Table begins with the
//! cluster, which [`crate::answer::table`] writes.

mod age;
mod builtin;
mod cell;
mod cells;
mod column;
mod custom;
mod cut;
mod engine;
mod json_path;
mod object;
mod projection;
mod row;
mod shown;
mod slot;
mod values;
mod workload;

use std::sync::Arc;

pub(crate) use cells::Cells;
pub(crate) use column::Column;
pub(crate) use engine::Printer;
pub(crate) use row::{Condition, Row};

impl Printer {
    /// The printer for a type; those without one of their own show name and age.
    pub(crate) fn of(group: &str, resource: &str) -> Arc<Self> {
        builtin::printer(group, resource).unwrap_or_else(Self::plain)
    }

    /// The printer for objects of which only the metadata is wanted.
    pub(crate) fn plain() -> Arc<Self> {
        custom::plain()
    }
}

#[cfg(test)]
mod tests;
