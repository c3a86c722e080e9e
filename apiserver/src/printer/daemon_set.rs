//! DaemonSets.

use serde::Deserialize;

use super::object::{nullable, pairs};
use super::workload::{LabelSelector, Template};
use super::{Cells, Column, Condition, Printer, Row};

pub(super) const PRINTER: Printer = Printer {
    columns: &[
        Column::NAME,
        Column::number("Desired", "Nodes that should run a pod of it."),
        Column::number("Current", "Nodes that run one."),
        Column::number("Ready", "Nodes on which it is ready."),
        Column::number("Up-to-date", "Nodes on which it runs the current template."),
        Column::number(
            "Available",
            "Nodes on which it has been ready for long enough.",
        ),
        Column::text("Node Selector", "The labels of the nodes it runs on."),
        Column::AGE,
        Column::CONTAINERS,
        Column::IMAGES,
        Column::SELECTOR,
    ],
    print,
};

#[derive(Deserialize)]
struct DaemonSet<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    spec: Spec<'a>,
    #[serde(default, deserialize_with = "nullable")]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    selector: LabelSelector<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    template: Template<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    desired_number_scheduled: i64,
    current_number_scheduled: i64,
    number_ready: i64,
    updated_number_scheduled: i64,
    number_available: i64,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let DaemonSet { spec, status } = serde_json::from_slice(row.object)?;
    cells.text(row.name);
    cells.number(status.desired_number_scheduled);
    cells.number(status.current_number_scheduled);
    cells.number(status.number_ready);
    cells.number(status.updated_number_scheduled);
    cells.number(status.number_available);
    cells.text(&pairs(&spec.template.spec.node_selector));
    cells.age(row);
    spec.template.print(cells);
    cells.text(&spec.selector.text_or_none());
    Ok(Condition::None)
}
