//! Nodes.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::cell::Cell;
use super::super::cells::Cells;
use super::super::column::Column;
use super::super::object::{StatusCondition, Text, Texts, nullable};
use super::super::row::{Condition, NONE, Row};

pub(super) fn nodes() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Status",
            "Whether the node is ready and takes pods.",
            Cell::Function(print),
        ),
        Column::text("Roles", "The roles that its labels give it.", Cell::Joint),
        Column::text("Age", "The time since the object was created.", Cell::Joint),
        Column::text("Version", "The version of its kubelet.", Cell::Joint),
        Column::text(
            "Internal-IP",
            "Its address inside the cluster.",
            Cell::Joint,
        )
        .wide(),
        Column::text(
            "External-IP",
            "Its address outside of the cluster.",
            Cell::Joint,
        )
        .wide(),
        Column::text("OS-Image", "Its operating system.", Cell::Joint).wide(),
        Column::text("Kernel-Version", "Its kernel.", Cell::Joint).wide(),
        Column::text(
            "Container-Runtime",
            "What runs its containers.",
            Cell::Joint,
        )
        .wide(),
    ]
}

#[derive(Deserialize)]
struct Node<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    metadata: Metadata<'a>,
    #[serde(default, deserialize_with = "nullable")]
    spec: Spec,
    #[serde(default, borrow, deserialize_with = "nullable")]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    labels: Texts<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    conditions: Vec<StatusCondition<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    addresses: Vec<Address<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    node_info: NodeInfo<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Address<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    address: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeInfo<'a> {
    #[serde(borrow)]
    kubelet_version: Text<'a>,
    #[serde(borrow)]
    os_image: Text<'a>,
    #[serde(borrow)]
    kernel_version: Text<'a>,
    #[serde(borrow)]
    container_runtime_version: Text<'a>,
    #[serde(borrow)]
    architecture: Text<'a>,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let node: Node<'_> = row.read()?;
    let info = &node.status.node_info;
    cells.text(&node.readiness());
    cells.text_or_none(&node.roles());
    cells.age(row);
    cells.text(info.kubelet_version.as_str());
    cells.text(node.address("InternalIP"));
    cells.text(node.address("ExternalIP"));
    cells.text_or(info.os_image.as_str(), "<unknown>");
    cells.text(&info.kernel());
    cells.text_or(info.container_runtime_version.as_str(), "<unknown>");
    Ok(Condition::None)
}

impl Node<'_> {
    fn readiness(&self) -> String {
        // Where a condition occurs twice, the later one counts.
        let ready = self
            .status
            .conditions
            .iter()
            .rfind(|one| one.kind == *"Ready");
        let ready = match ready {
            Some(condition) if condition.status == *"True" => "Ready",
            Some(_) => "NotReady",
            None => "Unknown",
        };
        if self.spec.unschedulable {
            format!("{ready},SchedulingDisabled")
        } else {
            ready.to_owned()
        }
    }

    fn roles(&self) -> String {
        let labels = self.metadata.labels.iter();
        let roles: BTreeSet<&str> = labels
            .filter_map(|(key, value)| match key.as_str() {
                "kubernetes.io/role" => Some(value.as_str()),
                key => key.strip_prefix("node-role.kubernetes.io/"),
            })
            .filter(|role| !role.is_empty())
            .collect();
        roles.into_iter().collect::<Vec<_>>().join(",")
    }

    fn address(&self, kind: &str) -> &str {
        let found = self.status.addresses.iter().find(|one| one.kind == *kind);
        found.map_or(NONE, |one| one.address.as_str())
    }
}

impl NodeInfo<'_> {
    fn kernel(&self) -> String {
        let version = if self.kernel_version.is_empty() {
            "<unknown>"
        } else {
            self.kernel_version.as_str()
        };
        if self.architecture.is_empty() {
            version.to_owned()
        } else {
            format!("{version} ({})", self.architecture.as_str())
        }
    }
}
