//! Aggregated discovery: one answer with everything (`apidiscovery.k8s.io`, v2 and v2beta1, which look the same).

use serde::Deserialize;

use super::served::{Discovery, Group, ServedResource, Version, VersionState};
use crate::error::MemberError;

/// What is understood, best first; an old member answers with plain JSON.
pub(crate) const ACCEPT: &str = concat!(
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,",
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,",
    "application/json"
);

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    items: Vec<GroupItem>,
}

#[derive(Deserialize)]
struct GroupItem {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<VersionItem>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct VersionItem {
    version: String,
    #[serde(default)]
    resources: Vec<ResourceItem>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceItem {
    resource: String,
    #[serde(default)]
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

/// Reads the answer to `path`; `None` if it is one of the older way.
pub(crate) fn parse(path: &str, bytes: &[u8]) -> Result<Option<Discovery>, MemberError> {
    let list: GroupList =
        serde_json::from_slice(bytes).map_err(|error| MemberError::undecoded(path, &error))?;
    if list.kind != "APIGroupDiscoveryList" {
        return Ok(None);
    }
    let groups = list.items.into_iter().map(|item| {
        let versions = item.versions.into_iter().map(version).collect();
        (item.metadata.name, Group { versions })
    });
    Ok(Some(Discovery {
        groups: groups.collect(),
    }))
}

fn version(item: VersionItem) -> Version {
    let VersionItem {
        version,
        resources,
        freshness,
    } = item;
    let state = if freshness == "Stale" {
        VersionState::Failed("the API service behind it does not answer".to_owned())
    } else {
        VersionState::Served(resources.into_iter().filter_map(resource).collect())
    };
    Version {
        name: version,
        state,
    }
}

/// A resource without a kind only groups subresources.
fn resource(item: ResourceItem) -> Option<ServedResource> {
    let kind = item.response_kind?.kind;
    (!kind.is_empty()).then(|| ServedResource {
        name: item.resource,
        singular: item.singular_resource,
        kind,
        namespaced: item.scope == "Namespaced",
        verbs: item.verbs,
        short_names: item.short_names,
        categories: item.categories,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
      {"metadata":{"name":"apps","creationTimestamp":null},"versions":[{"version":"v1","freshness":"Current","resources":[
        {"resource":"deployments","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"scope":"Namespaced",
         "singularResource":"deployment","verbs":["get","list","watch"],"shortNames":["deploy"],"categories":["all"],
         "subresources":[{"subresource":"scale"}]}]}]},
      {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]}]}"#;

    #[test]
    fn a_stale_group_fails_alone() {
        let discovery = parse("/apis", ANSWER.as_bytes()).unwrap().unwrap();
        let VersionState::Served(resources) = &discovery.groups["apps"].versions[0].state else {
            panic!("apps is served");
        };
        assert_eq!(resources[0].short_names, ["deploy"]);
        assert!(resources[0].namespaced && resources[0].can_sync());
        assert!(matches!(
            discovery.groups["metrics.k8s.io"].versions[0].state,
            VersionState::Failed(_)
        ));
    }

    #[test]
    fn an_older_answer_is_left_to_the_older_way() {
        let older = br#"{"kind":"APIVersions","versions":["v1"]}"#;
        assert_eq!(parse("/api", older).unwrap(), None);
        assert!(parse("/api", b"<html>").is_err());
    }
}
