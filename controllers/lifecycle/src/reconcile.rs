//! Reconcile: fetch, validate, plan, record, apply, status.

use std::sync::Arc;

use armadex_crds::{
    LifecycleSource, PediaCluster, PediaClusterLifecycle, ResolvedReference,
    conditions::LifecycleReason as Reason,
};
use armadex_policy::{
    Gvr, Interest, ObjectName, Objects, Readiness, ReconcileError, WatchKey, WatchScope,
    write_status,
};
use jiff::Timestamp;
use kube::{
    ResourceExt,
    runtime::{controller::Action, reflector::ObjectRef},
};

use crate::{
    Facts, Lookup, Planned, Stop, apply,
    context::Context,
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
    let (planned, stale) = make_plan(lifecycle, cluster.clone(), context).await;
    let client = &context.shared.client;
    let lifecycle = &record(client, lifecycle, &planned, cluster.as_deref()).await?;
    let Planned { references, step } = planned;
    let (ended, retry) = match step {
        // Whatever is missing is watched, and its coming is an event; but for what the process itself lacks.
        Err(stop) => {
            let retry = stop.may_pass();
            (Ended::Stopped(stop), retry)
        }
        Ok(step) => {
            let clusters: Objects<PediaCluster> = Objects::all(client.clone());
            let ended = apply::apply(&clusters, step, cluster.as_deref(), &context.applied).await;
            let failed = matches!(ended, Ended::Stopped(_));
            (ended, failed)
        }
    };
    let done = match ended {
        Ended::Created | Ended::UpToDate => &settled(PediaClusterLifecycle::clone(lifecycle)),
        Ended::Deleted | Ended::Stopped(_) => &**lifecycle,
    };
    let ended = match (ended, stale) {
        (Ended::UpToDate, Some(stop)) => Ended::Stopped(stop),
        (ended, _) => ended,
    };
    let exists = cluster
        .as_ref()
        .is_some_and(|cluster| is_ours(lifecycle, cluster));
    let after = status(done, exists, references, &ended, Timestamp::now());
    write_status(&**context, lifecycle, lifecycle.status.as_ref(), after).await?;
    Ok(if retry {
        Action::requeue(context.shared.retries.next(&name))
    } else {
        Action::await_change()
    })
}

/// The plan, and why it may be made of what is out of date.
///
/// Compiling and rendering may take longer than a thread that serves IO should be held.
async fn make_plan(
    lifecycle: &Arc<PediaClusterLifecycle>,
    cluster: Option<Arc<PediaCluster>>,
    context: &Arc<Context>,
) -> (Planned, Option<Stop>) {
    let (lifecycle, context) = (lifecycle.clone(), context.clone());
    let planning = tokio::task::spawn_blocking(move || {
        let cluster = cluster.as_deref();
        let compiled = match context.compilations.of(&lifecycle.spec) {
            Ok(compiled) => compiled,
            Err(problem) => return (Planned::stopped(Stop::Because(problem)), None),
        };
        if let Err(stop) = check(&lifecycle, cluster, &context.shared.secrets) {
            context.shared.interests.remove(&lifecycle.name_any());
            return (Planned::stopped(stop), None);
        }
        let mut sight = Sight {
            owner: lifecycle.name_any(),
            context: &context,
            seen: Vec::new(),
            stale: None,
        };
        let facts = Facts {
            lifecycle: &lifecycle,
            compiled: &compiled,
            source: sight.source(&lifecycle.spec.source),
            cluster,
            secrets: &context.shared.secrets,
        };
        let planned = plan(&facts, |reference| sight.reference(reference));
        (planned, sight.done())
    });
    planning
        .await
        .expect("a plan renders templates and does not panic")
}

/// Looks objects up, and remembers them as what the lifecycle depends on.
struct Sight<'a> {
    owner: String,
    context: &'a Context,
    seen: Vec<Interest>,
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
        let object = ObjectName {
            namespace: source.namespace.clone(),
            name: source.name.clone(),
        };
        self.look_up(&WatchKey { gvr, scope }, &object)
    }

    /// By a watch on this object alone.
    fn reference(&mut self, reference: &ResolvedReference) -> Lookup {
        let object = ObjectName {
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        };
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
        let trouble = self.seen.last().and_then(|seen| seen.watch.trouble());
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
        self.seen.push(interest);
        match watch.readiness() {
            Readiness::Listed => watch.get(object).map_or(Lookup::Missing, Lookup::Found),
            other => Lookup::NotListed(other),
        }
    }

    /// What was not looked at any more is not depended on any more. Gives why something that was
    /// looked at may be out of date.
    fn done(self) -> Option<Stop> {
        self.context.shared.interests.set(&self.owner, self.seen);
        self.stale
    }
}

/// The PediaCluster goes with its lifecycle, at once and not when a garbage collector comes by.
pub(crate) async fn clean_up(
    lifecycle: &PediaClusterLifecycle,
    context: &Context,
) -> Result<(), ReconcileError> {
    let name = lifecycle.name_any();
    let failed = |trouble| ReconcileError {
        doing: "deleting its PediaCluster",
        trouble,
    };
    let clusters: Objects<PediaCluster> = Objects::all(context.shared.client.clone());
    let present = clusters.get_opt(&name).await.map_err(failed)?;
    if let Some(cluster) = present.filter(|cluster| is_ours(lifecycle, cluster)) {
        let uid = cluster.uid().unwrap_or_default();
        apply::off_board(&clusters, &name, &uid)
            .await
            .map_err(failed)?;
    }
    context.forget(&name);
    Ok(())
}
