//! The controller: what it watches, what it holds, when it tries again.

use std::{sync::Arc, time::Duration};

use armadex_control_plane::{Objects, paged};
use armadex_crds::{LIFECYCLE_FINALIZER, PediaCluster, PediaClusterLifecycle};
use armadex_policy::{
    Controller, Counters, ReconcileError, SecretNamespaces, Shared, State, Watches, followed,
    paced, triggers, wait_until_served, watched,
};
use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Client, ResourceExt,
    runtime::{
        controller::Action,
        reflector::{ObjectRef, Store},
    },
};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::apply::Applied;
use crate::compiled::Compilations;
use crate::context::Context;
use crate::looks::Looks;
use crate::reconcile::{clean_up, follow};
use crate::status::state;

/// A cluster that somebody else writes again and again is put back no more often than this, and one
/// that waits for the first list of a reference waits no longer.
const REST: Duration = Duration::from_millis(500);

/// Follows every PediaClusterLifecycle until cancelled. Waits for the CRDs if they are not there.
pub async fn run(
    client: Client,
    watches: Watches,
    secrets: SecretNamespaces,
    counters: Arc<Counters>,
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
    let shared = Shared::new(
        client.clone(),
        watches,
        secrets,
        counters,
        "armadex-lifecycle",
    );
    let (lifecycles, changed) = followed(Objects::all(paged(client.clone())), shared.said.clone());
    // How each of its resources is doing is for the synchro to say, and longer than all the rest.
    // A lifecycle and its PediaCluster have the same name.
    let (clusters, clusters_changed) = watched(
        Objects::all(paged(client)),
        |cluster: &mut PediaCluster| cluster.status = None,
        |cluster| Some(cluster.name_any()),
    );
    let context = Context {
        shared,
        clusters,
        applied: Applied::default(),
        compilations: Compilations::default(),
        looks: Looks::default(),
    };
    let clusters_changed = clusters_changed.map_ok(|name| ObjectRef::new(&name));
    let changes = triggers(&context.shared.watches, context.shared.interests.clone()).map(Ok);
    let queue = stream::select_all([changed.boxed(), clusters_changed.boxed(), changes.boxed()]);
    info!("lifecycles are followed");
    armadex_policy::run(Arc::new(context), lifecycles, paced(queue, REST), cancel).await;
    Ok(())
}

impl Controller for Context {
    type Object = PediaClusterLifecycle;
    type Made = PediaCluster;

    const FINALIZER: &'static str = LIFECYCLE_FINALIZER;
    /// Each reconcile is a few requests at most; a fleet that joins at once goes on in parallel.
    const CONCURRENCY: u16 = 16;

    fn shared(&self) -> &Shared {
        &self.shared
    }

    fn made(&self) -> &Store<PediaCluster> {
        &self.clusters
    }

    async fn follow(
        self: Arc<Self>,
        lifecycle: Arc<PediaClusterLifecycle>,
    ) -> Result<Action, ReconcileError> {
        follow(&lifecycle, &self).await
    }

    async fn clean_up(
        self: Arc<Self>,
        lifecycle: Arc<PediaClusterLifecycle>,
    ) -> Result<(), ReconcileError> {
        clean_up(&lifecycle, &self).await
    }

    fn state(lifecycle: &PediaClusterLifecycle) -> Option<State> {
        state(lifecycle)
    }

    fn forget(&self, name: &str) {
        self.shared.forget(name);
        self.applied.forget(name);
        self.looks.forget(name);
        self.compilations.forget(name);
    }
}
