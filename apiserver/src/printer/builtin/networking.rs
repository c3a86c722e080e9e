//! How traffic finds its way: ingresses, endpoints, policies, addresses.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Error;

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::{Text, nullable, resource_and_group};
use super::super::projection::Path;
use super::super::row::{NONE, Row, UNSET};
use super::super::slot::Slot;
use super::volumes::class_name;

/// So many entries of a long list are shown.
const SHOWN: usize = 3;

pub(super) fn ingresses() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Class",
            "The class that it belongs to.",
            Cell::optional("spec.ingressClassName", NONE),
        ),
        Column::text(
            "Hosts",
            "The hosts that it serves.",
            Cell::made(&["spec.rules"], hosts),
        ),
        Column::text(
            "Address",
            "Where its load balancer answers.",
            Cell::made(&["status.loadBalancer.ingress"], addresses),
        ),
        Column::text(
            "Ports",
            "The ports that are open.",
            Cell::made(&["spec.tls"], |found, _| {
                let tls: Vec<IgnoredAny> = found[0].read()?;
                Ok(if tls.is_empty() { "80" } else { "80, 443" }.to_owned())
            }),
        ),
        Column::age(),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Host<'a> {
    #[serde(borrow)]
    host: Text<'a>,
}

fn hosts(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let rules: Vec<Host<'_>> = found[0].read()?;
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in &rules {
        more |= shown.len() == SHOWN;
        if !more && !rule.host.is_empty() {
            shown.push(rule.host.as_str());
        }
    }
    if shown.is_empty() {
        return Ok("*".to_owned());
    }
    Ok(with_more(&shown, more, rules.len()))
}

fn with_more(shown: &[&str], more: bool, count: usize) -> String {
    let text = shown.join(",");
    if more {
        format!("{text} + {} more...", count - SHOWN)
    } else {
        text
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Point<'a> {
    #[serde(borrow)]
    ip: Text<'a>,
    #[serde(borrow)]
    hostname: Text<'a>,
}

fn addresses(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let points: Vec<Point<'_>> = found[0].read()?;
    let named = points.iter().map(|one| {
        if one.ip.is_empty() {
            &one.hostname
        } else {
            &one.ip
        }
    });
    let sorted: BTreeSet<&str> = named
        .map(Text::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    Ok(sorted.into_iter().collect::<Vec<_>>().join(","))
}

pub(super) fn ingress_classes() -> Vec<Column> {
    let parameters =
        ["", ".kind", ".apiGroup", ".name"].map(|part| format!("spec.parameters{part}"));
    vec![
        class_name(&["ingressclass.kubernetes.io/is-default-class"]),
        Column::text(
            "Controller",
            "What serves its ingresses.",
            Cell::plain("spec.controller"),
        ),
        Column::text(
            "Parameters",
            "The object with its settings.",
            Cell::made(&parameters.each_ref().map(String::as_str), |found, _| {
                if !found[0].is_there() {
                    return Ok(NONE.to_owned());
                }
                let (kind, group, name) = (found[1].word()?, found[2].word()?, found[3].word()?);
                let dot = if found[2].is_there() { "." } else { "" };
                Ok(format!(
                    "{}{dot}{}/{}",
                    kind.as_str(),
                    group.as_str(),
                    name.as_str()
                ))
            }),
        ),
        Column::age(),
    ]
}

pub(super) fn network_policies() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Pod-Selector",
            "The labels of the pods that it holds for.",
            Cell::Selector(Path::of("spec.podSelector"), NONE),
        ),
        Column::age(),
    ]
}

pub(super) fn service_cidrs() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "CIDRs",
            "The ranges that services get their addresses from.",
            Cell::Joined(Path::of("spec.cidrs[*]"), ""),
        ),
        Column::age(),
    ]
}

pub(super) fn endpoints() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Endpoints",
            "Where it leads to.",
            Cell::made(&["subsets"], subsets),
        ),
        Column::age(),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Subset<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    addresses: Vec<Point<'a>>,
    #[serde(deserialize_with = "nullable")]
    ports: Vec<Port>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Port {
    port: i64,
}

