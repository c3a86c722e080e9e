//! Discovery as every client knows it: `APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`.

use armadex_model::ResourceType;
use serde_json::{Value, json};

use super::types::{Types, Version, singular, verbs};

/// `/api`. There is one core version, whatever is stored.
pub(crate) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    })
}

/// `/apis`.
pub(crate) fn group_list(types: &Types<'_>) -> Value {
    let groups = types
        .named_groups()
        .map(|(name, versions)| group_entry(name, versions));
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": groups.collect::<Vec<_>>(),
    })
}

/// `/apis/<group>`; `None` if the view has no such group.
pub(crate) fn group(types: &Types<'_>, name: &str) -> Option<Value> {
    let mut entry = group_entry(name, types.group(name)?);
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    Some(entry)
}

/// `/api/v1`, `/apis/<group>/<version>`; `None` if the view has no such version. The core version is always there.
pub(crate) fn resources(types: &Types<'_>, group: &str, version: &str) -> Option<Value> {
    let found = types
        .group(group)
        .and_then(|versions| versions.iter().find(|one| one.name == version));
    let listed = match found {
        Some(found) => found.types.iter().map(|one| entry(one)).collect(),
        None if group.is_empty() && version == "v1" => Vec::new(),
        None => return None,
    };
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group, version),
        "resources": listed,
    }))
}

fn group_entry(name: &str, versions: &[Version<'_>]) -> Value {
    let listed: Vec<Value> = versions
        .iter()
        .map(|one| json!({"groupVersion": group_version(name, one.name), "version": one.name}))
        .collect();
    json!({
        "name": name,
        "preferredVersion": listed.first(),
        "versions": listed,
    })
}

fn entry(resource: &ResourceType) -> Value {
    let mut value = json!({
        "name": resource.gvr.resource,
        "singularName": singular(resource),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
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

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
