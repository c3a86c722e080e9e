//! What to sync: from the spec and what the member serves to a list of types. Pure: what of it is new is for somebody else to let in.
//!
//! Of each resource one version is kept, the first that the member tells, or that in which the kind is `stored`; of one that is not Kubernetes' own each that `versions` names, if it names
//! any. What is synced already stays until whole answers say that it is gone, and another version of it until the chosen one has been
//! listed: `keep`.

mod builtin;
mod chosen;
mod customs;
mod keep;
mod list;
mod rights;
mod scope;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use armadex_conversion::Conversion;
use armadex_crds::{AuthorizationMode, GroupResources, PediaClusterSpec};
use armadex_model::{GroupVersionResource, ResourceType};

pub(crate) use self::chosen::Missing;
use self::chosen::{Chosen, Names};
pub(crate) use self::customs::{Customs, Served};
pub(crate) use self::keep::{Kept, Known};
pub(crate) use self::list::List;
use self::list::{ALL, Flaw, MOST_ASKED};
pub use self::rights::{MemberRights, member_rights_of};
pub use self::scope::Gates;
pub(crate) use self::scope::Scope;
use self::scope::{are_apart, is_events};
pub(crate) use self::stored::as_stored;
use crate::incoming::involved::Involved;
use crate::session::new_types::Wants;

/// What to sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The types to keep a copy of, one version of each but where several are given by hand, in the order of their groups, names and versions.
    pub(crate) types: Vec<ResourceType>,
    /// Of which resources versions are given by hand, by group and name: each of them is there.
    pub(crate) apart: BTreeSet<(String, String)>,
    /// What was asked for and is not possible.
    pub(crate) missing: Vec<Missing>,
    /// What stays although it is not in `types`.
    pub(crate) kept: Kept,
    /// What is known and still served of which another version is in `types`, in the member's order: one of each may have to do until that one has been listed.
    pub(crate) replaced: Vec<ResourceType>,
    /// How many that are new are to come later.
    pub(crate) wait: usize,
    /// The kinds whose Events are kept, where those of some alone are asked for.
    pub(crate) involved: Option<Arc<Involved>>,
    /// What of `types` the member serves in an older version, and how that becomes what is stored.
    pub(crate) conversions: BTreeMap<GroupVersionResource, Conversion>,
}

/// What a PediaCluster refers to as `syncResourcesRefName`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Nothing.
    None,
    /// A ClusterSyncResources of this name, which is not there.
    Missing(String),
    /// That of this name, and what it asks for.
    To(String, Arc<List>),
}

/// A spec that asks for what cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidSyncResources {
    /// The group `*` while its gate is off, and in which list.
    #[error("{0}: group \"*\" needs the feature gate AllowSyncAllResources")]
    AllGroups(String),
    /// What nobody can want, and in which list.
    #[error("{0}: {1}")]
    Flawed(String, #[source] Flaw),
}

/// What a spec asks for, as far as that can be said before the member is asked. The list that it refers to comes behind its own, as Clusterpedia has it. The text is a
/// warning for the user: what is asked for and not done, while all the rest is; mostly empty.
pub(crate) fn scope(
    spec: &PediaClusterSpec,
    reference: &Reference,
    gates: Gates,
) -> Result<(Scope, String), InvalidSyncResources> {
    let own = Arc::new(List::new(&spec.sync_resources));
    check("syncResources", &own, gates)?;
    let mut lists = vec![own];
    if let Reference::To(name, list) = reference {
        check(&format!("ClusterSyncResources {name}"), list, gates)?;
        lists.push(Arc::clone(list));
    }
    let warnings = [
        missing(reference),
        gated(spec, gates),
        strays(&lists),
        ignored(spec),
    ];
    let warnings = Vec::from_iter(warnings.into_iter().flatten());
    let all_customs = spec.sync_all_custom_resources && gates.allow_sync_all_custom_resources;
    let scope = Scope::new(lists, gates).with_customs(all_customs);
    Ok((scope, warnings.join("; ")))
}

/// Whether a list can be meant.
fn check(name: &str, list: &List, gates: Gates) -> Result<(), InvalidSyncResources> {
    if let Some(flaw) = &list.flaw {
        return Err(InvalidSyncResources::Flawed(name.to_owned(), flaw.clone()));
    }
    if list.is_of_all && !gates.allow_sync_all_resources {
        return Err(InvalidSyncResources::AllGroups(name.to_owned()));
    }
    Ok(())
}

/// Clusterpedia's words, and which.
fn missing(reference: &Reference) -> Option<String> {
    let Reference::Missing(name) = reference else {
        return None;
    };
    Some(format!(
        "Warning: sync resource ref is not found: there is no ClusterSyncResources {name}, so syncResources alone count"
    ))
}

