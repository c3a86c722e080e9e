//! ConfigMaps.

use serde::Deserialize;

use super::object::Count;
use super::{Cells, Column, Condition, Printer, Row};

pub(super) const PRINTER: Printer = Printer {
    columns: &[
        Column::NAME,
        Column::text("Data", "The number of entries, text and binary."),
        Column::AGE,
    ],
    print,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMap {
    #[serde(default)]
    data: Count,
    #[serde(default)]
    binary_data: Count,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let map: ConfigMap = serde_json::from_slice(row.object)?;
    cells.text(row.name);
    cells.number(map.data.0 + map.binary_data.0);
    cells.age(row);
    Ok(Condition::None)
}
