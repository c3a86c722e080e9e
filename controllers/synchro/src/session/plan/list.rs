//! A list of resources, looked at once, however many clusters refer to it. Pure.

use std::collections::BTreeSet;

use armadex_crds::GroupResources;

/// In the place of a group, a version or a resource: each of them.
pub(super) const ALL: &str = "*";
/// Resources that one list may name: nobody names so many, and each is looked for in what the member serves.
pub(super) const MOST_ASKED: usize = 5_000;
/// Versions that an entry may name, each of which is looked for with each of its resources: a group of a member has as many at the most.
pub(super) const MOST_VERSIONS: usize = 50;
/// No group, version or resource has a longer name. What is missing is told with its names, each time.
pub(super) const MOST_NAME_BYTES: usize = 253;

/// A list that asks for what cannot be; whoever tells of it names the list before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    /// More than anybody can want.
    #[error("{0} resources are named, above the limit of {MOST_ASKED}: name groups with \"*\"")]
    Resources(usize),
    /// The same of versions.
    #[error(
        "{versions} versions of group {group:?} are named, above the limit of {MOST_VERSIONS}: allow each with \"*\""
    )]
    Versions {
        /// The group.
        group: String,
        /// How many.
        versions: usize,
    },
    /// What nothing is called.
    #[error("a name of {0} bytes is no group, version or resource: the limit is {MOST_NAME_BYTES}")]
    Name(usize),
}

/// What is asked for; nothing if it cannot be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(super) entries: Vec<GroupResources>,
    /// It has the group `*`.
    pub(super) is_of_all: bool,
    /// One name of those whose Events are asked for and that are none of the resources of their entry, and how many there are.
    pub(super) strays: Option<(String, usize)>,
    pub(super) flaw: Option<Flaw>,
}

impl List {
    pub(crate) fn new(entries: &[GroupResources]) -> Self {
        let asked = entries.iter().map(|entry| {
            let events = entry.events_involved_resources.len();
            entry.resources.len().max(1).saturating_add(events)
        });
        let asked: usize = asked.sum();
        let flaw = match asked > MOST_ASKED {
            true => Some(Flaw::Resources(asked)),
            false => entries.iter().find_map(flaw),
        };
        if flaw.is_some() {
            return Self {
                flaw,
                ..Self::default()
            };
        }
        let strays = entries.iter().flat_map(strays);
        let strays = Vec::from_iter(strays.map(String::as_str));
        Self {
            is_of_all: entries.iter().any(|entry| entry.group == ALL),
            strays: strays
                .first()
                .map(|first| ((*first).to_owned(), strays.len())),
            entries: entries.iter().map(without_strays).collect(),
            flaw,
        }
    }
}

/// What an entry asks for the Events of without asking for it itself. Each that it does is named as it is in `resources`, in any case.
fn strays(entry: &GroupResources) -> impl Iterator<Item = &String> {
    let asked = entry.resources.iter();
    let asked: BTreeSet<_> = asked.map(|name| name.to_ascii_lowercase()).collect();
    let is_of_all = asked.contains(ALL);
    let events = entry.events_involved_resources.iter();
    events.filter(move |name| {
        !is_of_all && *name != ALL && !asked.contains(&name.to_ascii_lowercase())
    })
}

/// The entry with the Events that it may ask for.
fn without_strays(entry: &GroupResources) -> GroupResources {
    let mut entry = entry.clone();
    let strays: BTreeSet<_> = strays(&entry).cloned().collect();
    let events = &mut entry.events_involved_resources;
    events.retain(|name| !strays.contains(name));
    entry
}

fn flaw(entry: &GroupResources) -> Option<Flaw> {
    let GroupResources {
        group,
        versions,
        resources,
        events_involved_resources,
    } = entry;
    let names = versions.iter().chain(resources).chain([group]);
    let names = names.chain(events_involved_resources);
    let longest = names.map(String::len).max().unwrap_or_default();
    if longest > MOST_NAME_BYTES {
        return Some(Flaw::Name(longest));
    }
    let versions = versions.len();
    (versions > MOST_VERSIONS).then(|| Flaw::Versions {
        group: group.clone(),
        versions,
    })
}
