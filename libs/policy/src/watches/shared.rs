//! The watches of this process, each shared by everybody who needs it.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures::{Stream, stream};
use kube::Client;
use tokio::sync::{Semaphore, broadcast};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{Gvr, Room};
use armadex_control_plane::{Trouble, lock};

use super::{
    follow,
    namespace::Namespace,
    object::{Change, Found, ObjectName, WatchKey, WatchScope},
    shares::Shares,
    state::{Readiness, State},
    view::View,
};

/// Changes that a slow controller may lag behind by before it is told to look at everything.
const CHANGE_BUFFER: usize = 1024;

/// Bytes that all source objects have together: ten thousand Clusters of Karmada with 150 kinds each have 40 MB. With [`REFERENCES`] it is half of what the container of
/// the controllers has.
pub(super) const SOURCES: usize = 64 << 20;
/// Bytes that all objects have together that are referred to: ten thousand Secrets with a token and an authority each have 50 MB.
pub(super) const REFERENCES: usize = 64 << 20;

/// All watches of this process.
#[derive(Clone)]
pub struct Watches {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    running: Mutex<Shares<WatchKey, Running>>,
    /// Those that objects of one namespace are followed by.
    namespaces: Mutex<Shares<(Gvr, String), Namespace>>,
    changes: broadcast::Sender<Change>,
    /// Turns of lists of one namespace each.
    lists: Arc<Semaphore>,
    /// For all source objects, and for all that is referred to.
    sources: Arc<Room>,
    references: Arc<Room>,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

/// A share in a watch. The watch ends with the last one.
#[derive(Clone, Debug)]
pub struct Watch {
    pub(super) running: Arc<Running>,
}

#[derive(Debug)]
pub(super) struct Running {
    key: WatchKey,
    state: Arc<RwLock<State>>,
    pub(super) cancel: CancellationToken,
    /// What follows it, if it shares that with its neighbours.
    namespace: Option<Arc<Namespace>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
        if let (Some(namespace), WatchScope::Object(object)) = (&self.namespace, &self.key.scope) {
            namespace.leave(&object.name, &self.state);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Shared {
    fn start(&self, key: &WatchKey) -> Running {
        let namespace = match &key.scope {
            WatchScope::Object(object) if !object.namespace.is_empty() && key.check().is_ok() => {
                Some(self.namespace(&key.gvr, &object.namespace))
            }
            WatchScope::All | WatchScope::Namespace(_) | WatchScope::Object(_) => None,
        };
        let room = match &key.scope {
            WatchScope::Object(_) => &self.references,
            WatchScope::All | WatchScope::Namespace(_) => &self.sources,
        };
        let running = Running {
            key: key.clone(),
            state: Arc::new(RwLock::new(State::within(room.clone()))),
            cancel: self.cancel.child_token(),
            namespace,
        };
        let view = View {
            key: key.clone(),
            state: running.state.clone(),
            changes: self.changes.clone(),
        };
        match (&running.namespace, &key.scope) {
            (Some(namespace), WatchScope::Object(object)) => namespace.enter(&object.name, view),
            _ => {
                self.tasks.spawn(follow::follow(follow::Task {
                    client: self.client.clone(),
                    view,
                    cancel: running.cancel.clone(),
                    turns: matches!(key.scope, WatchScope::Namespace(_))
                        .then(|| self.lists.clone()),
                }));
            }
        }
        running
    }

    /// The watch of a namespace, which is started if nobody has a share in it.
    fn namespace(&self, gvr: &Gvr, name: &str) -> Arc<Namespace> {
        let mut all = lock(&self.namespaces);
        let key = (gvr.clone(), name.to_owned());
        if let Some(known) = all.get(&key) {
            return known;
        }
        let (namespace, work) = Namespace::new(
            &self.client,
            key.clone(),
            &self.references,
            self.cancel.child_token(),
        );
        self.tasks.spawn(work);
        let namespace = Arc::new(namespace);
        all.keep(key, &namespace);
        namespace
    }
}

impl Watches {
    /// None yet; they will use this client, whose own retries should be off: a watch waits and
    /// says why, a client that retries says nothing for minutes.
    pub fn new(client: Client) -> Self {
        Self::within(client, SOURCES, REFERENCES)
    }

    /// The same with so many bytes for all source objects, and for all that is referred to.
    pub fn within(client: Client, sources: usize, references: usize) -> Self {
        let (changes, _) = broadcast::channel(CHANGE_BUFFER);
        let shared = Shared {
            client,
            running: Mutex::default(),
            namespaces: Mutex::default(),
            changes,
            lists: Arc::new(Semaphore::new(follow::LISTS)),
            sources: Room::of(sources),
            references: Room::of(references),
            tasks: TaskTracker::new(),
            cancel: CancellationToken::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// A share in the watch of this key, which is started if nobody has one.
    pub fn acquire(&self, key: &WatchKey) -> Watch {
        let mut all = lock(&self.shared.running);
        if let Some(running) = all.get(key) {
            return Watch { running };
        }
        let running = Arc::new(self.shared.start(key));
        all.keep(key.clone(), &running);
        Watch { running }
    }

    /// Changes from now on; none stands for "some were missed".
    pub fn changes(&self) -> impl Stream<Item = Option<Change>> + Send + 'static + use<> {
        stream::unfold(self.shared.changes.subscribe(), |mut changes| async move {
            match changes.recv().await {
                Ok(change) => Some((Some(change), changes)),
                Err(broadcast::error::RecvError::Lagged(_)) => Some((None, changes)),
                Err(broadcast::error::RecvError::Closed) => None,
            }
        })
    }

    /// Ends every watch and waits for its task.
    pub async fn shutdown(&self) {
        self.shared.cancel.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl Watch {
    /// What is watched.
    pub fn key(&self) -> &WatchKey {
        &self.running.key
    }

    /// Whether the objects are known.
    pub fn readiness(&self) -> Readiness {
        self.state().readiness()
    }

    /// Why what is known may be out of date: it was listed, and can't be followed any more.
    pub fn trouble(&self) -> Option<Trouble> {
        self.state().trouble()
    }

    /// Every object, by namespace and name.
    pub fn objects(&self) -> Vec<Arc<Found>> {
        self.state().objects()
    }

    /// Why some objects are not known although they are there.
    pub fn lacks_some(&self) -> Option<Trouble> {
        self.state().lacks_some()
    }

    /// One object.
    pub fn get(&self, name: &ObjectName) -> Option<Arc<Found>> {
        self.state().get(name)
    }

    fn state(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.running
            .state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
