//! Pods: the one kind whose status is worked out from its containers, by the rules that kubectl's users know.

mod parts;
mod status;

use std::collections::HashMap;

use super::super::age;
use super::super::cell::Cell;
use super::super::cells::Cells;
use super::super::column::Column;
use super::super::row::{Condition, NONE, Row};
use parts::{Pod, ReadinessGate, Status};
use status::Summary;

pub(super) fn pods() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Ready",
            "Ready containers of those that should run.",
            Cell::Function(print),
        ),
        Column::text(
            "Status",
            "What its containers are doing, taken together.",
            Cell::Joint,
        ),
        Column::text(
            "Restarts",
            "How often containers were restarted, and when one last was.",
            Cell::Joint,
        ),
        Column::text("Age", "The time since the object was created.", Cell::Joint),
        Column::text("IP", "The pod's first address.", Cell::Joint).wide(),
        Column::text("Node", "The node it was given to.", Cell::Joint).wide(),
        Column::text(
            "Nominated Node",
            "The node on which room is being made for it.",
            Cell::Joint,
        )
        .wide(),
        Column::text(
            "Readiness Gates",
            "Gates that are open of those it has.",
            Cell::Joint,
        )
        .wide(),
    ]
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let pod: Pod<'_> = row.read()?;
    let Summary {
        ready,
        total,
        reason,
        restarts,
        last_restart,
    } = Summary::of(&pod);
    cells.text(&format!("{ready}/{total}"));
    cells.text(&reason);
    match last_restart {
        Some(time) if restarts != 0 => {
            let ago = age::since(Some(time), row.now);
            cells.text(&format!("{restarts} ({ago} ago)"));
        }
        _ => cells.text(&restarts.to_string()),
    }
    cells.age(row);
    cells.text_or_none(pod.status.first_ip());
    cells.text_or_none(pod.spec.node_name.as_str());
    cells.text_or_none(pod.status.nominated_node_name.as_str());
    cells.text(&pod.gates());
    Ok(match pod.status.phase.as_str() {
        "Succeeded" => Condition::Succeeded,
        "Failed" => Condition::Failed,
        _ => Condition::None,
    })
}

impl Pod<'_> {
    fn gates(&self) -> String {
        let gates = &self.spec.readiness_gates;
        if gates.is_empty() {
            return NONE.to_owned();
        }
        // Where a condition occurs twice, the former counts.
        let conditions = self.status.conditions.iter().rev();
        let is_true: HashMap<&str, bool> = conditions
            .map(|one| (one.kind.as_str(), one.status == *"True"))
            .collect();
        let open = |gate: &&ReadinessGate<'_>| {
            let known = is_true.get(gate.condition_type.as_str());
            known.copied().unwrap_or_default()
        };
        format!("{}/{}", gates.iter().filter(open).count(), gates.len())
    }
}

impl Status<'_> {
    fn first_ip(&self) -> &str {
        let first = self.pod_ips.first();
        first.map_or(&self.pod_ip, |one| &one.ip).as_str()
    }
}
