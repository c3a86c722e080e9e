//! What is asked for of a cluster: by its PediaCluster, and by the list that it refers to. Pure.

use std::sync::Arc;

use armadex_crds::GroupResources;
use armadex_model::{GroupVersionResource, ResourceType};

use super::builtin::is_builtin;
use super::list::{ALL, List};

/// What `IgnoreSyncLease` leaves out: group and resource.
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `AllowSyncAllResources`: the group `*` stands for every resource of every group.
    pub allow_sync_all_resources: bool,
    /// `IgnoreSyncLease`: Leases are not synced, whoever asks for them.
    pub ignore_sync_lease: bool,
}

/// What is asked for. A list that many refer to is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    lists: Vec<Arc<List>>,
    leaves_leases_out: bool,
}

impl Scope {
    /// What these lists ask for, of several entries for one type the first.
    pub(super) fn new(lists: Vec<Arc<List>>, gates: Gates) -> Self {
        Self {
            lists,
            leaves_leases_out: gates.ignore_sync_lease,
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &GroupResources> {
        self.lists.iter().flat_map(|list| &list.entries)
    }

    /// Whether a type is asked for in this version, be it served or not.
    pub(super) fn asks_for_version(&self, resource: &ResourceType) -> bool {
        let GroupVersionResource { group, version, .. } = &resource.gvr;
        let is_allowed = |entry: &GroupResources| {
            entry.group == ALL || is_any(group, &entry.versions) || entry.versions.contains(version)
        };
        let mut entries = self.entries();
        !self.leaves_out(&resource.gvr)
            && entries.any(|entry| asks_for(entry, resource) && is_allowed(entry))
    }

    /// Whether a type is asked for in some version.
    pub(crate) fn asks_for(&self, resource: &ResourceType) -> bool {
        let mut entries = self.entries();
        !self.leaves_out(&resource.gvr) && entries.any(|entry| asks_for(entry, resource))
    }

    /// Whether this is never synced, whoever asks for it.
    pub(super) fn leaves_out(&self, gvr: &GroupVersionResource) -> bool {
        self.leaves_leases_out && (gvr.group.as_str(), gvr.resource.as_str()) == LEASES
    }
}

fn asks_for(entry: &GroupResources, resource: &ResourceType) -> bool {
    let named = |asked: &String| {
        asked == ALL
            || asked.eq_ignore_ascii_case(&resource.gvr.resource)
            || (!resource.singular.is_empty() && asked.eq_ignore_ascii_case(&resource.singular))
            // What it is called in the singular another cluster may have said; the kind is the same in all.
            || asked.eq_ignore_ascii_case(&resource.kind)
    };
    let is_of_group = || entry.group == resource.gvr.group;
    entry.group == ALL || (is_of_group() && entry.resources.iter().any(named))
}

/// Whether an entry with these versions allows each version of a group.
pub(super) fn is_any(group: &str, versions: &[String]) -> bool {
    versions.is_empty() || is_builtin(group) || versions.iter().any(|version| version == ALL)
}
