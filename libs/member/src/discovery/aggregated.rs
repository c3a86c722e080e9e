//! Aggregated discovery: one answer with everything (`apidiscovery.k8s.io`, v2 and v2beta1, which look the same).

use armadex_crds::is_subdomain;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded::{AtMost, Verbs};
use super::holding::Holding;
use super::served::{
    Discovery, Group, MOST_ALIASES, MOST_GROUPS, MOST_RESOURCES, MOST_VERSIONS, ServedResource,
    TOO_MUCH, Version, VersionState,
};
use crate::error::MemberError;

/// What is understood, best first; an old member answers with plain JSON.
pub(crate) const ACCEPT: &str = concat!(
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,",
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,",
    "application/json"
);

#[derive(Deserialize)]
struct GroupList<'a> {
    #[serde(default)]
    kind: String,
    #[serde(borrow, default)]
    items: AtMost<&'a RawValue, MOST_GROUPS>,
}

#[derive(Deserialize)]
struct GroupItem<'a> {
    #[serde(default)]
    metadata: Metadata,
    #[serde(borrow, default)]
    versions: AtMost<VersionItem<'a>, MOST_VERSIONS>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct VersionItem<'a> {
    version: String,
    #[serde(borrow, default)]
    resources: Option<&'a RawValue>,
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
    verbs: Verbs,
    #[serde(default)]
    short_names: AtMost<String, MOST_ALIASES>,
    #[serde(default)]
    categories: AtMost<String, MOST_ALIASES>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

/// Reads the answer to `path`; `None` if it is one of the older way. Groups and resources are decoded one after the other, so what the answer
/// has besides names is never held as a whole.
pub(crate) fn parse(
    path: &str,
    bytes: &[u8],
    holding: &Holding,
) -> Result<Option<Discovery>, MemberError> {
    let undecoded = |error: serde_json::Error| MemberError::undecoded(path, &error);
    let list: GroupList<'_> = serde_json::from_slice(bytes).map_err(undecoded)?;
    if list.kind != "APIGroupDiscoveryList" {
        return Ok(None);
    }
    let reading = Reading { path, holding };
    holding.groups.add(list.items.items.len());
    reading.limited(!list.items.beyond)?;
    let mut discovery = Discovery::default();
    for item in list.items.items {
        let item: GroupItem<'_> = serde_json::from_str(item.get()).map_err(undecoded)?;
        let name = item.metadata.name;
        if name.is_empty() || is_subdomain(&name) {
            let group = reading.group(item.versions)?;
            discovery.groups.insert(name, group);
        }
    }
    Ok(Some(discovery))
}

/// An answer that is read.
struct Reading<'p> {
    path: &'p str,
    holding: &'p Holding,
}

impl Reading<'_> {
    fn group(
        &self,
        versions: AtMost<VersionItem<'_>, MOST_VERSIONS>,
    ) -> Result<Group, MemberError> {
        self.holding.versions.add(versions.items.len());
        self.limited(!versions.beyond)?;
        let mut group = Group::default();
        for item in versions.items {
            if is_subdomain(&item.version) {
                group.versions.push(self.version(item)?);
            }
        }
        group.versions.shrink_to_fit();
        Ok(group)
    }

    fn version(&self, item: VersionItem<'_>) -> Result<Version, MemberError> {
        let VersionItem {
            version,
            resources,
            freshness,
        } = item;
        let state = if freshness == "Stale" {
            VersionState::Failed("the API service behind it does not answer".to_owned())
        } else {
            VersionState::Served(self.resources(resources)?)
        };
        Ok(Version {
            name: version,
            state,
        })
    }

    fn resources(&self, list: Option<&RawValue>) -> Result<Vec<ServedResource>, MemberError> {
        let list = list.map_or("null", RawValue::get);
        let undecoded = |error: serde_json::Error| MemberError::undecoded(self.path, &error);
        let list: AtMost<&RawValue, MOST_RESOURCES> =
            serde_json::from_str(list).map_err(undecoded)?;
        let beyond = list.beyond;
        let found = list.decoded(|item| resource(item, self.holding));
        let found = found.map_err(undecoded)?;
        self.limited(!beyond)?;
        Ok(found)
    }

    /// The error that a list is of which not all was read, or that all answers are of which not all was kept.
    fn limited(&self, is_read: bool) -> Result<(), MemberError> {
        match is_read && self.holding.is_whole() {
            true => Ok(()),
            false => Err(MemberError::malformed(self.path, TOO_MUCH)),
        }
    }
}

