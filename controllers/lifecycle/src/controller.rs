//! The controller: what it watches, what it holds, when it tries again.

use std::{future::ready, sync::Arc};

use armadex_crds::{PediaCluster, PediaClusterLifecycle};
use armadex_policy::{
    ReconcileError, Reporter, Retries, SecretNamespaces, Trouble, Watches, named, triggers,
    wait_until_served, watched,
};
use futures::{StreamExt, stream};
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        applier,
        controller::{Action, Config, Error as ControllerError},
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{apply::Applied, context::Context, reconcile::reconcile};

/// Each reconcile is a few requests at most; a fleet that joins at once goes on in parallel.
const CONCURRENCY: u16 = 16;

/// Follows every PediaClusterLifecycle until cancelled. Waits for the CRDs if they are not there.
pub async fn run(
    client: Client,
    watches: Watches,
    secrets: SecretNamespaces,
    cancel: CancellationToken,
) -> Result<(), ReconcileError> {
    let kinds = [
        ("policy.clusterpedia.io", "pediaclusterlifecycles"),
        ("cluster.clusterpedia.io", "pediaclusters"),
    ];
    for (group, resource) in kinds {
        if !wait_until_served(&client, group, resource, &cancel).await {
            return Ok(());
        }
    }
    let (lifecycles, lifecycle_stream) = watched::<PediaClusterLifecycle>(Api::all(client.clone()));
    let (clusters, cluster_stream) = watched::<PediaCluster>(Api::all(client.clone()));
    let context = Arc::new(Context {
        reporter: Reporter::new(client.clone(), "armadex-lifecycle"),
        client,
        interests: Arc::default(),
        clusters: clusters.clone(),
        retries: Retries::default(),
        applied: Applied::default(),
        watches: watches.clone(),
        secrets,
    });
    let changes = triggers(&watches, context.interests.clone()).map(Ok);
    // A lifecycle and its PediaCluster have the same name.
    let queue = stream::select_all([
        named(lifecycle_stream).boxed(),
        named(cluster_stream).boxed(),
        changes.boxed(),
    ]);
    info!("lifecycles are followed");
    let queue = queue.take_until(cancel.cancelled_owned());
    applier(
        |lifecycle, context| Box::pin(ready_then(clusters.clone(), lifecycle, context)),
        |lifecycle, _: &ReconcileError, context| {
            Action::requeue(context.retries.next(&lifecycle.name_any()))
        },
        context,
        lifecycles,
        queue,
        Config::default().concurrency(CONCURRENCY),
    )
    .for_each(|result| {
        log(result);
        ready(())
    })
    .await;
    Ok(())
}

/// A plan that does not know the PediaClusters would make them again.
async fn ready_then(
    clusters: Store<PediaCluster>,
    lifecycle: Arc<PediaClusterLifecycle>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let unknown = |_| ReconcileError {
        doing: "waiting for the PediaClusters",
        trouble: Trouble::unavailable("they are not watched any more"),
    };
    clusters.wait_until_ready().await.map_err(unknown)?;
    reconcile(lifecycle, context).await
}

type Reconciled = Result<
    (ObjectRef<PediaClusterLifecycle>, Action),
    ControllerError<ReconcileError, watcher::Error>,
>;

fn log(result: Reconciled) {
    match result {
        // A PediaCluster without a lifecycle was made by hand and is nobody's business here.
        Ok(_) | Err(ControllerError::ObjectNotFound(_)) => {}
        Err(ControllerError::ReconcilerFailed(error, lifecycle)) => {
            let name = &lifecycle.name;
            warn!(cluster = name, error = %error, "lifecycle {name} failed, retrying");
        }
        Err(ControllerError::QueueError(error)) => {
            let trouble = Trouble::from(&error);
            warn!(error = %trouble, "watch of lifecycles or clusters failed, retrying");
        }
        Err(ControllerError::RunnerError(error)) => {
            warn!(error = %error, "lifecycles are not reconciled any more");
        }
    }
}
