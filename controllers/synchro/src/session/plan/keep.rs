//! What is there already and has to stay: an answer that tells only a part never takes a type away or puts another version in its place. Pure.
//!
//! A group of which a version does not answer leaves everything that is known of it as it is. One that answers as a whole is believed
//! when it says the same twice: an API server that has just started, or one of several that lags behind, may not tell its custom
//! resources at once.

use std::collections::BTreeSet;

use armadex_member::{Discovery, VersionState};
use armadex_model::{GroupVersionResource, ResourceType};

use super::chosen::{Chosen, obstacle, resource_type};
use super::customs::Served;
use super::scope::Scope;

/// What is stored or synced of a cluster when a plan is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The types that are stored, or that a stream runs for.
    pub(crate) types: Vec<ResourceType>,
    /// Those that whole answers had no place for, seconds ago and the last time.
    pub(crate) doubted: BTreeSet<GroupVersionResource>,
    /// Those that have been listed to their end.
    pub(crate) listed: BTreeSet<GroupVersionResource>,
    /// Those that a stream runs for and that are not converted.
    pub(crate) unconverted: BTreeSet<GroupVersionResource>,
}

impl Known {
    /// Whether a stream of this type reads what the member serves as it is, and no whole answers have said that it is gone.
    pub(super) fn runs_unconverted(&self, gvr: &GroupVersionResource) -> bool {
        self.unconverted.contains(gvr) && !self.doubted.contains(gvr)
    }
}

/// What stays although nothing was chosen of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Types that are left as they are: what runs goes on, what is stored is not hidden.
    pub(crate) types: BTreeSet<GroupVersionResource>,
    /// Those that leave if the next whole answer has no place for them either.
    pub(crate) doubted: BTreeSet<GroupVersionResource>,
    /// Those that this answer proves to be gone. They stay proven for as long as they are there and nothing serves them.
    pub(crate) gone: BTreeSet<GroupVersionResource>,
    /// How many types stay because another version of them has to wait.
    pub(crate) replaced_later: usize,
}

/// Puts what is known, and not yet proven to be gone, in the place of what was chosen instead, or leaves it beside another version that is known as well.
pub(super) fn keep(chosen: &mut Chosen, wanted: &Scope, served: Served<'_>, known: &Known) -> Kept {
    let Served { discovery, customs } = served;
    let mut kept = Kept::default();
    for gvr in unproven(chosen, wanted, discovery, known) {
        let failure = failure(discovery, &gvr.group);
        // What the member does not serve at all is nothing custom.
        let is_unsure =
            || described(discovery, gvr).and_then(|_| wanted.is_unsure_of(&gvr.group, customs));
        let failure = failure.or_else(is_unsure);
        if failure.is_none() {
            if known.doubted.contains(gvr) {
                kept.gone.insert(gvr.clone());
                continue;
            }
            kept.doubted.insert(gvr.clone());
        }
        if is_reversed(chosen, known, gvr) {
            // It goes on beside the chosen one.
            kept.types.insert(gvr.clone());
        }
        let why = failure.unwrap_or("the member has just ceased to serve it");
        kept.stay(chosen, (discovery, known), gvr, why);
    }
    kept
}

/// What is asked for and known and was not chosen, except for what is served beside a version that is known too: that one was decided for before, unless it is
/// the one that has been listed and this one came to take its place: then the order in which the member tells them is another one than it was.
fn unproven<'a>(
    chosen: &Chosen,
    wanted: &Scope,
    served: &Discovery,
    known: &'a Known,
) -> Vec<&'a GroupVersionResource> {
    let is_decided = |gvr: &GroupVersionResource| {
        let is_there = chosen.is_one_of(&known.types, gvr) && described(served, gvr).is_some();
        is_there && !is_reversed(chosen, known, gvr)
    };
    let others = others(chosen, served, known).into_iter();
    let asked = others.filter(|resource| wanted.asks_for_version(resource));
    let gvrs = asked.map(|resource| &resource.gvr);
    gvrs.filter(|gvr| !is_decided(gvr)).collect()
}

/// Whether what was chosen has been listed and this, which came to take its place, has not.
fn is_reversed(chosen: &Chosen, known: &Known, gvr: &GroupVersionResource) -> bool {
    let is_listed = |gvr: &GroupVersionResource| known.listed.contains(gvr);
    chosen.version_of(gvr).is_some_and(is_listed) && !is_listed(gvr)
}

