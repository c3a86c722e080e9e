//! What the server says about its own group, to the aggregator and to who asks for it directly.
//!
//! `clusters` and `fleets` are no objects: they are there for the paths below them, so that `kubectl create clusterrole` finds what to
//! grant.

use serde_json::{Value, json};

use super::aggregated;
use crate::request::target::VERSION;

/// What a kube-apiserver and this server call the version of the group.
fn group_version(group: &str) -> String {
    format!("{group}/{VERSION}")
}

/// `/apis`.
pub(crate) fn own_groups(group: &str) -> Value {
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [group_entry(group)],
    })
}

/// `/apis/clusterpedia.io`.
pub(crate) fn own_group(group: &str) -> Value {
    let mut entry = group_entry(group);
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    entry
}

fn group_entry(group: &str) -> Value {
    let version = json!({"groupVersion": group_version(group), "version": VERSION});
    json!({
        "name": group,
        "versions": [version],
        "preferredVersion": version,
    })
}

/// Something of the group.
struct Entry {
    name: &'static str,
    kind: &'static str,
    verbs: &'static [&'static str],
    /// What may be done to its subresource `proxy`; nothing if it has none.
    proxy: &'static [&'static str],
}

/// A review of the caller is posted, so it is a `create`.
const TYPES: [Entry; 3] = [
    Entry {
        name: "clusters",
        kind: "Clusters",
        verbs: &[],
        proxy: &["create", "get"],
    },
    Entry {
        name: "fleets",
        kind: "Fleets",
        verbs: &[],
        proxy: &["create", "get"],
    },
    Entry {
        name: "resources",
        kind: "Resources",
        verbs: &["create", "get"],
        proxy: &[],
    },
];

/// `/apis/clusterpedia.io/v1beta1`.
pub(crate) fn own_resources(group: &str) -> Value {
    let mut resources = Vec::new();
    let mut add = |name: &str, kind: &str, verbs: &[&str]| {
        resources.push(json!({
            "name": name,
            "singularName": "",
            "namespaced": false,
            "kind": kind,
            "verbs": verbs,
        }));
    };
    for one in TYPES {
        add(one.name, one.kind, one.verbs);
        if !one.proxy.is_empty() {
            add(&format!("{}/proxy", one.name), one.kind, one.proxy);
        }
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group),
        "resources": resources,
    })
}

/// `/apis` in aggregated form.
pub(crate) fn own_group_aggregated(group: &str) -> Value {
    let resources = TYPES.map(|one| {
        let kind = json!({"group": group, "version": VERSION, "kind": one.kind});
        let mut value = json!({
            "resource": one.name,
            "responseKind": kind,
            "scope": "Cluster",
            "singularResource": "",
            "verbs": one.verbs,
        });
        if !one.proxy.is_empty() {
            value["subresources"] =
                json!([{"subresource": "proxy", "responseKind": kind, "verbs": one.proxy}]);
        }
        value
    });
    aggregated::list(&[json!({
        "metadata": {"name": group},
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
pub(crate) fn open_api_v3(group: &str, hash: &str) -> Value {
    let path = format!("apis/{group}/{VERSION}");
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
