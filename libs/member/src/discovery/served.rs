//! What a member serves, as values, and under which names.

use std::collections::BTreeMap;

use armadex_crds::is_subdomain;

/// What a member serves, by group; the core group is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Discovery {
    /// Groups by name.
    pub groups: BTreeMap<String, Group>,
}

/// One API group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group {
    /// Versions as the member orders them, the preferred one first.
    pub versions: Vec<Version>,
}

/// One version of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// For example `v1`.
    pub name: String,
    /// What it serves, if that is known.
    pub state: VersionState,
}

/// Whether the resources of a version are known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VersionState {
    /// They are these, subresources left out.
    Served(Vec<ServedResource>),
    /// The API behind it does not answer now; why, in words.
    Failed(String),
}

/// One resource of a version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServedResource {
    /// Plural name.
    pub name: String,
    /// Singular name; may be empty.
    pub singular: String,
    /// Kind of its objects.
    pub kind: String,
    /// Whether they live in namespaces.
    pub namespaced: bool,
    /// Whether a copy can be kept of it: it can be listed and watched.
    pub can_sync: bool,
    /// For example `deploy`.
    pub short_names: Vec<String>,
    /// For example `all`.
    pub categories: Vec<String>,
}

/// Resources of all groups and versions of one member; more are not read. Clusters with every operator there is have some thousands.
pub(super) const MOST_RESOURCES: usize = 10_000;
/// Versions of all its groups: none is of use without a resource.
pub(super) const MOST_VERSIONS_IN_ALL: usize = MOST_RESOURCES;
/// Its API groups, and versions of one group.
pub(super) const MOST_GROUPS: usize = 5_000;
pub(super) const MOST_VERSIONS: usize = 50;
/// Requests in the older way, one for each version: a group of a thousand CRDs is one.
pub(super) const MOST_REQUESTS: usize = 1_000;
/// Short names or categories of one resource.
pub(super) const MOST_ALIASES: usize = 16;
/// Both of all resources of one member: four for each of as many as there may be; providers of Crossplane have three categories and a short name. Which of
/// more are kept would depend on the order of answers.
pub(super) const MOST_ALIASES_IN_ALL: usize = 4 * MOST_RESOURCES;
pub(super) const TOO_MUCH: &str = "it tells of more than 10000 resources or versions, 40000 short names and categories, 5000 groups \
     or 50 versions of a group";

impl ServedResource {
    /// What is kept of it: no names that no kube-apiserver would let anybody call so, as they become parts of paths, documents and answers of other clusters;
    /// nor are they held, as they may be as long as an answer.
    pub(super) fn named(mut self) -> Option<Self> {
        if !is_subdomain(&self.name) || !is_kind(&self.kind) {
            return None;
        }
        if !is_subdomain(&self.singular) {
            self.singular = String::new();
        }
        for aliases in [&mut self.short_names, &mut self.categories] {
            aliases.retain(|name| is_subdomain(name));
            aliases.shrink_to_fit();
        }
        Some(self)
    }
}

/// As a name, with capitals.
fn is_kind(kind: &str) -> bool {
    is_subdomain(&kind.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(name: &str, kind: &str) -> ServedResource {
        ServedResource {
            name: name.into(),
            singular: "a b".into(),
            kind: kind.into(),
            namespaced: true,
            can_sync: true,
            short_names: vec!["po".into(), "a,b".into(), String::new()],
            categories: vec!["all".into(), "\"".into()],
        }
    }

    #[test]
    fn what_has_no_proper_name_is_left_out() {
        let resources = vec![
            served("pods", "Pod"),
            served("pods/../secrets", "Pod"),
            served("..", "Pod"),
            served("dots", ".."),
            served("forged", "Pod\",\"x\":\""),
            served("none", ""),
        ];
        let named = resources.into_iter().filter_map(ServedResource::named);
        let resources: Vec<_> = named.collect();
        let [pods] = &resources[..] else {
            panic!("one: {resources:?}")
        };
        assert_eq!((pods.kind.as_str(), pods.singular.as_str()), ("Pod", ""));
        assert_eq!(pods.singular.capacity(), 0);
        assert_eq!(
            (&pods.short_names[..], &pods.categories[..]),
            (&["po".to_owned()][..], &["all".to_owned()][..])
        );
    }
}
