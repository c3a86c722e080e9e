//! Reconcile: fetch, validate, plan, record, apply, status.

use std::sync::Arc;

use armadex_control_plane::TroubleKind;
use armadex_crds::{
    LifecycleSource, PediaCluster, PediaClusterLifecycle, ResolvedReference,
    conditions::LifecycleReason as Reason,
};
use armadex_policy::{
    Gvr, Interest, ObjectName, Readiness, ReconcileError, WatchKey, WatchScope, write_status,
};
use jiff::Timestamp;
use kube::{
    ResourceExt,
    runtime::{controller::Action, reflector::ObjectRef},
};
use tracing::debug;

use crate::{
    Facts, Lookup, Planned, Stop, apply,
    context::Context,
    looks::{Seen, Sighted},
    plan::{check, is_ours, plan},
    record::{record, settled},
    references::display,
    status::{Ended, status},
};

/// Looks at one lifecycle.
pub(crate) async fn follow(
    lifecycle: &Arc<PediaClusterLifecycle>,
    context: &Arc<Context>,
) -> Result<Action, ReconcileError> {
    let name = lifecycle.name_any();
    let cluster = context.clusters.get(&ObjectRef::new(&name));
    let Some((planned, sight)) = look(lifecycle, cluster.clone(), context).await else {
        return Ok(Action::await_change());
    };
    let lifecycle = &record(&context.shared, lifecycle, &planned, cluster.as_deref()).await?;
    let Planned {
        references,
        step,
        warning,
        read: _,
    } = planned;
    let (ended, retry) = match step {
        // Whatever is missing is watched, and its coming is an event; but for what the process itself lacks.
        Err(stop) => {
            let retry = stop.may_pass();
            (Ended::Stopped(stop), retry)
        }
        Ok(step) => {
            let clusters = context.live_clusters(lifecycle);
            let ended = apply::apply(&clusters, step, cluster.as_deref(), &context.applied).await?;
            let failed = matches!(ended, Ended::Stopped(_));
            (ended, failed)
        }
    };
    let done = match ended {
        Ended::Created | Ended::UpToDate(_) => &settled(PediaClusterLifecycle::clone(lifecycle)),
        Ended::Deleted | Ended::Stopped(_) => &**lifecycle,
    };
    let ended = match (ended, sight.stale) {
        (Ended::UpToDate(_), Some(stop)) => Ended::Stopped(stop),
        (Ended::UpToDate(_), None) => Ended::UpToDate(warning),
        (ended, _) => ended,
    };
    let is_done = matches!(ended, Ended::UpToDate(_));
    let exists = cluster
        .as_ref()
        .is_some_and(|cluster| is_ours(lifecycle, cluster));
    let after = status(done, exists, references, &ended, Timestamp::now());
    write_status(&**context, lifecycle, lifecycle.status.as_ref(), after).await?;
    if is_done && let Some(seen) = sight.seen {
        context.looks.remember(&name, seen);
    }
    Ok(if retry {
        Action::requeue(context.shared.again(&name))
    } else {
        Action::await_change()
    })
}

/// What a plan was made of.
#[derive(Default)]
struct Sighting {
    /// Why that may be out of date.
    stale: Option<Stop>,
    /// What spares the next look, if nothing is left to do after this one.
    seen: Option<Seen>,
}

/// The plan, and what it was made of. Nothing if it would come to what the last look came to.
///
/// To compare, to compile and to render may take longer than a thread that serves IO should be held.
async fn look(
    lifecycle: &Arc<PediaClusterLifecycle>,
    cluster: Option<Arc<PediaCluster>>,
    context: &Arc<Context>,
) -> Option<(Planned, Sighting)> {
    let (lifecycle, context) = (lifecycle.clone(), context.clone());
    let looking = tokio::task::spawn_blocking(move || {
        let (name, cluster) = (lifecycle.name_any(), cluster.as_ref());
        let (looks, counters) = (&context.looks, &context.shared.counters);
        if looks.are_same(&name, &lifecycle, cluster, counters) {
            return None;
        }
        looks.forget(&name);
        counters.plans();
        Some(make_plan(&lifecycle, cluster, &context))
    });
    looking
        .await
        .expect("a plan renders templates and does not panic")
}

