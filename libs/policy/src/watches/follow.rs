//! The task behind a watch: list, watch, tell what changed; on failure wait, longer each time,
//! and go on until it is cancelled.

use std::{
    pin::pin,
    sync::{Arc, PoisonError, RwLock},
};

use futures::StreamExt;
use kube::{
    Api, Client,
    core::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    object::{Change, ObjectName, WatchKey, WatchScope},
    state::{State, Touched},
};
use crate::{Gvr, Trouble, retries::WatchBackoff};

pub(super) struct Task {
    pub(super) client: Client,
    pub(super) key: WatchKey,
    pub(super) state: Arc<RwLock<State>>,
    pub(super) changes: broadcast::Sender<Change>,
    pub(super) cancel: CancellationToken,
}

pub(super) async fn follow(task: Task) {
    let (api, config) = request(&task.client, &task.key);
    let mut events = pin!(watcher::watcher(api, config).backoff(WatchBackoff::default()));
    loop {
        let event = tokio::select! {
            () = task.cancel.cancelled() => return,
            event = events.next() => event,
        };
        let Some(event) = event else { return };
        let touched = task.take(event);
        task.tell(touched);
    }
}

impl Task {
    fn take(&self, event: Result<watcher::Event<DynamicObject>, watcher::Error>) -> Touched {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        match event {
            Ok(event) => state.step(event),
            Err(error) => {
                let trouble = Trouble::from(&error);
                let resource = &self.key.gvr;
                let touched = state.fail(trouble.clone());
                if touched == Touched::Nothing {
                    debug!(%resource, error = %trouble, "watch of {resource} failed, retrying");
                } else {
                    warn!(%resource, error = %trouble, "watch of {resource} failed, retrying");
                }
                touched
            }
        }
    }

    fn tell(&self, touched: Touched) {
        let objects: Vec<Option<ObjectName>> = match touched {
            Touched::Nothing => Vec::new(),
            Touched::These(names) => names.into_iter().map(Some).collect(),
            Touched::Everything => vec![None],
        };
        for object in objects {
            // Nobody listens while the controllers start and end; they look at everything then.
            let _ = self.changes.send(Change {
                watch: self.key.clone(),
                object,
            });
        }
    }
}

fn request(client: &Client, key: &WatchKey) -> (Api<DynamicObject>, watcher::Config) {
    let resource = api_resource(&key.gvr);
    let client = client.clone();
    match &key.scope {
        WatchScope::All => (Api::all_with(client, &resource), watcher::Config::default()),
        WatchScope::Object(ObjectName { namespace, name }) => {
            let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
            let api = match namespace.as_str() {
                "" => Api::all_with(client, &resource),
                namespace => Api::namespaced_with(client, namespace, &resource),
            };
            (api, config)
        }
    }
}

fn api_resource(gvr: &Gvr) -> ApiResource {
    let Gvr {
        group,
        version,
        resource,
    } = gvr;
    let api_version = if group.is_empty() {
        version.clone()
    } else {
        format!("{group}/{version}")
    };
    ApiResource {
        group: group.clone(),
        version: version.clone(),
        api_version,
        // Requests are made from the plural name; the kind is on the objects.
        kind: String::new(),
        plural: resource.clone(),
    }
}
