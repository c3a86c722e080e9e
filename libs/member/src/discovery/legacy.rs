//! The older discovery: groups and versions first, then one request for each.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions,
};

use super::served::{Discovery, Group, ServedResource, Version, VersionState};
use crate::Member;
use crate::error::MemberError;

/// Requests at the same time; a member has about 30 groups and versions.
const PARALLEL: usize = 8;

/// Asks for each version that the answer to `root` (`/api` or `/apis`) names.
pub(crate) async fn fetch(
    member: &Member,
    root: &str,
    answer: &[u8],
) -> Result<Discovery, MemberError> {
    let wanted = parse_root(root, answer)?;
    let mut states: Vec<_> = stream::iter(wanted.into_iter().enumerate())
        .map(|(index, wanted)| async move { (index, fetch_version(member, wanted).await) })
        .buffer_unordered(PARALLEL)
        .collect()
        .await;
    states.sort_by_key(|(index, _)| *index);
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (_, (group, version)) in states {
        groups.entry(group).or_default().versions.push(version);
    }
    Ok(Discovery { groups })
}

/// One version that is to be asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    group: String,
    version: String,
    path: String,
}

async fn fetch_version(member: &Member, wanted: Wanted) -> (String, Version) {
    let state = match member.json(&wanted.path, "application/json").await {
        Ok(list) => VersionState::Served(resources(list)),
        Err(error) => VersionState::Failed(error.to_string()),
    };
    let version = Version {
        name: wanted.version,
        state,
    };
    (wanted.group, version)
}

fn parse_root(root: &str, answer: &[u8]) -> Result<Vec<Wanted>, MemberError> {
    let malformed = |error: serde_json::Error| MemberError::undecoded(root, &error);
    if root == "/api" {
        let versions: APIVersions = serde_json::from_slice(answer).map_err(malformed)?;
        let wanted = versions.versions.into_iter().map(|version| Wanted {
            group: String::new(),
            path: format!("/api/{version}"),
            version,
        });
        return Ok(wanted.collect());
    }
    let list: APIGroupList = serde_json::from_slice(answer).map_err(malformed)?;
    Ok(list.groups.into_iter().flat_map(group_versions).collect())
}

/// The preferred version first, the others as the member orders them.
fn group_versions(group: APIGroup) -> Vec<Wanted> {
    let preferred = group.preferred_version.map(|version| version.version);
    let mut versions: Vec<_> = group
        .versions
        .into_iter()
        .map(|version| version.version)
        .collect();
    versions.sort_by_key(|version| Some(version) != preferred.as_ref());
    let name = group.name;
    versions
        .into_iter()
        .map(|version| Wanted {
            group: name.clone(),
            path: format!("/apis/{name}/{version}"),
            version,
        })
        .collect()
}

fn resources(list: APIResourceList) -> Vec<ServedResource> {
    let whole = |resource: &APIResource| !resource.name.contains('/');
    list.resources
        .into_iter()
        .filter(whole)
        .map(|resource| ServedResource {
            name: resource.name,
            singular: resource.singular_name,
            kind: resource.kind,
            namespaced: resource.namespaced,
            verbs: resource.verbs,
            short_names: resource.short_names.unwrap_or_default(),
            categories: resource.categories.unwrap_or_default(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_version_is_asked_first() {
        let answer = br#"{"groups":[{"name":"autoscaling","versions":[
            {"groupVersion":"autoscaling/v1","version":"v1"},{"groupVersion":"autoscaling/v2","version":"v2"}],
            "preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}}]}"#;
        let paths: Vec<_> = parse_root("/apis", answer)
            .unwrap()
            .into_iter()
            .map(|wanted| wanted.path)
            .collect();
        assert_eq!(paths, ["/apis/autoscaling/v2", "/apis/autoscaling/v1"]);
    }

    #[test]
    fn subresources_are_left_out() {
        let list = serde_json::from_str(
            r#"{"groupVersion":"v1","resources":[
              {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list"]},
              {"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]}]}"#,
        )
        .unwrap();
        let found = resources(list);
        assert_eq!(found.len(), 1);
        assert!(!found[0].can_sync());
    }
}
