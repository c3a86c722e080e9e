//! What members tell of their types, as aggregated discovery has it. Pure.

use serde_json::{Value, json};

/// A group of one version, `v1`, with these.
pub(crate) fn discovery(group: &str, resources: &[Value]) -> String {
    let versions = json!([{"version": "v1", "freshness": "Current", "resources": resources}]);
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [{"metadata": {"name": group}, "versions": versions}],
    });
    list.to_string()
}

/// One that is listed and watched; `scope` is `Namespaced` or `Cluster`.
pub(crate) fn resource(plural: &str, kind: &str, scope: &str) -> Value {
    json!({
        "resource": plural, "singularResource": plural, "scope": scope, "verbs": ["get", "list", "watch"],
        "responseKind": {"group": "", "version": "v1", "kind": kind},
    })
}
