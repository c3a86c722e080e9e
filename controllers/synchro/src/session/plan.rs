//! What to sync: from the spec and what the member serves to a list of types. Pure.
//!
//! Of each type one version is kept. For Kubernetes' own groups the member's first version counts, as there `versions` has no
//! meaning; for others the first that `versions` allows. What is synced already stays until whole answers say that it is gone: `keep`.

mod keep;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armadex_crds::{AuthorizationMode, GroupResources, PediaClusterSpec};
use armadex_member::{Discovery, Group, ServedResource, Version, VersionState};
use armadex_model::{GroupVersionResource, ResourceType};

pub(crate) use self::keep::{Kept, Known};

const ALL: &str = "*";
/// Resources that one PediaCluster may name: nobody names so many, and each is looked for in what the member serves.
const MOST_ASKED: usize = 5_000;
/// Versions that an entry may name, each of which is looked for with each of its resources: a group of a member has as many at the most.
const MOST_VERSIONS: usize = 50;
/// No group, version or resource has a longer name. What is missing is told with its names, each time.
const MOST_NAME_BYTES: usize = 253;
/// Versions that a message names.
const TOLD_VERSIONS: usize = 3;
/// What is asked for and not synced, one by one: some 400 bytes each of a status that may have 1.5 MiB.
const MOST_MISSING: usize = 1_000;

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `AllowSyncAllResources`: the group `*` stands for every resource of every group.
    pub allow_sync_all_resources: bool,
}

/// What to sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The types to keep a copy of, one version of each.
    pub(crate) types: Vec<ResourceType>,
    /// What was asked for and is not possible.
    pub(crate) missing: Vec<Missing>,
    /// What stays although it is not in `types`.
    pub(crate) kept: Kept,
}

/// Something that was asked for and is not synced now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Missing {
    /// Group as asked for.
    pub(crate) group: String,
    /// Resource as asked for.
    pub(crate) resource: String,
    /// The version it would have; empty if none is known.
    pub(crate) version: String,
    /// Why, in words.
    pub(crate) why: String,
}

/// A spec that asks for what cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidSyncResources {
    /// The group `*` while its gate is off.
    #[error("syncResources: group \"*\" needs the feature gate AllowSyncAllResources")]
    AllGroups,
    /// More than anybody can want.
    #[error(
        "syncResources: {0} resources are named, above the limit of {MOST_ASKED}: name groups with \"*\""
    )]
    TooMany(usize),
    /// The same of versions.
    #[error(
        "syncResources: {versions} versions of group {group:?} are named, above the limit of {MOST_VERSIONS}: allow each with \"*\""
    )]
    TooManyVersions {
        /// The group.
        group: String,
        /// How many.
        versions: usize,
    },
    /// What nothing is called.
    #[error(
        "syncResources: a name of {0} bytes is no group, version or resource: the limit is {MOST_NAME_BYTES}"
    )]
    TooLong(usize),
    /// A list by reference.
    #[error(
        "syncResourcesRefName is not served by this version of Armadex: put the list into syncResources"
    )]
    Reference,
}

/// What can be said about a spec before the member is asked. The text is a warning for the user: what is asked for and not done,
/// while all the rest is; mostly empty.
pub(crate) fn check(spec: &PediaClusterSpec, gates: Gates) -> Result<String, InvalidSyncResources> {
    let all = spec.sync_resources.iter().any(|entry| entry.group == ALL);
    if all && !gates.allow_sync_all_resources {
        return Err(InvalidSyncResources::AllGroups);
    }
    let asked = spec.sync_resources.iter();
    let asked = asked.map(|entry| entry.resources.len()).sum();
    if asked > MOST_ASKED {
        return Err(InvalidSyncResources::TooMany(asked));
    }
    spec.sync_resources.iter().try_for_each(check_names)?;
    if !spec.sync_resources_ref_name.is_empty() {
        return Err(InvalidSyncResources::Reference);
    }
    let mut ignored = Vec::new();
    if spec.sync_all_custom_resources {
        ignored.push("syncAllCustomResources (name the groups in syncResources)");
    }
    let with_events = |entry: &GroupResources| !entry.events_involved_resources.is_empty();
    if spec.sync_resources.iter().any(with_events) {
        ignored.push("eventsInvolvedResources (sync the resource \"events\" instead)");
    }
    if spec.authorization_mode == Some(AuthorizationMode::OuterOnly) {
        ignored.push("authorizationMode outer-only (requests are authorised inside as well)");
    }
    if ignored.is_empty() {
        return Ok(String::new());
    }
    let what = ignored.join(" and ");
    Ok(format!(
        "Warning: not served by this version of Armadex: {what}"
    ))
}

