//! StatefulSets.

use serde::Deserialize;

use super::object::nullable;
use super::workload::Template;
use super::{Cells, Column, Condition, Printer, Row};

pub(super) const PRINTER: Printer = Printer {
    columns: &[
        Column::NAME,
        Column::text("Ready", "Ready pods of those wanted."),
        Column::AGE,
        Column::CONTAINERS,
        Column::IMAGES,
    ],
    print,
};

#[derive(Deserialize)]
struct StatefulSet<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    spec: Spec<'a>,
    #[serde(default, deserialize_with = "nullable")]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec<'a> {
    replicas: Option<i64>,
    #[serde(borrow, deserialize_with = "nullable")]
    template: Template<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    ready_replicas: i64,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let StatefulSet { spec, status } = serde_json::from_slice(row.object)?;
    // A kube-apiserver fills in one replica where none are given.
    let wanted = spec.replicas.unwrap_or(1);
    cells.text(row.name);
    cells.text(&format!("{}/{wanted}", status.ready_replicas));
    cells.age(row);
    spec.template.print(cells);
    Ok(Condition::None)
}
