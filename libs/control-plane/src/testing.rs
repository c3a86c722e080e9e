//! A control plane for tests: a kube-apiserver in a value, as far as Armadex asks
//! one. It takes requests of a real client and has no socket.
//!
//! It lists, watches, gets, creates, replaces, applies, patches and deletes objects of the types
//! it was told to serve, with versions, preconditions and finalizers, and refuses what a test says, or never answers it. The
//! status of an object is written by its subresource and by nothing else, whose requests are those of a resource like
//! `pediaclusters/status`. Ownership of fields is by object: who applies what another manager made meets a conflict, which names `.spec`.
//! What is applied as a dry run is answered and not kept.

mod answer;
mod log;
mod store;

pub use log::Log;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use http::{Request, Response};
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::sync::watch;

use crate::{limited, lock};
use store::Store;

/// A control plane.
#[derive(Clone)]
pub struct Host {
    store: Arc<Mutex<Store>>,
    ahead: Arc<Mutex<Vec<Ahead>>>,
    changes: watch::Sender<()>,
}

/// Everything that a control plane has.
#[derive(Clone)]
pub struct Backup(Store);

/// What happens before a request of this verb on this resource is looked at.
struct Ahead {
    verb: &'static str,
    resource: &'static str,
    happens: Box<dyn FnOnce(&Host) + Send>,
}

/// A type that is served.
#[derive(Clone, Copy, Debug)]
pub struct ServedType {
    /// Group; empty for the core group.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Plural name.
    pub resource: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Whether its objects lie in namespaces.
    pub namespaced: bool,
}

impl ServedType {
    /// Whose objects lie in no namespace.
    pub const fn new(
        group: &'static str,
        version: &'static str,
        resource: &'static str,
        kind: &'static str,
    ) -> Self {
        Self {
            group,
            version,
            resource,
            kind,
            namespaced: false,
        }
    }

    /// The same with objects that lie in namespaces.
    #[must_use]
    pub const fn namespaced(self) -> Self {
        Self {
            namespaced: true,
            ..self
        }
    }
}

impl Host {
    /// Serves these types and has no objects.
    pub fn new(types: &[ServedType]) -> Self {
        Self {
            store: Arc::new(Mutex::new(Store::new(types))),
            ahead: Arc::default(),
            changes: watch::Sender::new(()),
        }
    }

