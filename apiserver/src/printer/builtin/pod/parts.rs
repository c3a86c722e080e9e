//! What is read of a pod.

use serde::Deserialize;

use super::super::super::object::{StatusCondition, Text, nullable};

#[derive(Deserialize)]
pub(super) struct Pod<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    pub(super) metadata: Metadata<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    pub(super) spec: Spec<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    pub(super) status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata<'a> {
    #[serde(borrow)]
    pub(super) deletion_timestamp: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Spec<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) containers: Vec<Container<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) init_containers: Vec<Container<'a>>,
    #[serde(borrow)]
    pub(super) node_name: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) readiness_gates: Vec<ReadinessGate<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Container<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) restart_policy: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ReadinessGate<'a> {
    #[serde(borrow)]
    pub(super) condition_type: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Status<'a> {
    #[serde(borrow)]
    pub(super) phase: Text<'a>,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(rename = "podIP", borrow)]
    pub(super) pod_ip: Text<'a>,
    #[serde(rename = "podIPs", borrow, deserialize_with = "nullable")]
    pub(super) pod_ips: Vec<PodIp<'a>>,
    #[serde(borrow)]
    pub(super) nominated_node_name: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) conditions: Vec<StatusCondition<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) init_container_statuses: Vec<ContainerStatus<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) container_statuses: Vec<ContainerStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PodIp<'a> {
    #[serde(borrow)]
    pub(super) ip: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerStatus<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    pub(super) ready: bool,
    pub(super) started: Option<bool>,
    pub(super) restart_count: i64,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) state: State<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) last_state: State<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct State<'a> {
    #[serde(borrow)]
    pub(super) waiting: Option<Waiting<'a>>,
    pub(super) running: Option<serde::de::IgnoredAny>,
    #[serde(borrow)]
    pub(super) terminated: Option<Terminated<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Waiting<'a> {
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Terminated<'a> {
    pub(super) exit_code: i64,
    pub(super) signal: i64,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) finished_at: Text<'a>,
}
