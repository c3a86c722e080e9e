//! What is asked for of a cluster: by its PediaCluster, and by the list that it refers to. Pure.

use std::sync::Arc;

use armadex_crds::GroupResources;
use armadex_model::{GroupVersionResource, ResourceType};

use super::builtin::is_builtin;
use super::customs::Customs;
use super::list::{ALL, List};

/// What `IgnoreSyncLease` leaves out: group and resource.
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// What Events are kept as where those of some kinds are asked for: of the two kinds in which a member serves them the one of the core group, as Clusterpedia has it.
pub(super) const EVENTS: (&str, &str) = ("", "events");

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `AllowSyncAllResources`: the group `*` stands for every resource of every group.
    pub allow_sync_all_resources: bool,
    /// `AllowSyncAllCustomResources`: `syncAllCustomResources` counts.
    pub allow_sync_all_custom_resources: bool,
    /// `IgnoreSyncLease`: Leases are not synced, whoever asks for them.
    pub ignore_sync_lease: bool,
}

/// What is asked for. A list that many refer to is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    lists: Vec<Arc<List>>,
    /// Everything custom as well, whatever lists say of it.
    all_customs: bool,
    leaves_leases_out: bool,
}

impl Scope {
    /// What these lists ask for, of several entries for one type the first.
    pub(super) fn new(lists: Vec<Arc<List>>, gates: Gates) -> Self {
        Self {
            lists,
            all_customs: false,
            leaves_leases_out: gates.ignore_sync_lease,
        }
    }

    /// The same, and everything custom beside it if that is asked for.
    pub(super) fn with_customs(self, all_customs: bool) -> Self {
        Self {
            all_customs,
            ..self
        }
    }

    /// Whether everything custom is asked for.
    pub(crate) fn asks_for_customs(&self) -> bool {
        self.all_customs
    }

    /// Why it is not known whether something of a group is asked for: it may be custom.
    pub(super) fn is_unsure_of<'a>(&self, group: &str, customs: &'a Customs) -> Option<&'a str> {
        let may_be = self.may_be_custom(group);
        may_be.then(|| customs.unknown()).flatten()
    }

    /// What this is of is asked for if it is custom, which the member alone can say.
    fn may_be_custom(&self, group: &str) -> bool {
        self.all_customs && !is_builtin(group)
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
        let mut is_named = || entries.any(|entry| asks_for(entry, resource) && is_allowed(entry));
        let is_asked = self.may_be_custom(group) || is_named() || self.asks_for_some(resource);
        is_asked && !self.leaves_out(&resource.gvr)
    }

    /// Whether a type is asked for in some version.
    pub(crate) fn asks_for(&self, resource: &ResourceType) -> bool {
        let is_asked = self.may_be_custom(&resource.gvr.group)
            || self.names(resource)
            || self.asks_for_some(resource);
        is_asked && !self.leaves_out(&resource.gvr)
    }

    /// Whether an entry names a type, or all of its group.
    pub(super) fn names(&self, resource: &ResourceType) -> bool {
        self.entries().any(|entry| asks_for(entry, resource))
    }

    /// Whether the Events of some kinds are asked for, whatever the member serves of these.
    pub(super) fn asks_for_events(&self) -> bool {
        let mut entries = self.entries();
        entries.any(|entry| !entry.events_involved_resources.is_empty())
    }

    /// Whether the Events of a type are asked for, by whichever of the entries that ask for it.
    pub(super) fn asks_for_events_of(&self, resource: &ResourceType) -> bool {
        let is_meant = |name: &String| is_called(name, resource);
        let mut entries = self.entries().filter(|entry| asks_for(entry, resource));
        entries.any(|entry| entry.events_involved_resources.iter().any(is_meant))
    }

    /// Whether a type is Events, of which those of some kinds are asked for.
    fn asks_for_some(&self, resource: &ResourceType) -> bool {
        is_events(&resource.gvr) && self.asks_for_events()
    }

    /// Whether this is never synced, whoever asks for it.
    pub(super) fn leaves_out(&self, gvr: &GroupVersionResource) -> bool {
        self.leaves_out_resource(&gvr.group, &gvr.resource)
    }

    pub(super) fn leaves_out_resource(&self, group: &str, resource: &str) -> bool {
        self.leaves_leases_out && (group, resource) == LEASES
    }
}

fn asks_for(entry: &GroupResources, resource: &ResourceType) -> bool {
    let named = |asked: &String| is_called(asked, resource);
    let is_of_group = || entry.group == resource.gvr.group;
    entry.group == ALL || (is_of_group() && entry.resources.iter().any(named))
}

/// Whether this stands for a type: it is its name, or stands for each of its group.
fn is_called(asked: &str, resource: &ResourceType) -> bool {
    asked == ALL
        || asked.eq_ignore_ascii_case(&resource.gvr.resource)
        || (!resource.singular.is_empty() && asked.eq_ignore_ascii_case(&resource.singular))
        // What it is called in the singular another cluster may have said; the kind is the same in all.
        || asked.eq_ignore_ascii_case(&resource.kind)
}

/// Whether this is what the Events of some kinds are kept as.
pub(super) fn is_events(gvr: &GroupVersionResource) -> bool {
    (gvr.group.as_str(), gvr.resource.as_str()) == EVENTS
}

/// Whether an entry with these versions asks for each of them by itself, and not for the best one of a resource: of Kubernetes' own groups one is kept.
pub(super) fn are_apart(group: &str, versions: &[String]) -> bool {
    !versions.is_empty() && !is_builtin(group)
}

/// Whether an entry with these versions allows each version of a group.
pub(super) fn is_any(group: &str, versions: &[String]) -> bool {
    versions.is_empty() || is_builtin(group) || versions.iter().any(|version| version == ALL)
}
