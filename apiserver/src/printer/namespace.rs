//! Namespaces.

use serde::Deserialize;

use super::object::{Text, nullable};
use super::{Cells, Column, Condition, Printer, Row};

pub(super) const PRINTER: Printer = Printer {
    columns: &[
        Column::NAME,
        Column::text("Status", "Whether the namespace is in use or going away."),
        Column::AGE,
    ],
    print,
};

#[derive(Deserialize)]
struct Namespace<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let namespace: Namespace<'_> = serde_json::from_slice(row.object)?;
    cells.text(row.name);
    cells.text(namespace.status.phase.as_str());
    cells.age(row);
    Ok(Condition::None)
}