/// What is known and was not chosen; in the member's order, what it does not serve last.
fn others<'a>(chosen: &Chosen, served: &Discovery, known: &'a Known) -> Vec<&'a ResourceType> {
    let is_other = |known: &&ResourceType| chosen.version_of(&known.gvr) != Some(&known.gvr);
    let mut others = Vec::from_iter(known.types.iter().filter(is_other));
    others.sort_by_cached_key(|known| place(served, &known.gvr));
    others
}

/// How many versions of its group the member would rather have.
fn place(served: &Discovery, gvr: &GroupVersionResource) -> usize {
    let is_served = described(served, gvr).is_some();
    let group = served.groups.get(&gvr.group).filter(|_| is_served);
    let mut versions = group.into_iter().flat_map(|group| &group.versions);
    let place = versions.position(|version| version.name == gvr.version);
    place.unwrap_or(usize::MAX)
}

/// The version that was chosen in the place of this one, which is known, if it is none that is known.
pub(super) fn replacing<'a>(
    chosen: &'a Chosen,
    known: &Known,
    gvr: &GroupVersionResource,
) -> Option<&'a GroupVersionResource> {
    let another = chosen.version_of(gvr).filter(|another| *another != gvr)?;
    match chosen.is_one_of(&known.types, gvr) {
        true => None,
        false => Some(another),
    }
}

/// Leaves those as they are that another version is chosen for which does not begin now: nobody would find either.
pub(super) fn replace(
    chosen: &mut Chosen,
    kept: &mut Kept,
    (served, known): (&Discovery, &Known),
    begin: &BTreeSet<GroupVersionResource>,
) {
    let is_later = |resource: &&ResourceType| {
        let another = replacing(chosen, known, &resource.gvr);
        another.is_some_and(|another| !begin.contains(another))
    };
    let others = others(chosen, served, known).into_iter();
    let later = Vec::from_iter(others.filter(is_later));
    for ResourceType { gvr, .. } in later {
        kept.replaced_later += 1;
        // It is gone as soon as there is room.
        kept.doubted.insert(gvr.clone());
        let why = "another version is synced by and by";
        kept.stay(chosen, (served, known), gvr, why);
    }
}

/// What is known, and still served, of which another version is chosen; as the member describes it, and in its order.
pub(super) fn replaced(chosen: &Chosen, served: &Discovery, known: &Known) -> Vec<ResourceType> {
    let others = others(chosen, served, known).into_iter();
    let others = others.map(|known| &known.gvr);
    let replaced = others.filter(|gvr| chosen.has(gvr));
    replaced.filter_map(|gvr| described(served, gvr)).collect()
}

impl Kept {
    /// Whether the next answer decides about something. What is only to be replaced later waits for room.
    pub(crate) fn is_doubted(&self) -> bool {
        self.doubted.len() > self.replaced_later
    }

    /// What the member still serves is synced on, of the rest is kept what there is. Another version that is known stays the chosen one.
    fn stay(
        &mut self,
        chosen: &mut Chosen,
        (served, known): (&Discovery, &Known),
        gvr: &GroupVersionResource,
        why: &str,
    ) {
        let is_new = !chosen.is_one_of(&known.types, gvr);
        match described(served, gvr) {
            Some(described) if is_new => chosen.replace(described),
            Some(_) => {}
            None => {
                if is_new {
                    chosen.withdraw(gvr, why);
                }
                self.types.insert(gvr.clone());
            }
        }
    }
}

/// Why the answer of a group is not whole.
fn failure<'a>(served: &'a Discovery, group: &str) -> Option<&'a str> {
    let versions = &served.groups.get(group)?.versions;
    versions.iter().find_map(|version| match &version.state {
        VersionState::Failed(why) => Some(why.as_str()),
        VersionState::Served(_) => None,
    })
}

/// The type as the member describes it now, if it serves this very version.
fn described(served: &Discovery, gvr: &GroupVersionResource) -> Option<ResourceType> {
    let versions = &served.groups.get(&gvr.group)?.versions;
    let version = versions.iter().find(|found| found.name == gvr.version)?;
    let VersionState::Served(resources) = &version.state else {
        return None;
    };
    let found = resources.iter().find(|found| found.name == gvr.resource)?;
    obstacle(&gvr.group, found)
        .is_none()
        .then(|| resource_type(&gvr.group, version, found))
}
