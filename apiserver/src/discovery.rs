//! Discovery: which groups, versions and types a view has, in the two forms that clients ask for.
//!
//! What is served is what is stored: the union over all clusters, or one cluster's types. Documents are small values made from
//! the catalog; nothing is kept.

mod aggregated;
mod legacy;
mod own;
mod version;

use std::collections::BTreeMap;

use armadex_model::ResourceType;
use armadex_storage::{Catalog, ClusterEntry};

pub(crate) use aggregated::{
    CONTENT_TYPE as AGGREGATED_CONTENT_TYPE, core as aggregated_core, groups as aggregated_groups,
};
pub(crate) use legacy::{core_versions, group, group_list, resources};
pub(crate) use own::{
    open_api_v2, open_api_v3, open_api_v3_group, own_group, own_group_aggregated, own_groups,
    own_resources,
};
pub(crate) use version::{highest, info};

/// What may be done to every type.
const VERBS: [&str; 2] = ["get", "list"];

/// The types of one view: by group, then by version with the preferred one first.
#[derive(Debug, Default)]
pub(crate) struct Types<'a> {
    groups: BTreeMap<&'a str, Vec<Version<'a>>>,
}

#[derive(Debug)]
struct Version<'a> {
    name: &'a str,
    types: Vec<&'a ResourceType>,
}

impl<'a> Types<'a> {
    /// Those of all clusters, or of one.
    pub(crate) fn of(catalog: &'a Catalog, cluster: Option<&ClusterEntry>) -> Self {
        let listed = catalog.types.values();
        Self::from_types(
            listed.filter(|one| cluster.is_none_or(|entry| entry.resources.contains(&one.gvr))),
        )
    }

    fn from_types(types: impl Iterator<Item = &'a ResourceType>) -> Self {
        let mut by_version: BTreeMap<(&str, &str), Vec<&ResourceType>> = BTreeMap::new();
        for one in types {
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
            versions.sort_by(|a, b| version::priority(b.name).cmp(&version::priority(a.name)));
        }
        Self { groups }
    }

    fn named_groups(&self) -> impl Iterator<Item = (&'a str, &[Version<'a>])> {
        let groups = self.groups.iter().filter(|(name, _)| !name.is_empty());
        groups.map(|(name, versions)| (*name, versions.as_slice()))
    }

    fn group(&self, name: &str) -> Option<&[Version<'a>]> {
        self.groups.get(name).map(Vec::as_slice)
    }
}

/// The singular name; where a member did not say, what Kubernetes makes of the kind.
fn singular(resource: &ResourceType) -> String {
    if resource.singular.is_empty() {
        resource.kind.to_lowercase()
    } else {
        resource.singular.clone()
    }
}

#[cfg(test)]
mod tests;
