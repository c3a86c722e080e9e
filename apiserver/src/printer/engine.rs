//! A table of columns, and how a row is printed with it.

use super::cells::Cells;
use super::column::Column;
use super::projection::{OtherShape, Projection};
use super::row::{Condition, Row};

/// The cells of a row may be so much longer together than their object: texts that stand for what is absent, numbers that were counted.
/// A kube-apiserver has no such bound; columns that show a long text again and again would make a thousand times of what is stored.
const AROUND_CELLS: usize = 4 << 10;

/// How one kind is printed.
pub(crate) struct Printer {
    /// The columns after the cluster.
    pub(crate) columns: Vec<Column>,
    projection: Projection,
}

impl Printer {
    /// A printer with these columns. An object in which something else stands where they expect a text or a number is not printed.
    pub(super) fn new(columns: Vec<Column>) -> Self {
        Self::with(columns, OtherShape::Fails)
    }

    pub(super) fn with(columns: Vec<Column>, other: OtherShape) -> Self {
        let paths = columns.iter().flat_map(|column| column.cell.reads());
        let projection = Projection::of(paths, other);
        Self {
            columns,
            projection,
        }
    }

    /// Writes one cell for each column, or none at all if the object is not what the columns expect. What makes them much longer than
    /// their object is cut.
    pub(crate) fn print(
        &self,
        row: &Row<'_>,
        cells: &mut Cells<'_>,
    ) -> Result<Condition, serde_json::Error> {
        let before = cells.mark();
        cells.limit(row.object.len() + AROUND_CELLS);
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
