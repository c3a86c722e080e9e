//! What changed for each policy since its last look. Where that is some source objects and lifecycles, they alone are looked at: what of a thousand of
//! them is said anew all the time is mostly nothing that a policy reads. Pure.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use armadex_control_plane::lock;
use armadex_policy::ObjectName;
use tokio::time::Instant;

use crate::Problem;

/// So many changed objects are remembered by name, however few there are, and of many [`SHARE`]: to walk over all of them, and over all that was made
/// of them, is no much longer way beyond that. A platform that probes each of its clusters every ten seconds changes a tenth of them in one.
const FEW: usize = 256;
/// This part of those that are known.
const SHARE: usize = 4;

/// How many there are, and what is wrong with some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Source objects.
    pub(crate) objects: usize,
    /// Lifecycles of the policy.
    pub(crate) lifecycles: usize,
    /// What has nothing to do with the others.
    pub(crate) aside: Arc<Aside>,
}

/// Problems that wait for an edit, or for a name that somebody else has, and the lifecycles that they are about, by name. What changes of others leaves both as they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Aside {
    /// The problems.
    pub(crate) problems: Vec<Problem>,
    /// The names.
    pub(crate) names: BTreeSet<String>,
}

impl Aside {
    /// So many problems, and names, are kept for each policy: each has a kilobyte at the most.
    pub(crate) const MOST: usize = 32;
}

/// Something that changed for a policy.
#[derive(Clone, Debug)]
pub(crate) enum News {
    /// A source object.
    Source(Arc<ObjectName>),
    /// A lifecycle of the policy, by its name, that is made of this object.
    Lifecycle(String, ObjectName),
    /// Anything.
    Anything,
}

/// Some source objects and lifecycles that changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Source objects, and those that the lifecycles are made of.
    pub(crate) sources: HashSet<Arc<ObjectName>>,
    /// Lifecycles, by name.
    pub(crate) lifecycles: HashSet<String>,
}

/// All that is so since a look after which nothing was left to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Since {
    /// What changed.
    pub(crate) changed: Changed,
    /// How many there were, if each object but for a few had one lifecycle or none, and no problem.
    pub(crate) totals: Option<Totals>,
    /// When everything is to be looked at again, if problems may have passed by then of which nobody tells.
    pub(crate) again_at: Option<Instant>,
}

/// By the name of the policy. One that was not looked at yet is not there.
#[derive(Debug, Default)]
pub(crate) struct Noted(Mutex<HashMap<String, Look>>);

/// Since a look began.
#[derive(Debug)]
struct Look {
    /// Nothing was left to do after it; how many there were, and when everything is looked at again.
    settled: Option<(Option<Totals>, Option<Instant>)>,
    /// Changed objects that are remembered.
    room: usize,
    /// None for anything.
    changed: Option<Changed>,
}

impl Noted {
    /// Something changed for a policy.
    pub(crate) fn note(&self, policy: &str, news: News) {
        let mut all = lock(&self.0);
        let Some(look) = all.get_mut(policy) else {
            return;
        };
        let Some(changed) = &mut look.changed else {
            return;
        };
        match news {
            News::Source(object) => drop(changed.sources.insert(object)),
            News::Lifecycle(name, source) => {
                changed.lifecycles.insert(name);
                changed.sources.insert(Arc::new(source));
            }
            News::Anything => look.changed = None,
        }
        let is_too_much =
            |changed: &Changed| changed.sources.len().max(changed.lifecycles.len()) > look.room;
        if look.changed.as_ref().is_some_and(is_too_much) {
            look.changed = None;
        }
    }

    /// A look begins. Gives what changed since the last one, if that is little and nothing was left to do after it.
    pub(crate) fn begin(&self, policy: &str) -> Option<Since> {
        let mut all = lock(&self.0);
        let look = all.entry(policy.to_owned()).or_insert(Look {
            settled: None,
            room: FEW,
            changed: None,
        });
        let settled = look.settled.take();
        let changed = look.changed.replace(Changed::default());
        let (changed, (totals, again_at)) = changed.zip(settled)?;
        Some(Since {
            changed,
            totals,
            again_at,
        })
    }

