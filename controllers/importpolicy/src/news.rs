//! What changed for each policy since its last look. Where that is some source objects, they alone are looked at: what of a thousand of them is said anew all
//! the time is mostly nothing that a policy reads. Pure.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use armadex_policy::ObjectName;

use crate::lock::lock;

/// So many changed objects are remembered by name, however few there are, and of many [`SHARE`]: to walk over all of them, and over all that was made
/// of them, is no much longer way beyond that. A platform that probes each of its clusters every ten seconds changes a tenth of them in one.
const FEW: usize = 256;
/// This part of those that are known.
const SHARE: usize = 4;

/// By the name of the policy. One that was not looked at yet is not there.
#[derive(Debug, Default)]
pub(crate) struct News(Mutex<HashMap<String, Since>>);

/// Since a look began.
#[derive(Debug)]
struct Since {
    /// Nothing was left to do after it.
    settled: bool,
    /// Changed objects that are remembered.
    room: usize,
    /// None for anything.
    changed: Option<HashSet<Arc<ObjectName>>>,
}

impl News {
    /// A source object of a policy changed; or anything did.
    pub(crate) fn note(&self, policy: &str, object: Option<Arc<ObjectName>>) {
        if let Some(since) = lock(&self.0).get_mut(policy) {
            let before = since.changed.take().zip(object);
            since.changed = before.and_then(|(mut changed, object)| {
                changed.insert(object);
                (changed.len() <= since.room).then_some(changed)
            });
        }
    }

    /// A look begins. Gives the objects that changed since the last one, if nothing else did and nothing was left to do after it.
    pub(crate) fn begin(&self, policy: &str) -> Option<HashSet<Arc<ObjectName>>> {
        let mut all = lock(&self.0);
        let since = all.entry(policy.to_owned()).or_insert(Since {
            settled: false,
            room: FEW,
            changed: None,
        });
        let settled = std::mem::take(&mut since.settled);
        let changed = since.changed.replace(HashSet::new());
        changed.filter(|_| settled)
    }

    /// So many objects are known of a policy.
    pub(crate) fn know(&self, policy: &str, objects: usize) {
        if let Some(since) = lock(&self.0).get_mut(policy) {
            since.room = FEW.max(objects / SHARE);
        }
    }

    /// Nothing is left to do after the look that has begun.
    pub(crate) fn settle(&self, policy: &str) {
        if let Some(since) = lock(&self.0).get_mut(policy) {
            since.settled = true;
        }
    }

    pub(crate) fn forget(&self, policy: &str) {
        lock(&self.0).remove(policy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> Arc<ObjectName> {
        Arc::new(ObjectName {
            namespace: String::new(),
            name: name.to_owned(),
        })
    }

    /// The names of what changed.
    fn changed(news: &News) -> Option<Vec<String>> {
        let changed = news.begin("p")?;
        let mut names = Vec::from_iter(changed.iter().map(|object| object.name.clone()));
        names.sort_unstable();
        Some(names)
    }

    fn settled() -> News {
        let news = News::default();
        news.begin("p");
        news.settle("p");
        news
    }

    #[test]
    fn objects_that_changed_are_all_that_did_after_a_look_that_left_nothing_to_do() {
        let news = settled();
        for name in ["b", "a", "b"] {
            news.note("p", Some(object(name)));
        }
        let both = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(changed(&news), both);
        news.note("p", Some(object("a")));
        assert_eq!(changed(&news), None, "it has not settled");
    }

    #[test]
    fn what_changes_while_it_is_looked_at_is_news_after_that() {
        let news = News::default();
        assert_eq!(changed(&news), None, "the first look");
        news.note("p", Some(object("a")));
        news.settle("p");
        assert_eq!(changed(&news), Some(vec!["a".to_owned()]));
    }

    #[test]
    fn anything_and_too_much_is_everything_until_the_next_look() {
        let many = (0..=FEW).map(|number| Some(object(&number.to_string())));
        for notes in [
            vec![Some(object("a")), None, Some(object("b"))],
            many.collect(),
        ] {
            let news = settled();
            notes.into_iter().for_each(|note| news.note("p", note));
            assert_eq!(changed(&news), None);
            news.settle("p");
            assert_eq!(changed(&news), Some(Vec::new()));
        }
    }

    #[test]
    fn of_many_objects_a_share_is_remembered() {
        let news = settled();
        news.know("p", 10_000);
        let note = |count: usize| {
            let names = (0..count).map(|number| object(&number.to_string()));
            names.for_each(|name| news.note("p", Some(name)));
            let changed = news.begin("p").map(|changed| changed.len());
            news.settle("p");
            changed
        };
        // A second of the heartbeats of ten thousand clusters.
        assert_eq!(note(1_000), Some(1_000));
        assert_eq!(note(2_500), Some(2_500));
        assert_eq!(note(2_501), None);
        news.know("p", 10);
        assert_eq!(note(FEW), Some(FEW));
    }

    #[test]
    fn nothing_is_held_of_whoever_goes() {
        let news = settled();
        news.forget("p");
        news.note("p", None);
        assert!(lock(&news.0).is_empty());
    }
}
