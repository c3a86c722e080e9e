//! A list of resources, looked at once, however many clusters refer to it. Pure.

use std::collections::BTreeSet;

use armadex_crds::GroupResources;

/// In the place of a group, a version or a resource: each of them.
pub(super) const ALL: &str = "*";
/// Resources that one list may name: nobody names so many, and each is looked for in what the member serves. Beside them it may ask for the Events of as many.
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
        let asked = entries.iter().map(|entry| entry.resources.len().max(1));
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
        let mut strays = Vec::new();
        Self {
            is_of_all: entries.iter().any(|entry| entry.group == ALL),
            entries: without_strays(entries, &mut strays),
            strays: strays.first().map(|first| (shown(first), strays.len())),
            flaw,
        }
    }
}

/// The entries with the Events that they may ask for, and the names of the others: what an entry does not ask for itself, what nothing is called, and what is more
/// than one list may name. What it asks for itself is named as it is in `resources`, in any case. That refuses no list: what it asks for beside its Events is synced.
fn without_strays<'e>(
    entries: &'e [GroupResources],
    strays: &mut Vec<&'e str>,
) -> Vec<GroupResources> {
    let mut left = MOST_ASKED;
    let entries = entries.iter().map(|entry| {
        let asked = entry.resources.iter();
        let asked: BTreeSet<_> = asked.map(|name| name.to_ascii_lowercase()).collect();
        let is_asked_for = |name: &str| {
            let is_it = name == ALL || asked.contains(ALL);
            is_it || asked.contains(&name.to_ascii_lowercase())
        };
        let mut kept = Vec::new();
        for name in &entry.events_involved_resources {
            if left > 0 && name.len() <= MOST_NAME_BYTES && is_asked_for(name) {
                left -= 1;
                kept.push(name.clone());
            } else {
                strays.push(name);
            }
        }
        GroupResources {
            events_involved_resources: kept,
            ..entry.clone()
        }
    });
    entries.collect()
}

/// No more of a name than one may have.
fn shown(name: &str) -> String {
    name.chars().take(MOST_NAME_BYTES).collect()
}

fn flaw(entry: &GroupResources) -> Option<Flaw> {
    let GroupResources {
        group,
        versions,
        resources,
        // Those that cannot be are ignored.
        events_involved_resources: _,
    } = entry;
    let names = versions.iter().chain(resources).chain([group]);
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
