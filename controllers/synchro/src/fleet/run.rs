//! The synchro as a whole: while it has a place among those of its shard, PediaClusters are watched, each of its own has its tree, and a janitor purges what has left.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_control_plane::{Objects, Recorder, Trouble};
use armadex_crds::PediaCluster;
use armadex_storage::Sink;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::runtime::events::Reporter;
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::{Config, Shared};
use crate::fleet::Fleet;
use crate::fleet::place::Place;
use crate::fleet::sharing::REPLACED;
use crate::fleet::{heartbeat, janitor, weight};
use crate::told::applied::MANAGER;
use crate::tree::Ending;

const FIRST_RETRY: Duration = Duration::from_millis(500);
/// The CRDs may be installed any moment; whoever installs them waits.
const LAST_RETRY: Duration = Duration::from_secs(5);
/// PediaClusters of a list that are asked for at once: their status has half a kilobyte for each of their kinds, and all of a page are held while it
/// is decoded.
const PAGE: u32 = 100;
/// Why a synchro ended without being told to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The watch of PediaClusters came to an end, which it never does while the client lives.
    #[error("the watch of PediaClusters ended")]
    WatchEnded,
    /// Something is wrong with the program; what it did would not be done any more.
    #[error("{0} broke off")]
    Broke(&'static str),
}

/// Runs until cancelled. CRDs that are not there yet are waited for, and so is a process that looks after the same clusters and does not share them.
pub async fn run(
    client: Client,
    sink: Arc<dyn Sink>,
    config: Config,
    cancel: CancellationToken,
) -> Result<(), Error> {
    let Some(control_plane) = identity_of(&client, &cancel).await else {
        return Ok(());
    };
    loop {
        let taken = cancel.run_until_cancelled(Place::take(&client, config.lease.as_ref()));
        let Some(place) = taken.await else {
            return Ok(());
        };
        // What one tenure knows is of no use to the next.
        let shared = Shared::new(Arc::clone(&sink), &control_plane, config.clone());
        let shared = Arc::new(place.sharing(shared));
        let ended = serve(client.clone(), shared, &place, &cancel).await;
        place.release().await;
        match ended? {
            Ended::Cancelled => return Ok(()),
            Ended::LeaseLost => {}
            Ended::Replaced => {
                warn!(
                    "by what the store says another process looks after the clusters, this one lets them go and waits (with --leader-elect=false there may be one process alone; the Leases of others have to be in the same namespace)"
                );
                let rest = tokio::time::sleep(jittered(REPLACED, rand::random()));
                if cancel.run_until_cancelled(rest).await.is_none() {
                    return Ok(());
                }
            }
        }
    }
}

/// Why a tenure ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The process is to end.
    Cancelled,
    /// Another process has the Lease, or all clusters.
    LeaseLost,
    /// Another process has begun a tenure on the store.
    Replaced,
}

impl Ended {
    fn ending(self) -> Ending {
        match self {
            Self::Cancelled => Ending::Shutdown,
            Self::LeaseLost | Self::Replaced => Ending::TakenOver,
        }
    }
}

/// Looks after the clusters until that is to end, and says why.
async fn serve(
    client: Client,
    shared: Arc<Shared>,
    place: &Place,
    cancel: &CancellationToken,
) -> Result<Ended, Error> {
    let reporter = Reporter {
        controller: MANAGER.to_owned(),
        instance: None,
    };
    let recorder = Recorder::new(client.clone(), reporter);
    if shared.config.observes {
        info!("PediaClusters are observed: no status, finalizer or Event of theirs is written");
    }
    let janitor = janitor::run(Arc::clone(&shared), cancel.child_token());
    let janitor = shared.parts.start("the janitor", janitor);
    let mut fleet = Fleet::new(Arc::clone(&shared), client.clone(), recorder);
    let ended = tokio::select! {
        // Before anything else is begun in its name.
        biased;
        () = place.lost() => Ok(Ended::LeaseLost),
        ended = follow(client, &mut fleet, cancel) => ended.map(|()| Ended::Cancelled),
        () = heartbeat::beat(&shared, place.held()) => Ok(Ended::Replaced),
        never = weight::weigh(&shared, place) => match never {},
        part = shared.parts.broken() => Err(Error::Broke(part)),
    };
    let ending = ended
        .as_ref()
        .map_or(Ending::Shutdown, |ended| ended.ending());
    fleet.end_all(ending).await;
    drop(janitor);
    ended
}

/// The uid of the control plane's `kube-system` namespace, which lives as long as it does. `None` if cancelled.
async fn identity_of(client: &Client, cancel: &CancellationToken) -> Option<String> {
    let api: Objects<Namespace> = Objects::all(client.clone());
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    let mut told = String::new();
    while !cancel.is_cancelled() {
        let read = cancel.run_until_cancelled(api.get_metadata("kube-system"));
        let words = match read.await? {
            Ok(namespace) => return Some(namespace.uid().unwrap_or_default()),
            Err(Trouble { message, .. }) => message,
        };
        if words != told {
            warn!(
                error = words,
                "the namespace kube-system of the control plane, by which the store knows it, cannot be read, retrying"
            );
            told = words;
        }
        tokio::select! {
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(backoff.next(rand::random())) => {}
        }
    }
    None
}

/// What is decoded has room for more than it has, four conditions for the one of each type; and who holds which field of the status is
/// looked at in the answers to what is written.
fn without_room(object: &mut PediaCluster) {
    let managers = object.metadata.managed_fields.iter_mut();
    managers.for_each(|managers| managers.retain(|manager| manager.subresource.is_none()));
    let Some(status) = &mut object.status else {
        return;
    };
    status.conditions.shrink_to_fit();
    status.sync_resources.shrink_to_fit();
    for group in &mut status.sync_resources {
        group.resources.shrink_to_fit();
        for resource in &mut group.resources {
            resource.sync_conditions.shrink_to_fit();
        }
    }
}

async fn follow(
    client: Client,
    fleet: &mut Fleet,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    let api: Objects<PediaCluster> = Objects::all(armadex_control_plane::paged(client));
    let watched = || {
        let config = watcher::Config::default().page_size(PAGE);
        api.clone().watch(config, without_room)
    };
    let mut events = std::pin::pin!(watched());
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    let mut failing = false;
    loop {
        let shared_anew = fleet.is_to_share_anew();
        let event = tokio::select! {
            () = cancel.cancelled() => return Ok(()),
            () = shared_anew => {
                // Nothing is kept of clusters that were others'.
                if fleet.share_anew() {
                    events.set(watched());
                }
                continue;
            }
            () = fleet.hand_over() => continue,
            event = events.next() => event.ok_or(Error::WatchEnded)?,
        };
        match event {
            Ok(event) => {
                // The first event only says that a list is about to be tried.
                if !matches!(event, watcher::Event::Init) {
                    backoff.reset();
                    if std::mem::take(&mut failing) {
                        info!("PediaClusters can be watched");
                    }
                }
                fleet.handle(event);
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    warn!(
                        error = %error,
                        "PediaClusters cannot be watched, retrying (are the CRDs installed?)"
                    );
                }
                tokio::select! {
                    () = cancel.cancelled() => return Ok(()),
                    () = tokio::time::sleep(backoff.next(rand::random())) => {}
                }
            }
        }
    }
}
