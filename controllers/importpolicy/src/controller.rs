//! The controller: what it watches, what it holds, when it tries again.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use armadex_control_plane::{Objects, paged};
use armadex_crds::{
    ClusterImportPolicy, IMPORT_POLICY_FINALIZER, PediaClusterLifecycle,
    PediaClusterLifecycleStatus,
};
use armadex_policy::{
    Controller, Counters, ObjectName, ReconcileError, Room, SecretNamespaces, Shared, State,
    Watches, concerned, controller_of, followed, paced, wait_until_served, watched,
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube::{
    Client, Resource, ResourceExt,
    runtime::{
        controller::Action,
        reflector::{ObjectRef, Store},
    },
};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::context::{Context, ROOM, waiting, waits};
use crate::news::News;
use crate::reconcile::{clean_up, follow};
use crate::status::state;

/// Source objects change all the time, when a platform probes its clusters, and a look for which one of them comes to something else goes over
/// all of them and all lifecycles. A cluster that joins a busy fleet waits no longer than this.
const REST: Duration = Duration::from_secs(1);

/// Follows every ClusterImportPolicy until cancelled. Waits for the CRDs if they are not there.
pub async fn run(
    client: Client,
    watches: Watches,
    secrets: SecretNamespaces,
    counters: Arc<Counters>,
    cancel: CancellationToken,
) -> Result<(), ReconcileError> {
    for resource in ["clusterimportpolicies", "pediaclusterlifecycles"] {
        if !wait_until_served(&client, "policy.clusterpedia.io", resource, &cancel).await {
            return Ok(());
        }
    }
    let shared = Shared::new(
        client.clone(),
        watches,
        secrets,
        counters,
        "armadex-importpolicy",
    );
    let (policies, changed) = followed(Objects::all(paged(client.clone())), shared.said.clone());
    let (lifecycles, lifecycles_changed) = watched(Objects::all(paged(client)), trim, concerned_by);
    let context = Context {
        shared,
        lifecycles,
        resources: Mutex::default(),
        memories: Mutex::default(),
        compiled: Context::no_compiled(),
        news: Arc::default(),
        room: Room::of(ROOM),
    };
    let (news, of_lifecycles) = (context.news.clone(), context.news.clone());
    let changed = changed.inspect_ok(move |policy| news.note(&policy.name, News::Anything));
    let lifecycles_changed = lifecycles_changed.map_ok(move |concerned| {
        let Concerned {
            policy,
            lifecycle,
            source,
        } = concerned;
        of_lifecycles.note(&policy, News::Lifecycle(lifecycle, source));
        ObjectRef::new(&policy)
    });
    let changed = stream::select(changed, lifecycles_changed);
    let queue = stream::select(changed, sources_changed(&context).map(Ok));
    info!("import policies are followed");
    armadex_policy::run(Arc::new(context), policies, paced(queue, REST), cancel).await;
    Ok(())
}

/// The policies whose source objects changed.
fn sources_changed(
    context: &Context,
) -> impl Stream<Item = ObjectRef<ClusterImportPolicy>> + Send + 'static + use<> {
    let (shared, news) = (&context.shared, context.news.clone());
    concerned(&shared.watches, shared.interests.clone()).map(move |(policy, object)| {
        news.note(&policy, object.map_or(News::Anything, News::Source));
        ObjectRef::new(&policy)
    })
}

impl Controller for Context {
    type Object = ClusterImportPolicy;
    type Made = PediaClusterLifecycle;

    const FINALIZER: &'static str = IMPORT_POLICY_FINALIZER;
    /// Policies are few, and each is one reconcile at a time.
    const CONCURRENCY: u16 = 4;

    fn shared(&self) -> &Shared {
        &self.shared
    }

    fn made(&self) -> &Store<PediaClusterLifecycle> {
        &self.lifecycles
    }

    async fn follow(
        self: Arc<Self>,
        policy: Arc<ClusterImportPolicy>,
    ) -> Result<Action, ReconcileError> {
        follow(&policy, &self).await
    }

    async fn clean_up(
        self: Arc<Self>,
        policy: Arc<ClusterImportPolicy>,
    ) -> Result<(), ReconcileError> {
        clean_up(&policy, &self).await
    }

    fn state(policy: &ClusterImportPolicy) -> Option<State> {
        state(policy)
    }

    fn forget(&self, name: &str) {
        Context::forget(self, name);
    }
}

/// The policy that controls a lifecycle, and what it is to be told.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Concerned {
    policy: String,
    lifecycle: String,
    source: ObjectName,
}

/// Other owners are nobody's business.
fn concerned_by(lifecycle: &PediaClusterLifecycle) -> Option<Concerned> {
    let owner = controller_of(&lifecycle.metadata)?;
    (owner.kind == ClusterImportPolicy::kind(&())).then(|| Concerned {
        policy: owner.name.clone(),
        lifecycle: lifecycle.name_any(),
        source: ObjectName::from(&lifecycle.spec.source),
    })
}

/// How a lifecycle is doing is written again and again, and of all that a policy reads that it waits for a reference.
fn trim(lifecycle: &mut PediaClusterLifecycle) {
    let waits = waits(lifecycle);
    lifecycle.status = waits.then(|| PediaClusterLifecycleStatus {
        conditions: vec![waiting()],
        ..PediaClusterLifecycleStatus::default()
    });
}
