//! What the server says about its own group, to the aggregator and to who asks for it directly.
//!
//! `fleets/proxy` and `clusters/proxy` are left out: they are paths for long-running requests, not types, and a client that found
//! `clusters` here would take it for the clusters of another group.

use serde_json::{Value, json};

use super::aggregated;
use crate::request::target::{GROUP, VERSION};

/// What a kube-apiserver and this server call the version of the group.
fn group_version() -> String {
    format!("{GROUP}/{VERSION}")
}

/// `/apis`.
pub(crate) fn own_groups() -> Value {
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [group_entry()],
    })
}

/// `/apis/clusterpedia.io`.
pub(crate) fn own_group() -> Value {
    let mut entry = group_entry();
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    entry
}

fn group_entry() -> Value {
    let version = json!({"groupVersion": group_version(), "version": VERSION});
    json!({
        "name": GROUP,
        "versions": [version],
        "preferredVersion": version,
    })
}

/// Name, kind and verbs of what the group has.
const TYPES: [(&str, &str, &[&str]); 2] = [
    (
        "collectionresources",
        "CollectionResource",
        &["get", "list"],
    ),
    ("resources", "Resources", &["get"]),
];

/// `/apis/clusterpedia.io/v1beta1`.
pub(crate) fn own_resources() -> Value {
    let resources = TYPES.map(|(name, kind, verbs)| {
        json!({
            "name": name,
            "singularName": "",
            "namespaced": false,
            "kind": kind,
            "verbs": verbs,
        })
    });
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(),
        "resources": resources,
    })
}

/// `/apis` in aggregated form.
pub(crate) fn own_group_aggregated() -> Value {
    let resources = TYPES.map(|(name, kind, verbs)| {
        json!({
            "resource": name,
            "responseKind": {"group": GROUP, "version": VERSION, "kind": kind},
            "scope": "Cluster",
            "singularResource": "",
            "verbs": verbs,
        })
    });
    aggregated::list(&[json!({
        "metadata": {"name": GROUP},
        "versions": [{"version": VERSION, "resources": resources, "freshness": "Current"}],
    })])
}

fn about() -> Value {
    json!({"title": "Armadex", "version": concat!("v", env!("CARGO_PKG_VERSION"))})
}

/// `/openapi/v2`: the group has no schemas of its own to describe.
pub(crate) fn open_api_v2() -> Value {
    json!({
        "swagger": "2.0",
        "info": about(),
        "paths": {},
        "definitions": {},
    })
}

/// `/openapi/v3`: the index. `hash` changes with what it points to.
pub(crate) fn open_api_v3(hash: &str) -> Value {
    let path = format!("apis/{GROUP}/{VERSION}");
    json!({
        "paths": {
            path.clone(): {"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")},
        },
    })
}

/// `/openapi/v3/apis/clusterpedia.io/v1beta1`.
pub(crate) fn open_api_v3_group() -> Value {
    json!({
        "openapi": "3.0.0",
        "info": about(),
        "paths": {},
    })
}
