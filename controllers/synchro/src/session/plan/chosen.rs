//! What is chosen of what a member serves: one version of each resource, and why the rest is not. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armadex_crds::{GroupResources, conditions};
use armadex_member::{Discovery, Group, ServedResource, Version, VersionState};
use armadex_model::{GroupVersionResource, ResourceType};

use super::builtin;
use super::customs::{Customs, Served};
use super::list::ALL;
use super::scope::{EVENTS, Scope, are_apart, is_any};

/// Why Leases are not synced.
const LEFT_OUT: &str = "the feature gate IgnoreSyncLease leaves them out";
/// What stands for all that is custom, where something is said of it.
const CUSTOM: &str = "customresources";
/// Versions that a message names.
const TOLD_VERSIONS: usize = 3;
/// What is asked for and not synced, one by one: some 400 bytes each of a status that may have 1.5 MiB. Where names are long it says itself of how
/// many it has no room to tell.
pub(super) const MOST_MISSING: usize = 1_000;

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

impl Missing {
    /// Whether it is still asked for, in the words in which it was.
    pub(crate) fn is_wanted(&self, wanted: &Scope) -> bool {
        let is_named = |asked: &String| asked == ALL || *asked == self.resource;
        wanted.entries().any(|entry| {
            let is_of_group = entry.group == self.group && entry.resources.iter().any(is_named);
            entry.group == ALL || self.group == ALL || is_of_group
        }) || (&*self.group, &*self.resource) == EVENTS && wanted.asks_for_events()
    }
}

/// Group, resource, and the version where several are chosen: empty, and so one for all, where one version is kept.
type Key = (String, String, String);

/// By resource, so that there is one version of each, but where several were given by hand.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) types: BTreeMap<Key, ResourceType>,
    /// Resources of which several versions are chosen, by group and name.
    pub(super) apart: BTreeSet<(String, String)>,
    pub(super) missing: BTreeSet<Missing>,
}

impl Chosen {
    fn key_of(&self, gvr: &GroupVersionResource) -> Key {
        let (group, resource) = resource_of(gvr);
        let version = match self.apart.contains(&(group.clone(), resource.clone())) {
            true => gvr.version.clone(),
            false => String::new(),
        };
        (group, resource, version)
    }

    fn keys_of(&self, types: &[ResourceType]) -> BTreeSet<Key> {
        types.iter().map(|known| self.key_of(&known.gvr)).collect()
    }

    /// Whether some version of this resource is chosen.
    pub(super) fn has(&self, gvr: &GroupVersionResource) -> bool {
        self.keys_of_resource(resource_of(gvr)).next().is_some()
    }

    fn keys_of_resource(&self, of: (String, String)) -> impl Iterator<Item = &Key> {
        let (group, resource) = of;
        let first = (group.clone(), resource.clone(), String::new());
        let from_there = self.types.range(first..).map(|(key, _)| key);
        from_there.take_while(move |(of, name, _)| *of == group && *name == resource)
    }

    /// Where one version is chosen, another one takes its place when it changes, whoever named it.
    pub(super) fn gather(&mut self) {
        for of in std::mem::take(&mut self.apart) {
            let keys = Vec::from_iter(self.keys_of_resource(of.clone()).cloned());
            match keys.as_slice() {
                [only] => {
                    let only = self.types.remove(only);
                    only.into_iter().for_each(|only| self.replace(only));
                }
                _ => drop(self.apart.insert(of)),
            }
        }
    }

    /// Whether the version that was chosen of this resource is one of these.
    pub(super) fn is_one_of(&self, known: &[ResourceType], gvr: &GroupVersionResource) -> bool {
        let chosen = self.types.get(&self.key_of(gvr));
        chosen.is_some_and(|chosen| known.iter().any(|known| known.gvr == chosen.gvr))
    }

    /// Chooses this version of a resource and no other.
    pub(super) fn replace(&mut self, resource: ResourceType) {
        self.types.insert(self.key_of(&resource.gvr), resource);
    }

    /// Chooses no version of a resource, and says why unless something is said of it already.
    pub(super) fn withdraw(&mut self, gvr: &GroupVersionResource, why: &str) {
        if self.types.remove(&self.key_of(gvr)).is_some() {
            self.miss(&gvr.group, &gvr.resource, &gvr.version, why);
        }
    }

    /// The version that is chosen of this resource.
    pub(super) fn version_of(&self, gvr: &GroupVersionResource) -> Option<&GroupVersionResource> {
        self.types.get(&self.key_of(gvr)).map(|chosen| &chosen.gvr)
    }

