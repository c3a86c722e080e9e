//! What keeps pods running, but for jobs.

use serde::Deserialize;
use serde_json::Error;

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::{StatusCondition, Text};
use super::super::projection::Path;
use super::super::row::{NONE, Row};
use super::super::slot::Slot;

/// Where the containers of a pod template are.
const CONTAINERS: &str = "spec.template.spec.containers";

/// Ready pods of those wanted. A kube-apiserver fills in one replica where none are given.
fn ready() -> Column {
    let parts = [
        (Path::of("status.readyReplicas"), 0),
        (Path::of("spec.replicas"), 1),
    ];
    Column::text("Ready", "Ready pods of those wanted.", Cell::Ratio(parts))
}

fn selector(empty: &'static str) -> Column {
    Column::selector(Cell::Selector(Path::of("spec.selector"), empty))
}

/// Pods that are scheduled together or not at all.
pub(super) fn pod_groups() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Policy",
            "Whether they are scheduled together.",
            Cell::made(&["spec.schedulingPolicy.gang"], |found, _| {
                let is_gang = found[0].is_there();
                Ok(if is_gang { "Gang" } else { "Basic" }.to_owned())
            }),
        ),
        Column::text(
            "Workload",
            "What they belong to.",
            Cell::optional("spec.podGroupTemplateRef.workload.workloadName", NONE),
        ),
        Column::text(
            "Status",
            "Whether they have their places.",
            Cell::made(&["status.conditions"], pod_group_status),
        ),
        Column::age(),
    ]
}

fn pod_group_status(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let conditions: Vec<StatusCondition<'_>> = found[0].read()?;
    let last = |kind: &str| conditions.iter().rfind(|one| one.kind == *kind);
    if let Some(disrupted) = last("DisruptionTarget") {
        return Ok(disrupted.reason.as_str().to_owned());
    }
    let scheduled = last("PodGroupScheduled").map(|one| one.status == *"True");
    Ok(match scheduled {
        Some(true) => "Scheduled",
        Some(false) => "Unschedulable",
        None => "Pending",
    }
    .to_owned())
}

pub(super) fn deployments() -> Vec<Column> {
    let [containers, images] = Column::containers(CONTAINERS);
    vec![
        Column::name(),
        ready(),
        Column::text(
            "Up-to-date",
            "Pods that run the current template.",
            Cell::number("status.updatedReplicas"),
        ),
        Column::text(
            "Available",
            "Pods that have been ready for long enough.",
            Cell::number("status.availableReplicas"),
        ),
        Column::age(),
        containers,
        images,
        selector(""),
    ]
}

pub(super) fn replica_sets() -> Vec<Column> {
    let [containers, images] = Column::containers(CONTAINERS);
    vec![
        Column::name(),
        Column::number(
            "Desired",
            "Pods wanted.",
            Cell::Number(Path::of("spec.replicas"), 1),
        ),
        Column::number("Current", "Pods there.", Cell::number("status.replicas")),
        Column::number("Ready", "Pods ready.", Cell::number("status.readyReplicas")),
        Column::age(),
        containers,
        images,
        selector(NONE),
    ]
}

pub(super) fn stateful_sets() -> Vec<Column> {
    let [containers, images] = Column::containers(CONTAINERS);
    vec![Column::name(), ready(), Column::age(), containers, images]
}

pub(super) fn daemon_sets() -> Vec<Column> {
    let [containers, images] = Column::containers(CONTAINERS);
    let nodes = |name, description, field: &str| {
        Column::number(name, description, Cell::number(&format!("status.{field}")))
    };
    vec![
        Column::name(),
        nodes(
            "Desired",
            "Nodes that should run a pod of it.",
            "desiredNumberScheduled",
        ),
        nodes("Current", "Nodes that run one.", "currentNumberScheduled"),
        nodes("Ready", "Nodes on which it is ready.", "numberReady"),
        nodes(
            "Up-to-date",
            "Nodes on which it runs the current template.",
            "updatedNumberScheduled",
        ),
        nodes(
            "Available",
            "Nodes on which it has been ready for long enough.",
            "numberAvailable",
        ),
        Column::text(
            "Node Selector",
            "The labels of the nodes it runs on.",
            Cell::Pairs(Path::of("spec.template.spec.nodeSelector")),
        ),
        Column::age(),
        containers,
        images,
        selector(NONE),
    ]
}

pub(super) fn replication_controllers() -> Vec<Column> {
    let mut columns = replica_sets();
    columns.pop();
    let labels = Cell::Pairs(Path::of("spec.selector"));
    columns.push(Column::selector(labels));
    columns
}

pub(super) fn controller_revisions() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Controller",
            "The object that it is a revision of.",
            Cell::made(&["metadata.ownerReferences"], controller),
        ),
        Column::text("Revision", "Its number.", Cell::number("revision")),
        Column::age(),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Owner<'a> {
    #[serde(borrow)]
    api_version: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    controller: Option<bool>,
}

/// `daemonset.apps/name`
fn controller(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, serde_json::Error> {
    let owners: Vec<Owner<'_>> = found[0].read()?;
    let Some(owner) = owners.iter().find(|one| one.controller == Some(true)) else {
        return Ok(NONE.to_owned());
    };
    let group = owner.api_version.as_str().split_once('/');
    let kind = match group {
        Some((group, _)) => format!("{}.{group}", owner.kind.as_str()),
        None => owner.kind.as_str().to_owned(),
    };
    Ok(format!("{}/{}", kind.to_lowercase(), owner.name.as_str()))
}