fn make_plan(
    lifecycle: &Arc<PediaClusterLifecycle>,
    cluster: Option<&Arc<PediaCluster>>,
    context: &Context,
) -> (Planned, Sighting) {
    let stopped = |stop| (Planned::stopped(stop), Sighting::default());
    let name = lifecycle.name_any();
    let compiled = match context.compilations.of(&name, &lifecycle.spec) {
        Ok(compiled) => compiled,
        Err(problem) => return stopped(Stop::Because(problem)),
    };
    let present = cluster.map(Arc::as_ref);
    if let Err(stop) = check(lifecycle, present, &context.shared.secrets) {
        context.shared.interests.remove(&name);
        return stopped(stop);
    }
    let mut sight = Sight {
        owner: name,
        context,
        seen: Vec::new(),
        stale: None,
    };
    let facts = Facts {
        lifecycle,
        compiled: &compiled,
        source: sight.source(&lifecycle.spec.source),
        cluster: present,
        secrets: &context.shared.secrets,
    };
    let planned = plan(&facts, |reference| sight.reference(reference));
    let (sighted, stale) = sight.done();
    if planned.read.is_some() {
        context.shared.counters.parses();
    }
    let seen = cluster.zip(planned.read).and_then(|(cluster, read)| {
        let read = (&compiled.reads, read);
        Seen::new(lifecycle, cluster, read, &sighted)
    });
    (planned, Sighting { stale, seen })
}

/// Looks objects up, and remembers them as what the lifecycle depends on.
struct Sight<'a> {
    owner: String,
    context: &'a Context,
    seen: Vec<Sighted>,
    stale: Option<Stop>,
}

impl Sight<'_> {
    /// By the watch on every object of the kind that may be read, which the policy has a share in too.
    fn source(&mut self, source: &LifecycleSource) -> Lookup {
        let gvr = Gvr::from(source);
        let secrets = &self.context.shared.secrets;
        let Ok(scope) = secrets.scope(&gvr, &source.namespace) else {
            // It was checked, or this would be told.
            return Lookup::Missing;
        };
        self.look_up(&WatchKey { gvr, scope }, &ObjectName::from(source))
    }

    /// By a watch on this object alone.
    fn reference(&mut self, reference: &ResolvedReference) -> Lookup {
        let object = ObjectName::from(reference);
        let key = WatchKey {
            gvr: Gvr::from(reference),
            scope: WatchScope::Object(object.clone()),
        };
        let found = self.look_up(&key, &object);
        self.note_trouble(reference);
        found
    }

    /// Of a source that can't be followed the policy speaks, once for all of its lifecycles.
    fn note_trouble(&mut self, reference: &ResolvedReference) {
        let trouble = self
            .seen
            .last()
            .and_then(|seen| seen.interest.watch.trouble());
        if let Some(trouble) = trouble {
            let name = display(reference);
            let message = format!("{name} can't be followed: {trouble}; what was last known stays");
            self.stale = Some(Stop::because(Reason::WaitDependentResourceSynced, message));
        }
    }

    fn look_up(&mut self, key: &WatchKey, object: &ObjectName) -> Lookup {
        let watch = self.context.shared.watches.acquire(key);
        let interest = Interest {
            watch: watch.clone(),
            object: Some(object.clone()),
        };
        self.context
            .shared
            .interests
            .add(&self.owner, interest.clone());
        let readiness = watch.readiness();
        let found = watch.get(object);
        self.seen.push(Sighted {
            interest,
            found: found.as_ref().map(Arc::downgrade).unwrap_or_default(),
        });
        match readiness {
            Readiness::Listed => match (found, watch.lacks_some()) {
                (Some(found), _) => Lookup::Found(found),
                (None, Some(trouble)) => Lookup::NotListed(Readiness::Failing(trouble)),
                (None, None) => Lookup::Missing,
            },
            other => Lookup::NotListed(other),
        }
    }

    /// What was looked at, and why it may be out of date. What was not is not depended on any more.
    fn done(self) -> (Vec<Sighted>, Option<Stop>) {
        let interests = self.seen.iter().map(|seen| seen.interest.clone());
        let interests = interests.collect();
        self.context.shared.interests.set(&self.owner, interests);
        (self.seen, self.stale)
    }
}