/// A resource without a kind only groups subresources.
fn resource(item: ResourceItem, holding: &Holding) -> Option<ServedResource> {
    holding.resource(ServedResource {
        name: item.resource,
        singular: item.singular_resource,
        kind: item.response_kind?.kind,
        namespaced: item.scope == "Namespaced",
        can_sync: item.verbs.can_sync(),
        short_names: item.short_names.items,
        categories: item.categories.items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::holding::Room;
    use crate::discovery::served::{MOST_ALIASES_IN_ALL, MOST_VERSIONS_IN_ALL};

    const ANSWER: &str = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
      {"metadata":{"name":"apps","creationTimestamp":null},"versions":[{"version":"v1","freshness":"Current","resources":[
        {"resource":"deployments","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"scope":"Namespaced",
         "singularResource":"deployment","verbs":["get","list","watch"],"shortNames":["deploy"],"categories":["all"],
         "subresources":[{"subresource":"scale"}]}]}]},
      {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]}]}"#;

    fn read(path: &str, answer: &[u8]) -> Result<Option<Discovery>, MemberError> {
        parse(path, answer, &Holding::new(Room::Large))
    }

    #[test]
    fn a_stale_group_fails_alone() {
        let discovery = read("/apis", ANSWER.as_bytes()).unwrap().unwrap();
        let VersionState::Served(resources) = &discovery.groups["apps"].versions[0].state else {
            panic!("apps is served");
        };
        assert_eq!(resources[0].short_names, ["deploy"]);
        assert!(resources[0].namespaced && resources[0].can_sync);
        assert!(matches!(
            discovery.groups["metrics.k8s.io"].versions[0].state,
            VersionState::Failed(_)
        ));
    }

    #[test]
    fn an_older_answer_is_left_to_the_older_way() {
        let older = br#"{"kind":"APIVersions","versions":["v1"]}"#;
        assert_eq!(read("/api", older).unwrap(), None);
        assert!(read("/api", b"<html>").is_err());
    }

    fn told(items: &str) -> Result<usize, String> {
        let answer = format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{items}]}}"#);
        let told = read("/apis", answer.as_bytes()).map_err(|error| error.to_string())?;
        let groups = told.expect("it is aggregated").groups;
        let versions = groups.values().flat_map(|group| &group.versions);
        let resources = versions.map(|version| match &version.state {
            VersionState::Served(resources) => resources.len(),
            VersionState::Failed(_) => 0,
        });
        Ok(resources.sum())
    }

    /// A group of so many resources.
    fn group(name: &str, resources: usize) -> String {
        let resource =
            |number| format!(r#"{{"resource":"r{number}","responseKind":{{"kind":"R"}}}}"#);
        let resources: Vec<_> = (0..resources).map(resource).collect();
        let resources = resources.join(",");
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"versions":[{{"version":"v1","resources":[{resources}]}}]}}"#
        )
    }

    #[test]
    fn a_member_tells_of_so_much_and_no_more() {
        let half = MOST_RESOURCES / 2;
        let groups = |sizes: &[usize]| {
            let groups = sizes.iter().enumerate();
            let groups = groups.map(|(number, size)| group(&format!("g{number}"), *size));
            groups.collect::<Vec<_>>().join(",")
        };
        assert_eq!(told(&groups(&[half, half])), Ok(MOST_RESOURCES));
        for too_much in [
            groups(&[half, half, 1]),
            groups(&[MOST_RESOURCES + 1]),
            vec!["{}"; MOST_GROUPS + 1].join(","),
            versions(MOST_VERSIONS + 1),
            vec![versions(MOST_VERSIONS); MOST_VERSIONS_IN_ALL / MOST_VERSIONS + 1].join(","),
        ] {
            let error = told(&too_much).unwrap_err();
            assert!(
                error.contains("/apis") && error.contains("10000"),
                "{error}"
            );
        }
    }

    /// A group of so many versions.
    fn versions(number: usize) -> String {
        let versions = vec![r#"{"version":"v1"}"#; number].join(",");
        format!(r#"{{"versions":[{versions}]}}"#)
    }

    /// A group of so many resources with as many aliases as one may have.
    fn with_aliases(resources: usize) -> String {
        let letters = vec![r#""a""#; MOST_ALIASES].join(",");
        let aliases = format!(
            r#""responseKind":{{"kind":"R"}},"shortNames":[{letters}],"categories":[{letters}]"#
        );
        group("apps", resources).replace(r#""responseKind":{"kind":"R"}"#, &aliases)
    }

    #[test]
    fn whoever_tells_of_more_aliases_than_are_read_is_told_so() {
        let most = MOST_ALIASES_IN_ALL / (2 * MOST_ALIASES);
        assert_eq!(told(&with_aliases(most)), Ok(most));
        let error = told(&with_aliases(most + 1)).unwrap_err();
        assert!(error.contains("40000 short names"), "{error}");
    }

    #[test]
    fn what_a_member_tells_of_is_counted_over_both_answers() {
        let half = |all: usize| all / 2;
        let groups = |number| {
            let groups =
                (0..number).map(|number| format!(r#"{{"metadata":{{"name":"g{number}"}}}}"#));
            groups.collect::<Vec<_>>().join(",")
        };
        let versioned = |number| vec![versions(MOST_VERSIONS); number / MOST_VERSIONS].join(",");
        let aliased = |number| with_aliases(number / (2 * MOST_ALIASES));
        let resources = |number| group("apps", number);
        for (half, one_more) in [
            (groups(half(MOST_GROUPS)), groups(1)),
            (versioned(half(MOST_VERSIONS_IN_ALL)), versions(1)),
            (resources(half(MOST_RESOURCES)), resources(1)),
            (aliased(half(MOST_ALIASES_IN_ALL)), with_aliases(2)),
        ] {
            let holding = Holding::new(Room::Large);
            let read = |path, items: &str| {
                let answer = format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{items}]}}"#);
                parse(path, answer.as_bytes(), &holding)
            };
            assert!(read("/api", &half).is_ok() && read("/apis", &half).is_ok());
            let error = read("/apis", &one_more).expect_err("one too many");
            assert!(error.to_string().contains(TOO_MUCH), "{error}");
        }
    }

    #[test]
    fn what_has_no_proper_name_is_not_read() {
        let version = group("apps", 1).replace("v1", "v1/x");
        let forged = [
            group("../c2", 1),
            group("shop.example", 1),
            group("a/b", 1),
            version,
        ];
        assert_eq!(told(&forged.join(",")), Ok(1));
        let long = format!(
            r#"{{"resource":"{}","responseKind":{{"kind":"R"}}}}"#,
            "r".repeat(300)
        );
        let long = format!(r#"{{"versions":[{{"version":"v1","resources":[{long}]}}]}}"#);
        assert_eq!(told(&long), Ok(0));
    }
}