fn check_names(entry: &GroupResources) -> Result<(), InvalidSyncResources> {
    let GroupResources {
        group,
        versions,
        resources,
        events_involved_resources: _,
    } = entry;
    let names = versions.iter().chain(resources).chain([group]);
    let longest = names.map(String::len).max().unwrap_or_default();
    if longest > MOST_NAME_BYTES {
        return Err(InvalidSyncResources::TooLong(longest));
    }
    if versions.len() > MOST_VERSIONS {
        return Err(InvalidSyncResources::TooManyVersions {
            group: group.clone(),
            versions: versions.len(),
        });
    }
    Ok(())
}

/// Whether a type is asked for in this version, be it served or not.
fn is_asked(wanted: &[GroupResources], resource: &ResourceType) -> bool {
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
    };
    let is_of_group = || entry.group == resource.gvr.group;
    entry.group == ALL || (is_of_group() && entry.resources.iter().any(named))
}

impl Plan {
    /// Whether what is stored of this type is left as it is.
    pub(crate) fn keeps(&self, gvr: &GroupVersionResource) -> bool {
        self.kept.types.contains(gvr) || self.types.iter().any(|planned| planned.gvr == *gvr)
    }

    /// Whether a stream of this type, described like this, runs on.
    pub(crate) fn runs_on(&self, resource: &ResourceType) -> bool {
        self.kept.types.contains(&resource.gvr) || self.types.contains(resource)
    }
}

/// Chooses the types of `wanted` from what the member serves, and keeps of what is `known` all that has not been proven to be gone. No
/// more than `most` are chosen: how much a member serves is for the member to say.
#[must_use]
pub(crate) fn negotiate(
    wanted: &[GroupResources],
    served: &Discovery,
    known: &Known,
    most: usize,
) -> Plan {
    let mut chosen = choose(wanted, served);
    let kept = keep::keep(&mut chosen, wanted, served, known);
    chosen.cut(known, most);
    Plan {
        types: chosen.types.into_values().collect(),
        missing: chosen.missing.into_iter().collect(),
        kept,
    }
}

/// Of several entries for one type the first counts.
fn choose(wanted: &[GroupResources], served: &Discovery) -> Chosen {
    let mut chosen = Chosen::default();
    let mut names = Names::default();
    if wanted.iter().any(|entry| entry.group == ALL) {
        for (name, group) in &served.groups {
            chosen.add_all(name, group, &[]);
        }
        return chosen;
    }
    for entry in wanted {
        match served.groups.get(&entry.group) {
            None => chosen.miss_group(entry),
            Some(group) => {
                for resource in &entry.resources {
                    if resource == ALL {
                        chosen.add_all(&entry.group, group, &entry.versions);
                    } else {
                        chosen.add(entry, group, resource, &mut names);
                    }
                }
            }
        }
    }
    chosen
}

/// By group and resource, so that there is one version of each.
#[derive(Default)]
struct Chosen {
    types: BTreeMap<(String, String), ResourceType>,
    missing: BTreeSet<Missing>,
}

impl Chosen {
    /// Whether the version that was chosen of this resource is one of these.
    fn is_one_of(&self, known: &[ResourceType], gvr: &GroupVersionResource) -> bool {
        let chosen = self.types.get(&key_of(gvr));
        chosen.is_some_and(|chosen| known.iter().any(|known| known.gvr == chosen.gvr))
    }

    /// Chooses this version of a resource and no other.
    fn replace(&mut self, resource: ResourceType) {
        self.types.insert(key_of(&resource.gvr), resource);
    }

    /// Chooses no version of a resource, and says why unless something is said of it already.
    fn withdraw(&mut self, gvr: &GroupVersionResource, why: &str) {
        if self.types.remove(&key_of(gvr)).is_some() {
            self.miss(&gvr.group, &gvr.resource, &gvr.version, why);
        }
    }

