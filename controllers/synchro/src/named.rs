//! Objects of one kind on the control plane by their name: one watch for the process, of each object one value, and whoever is concerned follows the name.
//!
//! What was known stays known while the watch fails. Where the kind is not served there are none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_control_plane::{Objects, Trouble, TroubleKind, paged};
use futures::StreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::lock::lock;
use crate::parts::Parts;

const FIRST_RETRY: Duration = Duration::from_millis(500);
/// Whoever installs the CRDs or grants the right waits.
const LAST_RETRY: Duration = Duration::from_secs(5);

/// What is known of the object of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named<V> {
    /// None have been listed yet; why, if that fails.
    Unlisted(String),
    /// There is none of the name.
    Absent,
    /// There is one, and this is its value.
    Found(V),
}

/// A kind of which a value is kept for each object.
pub(crate) trait Kept:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static
{
    /// What is kept of one.
    type Value: Clone + PartialEq + Send + Sync + 'static;
    /// What they are called, several of them.
    const PLURAL: &str;
    /// What it means that they are not served, behind their name.
    const UNSERVED: &str;

    fn value(&self) -> Self::Value;
}

/// The objects of a kind; followed while this lives.
pub(crate) struct ByName<K: Kept> {
    names: Arc<Names<K::Value>>,
    _task: AbortOnDropHandle<()>,
}

/// The object of one name.
pub(crate) struct Followed<V: Clone + PartialEq> {
    names: Arc<Names<V>>,
    name: String,
    value: watch::Receiver<Named<V>>,
}

/// One value for each object and for each name that is followed.
struct Names<V>(Mutex<Known<V>>);

struct Known<V> {
    by_name: HashMap<String, watch::Sender<Named<V>>>,
    /// They were listed once.
    listed: bool,
    /// Why not.
    trouble: String,
    /// The list that is being read.
    listing: HashMap<String, V>,
}

impl<K: Kept> ByName<K> {
    /// `what` is its name among the parts of the process.
    pub(crate) fn start(client: Client, parts: &Parts, what: &'static str) -> Self {
        let names = Arc::new(Names(Mutex::new(Known::default())));
        let task = parts.start(what, run::<K>(client, Arc::clone(&names)));
        Self { names, _task: task }
    }

    /// Follows a name, be there an object or not.
    pub(crate) fn follow(&self, name: &str) -> Followed<K::Value> {
        let mut known = self.names.lock();
        let unknown = known.of_nobody();
        let sender = known
            .by_name
            .entry(name.to_owned())
            .or_insert_with(|| watch::Sender::new(unknown));
        Followed {
            names: Arc::clone(&self.names),
            name: name.to_owned(),
            value: sender.subscribe(),
        }
    }
}

#[cfg(test)]
impl<K: Kept> ByName<K> {
    /// The names of which something is known.
    pub(crate) fn kept(&self) -> Vec<String> {
        self.names.lock().by_name.keys().cloned().collect()
    }
}

impl<V: Clone + PartialEq> Followed<V> {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is known now.
    pub(crate) fn now(&mut self) -> Named<V> {
        self.value.borrow_and_update().clone()
    }

    /// Waits until something else is known than was last asked for. Safe to cancel.
    pub(crate) async fn changed(&mut self) {
        if self.value.changed().await.is_err() {
            // The sender is kept for as long as it is followed.
            std::future::pending::<()>().await;
        }
    }
}

impl<V: Clone + PartialEq> Drop for Followed<V> {
    fn drop(&mut self) {
        if let Entry::Occupied(entry) = self.names.lock().by_name.entry(self.name.clone()) {
            let is_there = matches!(*entry.get().borrow(), Named::Found(_));
            // This one still counts.
            if !is_there && entry.get().receiver_count() == 1 {
                entry.remove();
            }
        }
    }
}

impl<V> Names<V> {
    fn lock(&self) -> MutexGuard<'_, Known<V>> {
        lock(&self.0)
    }
}

impl<V> Default for Known<V> {
    fn default() -> Self {
        Self {
            by_name: HashMap::new(),
            listed: false,
            trouble: String::new(),
            listing: HashMap::new(),
        }
    }
}

impl<V: Clone + PartialEq> Known<V> {
    /// What is known of a name that no object has.
    fn of_nobody(&self) -> Named<V> {
        match self.listed {
            true => Named::Absent,
            false => Named::Unlisted(self.trouble.clone()),
        }
    }

    fn take_in<K: Kept<Value = V>>(&mut self, event: Event<K>) {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => {
                self.listing.insert(object.name_any(), object.value());
            }
            Event::InitDone => {
                let listing = std::mem::take(&mut self.listing);
                self.listed(listing);
            }
            Event::Apply(object) => self.set(object.name_any(), Named::Found(object.value())),
            Event::Delete(object) => self.set(object.name_any(), Named::Absent),
        }
    }

    /// These are all.
    fn listed(&mut self, all: HashMap<String, V>) {
        self.listed = true;
        let names = self.by_name.keys();
        let gone: Vec<String> = names
            .filter(|name| !all.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            self.set(name, Named::Absent);
        }
        for (name, value) in all {
            self.set(name, Named::Found(value));
        }
    }

    /// What is not there and not followed is not kept.
    fn set(&mut self, name: String, value: Named<V>) {
        let is_over = value == Named::Absent;
        match self.by_name.entry(name) {
            Entry::Occupied(entry) if is_over && entry.get().receiver_count() == 0 => {
                entry.remove();
            }
            Entry::Occupied(entry) => change(entry.get(), value),
            Entry::Vacant(_) if is_over => {}
            Entry::Vacant(entry) => {
                entry.insert(watch::Sender::new(value));
            }
        }
    }

    /// They cannot be listed or watched.
    fn failed(&mut self, error: &Trouble) {
        if self.listed {
            return;
        }
        if is_not_served(error) {
            return self.listed(HashMap::new());
        }
        self.trouble.clone_from(&error.message);
        for sender in self.by_name.values() {
            change(sender, Named::Unlisted(self.trouble.clone()));
        }
    }
}

fn change<V: PartialEq>(sender: &watch::Sender<Named<V>>, value: Named<V>) {
    sender.send_if_modified(|known| {
        let modified = *known != value;
        // What is equal stays the very same: whoever has it is quicker to see that.
        if modified {
            *known = value;
        }
        modified
    });
}

fn is_not_served(error: &Trouble) -> bool {
    error.kind == TroubleKind::Missing
}

/// Runs until it is aborted.
async fn run<K: Kept>(client: Client, names: Arc<Names<K::Value>>) {
    let api: Objects<K> = Objects::all(paged(client));
    let mut events = std::pin::pin!(api.watch(watcher::Config::default(), |_| ()));
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    let mut failing = false;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                // The first event only says that a list is about to be tried.
                if !matches!(event, Event::Init) {
                    backoff.reset();
                    if std::mem::take(&mut failing) {
                        info!("{} can be watched", K::PLURAL);
                    }
                }
                names.lock().take_in(event);
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tell::<K>(&error);
                }
                names.lock().failed(&error);
                tokio::time::sleep(backoff.next(rand::random())).await;
            }
        }
    }
}

fn tell<K: Kept>(error: &Trouble) {
    let kind = K::PLURAL;
    if is_not_served(error) {
        info!("{kind} are not served, {}", K::UNSERVED);
    } else {
        warn!(error = %error, "{kind} cannot be watched, retrying");
    }
}