/// Clusterpedia ignores it without a word.
fn gated(spec: &PediaClusterSpec, gates: Gates) -> Option<String> {
    let is_ignored = spec.sync_all_custom_resources && !gates.allow_sync_all_custom_resources;
    is_ignored.then(|| {
        "Warning: syncAllCustomResources is ignored: it needs the feature gate AllowSyncAllCustomResources".to_owned()
    })
}

/// The same of these.
fn strays(lists: &[Arc<List>]) -> Option<String> {
    let mut strays = lists.iter().filter_map(|list| list.strays.as_ref());
    let (name, mut count) = strays.next()?.clone();
    count += strays.map(|(_, count)| count).sum::<usize>();
    let others = match count {
        1 => String::new(),
        _ => format!(" and {} more are", count - 1),
    };
    let is = if count == 1 { " is" } else { "" };
    Some(format!(
        "Warning: eventsInvolvedResources: {name:?}{others}{is} ignored: name what is named in resources of the same entry, as it is there, or \"*\", and no more than {MOST_ASKED} in all"
    ))
}

fn ignored(spec: &PediaClusterSpec) -> Option<String> {
    (spec.authorization_mode == Some(AuthorizationMode::OuterOnly)).then(|| {
        "Warning: not served by this version of Armadex: authorizationMode outer-only (requests are authorised inside as well)".to_owned()
    })
}

impl Plan {
    /// Whether what is stored of this type is left as it is.
    pub(crate) fn keeps(&self, gvr: &GroupVersionResource) -> bool {
        self.kept.types.contains(gvr) || self.planned(gvr).is_some()
    }

    /// What is planned of this type.
    fn planned(&self, gvr: &GroupVersionResource) -> Option<&ResourceType> {
        let order = |planned: &ResourceType| {
            let of_resource = resource_of(&planned.gvr).cmp(&resource_of(gvr));
            of_resource.then_with(|| planned.gvr.version.cmp(&gvr.version))
        };
        let place = self.types.binary_search_by(order).ok()?;
        self.types.get(place)
    }

    /// What has to do although the plan has no place for it: of each resource of which no version that is planned or kept has been listed one other that has,
    /// the first in the member's order, or, where none has, the first of those with rows, as while it is listed anew. More would have no
    /// end: who puts another version first each hour may let none of them be listed.
    pub(crate) fn have_to_do<'a>(
        &'a self,
        listed: &BTreeSet<&'a GroupVersionResource>,
        with_rows: &[&'a GroupVersionResource],
    ) -> BTreeSet<GroupVersionResource> {
        let planned = self.types.iter().map(|planned| &planned.gvr);
        let stay = planned.chain(&self.kept.types);
        let (shown, others): (Vec<_>, Vec<_>) = stay.partition(|gvr| listed.contains(gvr));
        let shown: BTreeSet<_> = shown.into_iter().map(resource_of).collect();
        let others: BTreeSet<_> = others.into_iter().map(resource_of).collect();
        let mut have_to_do = BTreeMap::new();
        let candidates = self
            .replaced_first(listed)
            .into_iter()
            .chain(with_rows.iter().copied());
        for gvr in candidates {
            let resource = resource_of(gvr);
            if others.contains(&resource) && !shown.contains(&resource) && !self.keeps(gvr) {
                have_to_do.entry(resource).or_insert(gvr);
            }
        }
        have_to_do.into_values().cloned().collect()
    }

    /// These, those that are served first, in the member's order.
    fn replaced_first<'a>(
        &'a self,
        some: &BTreeSet<&'a GroupVersionResource>,
    ) -> Vec<&'a GroupVersionResource> {
        let served = self.replaced.iter().map(|replaced| &replaced.gvr);
        let served = served.filter(|gvr| some.contains(gvr));
        served.chain(some.iter().copied()).collect()
    }

    /// Whether a stream of this type, described like this, runs on.
    pub(crate) fn runs_on(&self, resource: &ResourceType) -> bool {
        self.kept.types.contains(&resource.gvr) || self.planned(&resource.gvr) == Some(resource)
    }

    /// Whether a stream of this type that converts like this runs on.
    pub(crate) fn reads_on(
        &self,
        gvr: &GroupVersionResource,
        conversion: Option<Conversion>,
    ) -> bool {
        self.kept.types.contains(gvr) || self.conversions.get(gvr).copied() == conversion
    }

    /// The kinds whose Events are kept of this type, if it is Events and not all of them are.
    pub(crate) fn involved(&self, gvr: &GroupVersionResource) -> Option<&Arc<Involved>> {
        self.involved.as_ref().filter(|_| is_events(gvr))
    }

    /// Whether a stream of this type that keeps these of what comes runs on.
    pub(crate) fn takes_on(
        &self,
        gvr: &GroupVersionResource,
        involved: Option<&Arc<Involved>>,
    ) -> bool {
        self.kept.types.contains(gvr) || self.involved(gvr) == involved
    }
}

