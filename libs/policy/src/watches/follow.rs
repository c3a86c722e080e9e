//! The task behind a watch: list, watch, tell what changed; on failure wait, longer each time,
//! and go on until it is cancelled. A failure is told in words that name the type, its version
//! and the verb: the right to it may be what is missing.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt};
use kube::{
    Api, Client,
    core::{ApiResource, DynamicObject},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    answers::telling,
    object::{ObjectName, WatchKey, WatchScope},
    settling::Settling,
    state::{State, Touched, Verb},
    view::View,
};
use crate::{Gvr, retries::WatchBackoff};
use armadex_control_plane::{Trouble, TroubleKind, paged, watch_config};

/// Objects of the first page of a list, where [`paged`] does not say otherwise.
const PAGE: u32 = 100;
/// What helm keeps of each release, up to a megabyte of it. No cluster is told by one, so none is held.
const OTHER_SECRETS: &str = "type!=helm.sh/release.v1";

/// Namespaces of a kind that are listed at the same time: two pages, of 4 MB at the most, take some 30 MB while they are decoded, and 100 where each value is a digit.
pub(super) const LISTS: usize = 2;

/// What was not kept of a list is seen by another one alone; a list of twenty thousand objects takes seconds.
const RELIST: Duration = Duration::from_secs(300);

pub(super) struct Task {
    pub(super) client: Client,
    pub(super) view: View,
    pub(super) cancel: CancellationToken,
    /// What each of its lists waits for, if there are many like it.
    pub(super) turns: Option<Arc<Semaphore>>,
}

pub(super) async fn follow(task: Task) {
    // Whoever made the key may have taken it from an object as it is.
    if let Err(message) = task.view.key.check() {
        return task.refuse(message);
    }
    let (client, answered) = telling(task.client.clone());
    let (api, config) = request(client, &task.view.key);
    let watch = || {
        let events = watcher::watcher(api.clone(), config.clone());
        events.backoff(WatchBackoff::default())
    };
    let mut events = pin!(watch());
    // A watch that begins again brings nothing until something changes: that it was answered is how its success is known.
    let mut settling = Settling::default();
    let mut turn = None;
    let mut relist = None;
    loop {
        let wants_a_list = task.view.lock().wants_a_list();
        relist = wants_a_list.then(|| relist.unwrap_or_else(|| Instant::now() + RELIST));
        tokio::select! {
            () = task.cancel.cancelled() => return,
            event = events.next() => {
                turn = task.turn(event.as_ref(), turn).await;
                if answered.notified().now_or_never().is_some() {
                    settling.is_answered(Instant::now());
                }
                let Some(event) = event else {
                    return;
                };
                note(&mut settling, &event);
                match event {
                    Ok(event) => task.view.change(|state| state.step(event)),
                    Err(error) => task.fail(&error),
                };
            }
            () = answered.notified() => settling.is_answered(Instant::now()),
            () = until(relist) => {
                (turn, relist) = (None, None);
                events.set(watch());
            }
            () = until(settling.holds_at()) => {
                settling.held();
                task.view.change(State::held);
            }
        }
    }
}

/// What an event says of whether the watch works.
fn note(settling: &mut Settling, event: &Result<Event<DynamicObject>, watcher::Error>) {
    match event {
        Ok(Event::Apply(_) | Event::Delete(_)) => settling.is_answered(Instant::now()),
        Ok(Event::Init | Event::InitApply(_) | Event::InitDone) => settling.begins(),
        Err(error) if verb_of(error).is_none() => settling.begins(),
        Err(_) => settling.breaks(Instant::now()),
    }
}

/// Never, where there is no time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

impl Task {
    /// A list that begins waits for its turn, which is over when the list is or fails.
    async fn turn(
        &self,
        event: Option<&Result<Event<DynamicObject>, watcher::Error>>,
        had: Option<OwnedSemaphorePermit>,
    ) -> Option<OwnedSemaphorePermit> {
        match event {
            Some(Ok(Event::InitApply(_))) => had,
            Some(Ok(Event::Init)) => {
                drop(had);
                let turn = self.turns.clone()?.acquire_owned();
                let turn = self.cancel.run_until_cancelled(turn).await?;
                turn.ok()
            }
            _ => None,
        }
    }

    fn refuse(&self, message: String) {
        warn!(error = message, "nothing is asked for: {message}");
        let kind = TroubleKind::Invalid;
        let trouble = Trouble { kind, message };
        self.view.change(|state| state.fail(Verb::List, trouble));
    }

    fn fail(&self, error: &watcher::Error) -> Touched {
        let Some(verb) = verb_of(error) else {
            return Touched::Nothing;
        };
        let resource = &self.view.key.gvr;
        let trouble = in_words(resource, verb, Trouble::from(error));
        let touched = self.view.change(|state| state.fail(verb, trouble.clone()));
        if touched == Touched::Nothing {
            debug!(%resource, error = %trouble, "watch of {resource} failed, retrying");
        } else {
            warn!(%resource, error = %trouble, "watch of {resource} failed, retrying");
        }
        touched
    }
}

/// What failed; nothing did where a version is too old to go on from, which is listed anew.
pub(crate) fn verb_of(error: &watcher::Error) -> Option<Verb> {
    match error {
        watcher::Error::InitialListFailed(_) | watcher::Error::NoResourceVersion => {
            Some(Verb::List)
        }
        watcher::Error::WatchError(status) if status.code == 410 => None,
        watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::WatchError(_) => Some(Verb::Watch),
    }
}

pub(super) fn in_words(gvr: &Gvr, verb: Verb, trouble: Trouble) -> Trouble {
    let Trouble { kind, message } = trouble;
    let verb = match verb {
        Verb::Get => "get",
        Verb::List => "list",
        Verb::Watch => "watch",
    };
    let what = gvr.in_full();
    let message = match kind {
        TroubleKind::Forbidden => format!("the right to {verb} {what} is missing: {message}"),
        TroubleKind::Missing => format!("{what} is not served, {verb} fails: {message}"),
        _ => format!("{verb} of {what} fails: {message}"),
    };
    Trouble { kind, message }
}

fn request(client: Client, key: &WatchKey) -> (Api<DynamicObject>, watcher::Config) {
    let resource = api_resource(&key.gvr);
    let config = watch_config().page_size(PAGE);
    // Whatever the kind, each may have a megabyte, and there may be twenty thousand.
    let client = paged(client);
    let config = match key.gvr.is_of_secrets() {
        true => config.fields(OTHER_SECRETS),
        false => config,
    };
    match &key.scope {
        WatchScope::All => (Api::all_with(client, &resource), config),
        WatchScope::Namespace(namespace) => {
            (Api::namespaced_with(client, namespace, &resource), config)
        }
        WatchScope::Object(ObjectName { namespace, name }) => {
            let config = config.fields(&format!("metadata.name={name}"));
            let api = match namespace.as_str() {
                "" => Api::all_with(client, &resource),
                namespace => Api::namespaced_with(client, namespace, &resource),
            };
            (api, config)
        }
    }
}

pub(super) fn api_resource(gvr: &Gvr) -> ApiResource {
    let api_version = gvr.api_version();
    let Gvr {
        group,
        version,
        resource,
    } = gvr;
    ApiResource {
        group: group.clone(),
        version: version.clone(),
        api_version,
        // Requests are made from the plural name; the kind is on the objects.
        kind: String::new(),
        plural: resource.clone(),
    }
}
