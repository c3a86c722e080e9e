//! Pods: the one kind whose status is worked out from its containers, by the rules that kubectl's users know.

mod status;

use serde::Deserialize;

use super::super::cell::{Cell, Cells};
use super::super::object::{self, StatusCondition, Text, nullable};
use super::super::{Column, Condition, NONE, Row};
use crate::age;
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

#[derive(Deserialize)]
struct Pod<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    metadata: Metadata<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    spec: Spec<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    deletion_timestamp: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    containers: Vec<Container<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    init_containers: Vec<Container<'a>>,
    #[serde(borrow)]
    node_name: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    readiness_gates: Vec<ReadinessGate<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Container<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    restart_policy: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReadinessGate<'a> {
    #[serde(borrow)]
    condition_type: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(rename = "podIP", borrow)]
    pod_ip: Text<'a>,
    #[serde(rename = "podIPs", borrow, deserialize_with = "nullable")]
    pod_ips: Vec<PodIp<'a>>,
    #[serde(borrow)]
    nominated_node_name: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    conditions: Vec<StatusCondition<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    init_container_statuses: Vec<ContainerStatus<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    container_statuses: Vec<ContainerStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodIp<'a> {
    #[serde(borrow)]
    ip: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    ready: bool,
    started: Option<bool>,
    restart_count: i64,
    #[serde(borrow, deserialize_with = "nullable")]
    state: State<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    last_state: State<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    waiting: Option<Waiting<'a>>,
    running: Option<serde::de::IgnoredAny>,
    #[serde(borrow)]
    terminated: Option<Terminated<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Waiting<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Terminated<'a> {
    exit_code: i64,
    signal: i64,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    finished_at: Text<'a>,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let pod: Pod<'_> = serde_json::from_slice(row.object)?;
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
        let conditions = &self.status.conditions;
        let open =
            |gate: &&ReadinessGate<'_>| object::is_true(conditions, gate.condition_type.as_str());
        format!("{}/{}", gates.iter().filter(open).count(), gates.len())
    }
}

impl Status<'_> {
    fn first_ip(&self) -> &str {
        let first = self.pod_ips.first();
        first.map_or(&self.pod_ip, |one| &one.ip).as_str()
    }
}
