//! Services.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::cell::Cell;
use super::super::cells::Cells;
use super::super::column::Column;
use super::super::object::{Text, Texts, nullable, pairs};
use super::super::row::{Condition, NONE, Row};

pub(super) fn services() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Type", "How the service is exposed.", Cell::Function(print)),
        Column::text("Cluster-IP", "Its address inside the cluster.", Cell::Joint),
        Column::text(
            "External-IP",
            "Its addresses outside of the cluster.",
            Cell::Joint,
        ),
        Column::text(
            "Port(s)",
            "Its ports, with the port of the nodes where there is one.",
            Cell::Joint,
        ),
        Column::text("Age", "The time since the object was created.", Cell::Joint),
        Column::selector(Cell::Joint),
    ]
}

#[derive(Deserialize)]
struct Service<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    spec: Spec<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(rename = "clusterIP", borrow)]
    cluster_ip: Text<'a>,
    #[serde(rename = "clusterIPs", borrow, deserialize_with = "nullable")]
    cluster_ips: Vec<Text<'a>>,
    #[serde(rename = "externalIPs", borrow, deserialize_with = "nullable")]
    external_ips: Vec<Text<'a>>,
    #[serde(borrow)]
    external_name: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    ports: Vec<Port<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    selector: Texts<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port<'a> {
    port: i64,
    node_port: i64,
    #[serde(borrow)]
    protocol: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    load_balancer: LoadBalancer<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LoadBalancer<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    ingress: Vec<Ingress<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Ingress<'a> {
    #[serde(borrow)]
    ip: Text<'a>,
    #[serde(borrow)]
    hostname: Text<'a>,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let Service { spec, status } = row.read()?;
    cells.text(spec.kind.as_str());
    cells.text_or_none(spec.first_cluster_ip());
    cells.text(&spec.external(&status.load_balancer));
    cells.text_or_none(&spec.ports());
    cells.age(row);
    cells.text(&pairs(&spec.selector));
    Ok(Condition::None)
}

impl Spec<'_> {
    fn first_cluster_ip(&self) -> &str {
        self.cluster_ips
            .first()
            .unwrap_or(&self.cluster_ip)
            .as_str()
    }

    fn external(&self, balancer: &LoadBalancer<'_>) -> String {
        let mut addresses: Vec<&str> = self.external_ips.iter().map(Text::as_str).collect();
        match self.kind.as_str() {
            "ClusterIP" | "NodePort" if addresses.is_empty() => NONE.to_owned(),
            "ClusterIP" | "NodePort" => addresses.join(","),
            "LoadBalancer" => {
                let mut all: Vec<&str> = balancer.addresses().into_iter().collect();
                all.append(&mut addresses);
                if all.is_empty() {
                    "<pending>".to_owned()
                } else {
                    all.join(",")
                }
            }
            "ExternalName" => self.external_name.as_str().to_owned(),
            _ => "<unknown>".to_owned(),
        }
    }

    fn ports(&self) -> String {
        let ports: Vec<String> = self.ports.iter().map(Port::text).collect();
        ports.join(",")
    }
}

impl LoadBalancer<'_> {
    fn addresses(&self) -> BTreeSet<&str> {
        self.ingress
            .iter()
            .map(|one| {
                if one.ip.is_empty() {
                    &one.hostname
                } else {
                    &one.ip
                }
            })
            .map(Text::as_str)
            .filter(|address| !address.is_empty())
            .collect()
    }
}

impl Port<'_> {
    fn text(&self) -> String {
        let Self {
            port,
            node_port,
            protocol,
        } = self;
        let protocol = protocol.as_str();
        if *node_port > 0 {
            format!("{port}:{node_port}/{protocol}")
        } else {
            format!("{port}/{protocol}")
        }
    }
}
