//! What an entry of a spec asks for. Pure.

use armadex_crds::GroupResources;
use armadex_model::{GroupVersionResource, ResourceType};

use super::builtin::is_builtin;

/// In the place of a group, a version or a resource: each of them.
pub(super) const ALL: &str = "*";

/// Whether a type is asked for in this version, be it served or not.
pub(super) fn is_asked(wanted: &[GroupResources], resource: &ResourceType) -> bool {
    let GroupVersionResource { group, version, .. } = &resource.gvr;
    let is_allowed = |entry: &GroupResources| {
        entry.group == ALL || is_any(group, &entry.versions) || entry.versions.contains(version)
    };
    let mut entries = wanted.iter();
    entries.any(|entry| asks_for(entry, resource) && is_allowed(entry))
}

/// Whether a type is asked for in some version.
pub(crate) fn is_wanted(wanted: &[GroupResources], resource: &ResourceType) -> bool {
    wanted.iter().any(|entry| asks_for(entry, resource))
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