/// `10.0.0.1:80,10.0.0.2:80`; a service without ports has addresses alone, one without addresses has none.
fn subsets(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let subsets: Vec<Subset<'_>> = found[0].read()?;
    let count: usize = subsets.iter().map(Subset::count).sum();
    if count == 0 {
        let nothing = if subsets.is_empty() { NONE } else { "" };
        return Ok(nothing.to_owned());
    }
    // Each address with each port: what is shown is made, and no more.
    let shown = subsets.iter().flat_map(Subset::targets);
    let shown: Vec<String> = shown.take(SHOWN).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    Ok(with_more(&shown, count > SHOWN, count))
}

impl Subset<'_> {
    fn count(&self) -> usize {
        self.addresses.len().saturating_mul(self.ports.len().max(1))
    }

    /// Each port with each address.
    fn targets(&self) -> impl Iterator<Item = String> {
        let ports = self.ports.iter().map(|port| Some(port.port));
        let none = self.ports.is_empty().then_some(None);
        ports.chain(none).flat_map(|port| {
            self.addresses.iter().map(move |address| match port {
                Some(port) => address_and_port(address.ip.as_str(), port),
                None => address.ip.as_str().to_owned(),
            })
        })
    }
}

fn address_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') {
        format!("[{ip}]:{port}")
    } else {
        format!("{ip}:{port}")
    }
}

pub(super) fn endpoint_slices() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "AddressType",
            "What its addresses are.",
            Cell::plain("addressType"),
        ),
        Column::text("Ports", "Its ports.", Cell::made(&["ports"], slice_ports)),
        Column::text(
            "Endpoints",
            "Its addresses.",
            Cell::made(&["endpoints"], slice_addresses),
        ),
        Column::age(),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SlicePort<'a> {
    port: Option<i64>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

fn slice_ports(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let ports: Vec<SlicePort<'_>> = found[0].read()?;
    let text = |one: &SlicePort<'_>| match (one.port, &one.name) {
        (Some(port), _) => port.to_string(),
        (None, Some(name)) => name.as_str().to_owned(),
        (None, None) => "*".to_owned(),
    };
    Ok(some_of(&ports.iter().map(text).collect::<Vec<_>>()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Endpoint<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    addresses: Vec<Text<'a>>,
}

fn slice_addresses(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let endpoints: Vec<Endpoint<'_>> = found[0].read()?;
    let all = endpoints.iter().flat_map(|one| &one.addresses);
    Ok(some_of(
        &all.map(|one| one.as_str().to_owned()).collect::<Vec<_>>(),
    ))
}

pub(super) fn ip_addresses() -> Vec<Column> {
    let parent = ["", ".resource", ".group", ".namespace", ".name"];
    let parent = parent.map(|part| format!("spec.parentRef{part}"));
    vec![
        Column::name(),
        Column::text(
            "ParentRef",
            "The object that it was given to.",
            Cell::made(&parent.each_ref().map(String::as_str), address_holder),
        ),
    ]
}

fn address_holder(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    if !found[0].is_there() {
        return Ok(NONE.to_owned());
    }
    let of_type = resource_and_group(&found[1].word()?, &found[2].word()?).to_lowercase();
    let (namespace, name) = (found[3].word()?, found[4].word()?);
    let slash = if namespace.is_empty() { "" } else { "/" };
    Ok(format!(
        "{of_type}{slash}{}/{}",
        namespace.as_str(),
        name.as_str()
    ))
}

/// The first of many texts; `<unset>` for none.
pub(super) fn some_of(all: &[String]) -> String {
    let shown: Vec<&str> = all.iter().map(String::as_str).take(SHOWN).collect();
    let text = with_more(&shown, all.len() > SHOWN, all.len());
    if text.is_empty() {
        UNSET.to_owned()
    } else {
        text
    }
}
