//! What a reader must know before it plans: clusters, types and open streams. Kept in memory and brought up to date by what changed, so
//! that one more stream costs one row and some copies of what stands beside it, whatever the size of the fleet.

mod apply;
pub(crate) mod delta;
pub(crate) mod holders;
mod label_sets;
mod sets;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use armadex_model::label::Requirement;
use armadex_model::{ClusterName, GroupVersionResource, ResourceType};
use armadex_storage::{Catalog, SharedMap};

use holders::{Asked, Holders, KnownHolders};
use label_sets::LabelSets;
use sets::{List, Sets};

/// One state of the catalogue. Immutable; a copy shares all that it does not change. Clusters and streams that wait for their purge are not in it: their
/// rows are hidden.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// The head row's `catalog` that this belongs to.
    pub(crate) version: i64,
    /// The one that `version` counts in.
    pub(crate) incarnation: String,
    /// The revision at which clusters, types or streams were last seen to have changed: lists of an earlier one do not show what this state does.
    pub(crate) shown_at: i64,
    /// What the API server sees of it.
    pub(crate) catalog: Arc<Catalog>,
    members: SharedMap<ClusterName, Member>,
    names: SharedMap<i64, ClusterName>,
    type_ids: SharedMap<Arc<GroupVersionResource>, i32>,
    types: SharedMap<i32, Kind>,
    /// How many clusters have a type.
    holders: SharedMap<i32, usize>,
    /// The sets of types that clusters have.
    sets: Sets,
    /// The sets of labels that clusters have.
    label_sets: LabelSets,
    /// The terms of label keys whose values are not posted, by type.
    unposted: SharedMap<i32, Arc<BTreeSet<i64>>>,
    /// The clusters of types that were asked for.
    known_holders: KnownHolders,
}

/// A type.
#[derive(Clone, Debug)]
struct Kind {
    /// Shared by all sets that it is in.
    name: Arc<GroupVersionResource>,
    resource: Arc<ResourceType>,
}

/// A cluster that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: i64,
    /// The types that are shown of it, sorted: one list for all clusters that have the same.
    types: List,
}

impl Snapshot {
    /// The number of a type.
    pub(crate) fn type_id(&self, gvr: &GroupVersionResource) -> Option<i32> {
        self.type_ids.get(gvr).copied()
    }

    /// A type by its number.
    pub(crate) fn resource(&self, id: i32) -> Option<&Arc<ResourceType>> {
        self.types.get(&id).map(|kind| &kind.resource)
    }

    /// The terms of a type's label keys whose values are not posted.
    pub(crate) fn unposted(&self, id: i32) -> Arc<BTreeSet<i64>> {
        self.unposted.get(&id).cloned().unwrap_or_default()
    }

    /// The clusters of which a type is shown, by name.
    pub(crate) fn holders(&self, resource: i32) -> impl Iterator<Item = (&ClusterName, &Member)> {
        self.members
            .iter()
            .filter(move |(_, member)| member.shows(resource))
    }

    /// All clusters of which a type is shown and whose labels meet these requirements: the same value for as long as no cluster and no stream comes or goes, and
    /// no label changes that they go by.
    pub(crate) fn chosen_holders(&self, resource: i32, labels: &[Requirement]) -> Arc<Holders> {
        let asked = Asked {
            resource,
            labels: labels.into(),
        };
        self.known_holders.of(asked, || {
            let holders = self.holders(resource);
            let chosen = holders.filter(|(name, _)| self.is_labelled(name, labels));
            let chosen = chosen.map(|(name, member)| (name.clone(), member.id));
            chosen.collect()
        })
    }

    /// Whether the labels of a cluster that is shown meet all of these requirements.
    pub(crate) fn is_labelled(&self, name: &ClusterName, requirements: &[Requirement]) -> bool {
        let entry = self.catalog.clusters.get(name);
        requirements.is_empty() || entry.is_some_and(|entry| entry.labels.meet(requirements))
    }

    /// A cluster by name, if it has a type.
    pub(crate) fn holder(&self, resource: i32, name: &str) -> Option<(&ClusterName, &Member)> {
        let name = ClusterName::new(name).ok()?;
        let found = self.members.get_key_value(&name);
        found.filter(|(_, member)| member.shows(resource))
    }

    /// A cluster that is shown.
    pub(crate) fn member(&self, name: &ClusterName) -> Option<&Member> {
        self.members.get(name)
    }
}

impl Member {
    /// Whether rows of the type may be shown.
    pub(crate) fn shows(&self, resource: i32) -> bool {
        self.types.binary_search(&resource).is_ok()
    }

    /// The numbers of the types that are shown.
    pub(crate) fn types(&self) -> &[i32] {
        &self.types
    }
}
