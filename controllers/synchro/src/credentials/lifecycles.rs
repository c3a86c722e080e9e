//! What policies rendered, by the name of the PediaCluster: one watch of PediaClusterLifecycles, of which nothing is kept but what
//! their status records.
//!
//! What was known stays known while the watch fails. Where the kind is not served there are no policies.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_control_plane::{Objects, Trouble, TroubleKind};
use armadex_crds::PediaClusterLifecycle;
use armadex_member::Policy;
use futures::StreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::lock::lock;
use crate::parts::Parts;

const FIRST_RETRY: Duration = Duration::from_millis(500);
/// Whoever installs the CRDs or grants the right waits.
const LAST_RETRY: Duration = Duration::from_secs(5);

/// What policies rendered; followed while this lives.
pub(crate) struct Lifecycles {
    names: Arc<Names>,
    _task: AbortOnDropHandle<()>,
}

/// What a policy rendered under one name.
pub(crate) struct Followed {
    names: Arc<Names>,
    name: String,
    policy: watch::Receiver<Policy>,
}

/// One value for each lifecycle and for each name that is followed.
struct Names(Mutex<Known>);

#[derive(Default)]
struct Known {
    by_name: HashMap<String, watch::Sender<Policy>>,
    /// They were listed once.
    listed: bool,
    /// Why not.
    trouble: String,
    /// The list that is being read.
    listing: HashMap<String, Policy>,
}

impl Lifecycles {
    pub(crate) fn start(client: Client, parts: &Parts) -> Self {
        let names = Arc::new(Names(Mutex::default()));
        let work = run(client, Arc::clone(&names));
        let task = parts.start("the watch of PediaClusterLifecycles", work);
        Self { names, _task: task }
    }

    /// Follows the lifecycle of a name, be it there or not.
    pub(crate) fn follow(&self, name: &str) -> Followed {
        let mut known = self.names.lock();
        let unknown = known.of_nobody();
        let sender = known
            .by_name
            .entry(name.to_owned())
            .or_insert_with(|| watch::Sender::new(unknown));
        Followed {
            names: Arc::clone(&self.names),
            name: name.to_owned(),
            policy: sender.subscribe(),
        }
    }
}

impl Followed {
    /// What is known now.
    pub(crate) fn now(&mut self) -> Policy {
        self.policy.borrow_and_update().clone()
    }

    /// Waits until something else is known than was last asked for. Safe to cancel.
    pub(crate) async fn changed(&mut self) {
        if self.policy.changed().await.is_err() {
            // The sender is kept for as long as it is followed.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if let Entry::Occupied(entry) = self.names.lock().by_name.entry(self.name.clone()) {
            let is_there = !matches!(*entry.get().borrow(), Policy::Absent | Policy::Unlisted(_));
            // This one still counts.
            if !is_there && entry.get().receiver_count() == 1 {
                entry.remove();
            }
        }
    }
}

impl Names {
    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.0)
    }
}

impl Known {
    /// What is known of a name that no lifecycle has.
    fn of_nobody(&self) -> Policy {
        match self.listed {
            true => Policy::Absent,
            false => Policy::Unlisted(self.trouble.clone()),
        }
    }

    fn take_in(&mut self, event: Event<PediaClusterLifecycle>) {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => {
                self.listing.insert(object.name_any(), recorded(&object));
            }
            Event::InitDone => {
                let listing = std::mem::take(&mut self.listing);
                self.listed(listing);
            }
            Event::Apply(object) => self.set(object.name_any(), recorded(&object)),
            Event::Delete(object) => self.set(object.name_any(), Policy::Absent),
        }
    }

    /// These are all.
    fn listed(&mut self, all: HashMap<String, Policy>) {
        self.listed = true;
        let names = self.by_name.keys();
        let gone: Vec<String> = names
            .filter(|name| !all.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            self.set(name, Policy::Absent);
        }
        for (name, policy) in all {
            self.set(name, policy);
        }
    }

    /// What is not there and not followed is not kept.
    fn set(&mut self, name: String, policy: Policy) {
        let is_over = policy == Policy::Absent;
        match self.by_name.entry(name) {
            Entry::Occupied(entry) if is_over && entry.get().receiver_count() == 0 => {
                entry.remove();
            }
            Entry::Occupied(entry) => change(entry.get(), policy),
            Entry::Vacant(_) if is_over => {}
            Entry::Vacant(entry) => {
                entry.insert(watch::Sender::new(policy));
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
            change(sender, Policy::Unlisted(self.trouble.clone()));
        }
    }
}

fn change(sender: &watch::Sender<Policy>, policy: Policy) {
    sender.send_if_modified(|known| {
        let modified = *known != policy;
        *known = policy;
        modified
    });
}

fn recorded(lifecycle: &PediaClusterLifecycle) -> Policy {
    let status = lifecycle.status.as_ref();
    let connection = status.and_then(|status| status.connection.clone());
    connection.map_or(Policy::Silent, Policy::Rendered)
}

fn is_not_served(error: &Trouble) -> bool {
    error.kind == TroubleKind::Missing
}

/// Runs until it is aborted.
async fn run(client: Client, names: Arc<Names>) {
    let api: Objects<PediaClusterLifecycle> = Objects::all(client);
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
                        info!("PediaClusterLifecycles can be watched");
                    }
                }
                names.lock().take_in(event);
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tell(&error);
                }
                names.lock().failed(&error);
                tokio::time::sleep(backoff.next(rand::random())).await;
            }
        }
    }
}

fn tell(error: &Trouble) {
    if is_not_served(error) {
        info!("PediaClusterLifecycles are not served, so no policy renders a PediaCluster");
    } else {
        warn!(
            error = %error,
            "PediaClusterLifecycles cannot be watched, retrying"
        );
    }
}