    /// Of how many resources these are of which no version is chosen.
    pub(super) fn beside(&self, kept: &BTreeSet<GroupVersionResource>) -> usize {
        let kept: BTreeSet<_> = kept.iter().map(|gvr| self.key_of(gvr)).collect();
        let is_beside = |key: &&Key| !self.types.contains_key(*key);
        kept.iter().filter(is_beside).count()
    }

    /// What is new, and how many of these places are left for it by what is known.
    pub(super) fn new_beside(
        &self,
        known: &[ResourceType],
        places: usize,
    ) -> (Vec<GroupVersionResource>, usize) {
        let known = self.keys_of(known);
        let new = self.types.iter().filter(|(key, _)| !known.contains(key));
        let new: Vec<_> = new.map(|(_, new)| new.gvr.clone()).collect();
        let stay = self.types.len() - new.len();
        (new, places.saturating_sub(stay))
    }

    /// Leaves as many types as there are places, those first that are known, and of those that are new these. Returns how many more there are, and
    /// for how many of them there are places.
    pub(super) fn cut(
        &mut self,
        known: &[ResourceType],
        places: usize,
        begin: &BTreeSet<GroupVersionResource>,
    ) -> (usize, usize) {
        let known = self.keys_of(known);
        let all = self.types.len();
        let (stay, new): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.types)
            .into_iter()
            .partition(|(key, _)| known.contains(key));
        let stay = stay.into_iter().take(places);
        let begin = new.into_iter().filter(|(_, new)| begin.contains(&new.gvr));
        self.types = stay.chain(begin).take(places).collect();
        (
            all.saturating_sub(places),
            all.min(places) - self.types.len(),
        )
    }

    /// Tells of so much that is missing as a status can hold, and of the rest in one row: there is one of each group and resource. What waits is
    /// told without its number, which is another each time.
    pub(super) fn tell_of_the_rest(
        &mut self,
        (beyond, new_later, replaced_later): (usize, usize, usize),
        most: usize,
    ) {
        let untold = self.missing.len().saturating_sub(MOST_MISSING);
        let missing = std::mem::take(&mut self.missing);
        self.missing = missing.into_iter().take(MOST_MISSING).collect();
        let told = [
            (beyond > 0).then(|| {
                format!(
                    "{beyond} more resources are not synced: a cluster may have {most} (--max-resources-per-cluster)"
                )
            }),
            (new_later > 0).then(|| {
                format!(
                    "others are new and are synced by and by: a cluster may have {most} new ones in an hour (--max-resources-per-cluster)"
                )
            }),
            (replaced_later > 0).then(|| {
                format!(
                    "of others another version is synced by and by: a cluster may have {most} in an hour (--max-resources-per-cluster)"
                )
            }),
            (untold > 0).then(|| format!("{untold} more are asked for and not served")),
        ];
        let told: Vec<_> = told.into_iter().flatten().collect();
        if !told.is_empty() {
            self.miss(ALL, ALL, "", &told.join("; "));
        }
    }

    /// Everything custom, as far as it is known what that is.
    pub(super) fn add_customs(&mut self, served: Served<'_>) {
        let Served { discovery, customs } = served;
        for (name, group) in &discovery.groups {
            let of_group = customs
                .of_group(name)
                .filter(|_| !builtin::is_builtin(name));
            if let Some(plurals) = of_group {
                self.add_each(name, group, &[], |found| plurals.contains(&found.name));
            }
        }
        if let Customs::Untold(why) = customs {
            let why = format!(
                "syncAllCustomResources: its CustomResourceDefinitions are not listed, so those that are synced stay and no other begins: {why}"
            );
            self.miss(ALL, CUSTOM, "", &why);
        }
    }

    /// Events, if those of a type are asked for that was chosen, or that is known and may stay.
    pub(super) fn add_events(
        &mut self,
        wanted: &Scope,
        served: &Discovery,
        known: &[ResourceType],
    ) {
        let mut types = self.types.values().chain(known);
        if !types.any(|resource| wanted.asks_for_events_of(resource)) {
            return;
        }
        let (name, resource) = EVENTS;
        let group = served.groups.get(name);
        for version in group.iter().flat_map(|group| &group.versions) {
            match &version.state {
                VersionState::Failed(why) => return self.miss(name, resource, &version.name, why),
                VersionState::Served(resources) => {
                    if let Some(found) = resources.iter().find(|found| found.name == resource) {
                        return self.insert_or_miss((name, version), found, (resource, false));
                    }
                }
            }
        }
        self.miss(name, resource, "", &not_served(&[]));
    }

    /// Everything of a group that can be synced; what cannot was not asked for by name.
    pub(super) fn add_all(&mut self, name: &str, group: &Group, versions: &[String]) {
        self.add_each(name, group, versions, |_| true);
    }

    fn add_each(
        &mut self,
        name: &str,
        group: &Group,
        versions: &[String],
        is_meant: impl Fn(&ServedResource) -> bool,
    ) {
        let are_apart = are_apart(name, versions);
        for version in allowed(name, group, versions) {
            match &version.state {
                VersionState::Served(resources) => {
                    let meant = resources.iter().filter(|found| is_meant(found));
                    for resource in meant.filter(|found| found.can_sync) {
                        let asked = &resource.name;
                        self.insert_or_miss((name, version), resource, (asked, are_apart));
                    }
                }
                VersionState::Failed(why) => self.miss(name, ALL, &version.name, why),
            }
        }
    }

    /// What an entry asks for.
    pub(super) fn add_entry<'a>(
        &mut self,
        entry: &'a GroupResources,
        served: &'a Discovery,
        names: &mut Names<'a>,
    ) {
        let Some(group) = served.groups.get(&entry.group) else {
            return self.miss_group(entry);
        };
        for resource in &entry.resources {
            match resource == ALL {
                true => self.add_all(&entry.group, group, &entry.versions),
                false => self.add(entry, group, resource, names),
            }
        }
    }

    /// What it names: the first version of it that it allows, or each where they are given by hand.
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
        let are_apart = are_apart(name, versions);
        let (mut unsure, mut found) = (None, BTreeSet::new());
        for version in allowed(name, group, versions) {
            match &version.state {
                VersionState::Failed(why) => unsure = unsure.or(Some((version, why))),
                VersionState::Served(resources) => {
                    let Some(resource) = names.find((name, &version.name), resources, asked) else {
                        continue;
                    };
                    self.insert_or_miss((name, version), resource, (asked, are_apart));
                    if !are_apart {
                        return;
                    }
                    found.insert(version.name.as_str());
                }
            }
        }
        if let Some((version, why)) = unsure {
            return self.miss(name, asked, &version.name, why);
        }
        let is_missing = |version: &&str| *version != ALL && !found.contains(version);
        let missing = versions.iter().map(String::as_str).filter(is_missing);
        let missing = Vec::from_iter(missing.filter(|_| are_apart));
        if found.is_empty() || !missing.is_empty() {
            self.miss(name, asked, "", &not_served(&missing));
        }
    }

    /// Chooses this version: beside others if they are given by hand, else unless one is chosen of this resource.
    fn insert_or_miss(
        &mut self,
        (group, version): (&str, &Version),
        found: &ServedResource,
        (asked, is_apart): (&str, bool),
    ) {
        if let Some(why) = obstacle(group, found) {
            return self.miss(group, asked, &version.name, &why);
        }
        let gvr = GroupVersionResource::new(group, &version.name, &found.name);
        if is_apart {
            self.apart.insert(resource_of(&gvr));
        } else if self.has(&gvr) {
            return;
        }
        self.replace(resource_type(group, version, found));
    }

    /// Chooses nothing that is never synced.
    pub(super) fn leave_out(&mut self, wanted: &Scope) {
        let chosen = self.types.values().map(|chosen| &chosen.gvr);
        let left_out = chosen.filter(|gvr| wanted.leaves_out(gvr));
        let left_out: Vec<_> = left_out.cloned().collect();
        for gvr in left_out {
            self.withdraw(&gvr, LEFT_OUT);
        }
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
            why: conditions::shortened(why.to_owned()),
        });
    }
}

/// Why a resource that is served can't be synced.
pub(super) fn obstacle(group: &str, found: &ServedResource) -> Option<String> {
    match found.can_sync {
        true => builtin::contradiction(group, found),
        false => Some("the member can't list and watch it".to_owned()),
    }
}

/// Not in these versions, or not at all.
fn not_served(versions: &[&str]) -> String {
    if versions.is_empty() {
        return "the member does not serve it".to_owned();
    }
    let (told, others) = versions.split_at(versions.len().min(TOLD_VERSIONS));
    let others = if others.is_empty() { "" } else { " or others" };
    let told = told.join(" or ");
    format!("the member does not serve it in version {told}{others}")
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

/// Group and name.
fn resource_of(gvr: &GroupVersionResource) -> (String, String) {
    (gvr.group.clone(), gvr.resource.clone())
}

/// Resources by name, of those versions that somebody asked for: one name is looked for as quickly as thousands.
#[derive(Default)]
pub(super) struct Names<'a>(HashMap<(&'a str, &'a str), HashMap<String, &'a ServedResource>>);

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

pub(super) fn resource_type(
    group: &str,
    version: &Version,
    found: &ServedResource,
) -> ResourceType {
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