    /// So many objects are known of a policy.
    pub(crate) fn know(&self, policy: &str, objects: usize) {
        if let Some(look) = lock(&self.0).get_mut(policy) {
            look.room = FEW.max(objects / SHARE);
        }
    }

    /// Nothing is left to do after the look that has begun, but at this time, and so many there are.
    pub(crate) fn settle(&self, policy: &str, totals: Option<Totals>, again_at: Option<Instant>) {
        if let Some(look) = lock(&self.0).get_mut(policy) {
            look.settled = Some((totals, again_at));
        }
    }

    pub(crate) fn forget(&self, policy: &str) {
        lock(&self.0).remove(policy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> ObjectName {
        ObjectName {
            namespace: String::new(),
            name: name.to_owned(),
        }
    }

    fn source(object: &str) -> News {
        News::Source(Arc::new(name(object)))
    }

    /// The names of the sources that changed.
    fn changed(noted: &Noted) -> Option<Vec<String>> {
        let changed = noted.begin("p")?.changed.sources;
        let mut names = Vec::from_iter(changed.iter().map(|object| object.name.clone()));
        names.sort_unstable();
        Some(names)
    }

    fn settled() -> Noted {
        let noted = Noted::default();
        noted.begin("p");
        noted.settle("p", None, None);
        noted
    }

    #[test]
    fn objects_that_changed_are_all_that_did_after_a_look_that_left_nothing_to_do() {
        let noted = settled();
        for name in ["b", "a", "b"] {
            noted.note("p", source(name));
        }
        let both = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(changed(&noted), both);
        noted.note("p", source("a"));
        assert_eq!(changed(&noted), None, "it has not settled");
    }

    #[test]
    fn a_lifecycle_that_changed_is_told_with_what_it_is_made_of() {
        let noted = Noted::default();
        noted.begin("p");
        let totals = Totals {
            objects: 3,
            lifecycles: 2,
            aside: Arc::default(),
        };
        noted.settle("p", Some(totals.clone()), None);
        noted.note("p", News::Lifecycle("l".to_owned(), name("o")));
        let since = noted.begin("p").expect("it had settled");
        assert_eq!(since.totals, Some(totals));
        let changed = Changed {
            sources: [Arc::new(name("o"))].into(),
            lifecycles: ["l".to_owned()].into(),
        };
        assert_eq!(since.changed, changed);
    }

    #[test]
    fn what_changes_while_it_is_looked_at_is_news_after_that() {
        let noted = Noted::default();
        assert_eq!(changed(&noted), None, "the first look");
        noted.note("p", source("a"));
        noted.settle("p", None, None);
        assert_eq!(changed(&noted), Some(vec!["a".to_owned()]));
    }

    #[test]
    fn anything_and_too_much_is_everything_until_the_next_look() {
        let many = (0..=FEW).map(|number| source(&number.to_string()));
        for notes in [
            vec![source("a"), News::Anything, source("b")],
            many.collect(),
        ] {
            let noted = settled();
            notes.into_iter().for_each(|news| noted.note("p", news));
            assert_eq!(changed(&noted), None);
            noted.settle("p", None, None);
            assert_eq!(changed(&noted), Some(Vec::new()));
        }
    }

    #[test]
    fn of_many_objects_a_share_is_remembered() {
        let noted = settled();
        noted.know("p", 10_000);
        let note = |count: usize| {
            let names = (0..count).map(|number| source(&number.to_string()));
            names.for_each(|name| noted.note("p", name));
            let changed = noted.begin("p").map(|since| since.changed.sources.len());
            noted.settle("p", None, None);
            changed
        };
        // A second of the heartbeats of ten thousand clusters.
        assert_eq!(note(1_000), Some(1_000));
        assert_eq!(note(2_500), Some(2_500));
        assert_eq!(note(2_501), None);
        noted.know("p", 10);
        assert_eq!(note(FEW), Some(FEW));
    }

    #[test]
    fn nothing_is_held_of_whoever_goes() {
        let noted = settled();
        noted.forget("p");
        noted.note("p", News::Anything);
        assert!(lock(&noted.0).is_empty());
    }
}