fn resource_of(gvr: &GroupVersionResource) -> (&str, &str) {
    (&gvr.group, &gvr.resource)
}

/// What was chosen, before it is known what of it begins now.
pub(crate) struct Draft<'a> {
    chosen: Chosen,
    kept: Kept,
    wanted: &'a Scope,
    served: Served<'a>,
    known: &'a Known,
    most: usize,
}

/// Chooses the types of `wanted` from what the member serves, and keeps of what is `known` all that has not been proven to be gone: at the most so
/// many, what is kept among them, for how much a member serves, and ceases to serve, is for the member to say.
#[must_use]
pub(crate) fn negotiate<'a>(
    wanted: &'a Scope,
    served: Served<'a>,
    known: &'a Known,
    most: usize,
) -> Draft<'a> {
    let mut chosen = choose(wanted, served, &known.types);
    let kept = keep::keep(&mut chosen, wanted, served, known);
    Draft {
        chosen,
        kept,
        wanted,
        served,
        known,
        most,
    }
}

impl Draft<'_> {
    /// What of it is new.
    #[must_use]
    pub(crate) fn wants(&self) -> Wants {
        let (new, places) = self.chosen.new_beside(&self.known.types, self.places());
        let known = self.known.types.iter();
        let versions =
            known.filter_map(|known| keep::replacing(&self.chosen, self.known, &known.gvr));
        Wants {
            new,
            places,
            versions: versions.cloned().collect(),
        }
    }

    /// The plan if these of them begin now.
    #[must_use]
    pub(crate) fn plan(mut self, begin: &BTreeSet<GroupVersionResource>) -> Plan {
        keep::replace(
            &mut self.chosen,
            &mut self.kept,
            (self.served.discovery, self.known),
            begin,
        );
        let (places, later) = (self.places(), self.kept.replaced_later);
        let (beyond, new_later) = self.chosen.cut(&self.known.types, places, begin);
        self.chosen
            .tell_of_the_rest((beyond, new_later, later), self.most);
        let replaced = keep::replaced(&self.chosen, self.served.discovery, self.known);
        let involved = self.involved();
        let Self { chosen, kept, .. } = self;
        Plan {
            wait: new_later + later,
            replaced,
            apart: chosen.apart,
            types: chosen.types.into_values().collect(),
            missing: chosen.missing.into_iter().collect(),
            kept,
            involved: involved.map(Arc::new),
            conversions: BTreeMap::new(),
        }
    }

    /// The kinds whose Events are kept, if those of all are not asked for anyway. Those of what stays are kept on with it; without any there are none to keep.
    fn involved(&mut self) -> Option<Involved> {
        let mut chosen = self.chosen.types.values();
        let events = chosen.find(|chosen| is_events(&chosen.gvr))?.clone();
        if self.wanted.names(&events) {
            return None;
        }
        let known = self.known.types.iter();
        let kept = known.filter(|known| self.kept.types.contains(&known.gvr));
        let types = self.chosen.types.values().chain(kept);
        let types = types.filter(|resource| self.wanted.asks_for_events_of(resource));
        let involved = Involved::in_types(types);
        if involved.is_none() {
            self.chosen
                .types
                .retain(|_, chosen| !is_events(&chosen.gvr));
        }
        involved
    }

    /// Beside what is kept. A version that is kept beside the chosen one takes no place: nothing else is to go for it.
    fn places(&self) -> usize {
        self.most
            .saturating_sub(self.chosen.beside(&self.kept.types))
    }
}

/// Versions that are given by hand count whatever else names their resource. So it makes no difference for them whether it is known what is custom.
fn choose(wanted: &Scope, served: Served<'_>, known: &[ResourceType]) -> Chosen {
    let mut chosen = Chosen::default();
    if wanted.entries().any(|entry| entry.group == ALL) {
        for (name, group) in &served.discovery.groups {
            chosen.add_all(name, group, &[]);
        }
        chosen.leave_out(wanted);
        return chosen;
    }
    let mut names = Names::default();
    let are_apart = |entry: &&GroupResources| are_apart(&entry.group, &entry.versions);
    let (by_hand, others): (Vec<_>, Vec<_>) = wanted.entries().partition(are_apart);
    for entry in by_hand.into_iter().chain(others) {
        chosen.add_entry(entry, served.discovery, &mut names);
    }
    if wanted.asks_for_customs() {
        chosen.add_customs(served);
    }
    chosen.add_events(wanted, served.discovery, known);
    chosen.leave_out(wanted);
    chosen.gather();
    chosen
}
