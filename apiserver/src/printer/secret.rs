//! Secrets. Their values are emptied before they are stored; the number of entries is still right.

use serde::Deserialize;

use super::object::{Count, Text};
use super::{Cells, Column, Condition, Printer, Row};

pub(super) const PRINTER: Printer = Printer {
    columns: &[
        Column::NAME,
        Column::text("Type", "What the Secret is for."),
        Column::text("Data", "The number of entries."),
        Column::AGE,
    ],
    print,
};

#[derive(Deserialize)]
struct Secret<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Text<'a>,
    #[serde(default)]
    data: Count,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let secret: Secret<'_> = serde_json::from_slice(row.object)?;
    cells.text(row.name);
    cells.text(secret.kind.as_str());
    cells.number(secret.data.0);
    cells.age(row);
    Ok(Condition::None)
}
