//! The types of one view, by group and version: what every document of discovery is made from.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::{Catalog, ClusterEntry};

use super::groups::rank;
use super::version::priority;
use crate::request::target::Review;

/// What may be done to every type that is stored.
const VERBS: [&str; 2] = ["get", "list"];
/// What may be done to a review.
const REVIEW_VERBS: [&str; 1] = ["create"];

/// What every view has beside what is stored: reviews of the caller by the caller.
static REVIEWS: LazyLock<[ResourceType; 3]> = LazyLock::new(|| {
    Review::ALL.map(|review| ResourceType {
        gvr: GroupVersionResource::new(review.group(), "v1", review.resource()),
        kind: review.kind().to_owned(),
        namespaced: false,
        singular: review.kind().to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
    })
});

/// The types of a group, or of one version of it, that are stored of any cluster.
pub(crate) fn stored_of<'a>(
    catalog: &'a Catalog,
    group: &str,
    version: Option<&str>,
) -> impl Iterator<Item = &'a ResourceType> {
    let first = GroupVersionResource::new(group, version.unwrap_or_default(), "");
    let those = catalog.types.range(first..).map(|(_, one)| &**one);
    those.take_while(move |one| is_of(one, group, version))
}

fn is_of(resource: &ResourceType, group: &str, version: Option<&str>) -> bool {
    #[cfg(test)]
    tests::LOOKED_AT.with(|looked_at| looked_at.set(looked_at.get() + 1));
    let gvr = &resource.gvr;
    gvr.group == group && version.is_none_or(|version| gvr.version == version)
}

fn has(cluster: Option<&ClusterEntry>, resource: &ResourceType) -> bool {
    cluster.is_none_or(|entry| entry.resources.contains(&resource.gvr))
}

/// What may be done to a type.
pub(super) fn verbs(resource: &ResourceType) -> &'static [&'static str] {
    if REVIEWS.iter().any(|review| review.gvr == resource.gvr) {
        &REVIEW_VERBS
    } else {
        &VERBS
    }
}

/// The types of one view: by group, then by version with the preferred one first.
#[derive(Debug, Default)]
pub(crate) struct Types<'a> {
    groups: BTreeMap<&'a str, Vec<Version<'a>>>,
}

#[derive(Debug)]
pub(super) struct Version<'a> {
    pub(super) name: &'a str,
    pub(super) types: Vec<&'a ResourceType>,
}

impl<'a> Types<'a> {
    /// Those of all clusters, or of one.
    pub(crate) fn of(catalog: &'a Catalog, cluster: Option<&ClusterEntry>) -> Self {
        let all = catalog.types.values().map(|one| &**one);
        let stored = all.filter(|one| has(cluster, one));
        Self::from_types(stored.chain(REVIEWS.iter()))
    }

    /// Those of one group, or of one version of it: no others are looked at.
    pub(crate) fn of_group(
        (catalog, cluster): (&'a Catalog, Option<&ClusterEntry>),
        group: &str,
        version: Option<&str>,
    ) -> Self {
        let stored = stored_of(catalog, group, version).filter(|one| has(cluster, one));
        let reviews = REVIEWS.iter().filter(|one| is_of(one, group, version));
        Self::from_types(stored.chain(reviews))
    }

    /// Whether there is a document of this group.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Whether there is a document of this version of a group.
    pub(crate) fn has_version(&self, group: &str, version: &str) -> bool {
        let mut versions = self.groups.get(group).into_iter().flatten();
        versions.any(|one| one.name == version)
    }

    pub(super) fn from_types(types: impl Iterator<Item = &'a ResourceType>) -> Self {
        let mut by_version: BTreeMap<(&str, &str), Vec<&ResourceType>> = BTreeMap::new();
        for one in types {
            #[cfg(test)]
            tests::LOOKED_AT.with(|looked_at| looked_at.set(looked_at.get() + 1));
            let key = (one.gvr.group.as_str(), one.gvr.version.as_str());
            by_version.entry(key).or_default().push(one);
        }
        let mut groups: BTreeMap<&str, Vec<Version<'_>>> = BTreeMap::new();
        for ((group, name), types) in by_version {
            groups
                .entry(group)
                .or_default()
                .push(Version { name, types });
        }
        for versions in groups.values_mut() {
            versions.sort_by(|a, b| priority(b.name).cmp(&priority(a.name)));
        }
        Self { groups }
    }

    /// All but the core group, in the order of discovery.
    pub(super) fn named_groups(&self) -> impl Iterator<Item = (&'a str, &[Version<'a>])> {
        let named = self.groups.iter().filter(|(name, _)| !name.is_empty());
        let mut groups: Vec<_> = named.map(|(name, of)| (*name, of.as_slice())).collect();
        groups.sort_by_key(|(name, _)| rank(name));
        groups.into_iter()
    }

    pub(super) fn group(&self, name: &str) -> Option<&[Version<'a>]> {
        self.groups.get(name).map(Vec::as_slice)
    }
}

/// The singular name; where a member did not say, what Kubernetes makes of the kind.
pub(super) fn singular(resource: &ResourceType) -> String {
    if resource.singular.is_empty() {
        resource.kind.to_lowercase()
    } else {
        resource.singular.clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// How often a type was looked at, or sorted, by this thread, which is a test's own.
        pub(crate) static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
    }
}
