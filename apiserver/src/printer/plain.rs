//! Name and age: kinds that have no printer of their own.

use super::{Cells, Column, Condition, Printer, Row};

pub(super) const PRINTER: Printer = Printer {
    columns: &[Column::NAME, Column::AGE],
    print,
};

#[allow(clippy::unnecessary_wraps, reason = "the signature of all printers")]
fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    cells.text(row.name);
    cells.age(row);
    Ok(Condition::None)
}