/// The PediaCluster goes with its lifecycle, at once and not when a garbage collector comes by. Why it can't is told, but that it waits for others.
pub(crate) async fn clean_up(
    lifecycle: &PediaClusterLifecycle,
    context: &Context,
) -> Result<(), ReconcileError> {
    let name = lifecycle.name_any();
    let clusters = context.live_clusters(lifecycle);
    let Err(trouble) = apply::take_along(&clusters, &name).await else {
        return Ok(());
    };
    if trouble.kind != TroubleKind::Held {
        let stop = Stop::because(Reason::DeletionFailure, trouble.message.clone());
        tell(lifecycle, &Ended::Stopped(stop), context).await;
    }
    Err(ReconcileError {
        doing: apply::DELETING,
        trouble,
    })
}

/// What has become of a lifecycle that goes; that it can't be told is no reason to go on otherwise.
async fn tell(lifecycle: &PediaClusterLifecycle, ended: &Ended, context: &Context) {
    let name = lifecycle.name_any();
    let cluster = context.clusters.get(&ObjectRef::new(&name));
    let exists = cluster.is_some_and(|cluster| is_ours(lifecycle, &cluster));
    let before = lifecycle.status.as_ref();
    let references = before.map(|status| status.references.clone());
    let references = references.unwrap_or_default();
    let after = status(lifecycle, exists, references, ended, Timestamp::now());
    if let Err(error) = write_status(context, lifecycle, before, after).await {
        debug!(cluster = name, error = %error, "how lifecycle {name} goes could not be told");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use armadex_control_plane::testing::{Host, ServedType};
    use armadex_policy::{SecretNamespaces, Shared, Watches};
    use futures::StreamExt;
    use kube::runtime::{
        reflector::{self, store::Writer},
        watcher::Event,
    };
    use serde_json::json;

    use super::*;

    const LIFECYCLE: &str = "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/east";
    const CLUSTER: &str = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/east";
    const SOURCE: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/east";

    fn host() -> Host {
        let served = ServedType::new;
        let ours = ("pediaclusterlifecycles", "PediaClusterLifecycle");
        let host = Host::new(&[
            served("cluster.karmada.io", "v1alpha1", "clusters", "Cluster"),
            served("policy.clusterpedia.io", "v1alpha1", ours.0, ours.1),
            served(
                "cluster.clusterpedia.io",
                "v1alpha2",
                "pediaclusters",
                "PediaCluster",
            ),
        ]);
        host.put(SOURCE, json!({"spec": {"apiEndpoint": "https://east"}}));
        let owner = json!({"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "ClusterImportPolicy",
            "name": "karmada", "uid": "policy-1", "controller": true});
        let source = json!({"group": "cluster.karmada.io", "version": "v1alpha1", "resource": "clusters", "name": "east"});
        host.put(LIFECYCLE, json!({"metadata": {"ownerReferences": [owner]}, "spec": {
            "source": source, "references": [], "creationCondition": "{{or (hasCondition source \"Ready\" \"True\") true}}",
            "template": "spec: {apiserver: {{toJson source.spec.apiEndpoint}}, syncResources: []}",
        }}));
        host
    }

    /// A controller whose watch of PediaClusters a test feeds.
    struct Stage {
        host: Host,
        context: Arc<Context>,
        clusters: Writer<PediaCluster>,
        lifecycle: Arc<PediaClusterLifecycle>,
    }

    impl Stage {
        fn new() -> Self {
            let host = host();
            let watches = Watches::new(host.client());
            let (store, clusters) = reflector::store();
            let context = Context {
                shared: Shared::new(
                    host.client(),
                    watches,
                    SecretNamespaces::default(),
                    Arc::default(),
                    "test",
                ),
                clusters: store,
                applied: Default::default(),
                compilations: Default::default(),
                looks: Default::default(),
            };
            let lifecycle = Arc::new(serde_json::from_value(host.get(LIFECYCLE).unwrap()).unwrap());
            Self {
                host,
                context: Arc::new(context),
                clusters,
                lifecycle,
            }
        }

        /// What the watches of our kinds tell.
        fn read(&mut self) {
            let lifecycle = serde_json::from_value(self.host.get(LIFECYCLE).unwrap()).unwrap();
            if *self.lifecycle != lifecycle {
                self.lifecycle = Arc::new(lifecycle);
            }
            if let Some(cluster) = self.host.get(CLUSTER) {
                let cluster = Event::Apply(serde_json::from_value(cluster).unwrap());
                self.clusters.apply_watcher_event(&cluster);
            }
        }

        async fn look(&mut self) {
            let looked = follow(&self.lifecycle, &self.context).await;
            looked.unwrap();
            self.read();
        }

        /// Whether another look would come to nothing else.
        fn is_spared(&self) -> bool {
            let cluster = self.context.clusters.get(&ObjectRef::new("east"));
            let looks = &self.context.looks;
            let counters = &self.context.shared.counters;
            looks.are_same("east", &self.lifecycle, cluster.as_ref(), counters)
        }
    }

    #[tokio::test]
    async fn a_heartbeat_of_the_source_renders_nothing_anew_and_what_is_read_does() {
        let mut stage = Stage::new();
        let watches = stage.context.shared.watches.clone();
        let mut changes = std::pin::pin!(watches.changes());
        // It is listed, created, applied once more, and told of.
        stage.look().await;
        changes.next().await;
        for _ in 0..4 {
            stage.look().await;
        }
        assert!(stage.is_spared());

        let source = |endpoint: &str, beat: u64| json!({"spec": {"apiEndpoint": endpoint}, "status": {"beat": beat}});
        let before = stage.context.looks.last("east").unwrap();
        let counters = stage.context.shared.counters.clone();
        let counted = counters.values();
        stage.host.put(SOURCE, source("https://east", 1));
        changes.next().await;
        let mut cluster = stage.host.get(CLUSTER).unwrap();
        cluster["metadata"]["resourceVersion"] = json!("1000");
        let told = Event::Apply(serde_json::from_value(cluster).unwrap());
        stage.clusters.apply_watcher_event(&told);
        assert!(stage.is_spared(), "a heartbeat and a status are no news");
        stage.look().await;
        let last = stage.context.looks.last("east").unwrap();
        assert!(Arc::ptr_eq(&before, &last), "so no other look was made");
        assert_eq!(counters.values(), counted, "and nothing was parsed");

        stage.host.put(SOURCE, source("https://west", 1));
        changes.next().await;
        assert!(!stage.is_spared());
        stage.look().await;
        let cluster = stage.host.get(CLUSTER).unwrap();
        assert_eq!(cluster["spec"]["apiserver"], "https://west");
        assert!(!stage.is_spared(), "the PediaCluster is another one");
        stage.look().await;
        assert!(stage.is_spared());

        let mut edited = stage.host.get(CLUSTER).unwrap();
        edited["spec"]["apiserver"] = json!("https://theirs");
        stage.host.put(CLUSTER, edited);
        stage.read();
        assert!(!stage.is_spared());
        stage.host.remove(SOURCE);
        changes.next().await;
        assert!(!stage.is_spared());
    }
}