    /// A client of it, which gives a request up as those of the product do.
    pub fn client(&self) -> Client {
        let host = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let host = host.clone();
            async move { Ok::<Response<answer::Answer>, Infallible>(host.answer(request).await) }
        });
        limited(Client::new(service, "default"))
    }

    /// Makes an object or makes it another one, as somebody else's controller would. Takes the
    /// path of the object; what is its server's (uid, version) is set here.
    pub fn put(&self, path: &str, object: Value) {
        self.change(|store| store.put(path, object));
    }

    /// Takes an object away at once, whatever its finalizers.
    pub fn remove(&self, path: &str) {
        self.change(|store| store.remove(path));
    }

    /// An object as it is now.
    pub fn get(&self, path: &str) -> Option<Value> {
        self.lock().get(path)
    }

    /// Serves a type from now on; its objects are those of its other versions.
    pub fn serve(&self, served: ServedType) {
        self.change(|store| store.types.push(served));
    }

    /// Serves a version of a type no more. Its watches end.
    pub fn withdraw(&self, group: &str, version: &str, resource: &str) {
        self.change(|store| {
            let is_it = |known: &ServedType| {
                (known.group, known.version, known.resource) == (group, version, resource)
            };
            store.types.retain(|known| !is_it(known));
        });
    }

    /// Answers a verb on a resource with a 403 from now on. Watches that are open go on until their time is over.
    pub fn forbid(&self, verb: &'static str, resource: &'static str) {
        self.change(|store| store.forbidden.push((verb, resource)));
    }

    /// The same for one object, by its name, as a webhook may.
    pub fn forbid_of(&self, verb: &'static str, resource: &'static str, name: &str) {
        let name = name.to_owned();
        self.change(|store| store.forbidden_of.push((verb, resource, name)));
    }

    /// Takes requests of a verb on a resource and never answers them. Those that came until [`Host::hang_no_more`] are never answered either.
    pub fn hang(&self, verb: &'static str, resource: &'static str) {
        self.change(|store| store.hanging.push((verb, resource)));
    }

    /// Takes patches of what is there of a resource and never answers them, as for a webhook on updates that hangs. What is applied and not
    /// there yet is made.
    pub fn hang_updates(&self, resource: &'static str) {
        self.change(|store| store.hanging_updates.push(resource));
    }

    /// Refuses a verb on a resource from now on, and takes ten seconds for it, as an API server does for a webhook that does not answer.
    pub fn fail_slowly(&self, verb: &'static str, resource: &'static str) {
        self.change(|store| store.failing.push((verb, resource)));
    }

    /// Answers the next requests of a verb on a resource, so many of them, with a 429.
    pub fn throttle(&self, verb: &'static str, resource: &'static str, times: usize) {
        let next = std::iter::repeat_n((verb, resource), times);
        self.change(|store| store.throttled.extend(next));
    }

    /// Takes ten seconds from now on for what it carries out of a verb on a resource, as an API server does for a slow webhook.
    pub fn slow_down(&self, verb: &'static str, resource: &'static str) {
        self.slow_down_by(verb, resource, answer::LATE);
    }

    /// The same with another time.
    pub fn slow_down_by(&self, verb: &'static str, resource: &'static str, takes: Duration) {
        self.change(|store| store.slow.push((verb, resource, takes)));
    }

    /// Answers what comes from now on.
    pub fn hang_no_more(&self) {
        self.change(|store| {
            store.hanging.clear();
            store.hanging_updates.clear();
        });
    }

    /// Lets something happen just before the next request of a verb on a resource is looked at, once.
    pub fn ahead(
        &self,
        verb: &'static str,
        resource: &'static str,
        happens: impl FnOnce(&Self) + Send + 'static,
    ) {
        let happens = Box::new(happens);
        self.all_ahead().push(Ahead {
            verb,
            resource,
            happens,
        });
    }

    /// Lets watches of a resource that begin from now on break after so long, until [`Host::permit_all`].
    pub fn break_watches(&self, resource: &'static str, after: Duration) {
        self.change(|store| store.breaking_watches.push((resource, after)));
    }

    /// Drops a field of the objects of a resource from now on, as a schema does that lacks it. Takes its
    /// parent and its name.
    pub fn prune(&self, resource: &'static str, parent: &'static str, field: &'static str) {
        self.change(|store| store.pruned.push((resource, parent, field)));
    }

    /// Drops no field any more.
    pub fn keep_all(&self) {
        self.change(|store| store.pruned.clear());
    }

    /// Answers every verb again.
    pub fn permit_all(&self) {
        self.change(|store| {
            store.forbidden.clear();
            store.forbidden_of.clear();
            store.failing.clear();
            store.breaking_watches.clear();
        });
    }

    /// Forgets what changed until now: watches from before end with a 410.
    pub fn expire(&self) {
        self.change(Store::expire);
    }

    /// Forgets what changed until now of one resource, as a watch cache that begins later: its watches from before end with a 410.
    pub fn expire_of(&self, resource: &'static str) {
        self.change(|store| store.expire_of(resource));
    }

    /// Everything as it is now, to be restored.
    pub fn back_up(&self) -> Backup {
        Backup(self.lock().clone())
    }

    /// As an etcd that is restored: what has come since is gone, and versions are counted on from those of the backup. Watches that have seen
    /// more are not told so.
    pub fn restore(&self, backup: Backup) {
        self.change(|store| store.restore(backup.0));
    }

    /// How many requests of this verb on this resource there were.
    pub fn asked(&self, verb: &str, resource: &str) -> usize {
        let asked = &self.lock().asked;
        let is_it = |(known, on): &&(&str, String)| *known == verb && on == resource;
        asked.iter().filter(is_it).count()
    }

    /// Waits until something holds; looks again whenever an object is changed. Give it a limit.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut changes = self.changes.subscribe();
        while !holds(self) {
            // The sender is a field of this value.
            let _ = changes.changed().await;
        }
    }

    /// `reason: message` of a condition of an object.
    pub fn condition(&self, path: &str, type_: &str) -> Option<String> {
        let object = self.get(path)?;
        let conditions = object.pointer("/status/conditions")?.as_array()?;
        let found = conditions
            .iter()
            .find(|condition| condition["type"] == type_)?;
        let word = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        Some(format!("{}: {}", word("reason"), word("message")))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        let done = change(&mut self.lock());
        self.changes.send_replace(());
        done
    }

    /// Lets happen what is to happen before this request.
    fn come_to(&self, verb: &str, resource: &str) {
        let mut ahead = self.all_ahead();
        let is_it = |ahead: &Ahead| (ahead.verb, ahead.resource) == (verb, resource);
        let found = ahead.iter().position(is_it);
        let found = found.map(|place| ahead.remove(place));
        drop(ahead);
        if let Some(found) = found {
            (found.happens)(self);
        }
    }

    fn all_ahead(&self) -> MutexGuard<'_, Vec<Ahead>> {
        lock(&self.ahead)
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }
}
