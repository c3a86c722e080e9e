//! Columns and cells: how each kind looks in a Table, with the same text that the member's own kube-apiserver would print.
//!
//! A printer is a table of columns, and each column has a cell that says where its text comes from: a path through the object, an
//! age, a count, or a function for the kinds whose cells have to be worked out. All paths of a printer are found in one walk along
//! the object's bytes, borrowed; nothing else of it is parsed. Columns are owned values, so that those of a custom resource are
//! printed by the same engine as those of the built-in kinds. A printer knows neither clock nor store. Every Table begins with the
//! cluster, which [`crate::answer::table`] writes.

mod builtin;
mod cell;
mod column;
mod custom;
mod json_path;
mod object;
mod projection;
mod workload;

use std::sync::Arc;

use jiff::Timestamp;

pub(crate) use cell::Cells;
pub(crate) use column::Column;
use projection::{OtherShape, Projection};

/// How one kind is printed.
pub(crate) struct Printer {
    /// The columns after the cluster.
    pub(crate) columns: Vec<Column>,
    projection: Projection,
}

/// What a printer prints from.
pub(crate) struct Row<'a> {
    /// `metadata.name`.
    pub(crate) name: &'a str,
    /// `metadata.creationTimestamp`.
    pub(crate) created: Option<Timestamp>,
    /// The object as it is served.
    pub(crate) object: &'a [u8],
    /// The time that ages are told from.
    pub(crate) now: Timestamp,
}

/// What a row says about its object beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    None,
    /// A pod that has run to its end.
    Succeeded,
    /// A pod that has failed.
    Failed,
}

/// Shown for a text that is not there.
const NONE: &str = "<none>";
/// Shown for an optional field that was not set.
const UNSET: &str = "<unset>";

impl Printer {
    /// The printer for a type; those without one of their own show name and age.
    pub(crate) fn of(group: &str, resource: &str) -> Arc<Self> {
        builtin::printer(group, resource).unwrap_or_else(Self::plain)
    }

    /// The printer for objects of which only the metadata is wanted.
    pub(crate) fn plain() -> Arc<Self> {
        custom::plain()
    }

    /// A printer with these columns. An object in which something else stands where they expect a text or a number is not printed.
    fn new(columns: Vec<Column>) -> Self {
        Self::with(columns, OtherShape::Fails)
    }

    fn with(columns: Vec<Column>, other: OtherShape) -> Self {
        let paths = columns.iter().flat_map(|column| column.cell.reads());
        let projection = Projection::of(paths, other);
        Self {
            columns,
            projection,
        }
    }

    /// Writes one cell for each column, or none at all if the object is not what the columns expect.
    pub(crate) fn print(
        &self,
        row: &Row<'_>,
        cells: &mut Cells<'_>,
    ) -> Result<Condition, serde_json::Error> {
        let before = cells.mark();
        let printed = self.print_all(row, cells);
        if printed.is_err() {
            cells.cut_back(before);
        }
        printed
    }

    fn print_all(
        &self,
        row: &Row<'_>,
        cells: &mut Cells<'_>,
    ) -> Result<Condition, serde_json::Error> {
        let found = self.projection.find(row.object)?;
        let mut found = found.as_slice();
        let mut condition = Condition::None;
        for column in &self.columns {
            let (own, rest) = found.split_at(column.cell.slots());
            found = rest;
            if let Some(told) = column.cell.write(own, row, cells)? {
                condition = told;
            }
        }
        Ok(condition)
    }
}

#[cfg(test)]
mod tests;