    /// Leaves `most` types, those first that are synced already, and tells of so much that is missing as a status can hold.
    fn cut(&mut self, known: &Known, most: usize) {
        let known: BTreeSet<_> = known.types.iter().map(|known| &known.gvr).collect();
        let (stay, new): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.types)
            .into_iter()
            .partition(|(_, resource)| known.contains(&resource.gvr));
        let beyond = (stay.len() + new.len()).saturating_sub(most);
        self.types = stay.into_iter().chain(new).take(most).collect();
        let untold = self.missing.len().saturating_sub(MOST_MISSING);
        let missing = std::mem::take(&mut self.missing);
        self.missing = missing.into_iter().take(MOST_MISSING).collect();
        let told = [
            (
                beyond,
                format!(
                    "{beyond} more resources are not synced: a cluster may have {most} (--max-resources-per-cluster)"
                ),
            ),
            (
                untold,
                format!("{untold} more are asked for and not served"),
            ),
        ];
        for (number, why) in told {
            if number > 0 {
                self.miss(ALL, ALL, "", &why);
            }
        }
    }

    /// Everything of a group that can be synced; what cannot was not asked for by name.
    fn add_all(&mut self, name: &str, group: &Group, versions: &[String]) {
        for version in allowed(name, group, versions) {
            match &version.state {
                VersionState::Served(resources) => {
                    for resource in resources.iter().filter(|found| found.can_sync) {
                        self.insert(name, version, resource);
                    }
                }
                VersionState::Failed(why) => self.miss(name, ALL, &version.name, why),
            }
        }
    }

    fn add<'a>(
        &mut self,
        entry: &'a GroupResources,
        group: &'a Group,
        asked: &str,
        names: &mut Names<'a>,
    ) {
        let GroupResources {
            group: name,
            versions,
            ..
        } = entry;
        let mut unsure = None;
        for version in allowed(name, group, versions) {
            match &version.state {
                VersionState::Failed(why) => unsure = unsure.or(Some((version, why))),
                VersionState::Served(resources) => {
                    let Some(found) = names.find((name, &version.name), resources, asked) else {
                        continue;
                    };
                    if found.can_sync {
                        self.insert(name, version, found);
                    } else {
                        let why = "the member can't list and watch it";
                        self.miss(name, asked, &version.name, why);
                    }
                    return;
                }
            }
        }
        match unsure {
            Some((version, why)) => self.miss(name, asked, &version.name, why),
            None => self.miss(name, asked, "", &not_served(versions)),
        }
    }

    fn insert(&mut self, group: &str, version: &Version, found: &ServedResource) {
        let key = (group.to_owned(), found.name.clone());
        self.types
            .entry(key)
            .or_insert_with(|| resource_type(group, version, found));
    }

    fn miss_group(&mut self, entry: &GroupResources) {
        for resource in &entry.resources {
            self.miss(&entry.group, resource, "", "the member has no such group");
        }
    }

    fn miss(&mut self, group: &str, resource: &str, version: &str, why: &str) {
        self.missing.insert(Missing {
            group: group.to_owned(),
            resource: resource.to_owned(),
            version: version.to_owned(),
            why: why.to_owned(),
        });
    }
}

fn not_served(versions: &[String]) -> String {
    if versions.is_empty() || versions.iter().any(|version| version == ALL) {
        "the member does not serve it".to_owned()
    } else {
        let (told, others) = versions.split_at(versions.len().min(TOLD_VERSIONS));
        let others = if others.is_empty() { "" } else { " or others" };
        let told = told.join(" or ");
        format!("the member does not serve it in version {told}{others}")
    }
}

/// The versions that may be chosen, in the member's order.
fn allowed<'a>(
    name: &str,
    group: &'a Group,
    versions: &'a [String],
) -> impl Iterator<Item = &'a Version> {
    let any = is_any(name, versions);
    group
        .versions
        .iter()
        .filter(move |version| any || versions.contains(&version.name))
}

/// Whether an entry with these versions allows each version of a group.
fn is_any(group: &str, versions: &[String]) -> bool {
    versions.is_empty() || is_builtin(group) || versions.iter().any(|version| version == ALL)
}

fn key_of(gvr: &GroupVersionResource) -> (String, String) {
    (gvr.group.clone(), gvr.resource.clone())
}

/// Whether a group is Kubernetes' own: without a dot, or below `k8s.io` and not one of those that are left to projects.
fn is_builtin(group: &str) -> bool {
    const BELOW_K8S_IO: [&str; 17] = [
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    ];
    match group.strip_suffix(".k8s.io") {
        Some(rest) => BELOW_K8S_IO.contains(&rest),
        None => !group.contains('.'),
    }
}

/// Resources by name, of those versions that somebody asked for: one name is looked for as quickly as thousands.
#[derive(Default)]
struct Names<'a>(HashMap<(&'a str, &'a str), HashMap<String, &'a ServedResource>>);

impl<'a> Names<'a> {
    /// Plural or singular, in any case; no short names, which may clash.
    fn find(
        &mut self,
        version: (&'a str, &'a str),
        resources: &'a [ServedResource],
        asked: &str,
    ) -> Option<&'a ServedResource> {
        let names = self.0.entry(version).or_insert_with(|| {
            let mut names = HashMap::new();
            for resource in resources {
                for name in [&resource.name, &resource.singular] {
                    if !name.is_empty() {
                        names.entry(name.to_ascii_lowercase()).or_insert(resource);
                    }
                }
            }
            names
        });
        names.get(&asked.to_ascii_lowercase()).copied()
    }
}

fn resource_type(group: &str, version: &Version, found: &ServedResource) -> ResourceType {
    let ServedResource {
        name,
        singular,
        kind,
        namespaced,
        can_sync: _,
        short_names,
        categories,
    } = found.clone();
    ResourceType {
        gvr: GroupVersionResource::new(group, &version.name, name),
        kind,
        namespaced,
        singular,
        short_names,
        categories,
    }
}
