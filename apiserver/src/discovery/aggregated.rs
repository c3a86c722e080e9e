//! Aggregated discovery: everything in one document, `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.

use armadex_model::ResourceType;
use serde_json::{Value, json};

use crate::request::negotiate::Notation;

use super::types::{Types, Version, singular, verbs};

/// Clients compare this text, so it is written exactly as a kube-apiserver writes it.
pub(crate) fn content_type(notation: Notation) -> &'static str {
    match notation {
        Notation::Json => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        Notation::Yaml => "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    }
}

/// `/api`: the core group.
pub(crate) fn core(types: &Types<'_>) -> Value {
    let group = types.group("").map(|versions| group("", versions));
    list(group.as_slice())
}

/// `/apis`: all other groups.
pub(crate) fn groups(types: &Types<'_>) -> Value {
    let groups = types
        .named_groups()
        .map(|(name, versions)| group(name, versions));
    list(&groups.collect::<Vec<_>>())
}

/// The document around its groups.
pub(super) fn list(items: &[Value]) -> Value {
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn group(name: &str, versions: &[Version<'_>]) -> Value {
    let listed = versions.iter().map(|one| {
        let resources = one.types.iter().map(|resource| entry(resource));
        json!({
            "version": one.name,
            "resources": resources.collect::<Vec<_>>(),
            "freshness": "Current",
        })
    });
    let mut value = json!({"metadata": {}, "versions": listed.collect::<Vec<_>>()});
    if !name.is_empty() {
        value["metadata"]["name"] = json!(name);
    }
    value
}

fn entry(resource: &ResourceType) -> Value {
    let mut value = json!({
        "resource": resource.gvr.resource,
        "responseKind": {
            "group": resource.gvr.group,
            "version": resource.gvr.version,
            "kind": resource.kind,
        },
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": singular(resource),
        "verbs": verbs(resource),
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    value
}
