//! ReplicaSets.

use serde::Deserialize;

use super::object::nullable;
use super::workload::{LabelSelector, Template};
use super::{Cells, Column, Condition, Printer, Row};

pub(super) const PRINTER: Printer = Printer {
    columns: &[
        Column::NAME,
        Column::number("Desired", "Pods wanted."),
        Column::number("Current", "Pods there."),
        Column::number("Ready", "Pods ready."),
        Column::AGE,
        Column::CONTAINERS,
        Column::IMAGES,
        Column::SELECTOR,
    ],
    print,
};

#[derive(Deserialize)]
struct ReplicaSet<'a> {
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
    selector: LabelSelector<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    template: Template<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    replicas: i64,
    ready_replicas: i64,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let ReplicaSet { spec, status } = serde_json::from_slice(row.object)?;
    cells.text(row.name);
    // A kube-apiserver fills in one replica where none are given.
    cells.number(spec.replicas.unwrap_or(1));
    cells.number(status.replicas);
    cells.number(status.ready_replicas);
    cells.age(row);
    spec.template.print(cells);
    cells.text(&spec.selector.text_or_none());
    Ok(Condition::None)
}
