//! Clusters that are in the store, and whose PediaClusters are not on the control plane: they left while no synchro ran, or in a gap of the
//! watch, or the store could not be told.
//!
//! What is compared is the store as it was before, with a list that was read after it: a cluster that joins meanwhile is in the list or is not
//! looked at. Object and cluster are one if name and uid are, so a cluster whose object was made anew for another synchro is a stray too.
//!
//! Only what this synchro answers for is touched: several may share a store, each with a `shardingName` or a control plane of its own. Replicas share that as they share the
//! clusters, by their names.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_control_plane::{Objects, Trouble, paged};
use armadex_crds::{PEDIA_CLUSTER_FINALIZER, PediaCluster};
use armadex_storage::StoreError;
use futures::TryStreamExt;
use futures::future::ready;
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::config::Shared;
use crate::fleet::owner::Silences;

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// Without being told: a list of a thousand PediaClusters' metadata is half a megabyte.
pub(crate) const PERIOD: Duration = Duration::from_secs(600);

/// What went wrong.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("PediaClusters cannot be listed: {0}")]
    List(#[from] Trouble),
}

/// Looks at once, whenever it is told to, and by and by; says how often it has looked. Runs until it is dropped.
pub(crate) async fn look_after(shared: Arc<Shared>, client: Client, looked: watch::Sender<u64>) {
    let api = Objects::all(paged(client));
    let mut silences = Silences::default();
    loop {
        look(&shared, &api, &mut silences).await;
        looked.send_modify(|times| *times += 1);
        tokio::select! {
            () = shared.strays.notified() => {}
            () = tokio::time::sleep(jittered(PERIOD, rand::random())) => {}
        }
    }
}

/// Lets all strays leave. Begins anew with whatever fails.
async fn look(shared: &Shared, api: &Objects<PediaCluster>, silences: &mut Silences) {
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    let mut told = String::new();
    while let Err(error) = try_to_look(shared, api, silences).await {
        // Who was replaced has none, and ends.
        let is_lost = matches!(&error, Failed::Store(error) if shared.has_lost(error));
        let words = error.to_string();
        if !is_lost && words != told {
            warn!(
                error = words,
                "clusters that left unseen were not looked for, retrying"
            );
            told = words;
        }
        tokio::time::sleep(backoff.next(rand::random())).await;
    }
}

async fn try_to_look(
    shared: &Shared,
    api: &Objects<PediaCluster>,
    silences: &mut Silences,
) -> Result<(), Failed> {
    let stored = shared.sink.clusters().await?;
    let now = Instant::now();
    let mut own = shared.owner.responsible_for(stored, silences, now);
    own.retain(|cluster| shared.sharing.has(cluster.name.as_str()));
    if own.is_empty() {
        return Ok(());
    }
    let there = there(api).await?;
    for cluster in own {
        let (name, incarnation) = (cluster.name.to_string(), cluster.incarnation);
        if there.contains(&(name, incarnation.clone())) {
            continue;
        }
        shared.sink.leave(&cluster.name, &incarnation).await?;
        info!(cluster = %cluster.name, owner = cluster.owner, "left while nobody looked");
        shared.purge.notify_one();
    }
    Ok(())
}

/// Name and uid of every PediaCluster that is there, whoever looks after it.
async fn there(api: &Objects<PediaCluster>) -> Result<HashSet<(String, String)>, Trouble> {
    let named = |object: PartialObjectMeta<PediaCluster>| {
        (object.name_any(), object.uid().unwrap_or_default())
    };
    let stay = api.all_metadata();
    let stay = stay.try_filter(|object| ready(!has_left(object)));
    stay.map_ok(named).try_collect().await
}

/// Whether a PediaCluster is being deleted, and nobody is asked before it goes.
fn has_left(object: &PartialObjectMeta<PediaCluster>) -> bool {
    let finalizers = object.finalizers();
    object.metadata.deletion_timestamp.is_some()
        && !finalizers
            .iter()
            .any(|name| name == PEDIA_CLUSTER_FINALIZER)
}
