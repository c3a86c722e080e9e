//! What Karmada's cluster and cluster-status controllers do: finalizer, execution namespace, conditions, departure.
//!
//! Level-triggered: each round looks at every Cluster and moves it one step. Clusters are handled at once, each within a
//! limit of its own, so that a member that does not answer delays no other.

use std::time::Duration;

use anyhow::Result;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::cluster::Cluster;
use super::host::ensure_namespace;
use super::join::PULL;
use crate::progress::note;

mod probe;
mod taints;
mod threshold;

use probe::Depth;
use threshold::Thresholds;

/// Karmada's default is 10 s; a demo and its tests should not wait that long.
const ROUND: Duration = Duration::from_secs(1);
/// Discovery and nodes are read now and then only: a member's health is what others wait for.
const COLLECT_EVERY: usize = 10;
/// Above the probe's own limits, for a member that accepts a connection and then says nothing.
const STEP_LIMIT: Duration = Duration::from_secs(10);
const FINALIZER: &str = "karmada.io/cluster-controller";

/// Runs until `stop` is cancelled.
pub async fn run(host: Client, stop: CancellationToken) {
    let (mut told, thresholds) = (None, Thresholds::default());
    for number in 0_usize.. {
        let depth = if number % COLLECT_EVERY == 0 {
            Depth::Collect
        } else {
            Depth::Health
        };
        let failure = round(&host, &thresholds, depth)
            .await
            .err()
            .map(|error| format!("{error:#}"));
        if failure.is_some() && failure != told {
            note(format_args!(
                "stand-in: {}",
                failure.as_deref().unwrap_or_default()
            ));
        }
        told = failure;
        tokio::select! {
            () = stop.cancelled() => break,
            () = sleep(ROUND) => {}
        }
    }
}

async fn round(host: &Client, thresholds: &Thresholds, depth: Depth) -> Result<()> {
    let clusters: Api<Cluster> = Api::all(host.clone());
    let all = clusters.list(&ListParams::default()).await?;
    thresholds.retain(&all.items);
    let steps = all
        .iter()
        .map(|cluster| timeout(STEP_LIMIT, step(host, thresholds, cluster, depth)));
    for outcome in join_all(steps).await {
        outcome??;
    }
    Ok(())
}

async fn step(
    host: &Client,
    thresholds: &Thresholds,
    cluster: &Cluster,
    depth: Depth,
) -> Result<()> {
    let departed = cluster.metadata.deletion_timestamp.is_some();
    let held = cluster
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == FINALIZER);
    match (departed, held) {
        (true, true) => let_go(host, cluster).await,
        (true, false) => Ok(()),
        (false, false) => take_hold(host, cluster).await,
        (false, true) if is_told_by_agent(cluster) => Ok(()),
        (false, true) => {
            probe::update_status(host, thresholds, cluster, depth).await?;
            taints::follow(host, cluster).await
        }
    }
}

/// Nobody here could ask the member.
fn is_told_by_agent(cluster: &Cluster) -> bool {
    cluster.spec.sync_mode == PULL && cluster.spec.secret_ref.is_none()
}

/// The namespace in which Karmada keeps what it runs on a member.
fn execution_namespace(cluster: &Cluster) -> String {
    format!("karmada-es-{}", cluster.name_any())
}

async fn take_hold(host: &Client, cluster: &Cluster) -> Result<()> {
    ensure_namespace(host, &execution_namespace(cluster)).await?;
    let mut finalizers = cluster.finalizers().to_vec();
    finalizers.push(FINALIZER.to_owned());
    set_finalizers(host, cluster, &finalizers).await?;
    taints::follow(host, cluster).await
}

/// Deletes the execution namespace and lets the Cluster go when that is gone.
async fn let_go(host: &Client, cluster: &Cluster) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(host.clone());
    let name = execution_namespace(cluster);
    match namespaces.get_opt(&name).await? {
        Some(namespace) if namespace.metadata.deletion_timestamp.is_none() => {
            namespaces.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        }
        Some(_) => Ok(()),
        None => {
            let others: Vec<_> = cluster
                .finalizers()
                .iter()
                .filter(|&own| own != FINALIZER)
                .cloned()
                .collect();
            set_finalizers(host, cluster, &others).await
        }
    }
}

async fn set_finalizers(host: &Client, cluster: &Cluster, finalizers: &[String]) -> Result<()> {
    let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": cluster.resource_version()}});
    let clusters: Api<Cluster> = Api::all(host.clone());
    clusters
        .patch(
            &cluster.name_any(),
            &PatchParams::default(),
            &Patch::Merge(&patch),
        )
        .await?;
    Ok(())
}
