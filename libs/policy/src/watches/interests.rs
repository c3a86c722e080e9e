//! Who needs which watch, and so who is to be looked at when something changes.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    fmt::Debug,
    sync::{Arc, Mutex},
};

use armadex_control_plane::lock;
use futures::{Stream, StreamExt, stream};
use kube::{Resource, runtime::reflector::ObjectRef};

use super::{
    object::{Change, ObjectName, WatchKey},
    shared::{Watch, Watches},
};

/// A share in a watch, for one object or for all of them.
#[derive(Clone, Debug)]
pub struct Interest {
    /// The share.
    pub watch: Watch,
    /// The object; none for every object.
    pub object: Option<ObjectName>,
}

/// Interests by the name of the object that has them. Holding one keeps its watch alive.
#[derive(Debug, Default)]
pub struct Interests {
    held: Mutex<Held>,
}

/// Interests by their owners, and owners by their interests: a change finds those whom it concerns without a look at all others.
#[derive(Debug, Default)]
struct Held {
    by_owner: HashMap<String, Vec<Interest>>,
    by_watch: HashMap<WatchKey, Owners>,
}

/// Those who need objects of a watch.
#[derive(Debug, Default)]
struct Owners {
    /// All of its objects.
    of_all: BTreeSet<String>,
    /// One of them.
    of_one: HashMap<ObjectName, BTreeSet<String>>,
}

impl Interests {
    /// Replaces the interests of an owner; watches that nobody needs any more end.
    pub fn set(&self, owner: &str, interests: Vec<Interest>) {
        let before = self.lock().replace(owner, interests);
        drop(before);
    }

    /// Adds an interest, so that no change is missed between looking at an object and saying by
    /// [`set`](Self::set) that all needed ones were looked at.
    pub fn add(&self, owner: &str, interest: Interest) {
        let mut held = self.lock();
        held.enter(owner, &interest);
        let known = held.by_owner.entry(owner.to_owned()).or_default();
        known.push(interest);
    }

    /// Drops the interests of an owner.
    pub fn remove(&self, owner: &str) {
        let before = self.lock().replace(owner, Vec::new());
        drop(before);
    }

    /// Whom a change concerns; `None` concerns everybody.
    pub fn owners(&self, change: Option<&Change>) -> Vec<String> {
        let held = self.lock();
        let owners: BTreeSet<&String> = match change {
            None => held.by_owner.keys().collect(),
            Some(change) => {
                let mut owners = BTreeSet::new();
                if let Some(of_watch) = held.by_watch.get(&change.watch) {
                    of_watch.gather(change.object.as_ref(), &mut owners);
                }
                owners
            }
        };
        owners.into_iter().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        lock(&self.held)
    }
}

impl Held {
    /// What the owner had is given back: to drop it may end watches, which is for when nothing is locked.
    fn replace(&mut self, owner: &str, interests: Vec<Interest>) -> Option<Vec<Interest>> {
        let before = self.by_owner.remove(owner);
        for interest in before.iter().flatten() {
            self.strike(owner, interest);
        }
        for interest in &interests {
            self.enter(owner, interest);
        }
        if !interests.is_empty() {
            self.by_owner.insert(owner.to_owned(), interests);
        }
        before
    }

    fn enter(&mut self, owner: &str, interest: &Interest) {
        let key = interest.watch.key();
        if !self.by_watch.contains_key(key) {
            self.by_watch.insert(key.clone(), Owners::default());
        }
        if let Some(owners) = self.by_watch.get_mut(key) {
            let owners = match &interest.object {
                None => &mut owners.of_all,
                Some(object) => owners.of_one.entry(object.clone()).or_default(),
            };
            owners.insert(owner.to_owned());
        }
    }

    fn strike(&mut self, owner: &str, interest: &Interest) {
        let Entry::Occupied(mut entry) = self.by_watch.entry(interest.watch.key().clone()) else {
            return;
        };
        let owners = entry.get_mut();
        match &interest.object {
            None => {
                owners.of_all.remove(owner);
            }
            Some(object) => {
                if let Some(of_one) = owners.of_one.get_mut(object) {
                    of_one.remove(owner);
                    if of_one.is_empty() {
                        owners.of_one.remove(object);
                    }
                }
            }
        }
        if owners.of_all.is_empty() && owners.of_one.is_empty() {
            entry.remove();
        }
    }
}

impl Owners {
    fn gather<'a>(&'a self, object: Option<&ObjectName>, owners: &mut BTreeSet<&'a String>) {
        owners.extend(&self.of_all);
        match object {
            None => owners.extend(self.of_one.values().flatten()),
            Some(object) => owners.extend(self.of_one.get(object).into_iter().flatten()),
        }
    }
}

#[cfg(test)]
impl Interests {
    /// How many entries there are to find owners by.
    pub(super) fn entries(&self) -> usize {
        let held = self.lock();
        let of_watch = |owners: &Owners| owners.of_all.len() + owners.of_one.len();
        held.by_watch.values().map(of_watch).sum()
    }
}

/// Whom the changes of watches concern, each with the object that changed; none when it is many of them, or the watch itself.
pub fn concerned(
    watches: &Watches,
    interests: Arc<Interests>,
) -> impl Stream<Item = (String, Option<Arc<ObjectName>>)> + Send + 'static + use<> {
    watches.changes().flat_map(move |change| {
        let owners = interests.owners(change.as_ref());
        let object = change.and_then(|change| change.object).map(Arc::new);
        stream::iter(owners.into_iter().map(move |owner| (owner, object.clone())))
    })
}

/// The objects of a cluster-scoped kind to be reconciled as watches change.
pub fn triggers<K>(
    watches: &Watches,
    interests: Arc<Interests>,
) -> impl Stream<Item = ObjectRef<K>> + Send + 'static + use<K>
where
    K: Resource<DynamicType = ()> + Debug + Send + 'static,
{
    concerned(watches, interests).map(|(owner, _)| ObjectRef::new(&owner))
}
