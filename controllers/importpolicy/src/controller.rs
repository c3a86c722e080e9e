//! The controller: what it watches, what it holds, when it tries again.

use std::{
    future::ready,
    sync::{Arc, Mutex},
    time::Duration,
};

use armadex_crds::{ClusterImportPolicy, PediaClusterLifecycle};
use armadex_policy::{
    ReconcileError, Reporter, Retries, SecretNamespaces, Trouble, Watches, controller_of, named,
    paced, triggers, wait_until_served, watched,
};
use futures::{Stream, StreamExt, future, stream};
use kube::{
    Api, Client, Resource, ResourceExt,
    runtime::{
        applier,
        controller::{Action, Config, Error as ControllerError},
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::context::Context;
use crate::reconcile::reconcile;

/// Source objects change all the time, when a platform probes its clusters, and each look renders
/// the names of all of them. A cluster that joins a busy fleet waits no longer than this.
const REST: Duration = Duration::from_secs(1);
/// Policies are few, and each is one reconcile at a time.
const CONCURRENCY: u16 = 4;

/// Follows every ClusterImportPolicy until cancelled. Waits for the CRDs if they are not there.
pub async fn run(
    client: Client,
    watches: Watches,
    secrets: SecretNamespaces,
    cancel: CancellationToken,
) -> Result<(), ReconcileError> {
    for resource in ["clusterimportpolicies", "pediaclusterlifecycles"] {
        if !wait_until_served(&client, "policy.clusterpedia.io", resource, &cancel).await {
            return Ok(());
        }
    }
    let (policies, policy_stream) = watched::<ClusterImportPolicy>(Api::all(client.clone()));
    let (lifecycles, lifecycle_stream) = watched::<PediaClusterLifecycle>(Api::all(client.clone()));
    let context = Arc::new(Context {
        reporter: Reporter::new(client.clone(), "armadex-importpolicy"),
        client,
        interests: Arc::default(),
        lifecycles: lifecycles.clone(),
        retries: Retries::default(),
        resources: Mutex::default(),
        watches: watches.clone(),
        secrets,
    });
    let changes = triggers(&watches, context.interests.clone()).map(Ok);
    let queue = stream::select_all([
        named(policy_stream).boxed(),
        policies_of(lifecycle_stream).boxed(),
        changes.boxed(),
    ]);
    info!("import policies are followed");
    let queue = paced(queue.take_until(cancel.cancelled_owned()), REST);
    applier(
        |policy, context| Box::pin(ready_then(lifecycles.clone(), policy, context)),
        |policy, _: &ReconcileError, context| {
            Action::requeue(context.retries.next(&policy.name_any()))
        },
        context,
        policies,
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

/// A plan that does not know the lifecycles would make them again.
async fn ready_then(
    lifecycles: Store<PediaClusterLifecycle>,
    policy: Arc<ClusterImportPolicy>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let unknown = |_| ReconcileError {
        doing: "waiting for the lifecycles",
        trouble: Trouble::unavailable("they are not watched any more"),
    };
    lifecycles.wait_until_ready().await.map_err(unknown)?;
    reconcile(policy, context).await
}

/// The policies that control the lifecycles of a stream; other owners are nobody's business.
fn policies_of(
    lifecycles: impl Stream<Item = Result<PediaClusterLifecycle, watcher::Error>> + Send + 'static,
) -> impl Stream<Item = Result<ObjectRef<ClusterImportPolicy>, watcher::Error>> + Send + 'static {
    lifecycles.filter_map(|lifecycle| {
        future::ready(match lifecycle {
            Ok(lifecycle) => controller_of(&lifecycle.metadata)
                .filter(|owner| owner.kind == ClusterImportPolicy::kind(&()))
                .map(|owner| Ok(ObjectRef::new(&owner.name))),
            Err(error) => Some(Err(error)),
        })
    })
}

type Reconciled = Result<
    (ObjectRef<ClusterImportPolicy>, Action),
    ControllerError<ReconcileError, watcher::Error>,
>;

fn log(result: Reconciled) {
    match result {
        // An object that went while it was queued is not worth a word.
        Ok(_) | Err(ControllerError::ObjectNotFound(_)) => {}
        Err(ControllerError::ReconcilerFailed(error, policy)) => {
            let name = &policy.name;
            warn!(policy = name, error = %error, "policy {name} failed, retrying");
        }
        Err(ControllerError::QueueError(error)) => {
            let trouble = Trouble::from(&error);
            warn!(error = %trouble, "watch of policies or lifecycles failed, retrying");
        }
        Err(ControllerError::RunnerError(error)) => {
            warn!(error = %error, "policies are not reconciled any more");
        }
    }
}
