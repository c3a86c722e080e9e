//! Who needs which watch, and so who is to be looked at when something changes.

use std::{
    collections::HashMap,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{Stream, StreamExt, stream};
use kube::{Resource, runtime::reflector::ObjectRef};

use super::{
    object::{Change, ObjectName},
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
    held: Mutex<HashMap<String, Vec<Interest>>>,
}

impl Interests {
    /// Replaces the interests of an owner; watches that nobody needs any more end.
    pub fn set(&self, owner: &str, interests: Vec<Interest>) {
        let before = self.lock().insert(owner.to_owned(), interests);
        drop(before);
    }

    /// Adds an interest, so that no change is missed between looking at an object and saying by
    /// [`set`](Self::set) that all needed ones were looked at.
    pub fn add(&self, owner: &str, interest: Interest) {
        self.lock()
            .entry(owner.to_owned())
            .or_default()
            .push(interest);
    }

    /// Drops the interests of an owner.
    pub fn remove(&self, owner: &str) {
        let before = self.lock().remove(owner);
        drop(before);
    }

    /// Whom a change concerns; `None` concerns everybody.
    pub fn owners(&self, change: Option<&Change>) -> Vec<String> {
        let concerns = |interest: &Interest| {
            change.is_none_or(|change| {
                *interest.watch.key() == change.watch
                    && (interest.object.is_none()
                        || change.object.is_none()
                        || interest.object == change.object)
            })
        };
        let held = self.lock();
        let mut owners: Vec<String> = held
            .iter()
            .filter(|(_, interests)| interests.iter().any(concerns))
            .map(|(owner, _)| owner.clone())
            .collect();
        owners.sort();
        owners
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Interest>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The objects of a cluster-scoped kind to be reconciled as watches change.
pub fn triggers<K>(
    watches: &Watches,
    interests: Arc<Interests>,
) -> impl Stream<Item = ObjectRef<K>> + Send + 'static + use<K>
where
    K: Resource<DynamicType = ()> + Debug + Send + 'static,
{
    watches.changes().flat_map(move |change| {
        let owners = interests.owners(change.as_ref());
        stream::iter(owners.into_iter().map(|name| ObjectRef::new(&name)))
    })
}
