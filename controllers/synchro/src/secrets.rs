//! Follows single Secrets by name, so that a rotated credential is known at once and no list of Secrets is ever asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use armadex_member::{ConfigError, SecretData, SecretId, Sensitive};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use kube::runtime::watcher;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use crate::backoff::Backoff;

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// The Secrets that one PediaCluster names.
pub(crate) struct Secrets {
    client: Client,
    changed: Arc<Notify>,
    followed: BTreeMap<SecretId, Followed>,
}

struct Followed {
    known: Arc<Mutex<Known>>,
    _task: AbortOnDropHandle<()>,
}

/// What is known of a Secret.
#[derive(Clone, PartialEq, Eq)]
enum Known {
    /// Nothing yet.
    Unread,
    /// It does not exist.
    Absent,
    /// It could not be read; why, in words.
    Failed(String),
    /// Its data.
    Data(BTreeMap<String, Sensitive>),
}

/// What can be said of all of them.
pub(crate) enum Snapshot {
    /// One was not read yet; whoever waits for a change will be told.
    Incomplete,
    /// One cannot be read.
    Failed(ConfigError),
    /// All that exist.
    Complete(SecretData),
}

impl Secrets {
    /// Follows none yet.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            changed: Arc::default(),
            followed: BTreeMap::new(),
        }
    }

    /// Follows these and no others.
    pub(crate) fn follow(&mut self, wanted: BTreeSet<SecretId>) {
        self.followed.retain(|id, _| wanted.contains(id));
        for id in wanted {
            let (client, changed) = (&self.client, &self.changed);
            self.followed
                .entry(id)
                .or_insert_with_key(|id| start(client.clone(), id.clone(), Arc::clone(changed)));
        }
    }

    /// Waits until one of them changed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What is known of them now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut data = SecretData::new();
        for (id, followed) in &self.followed {
            match lock(&followed.known).clone() {
                Known::Unread => return Snapshot::Incomplete,
                Known::Absent => {}
                Known::Failed(words) => {
                    return Snapshot::Failed(ConfigError::Secret {
                        namespace: id.namespace.clone(),
                        name: id.name.clone(),
                        problem: format!("cannot be read: {words}"),
                    });
                }
                Known::Data(values) => {
                    data.insert(id.clone(), values);
                }
            }
        }
        Snapshot::Complete(data)
    }
}

fn start(client: Client, id: SecretId, changed: Arc<Notify>) -> Followed {
    let known = Arc::new(Mutex::new(Known::Unread));
    let task = tokio::spawn(follow(client, id, Arc::clone(&known), changed));
    Followed {
        known,
        _task: AbortOnDropHandle::new(task),
    }
}

/// Runs until it is aborted by whoever follows the Secret no more.
async fn follow(client: Client, id: SecretId, known: Arc<Mutex<Known>>, changed: Arc<Notify>) {
    let api: Api<Secret> = Api::namespaced(client, &id.namespace);
    let mut events = std::pin::pin!(watcher::watch_object(api, &id.name));
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    while let Some(event) = events.next().await {
        match event {
            Ok(secret) => {
                backoff.reset();
                note(&known, secret.map_or(Known::Absent, data_of), &changed);
            }
            Err(error) => {
                warn!(secret = %id.name, namespace = %id.namespace, error = %error, "a Secret cannot be watched, retrying");
                // A credential that was read once stays in use while its Secret cannot be read.
                if !matches!(*lock(&known), Known::Data(_)) {
                    note(&known, Known::Failed(error.to_string()), &changed);
                }
                tokio::time::sleep(backoff.next(rand::random())).await;
            }
        }
    }
}

fn note(known: &Mutex<Known>, now: Known, changed: &Notify) {
    let mut known = lock(known);
    if *known != now {
        *known = now;
        changed.notify_one();
    }
}

fn data_of(secret: Secret) -> Known {
    let data = secret.data.unwrap_or_default();
    let values = data
        .into_iter()
        .map(|(key, value)| (key, Sensitive::new(value.0)));
    Known::Data(values.collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
