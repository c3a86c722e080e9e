//! Reconcile: fetch, validate, plan, apply, status.

use std::{pin::pin, sync::Arc, time::Duration};

use armadex_control_plane::{Objects, Trouble, TroubleKind, lock, paged};
use armadex_crds::{ClusterImportPolicy, PediaClusterLifecycle, conditions::PolicyValidatedReason};
use armadex_policy::{
    Counters, Found, ObjectName, Readiness, ReconcileError, ResolveError, SecretNamespaces,
    controlled_by, resolve, write_status,
};
use futures::TryStreamExt;
use jiff::Timestamp;
use kube::{
    Resource, ResourceExt,
    api::ObjectMeta,
    runtime::{controller::Action, events::EventType, reflector::ObjectRef},
};
use tokio::time::Instant;
use tracing::debug;

use crate::{
    Invalid, Looks, Plan, Problem,
    apply::{self, Done},
    context::{Context, Memory, Resources, waits_for_references},
    leaving::Leaving,
    news::Since,
    part::{Known, Outcome, Part, part},
    plan::{Facts, plan},
    sources::Sources,
    status::{Conclusion, Remaining, Summary, departures, status},
    validate::refused_source,
    validate_namespaces,
};

/// Versions of references are looked up anew no more often than this, however many lifecycles wait
/// for one: a few requests for a policy.
const LOOK_UP: Duration = Duration::from_secs(10);
/// Until the watch has told of what a look has just written.
const ECHO: Duration = Duration::from_millis(250);

/// What to do after a reconcile.
enum Requeue {
    AwaitChange,
    Retry(Duration),
    /// Something is waited for of which nobody tells, as that a name is free. Until then what changes is looked at alone.
    RetryAt(Instant),
}

impl Requeue {
    /// What the others wait for is looked at by then, whatever a part comes to.
    fn no_later_than(self, others: Option<Instant>) -> Self {
        match (self, others) {
            (Self::RetryAt(time), Some(others)) => Self::RetryAt(time.min(others)),
            (Self::AwaitChange, Some(others)) => Self::RetryAt(others),
            (next, _) => next,
        }
    }
}

/// Looks at one policy, and where little has changed at that alone.
pub(crate) async fn follow(
    policy: &ClusterImportPolicy,
    context: &Arc<Context>,
) -> Result<Action, ReconcileError> {
    let name = policy.name_any();
    let since = context.news.begin(&name);
    let again_at = since.as_ref().and_then(|since| since.again_at);
    let outcome = match since {
        Some(since) if again_at.is_none_or(|time| time > Instant::now()) => {
            changes(policy, since, context).await
        }
        Some(_) | None => Outcome::Unclear,
    };
    let (conclusion, next) = match outcome {
        Outcome::Same(totals) => {
            context.news.settle(&name, totals, again_at);
            return Ok(again_at.map_or_else(Action::await_change, action_at));
        }
        Outcome::Plan(part) => part_conclusion(policy, part, again_at, context).await,
        Outcome::Unclear => conclusion(policy, context).await,
    };
    tell_departures(policy, &conclusion, context).await;
    let after = status(policy, &conclusion, Timestamp::now());
    write_status(&**context, policy, policy.status.as_ref(), after).await?;
    let (again_at, action) = match next {
        Requeue::Retry(delay) => return Ok(Action::requeue(delay)),
        Requeue::AwaitChange => (None, Action::await_change()),
        Requeue::RetryAt(time) => (Some(time), action_at(time)),
    };
    if let Conclusion::Done(summary) = &conclusion {
        context.news.settle(&name, summary.totals(), again_at);
    }
    Ok(action)
}

async fn tell_departures(policy: &ClusterImportPolicy, conclusion: &Conclusion, context: &Context) {
    if let Some(departures) = departures(conclusion) {
        let (reporter, about) = (&context.shared.reporter, policy.object_ref(&()));
        reporter
            .publish(&about, &departures, EventType::Normal)
            .await;
    }
}

fn action_at(time: Instant) -> Action {
    Action::requeue(time.saturating_duration_since(Instant::now()))
}

/// What the changes since the last look come to.
async fn changes(policy: &ClusterImportPolicy, since: Since, context: &Arc<Context>) -> Outcome {
    let shared = &context.shared;
    let (Some(Ok(memory)), Some(known)) =
        (context.remembered(policy), context.known_resources(policy))
    else {
        return Outcome::Unclear;
    };
    let source = &known.found.source.gvr;
    let Ok(sources) = Sources::acquire(source, &shared.secrets, &shared.watches) else {
        return Outcome::Unclear;
    };
    if !sources.are_followed() {
        return Outcome::Unclear;
    }
    let given = Given {
        policy: policy.clone(),
        memory,
        resources: known.found,
        counters: shared.counters.clone(),
        secrets: shared.secrets.clone(),
    };
    let found = Followed {
        sources: sources.clone(),
        context: context.clone(),
    };
    let outcome = given
        .look(move |facts, looks| part(facts, &since, &found, looks))
        .await;
    match sources.are_followed() {
        true => outcome,
        // One of them may have lost its place meanwhile.
        false => Outcome::Unclear,
    }
}

/// What watches know.
struct Followed {
    sources: Sources,
    context: Arc<Context>,
}

impl Known for Followed {
    fn object(&self, name: &ObjectName) -> Option<Arc<Found>> {
        self.sources.get(name)
    }

    fn lifecycle(&self, name: &str) -> Option<Arc<PediaClusterLifecycle>> {
        self.context.lifecycles.get(&ObjectRef::new(name))
    }
}

/// Carries a part out.
async fn part_conclusion(
    policy: &ClusterImportPolicy,
    part: Part,
    again_at: Option<Instant>,
    context: &Context,
) -> (Conclusion, Requeue) {
    let Part {
        plan,
        objects,
        lifecycles,
    } = part;
    context.shared.counters.plans();
    context.news.know(&policy.name_any(), objects);
    let summary = carry_out(policy, plan, objects, None, context).await;
    let waits = waits_for_references(policy, || lifecycles);
    let next = next_look(waits, &summary, &policy.name_any(), context);
    (Conclusion::Done(summary), next.no_later_than(again_at))
}

async fn carry_out(
    policy: &ClusterImportPolicy,
    plan: Plan,
    objects: usize,
    stale: Option<Trouble>,
    context: &Context,
) -> Summary {
    let lifecycles: Objects<PediaClusterLifecycle> = Objects::all(context.shared.client.clone());
    let done = apply::apply(&lifecycles, policy, &plan).await;
    Summary::new(objects, plan, done, stale)
}

async fn conclusion(policy: &ClusterImportPolicy, context: &Arc<Context>) -> (Conclusion, Requeue) {
    let name = policy.name_any();
    let memory = match memory(policy, context).await {
        Ok(memory) => memory,
        Err(invalid) => {
            let next = retry_if(invalid.may_pass, &name, context);
            return (Conclusion::Invalid(invalid), next);
        }
    };
    let (resources, sources) = match source(policy, context).await {
        Ok(found) => found,
        Err((conclusion, next)) => return (conclusion, next),
    };
    let (readiness, trouble) = (sources.readiness(), sources.trouble());
    if let Readiness::Listing | Readiness::Failing(_) = readiness {
        let gone = is_gone(&readiness, trouble.as_ref());
        return (
            Conclusion::NotListed(readiness),
            retry_if(gone, &name, context),
        );
    }
    // It may have become whole since it was looked at, or be so no more.
    let lacked = sources.lack_some();
    let objects = sources.objects();
    context.news.know(&name, objects.len());
    let mut plan = make_plan(policy, memory, resources, objects.clone(), context).await;
    if lacked || sources.lack_some() {
        plan.leave_to_unknown(|name| context.lifecycles.get(&ObjectRef::new(name)));
    }
    let gone = is_gone(&readiness, trouble.as_ref());
    let summary = carry_out(policy, plan, objects.len(), trouble, context).await;
    let waits = context.waits_for_references(policy);
    let next = next_look(gone || waits, &summary, &name, context);
    (Conclusion::Done(summary), next)
}

/// Compiling may take longer than a thread that serves IO should be held; what is remembered is there at once.
async fn memory(policy: &ClusterImportPolicy, context: &Arc<Context>) -> Result<Memory, Invalid> {
    if let Some(known) = context.remembered(policy) {
        return known;
    }
    let (policy, context) = (policy.clone(), context.clone());
    let compiling = tokio::task::spawn_blocking(move || context.memory(&policy));
    compiling
        .await
        .expect("what panics while a template is compiled is an error of the template")
}

/// The resources of the policy and shares in the watches on its source objects. Where the version
/// of the source is served no more, another one is looked for.
async fn source(
    policy: &ClusterImportPolicy,
    context: &Context,
) -> Result<(Resources, Sources), (Conclusion, Requeue)> {
    let (resources, sources) = known_source(policy, context).await?;
    if !is_gone(&sources.readiness(), sources.trouble().as_ref()) {
        return Ok((resources, sources));
    }
    context.forget_resources(&policy.name_any());
    known_source(policy, context).await
}

async fn known_source(
    policy: &ClusterImportPolicy,
    context: &Context,
) -> Result<(Resources, Sources), (Conclusion, Requeue)> {
    let name = policy.name_any();
    let resources = resources(policy, context)
        .await
        .map_err(|(reason, error)| {
            // Installing an API sends no event to wait for.
            let delay = context.shared.retries.next(&name);
            (Conclusion::Unresolved(reason, error), Requeue::Retry(delay))
        })?;
    let namespaced = resources
        .references
        .iter()
        .map(|reference| reference.namespaced);
    let invalid = |invalid| (Conclusion::Invalid(invalid), Requeue::AwaitChange);
    validate_namespaces(&policy.spec, namespaced).map_err(invalid)?;
    let (gvr, shared) = (&resources.source.gvr, &context.shared);
    let sources = Sources::acquire(gvr, &shared.secrets, &shared.watches);
    let sources = sources.map_err(|refusal| invalid(refused_source(&refusal)))?;
    shared.interests.set(&name, sources.interests());
    Ok((resources, sources))
}

/// When to look again after a plan was carried out. What goes on is no failure: there is nothing to wait longer for each time.
fn next_look(waits: bool, summary: &Summary, name: &str, context: &Context) -> Requeue {
    if summary.goes_on() {
        context.shared.retries.clear(name);
        return Requeue::Retry(ECHO);
    }
    match retry_if(waits || summary.may_improve(), name, context) {
        Requeue::Retry(delay) if summary.has_settled() => Requeue::RetryAt(Instant::now() + delay),
        next => next,
    }
}

/// A watch says when its trouble ends, but not when another version is served.
fn retry_if(may_help: bool, name: &str, context: &Context) -> Requeue {
    if may_help {
        Requeue::Retry(context.shared.retries.next(name))
    } else {
        Requeue::AwaitChange
    }
}

/// Whether the type is served no more in the version that is watched.
fn is_gone(readiness: &Readiness, trouble: Option<&Trouble>) -> bool {
    let trouble = match readiness {
        Readiness::Failing(trouble) => Some(trouble),
        Readiness::Listed | Readiness::Listing => trouble,
    };
    trouble.is_some_and(|trouble| trouble.kind == TroubleKind::Missing)
}

async fn make_plan(
    policy: &ClusterImportPolicy,
    memory: Memory,
    resources: Resources,
    objects: Vec<Arc<Found>>,
    context: &Context,
) -> Plan {
    let shared = &context.shared;
    shared.counters.plans();
    let given = Given {
        policy: policy.clone(),
        memory,
        resources,
        counters: shared.counters.clone(),
        secrets: shared.secrets.clone(),
    };
    let lifecycles = context.lifecycles.state();
    let everything = move |facts: &Facts<'_>, looks: &mut Looks| {
        let facts = Facts {
            objects: &objects,
            lifecycles: &lifecycles,
            ..*facts
        };
        plan(&facts, looks)
    };
    given.look(everything).await
}

/// What a policy is looked at with.
struct Given {
    policy: ClusterImportPolicy,
    memory: Memory,
    resources: Resources,
    counters: Arc<Counters>,
    secrets: SecretNamespaces,
}

impl Given {
    /// Looks, with facts that have no objects and no lifecycles yet, and counts what that took. Rendering a fleet's names takes milliseconds,
    /// which is too long for a thread that serves IO.
    async fn look<T: Send + 'static>(
        self,
        look: impl FnOnce(&Facts<'_>, &mut Looks) -> T + Send + 'static,
    ) -> T {
        let looking = tokio::task::spawn_blocking(move || {
            let Resources { source, references } = &self.resources;
            let versions = references.iter().map(|found| found.gvr.version.clone());
            let versions: Vec<String> = versions.collect();
            let facts = Facts {
                policy: &self.policy,
                compiled: &self.memory.compiled,
                source: &source.gvr,
                versions: &versions,
                objects: &[],
                lifecycles: &[],
                secrets: &self.secrets,
            };
            let mut looks = lock(&self.memory.looks);
            let (walked, rendered) = (looks.walked(), looks.rendered());
            let outcome = look(&facts, &mut looks);
            let counters = &self.counters;
            counters.looks_at(looks.walked() - walked, looks.rendered() - rendered);
            outcome
        });
        looking
            .await
            .expect("a look renders templates and does not panic")
    }
}

/// Resources of the policy, looked up once for each of its generations as long as they are served.
async fn resources(
    policy: &ClusterImportPolicy,
    context: &Context,
) -> Result<Resources, (PolicyValidatedReason, ResolveError)> {
    let known = context.known_resources(policy);
    let found = match known {
        None => look_up(policy, context).await?,
        Some(known) if known.at.elapsed() < LOOK_UP || !context.waits_for_references(policy) => {
            return Ok(known.found);
        }
        // What does not answer now may be what is waited for.
        Some(known) => look_up(policy, context).await.unwrap_or(known.found),
    };
    context.remember_resources(policy, found.clone());
    Ok(found)
}

async fn look_up(
    policy: &ClusterImportPolicy,
    context: &Context,
) -> Result<Resources, (PolicyValidatedReason, ResolveError)> {
    let source = &policy.spec.source;
    let found = resolve(
        &context.shared.client,
        &source.group,
        &source.resource,
        &source.versions,
    )
    .await;
    let source =
        found.map_err(|error| (PolicyValidatedReason::FailedNegotiateSourceResource, error))?;
    let mut references = Vec::with_capacity(policy.spec.references.len());
    for reference in &policy.spec.references {
        let (group, resource) = (&reference.group, &reference.resource);
        let found = resolve(&context.shared.client, group, resource, &reference.versions).await;
        references.push(found.map_err(|error| {
            (
                PolicyValidatedReason::FailedNegotiateReferenceResource,
                error,
            )
        })?);
    }
    Ok(Resources { source, references })
}

/// The lifecycles of a policy go with it; their own finalizers take the clusters along. The API server is asked which these are: what is watched may
/// be late, and nobody looks for them once the policy is gone. One that may not be deleted keeps none of the others, and the policy says so.
pub(crate) async fn clean_up(
    policy: &ClusterImportPolicy,
    context: &Context,
) -> Result<(), ReconcileError> {
    let client = paged(context.shared.client.clone());
    let lifecycles: Objects<PediaClusterLifecycle> = Objects::all(client);
    let (delete, unlisted) = leaving(policy, &lifecycles).await;
    let plan = Plan {
        delete,
        ..Plan::default()
    };
    let Done {
        failures,
        gone,
        trouble,
        left,
        carried,
        ..
    } = apply::apply(&lifecycles, policy, &plan).await;
    let remaining = Remaining {
        lifecycles: failures.len() + left,
        problems: unlisted
            .iter()
            .map(unlisted_problem)
            .chain(failures)
            .collect(),
        gone,
    };
    let conclusion = Conclusion::Going(remaining);
    tell_departures(policy, &conclusion, context).await;
    let trouble = match unlisted.or(trouble) {
        None if left == 0 => return Ok(()),
        None => {
            if carried > 0 {
                context.shared.retries.clear(&policy.name_any());
            }
            Trouble {
                kind: TroubleKind::Held,
                message: format!("{left} are left for the next look"),
            }
        }
        Some(trouble) => trouble,
    };
    let after = status(policy, &conclusion, Timestamp::now());
    let told = write_status(context, policy, policy.status.as_ref(), after).await;
    if let Err(error) = told {
        debug!(policy = policy.name_any(), error = %error, "that a policy can't go could not be told");
    }
    Err(ReconcileError {
        doing: "deleting its lifecycles",
        trouble,
    })
}

/// The lifecycles of a policy that goes, as far as they could be listed, and why no further.
async fn leaving(
    policy: &ClusterImportPolicy,
    lifecycles: &Objects<PediaClusterLifecycle>,
) -> (Vec<Leaving>, Option<Trouble>) {
    let uid = policy.metadata.uid.as_deref().unwrap_or_default();
    // What goes already was asked for, and takes the time that its own finalizer does.
    let is_to_go = |metadata: &ObjectMeta| {
        metadata.deletion_timestamp.is_none() && controlled_by(metadata, uid)
    };
    let mut leaving = Vec::new();
    let mut all = pin!(lifecycles.all_metadata());
    loop {
        match all.try_next().await {
            Ok(Some(lifecycle)) if is_to_go(&lifecycle.metadata) => {
                let why = "the policy is being deleted".to_owned();
                leaving.push(Leaving::of(&lifecycle.metadata, why));
            }
            Ok(Some(_)) => {}
            Ok(None) => return (leaving, None),
            // They went with their CRD.
            Err(trouble) if trouble.kind == TroubleKind::Missing => return (leaving, None),
            Err(trouble) => return (leaving, Some(trouble)),
        }
    }
}

fn unlisted_problem(trouble: &Trouble) -> Problem {
    Problem {
        subject: "PediaClusterLifecycles".to_owned(),
        message: format!("can't be listed: {trouble}"),
        may_pass: true,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use armadex_control_plane::testing::{Host, ServedType};
    use armadex_policy::{Room, SecretNamespaces, Shared, Watches};
    use futures::StreamExt;
    use kube::runtime::{reflector, watcher};
    use serde_json::json;

    use super::*;
    use crate::news::News;

    const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

    fn context(host: &Host) -> Arc<Context> {
        within(host, Arc::default())
    }

    /// With so much room for what has come of looks.
    fn within(host: &Host, room: Arc<Room>) -> Arc<Context> {
        let watches = Watches::new(host.client());
        let secrets = SecretNamespaces::default();
        Arc::new(Context {
            shared: Shared::new(host.client(), watches, secrets, Arc::default(), "test"),
            lifecycles: reflector::store().0,
            resources: Mutex::default(),
            memories: Mutex::default(),
            compiled: Context::no_compiled(),
            news: Arc::default(),
            room,
        })
    }

    fn policy(generation: i64) -> ClusterImportPolicy {
        serde_json::from_value(json!({
            "metadata": {"name": "karmada", "uid": "u", "generation": generation},
            "spec": {
                "source": {"group": "cluster.karmada.io", "resource": "clusters"},
                "references": [],
                "nameTemplate": "{{source.metadata.name}}",
                "template": "spec: {syncResources: []}",
                "creationCondition": "true",
            },
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn that_a_policy_is_not_valid_is_remembered_until_it_is_another_one() {
        let context = context(&Host::new(&[]));
        let mut wrong = policy(1);
        wrong.spec.name_template = "{{nope}}".into();
        let told = memory(&wrong, &context).await.err();
        assert!(
            told.as_ref()
                .is_some_and(|told| told.message.contains("nope is unknown"))
        );
        // It is not looked at again: this one would be valid.
        assert_eq!(memory(&policy(1), &context).await.err(), told);
        assert!(memory(&policy(2), &context).await.is_ok());
        assert!(
            memory(&wrong, &context).await.is_err(),
            "of an earlier generation"
        );
    }

    #[tokio::test]
    async fn no_more_is_kept_compiled_of_all_policies_than_there_is_room_for() {
        let context = context(&Host::new(&[]));
        let long = |number: usize| {
            let mut policy = policy(1);
            policy.metadata.name = Some(format!("p{number}"));
            policy.spec.name_template = "x".repeat(60 * 1024);
            policy
        };
        for number in 0..20 {
            assert!(memory(&long(number), &context).await.is_ok());
        }
        let kept = (0..20).filter(|number| context.remembered(&long(*number)).is_some());
        assert_eq!(Vec::from_iter(kept), [0, 1]);
    }

    #[tokio::test]
    async fn policies_with_long_templates_make_room_for_those_with_short_ones() {
        let context = context(&Host::new(&[]));
        let named = |name: String, length: usize| {
            let mut policy = policy(1);
            policy.metadata.name = Some(name);
            policy.spec.name_template = "x".repeat(length);
            policy
        };
        let short = |number: usize| named(format!("short{number}"), 1000);
        let long = |number: usize| named(format!("long{number}"), 60 * 1024 + number);
        for number in 0..20 {
            memory(&short(number), &context).await.unwrap();
        }
        let looks = async |number| memory(&long(number), &context).await.unwrap().looks;
        let before = looks(4).await;
        for number in (0..5).chain(0..5) {
            looks(number).await;
        }
        let is_kept = |policy: &ClusterImportPolicy| context.remembered(policy).is_some();
        assert!((0..20).all(|number| is_kept(&short(number))));
        let kept = Vec::from_iter((0..5).filter(|number| is_kept(&long(*number))));
        assert_eq!(kept, [0], "there is no room for another");
        let after = looks(4).await;
        assert!(
            Arc::ptr_eq(&before, &after),
            "what came of its looks is kept"
        );
    }

    #[tokio::test]
    async fn that_a_template_could_not_be_compiled_now_is_not_remembered() {
        let context = context(&Host::new(&[]));
        let no_thread = Invalid {
            reason: PolicyValidatedReason::InvalidPolicy,
            message: "template: there is no thread for the parser now".into(),
            may_pass: true,
        };
        context.remember(&policy(1), Err(no_thread));
        assert!(memory(&policy(1), &context).await.is_ok());
    }

    const POLICY: &str = "/apis/policy.clusterpedia.io/v1alpha1/clusterimportpolicies/karmada";

    /// With 20 clusters.
    fn fleet() -> Host {
        let ours =
            |resource, kind| ServedType::new("policy.clusterpedia.io", "v1alpha1", resource, kind);
        let host = Host::new(&[
            ServedType::new("cluster.karmada.io", "v1alpha1", "clusters", "Cluster"),
            ours("clusterimportpolicies", "ClusterImportPolicy"),
            ours("pediaclusterlifecycles", "PediaClusterLifecycle"),
        ]);
        for number in 0..20 {
            host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
        }
        host
    }

    /// Objects that were rendered, and those that were walked over.
    fn counters(policy: &ClusterImportPolicy, context: &Context) -> (u64, u64) {
        let memory = context.memory(policy).unwrap();
        let looks = lock(&memory.looks);
        (looks.rendered(), looks.walked())
    }

    #[tokio::test]
    async fn a_look_renders_what_changed_since_the_last_one() {
        let host = fleet();
        let context = context(&host);
        let mut changes = std::pin::pin!(context.shared.watches.changes());
        conclusion(&policy(1), &context).await;
        changes.next().await;
        let rendered = async |policy: &ClusterImportPolicy| {
            let (conclusion, _) = conclusion(policy, &context).await;
            assert!(matches!(conclusion, Conclusion::Done(_)), "{conclusion:?}");
            counters(policy, &context).0
        };
        assert_eq!(rendered(&policy(1)).await, 20);
        let probed = json!({"status": {"probed": 1}});
        host.put(&format!("{CLUSTERS}/c7"), probed);
        changes.next().await;
        assert_eq!(rendered(&policy(1)).await, 20, "no template reads that");
        host.put(&format!("{CLUSTERS}/c20"), json!({}));
        changes.next().await;
        assert_eq!(rendered(&policy(1)).await, 21);
        assert_eq!(rendered(&policy(1)).await, 21);
        let in_all = || context.shared.counters.values().rendered;
        assert_eq!(in_all(), 21);
        let mut edited = policy(2);
        edited.spec.template = "spec: {}".into();
        rendered(&edited).await;
        assert_eq!(in_all(), 21, "it looks by what it did");
        edited.spec.name_template = "a-{{source.metadata.name}}".into();
        edited.metadata.generation = Some(3);
        rendered(&edited).await;
        assert_eq!(in_all(), 42, "it says something else");
    }

    #[tokio::test]
    async fn what_there_is_no_room_for_is_rendered_at_each_look_though_it_is_compiled() {
        let host = fleet();
        let context = within(&host, Room::of(0));
        let mut changes = std::pin::pin!(context.shared.watches.changes());
        conclusion(&policy(1), &context).await;
        changes.next().await;
        for times in 1..3 {
            conclusion(&policy(1), &context).await;
            assert_eq!(counters(&policy(1), &context).0, times * 20);
        }
    }

    const LIFECYCLES: &str = "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles";

    /// What clusters come to with so much room for them, of which three are large; the policy has a lifecycle of one already.
    async fn conclusion_within(host: &Host, room: usize) -> Conclusion {
        let large = Vec::from_iter((0..20_000u32).map(|at| at.wrapping_mul(2_654_435_761)));
        for number in 0..3 {
            let path = format!("{CLUSTERS}/c{number}");
            host.put(&path, json!({"spec": {"ids": large}}));
        }
        let (lifecycles, mut writer) = reflector::store();
        // The second has a name that another object would have by now.
        for (name, of) in [("c9", "c9"), ("c10", "unknown")] {
            let path = format!("{LIFECYCLES}/{name}");
            let made = json!({
                "metadata": {"ownerReferences": [{"apiVersion": "a/v1",
                    "kind": "ClusterImportPolicy", "name": "karmada", "uid": "u", "controller": true}]},
                "spec": {"source": {"group": "cluster.karmada.io", "version": "v1alpha1", "resource": "clusters", "name": of},
                    "references": [], "template": "", "creationCondition": ""},
            });
            host.put(&path, made);
            let made = serde_json::from_value(host.get(&path).unwrap()).unwrap();
            writer.apply_watcher_event(&watcher::Event::Apply(made));
        }
        let watches = Watches::within(host.client(), room, 0);
        let mut changes = std::pin::pin!(watches.changes());
        let context = Arc::new(Context {
            shared: Shared::new(
                host.client(),
                watches.clone(),
                SecretNamespaces::default(),
                Arc::default(),
                "test",
            ),
            lifecycles,
            ..Arc::into_inner(context(host)).unwrap()
        });
        conclusion(&policy(1), &context).await;
        changes.next().await;
        conclusion(&policy(1), &context).await.0
    }

    #[tokio::test]
    async fn objects_that_there_is_no_room_for_are_one_problem_and_take_nothing_away() {
        for (room, told) in [
            (
                60_000,
                "FailedReconcile: c0 and 2 more: there is no room for it beside ",
            ),
            (
                4_000,
                "FailedCheckResourceSync: source objects can't be followed: there is no room for some",
            ),
        ] {
            let host = fleet();
            let conclusion = conclusion_within(&host, room).await;
            let (status, _) = status(&policy(1), &conclusion, Timestamp::UNIX_EPOCH);
            let condition = &status.conditions[1];
            let words = format!("{}: {}", condition.reason, condition.message);
            assert!(words.starts_with(told), "{words}");
            assert_eq!(host.asked("delete", "pediaclusterlifecycles"), 0);
            let source = &host.get(&format!("{LIFECYCLES}/c10")).unwrap()["spec"]["source"];
            let name = match told.starts_with("FailedReconcile") {
                true => "c10",
                false => "unknown",
            };
            assert_eq!(source["name"], name, "where all are known it is another's");
        }
    }

    #[tokio::test]
    async fn a_heartbeat_of_a_source_object_takes_no_look_and_one_that_comes_or_goes_its_own() {
        let host = fleet();
        host.put(POLICY, serde_json::to_value(policy(1)).unwrap());
        let policy: ClusterImportPolicy =
            serde_json::from_value(host.get(POLICY).unwrap()).unwrap();
        let context = context(&host);
        let mut changes = std::pin::pin!(context.shared.watches.changes());
        follow(&policy, &context).await.unwrap();
        changes.next().await;
        let look = async || {
            let policy = serde_json::from_value(host.get(POLICY).unwrap()).unwrap();
            follow(&policy, &context).await.unwrap();
            counters(&policy, &context)
        };
        assert_eq!(look().await, (20, 20));

        let applied = || host.asked("patch", "pediaclusterlifecycles");
        let before = applied();
        let mut change = async |number: usize, object: serde_json::Value| {
            host.put(&format!("{CLUSTERS}/c{number}"), object);
            let change = changes.next().await.flatten().unwrap();
            let news = change.object.map(Arc::new);
            let news = news.map_or(News::Anything, News::Source);
            context.news.note("karmada", news);
        };
        for beat in 1..4 {
            change(7, json!({"status": {"probed": beat}})).await;
            change(8, json!({"status": {"probed": beat}})).await;
            assert_eq!(look().await, (20, 20));
        }
        assert_eq!(applied(), before, "nothing is planned anew");

        change(20, json!({})).await;
        assert_eq!(look().await, (21, 21), "one that comes is planned alone");
        assert_eq!(applied(), before + 1);
        change(
            7,
            json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}}),
        )
        .await;
        assert_eq!(look().await, (22, 22), "and so is one that goes");
        context.news.note("karmada", News::Anything);
        assert_eq!(look().await, (22, 43), "anything may have changed");
    }

    #[tokio::test]
    async fn a_look_that_goes_on_is_no_failure_and_one_that_has_done_something_begins_anew() {
        let context = context(&Host::new(&[]));
        let problems = |may_pass| {
            let problem = Problem {
                subject: String::new(),
                message: String::new(),
                may_pass,
            };
            vec![problem]
        };
        let next = |carried, left, problems| {
            let plan = Plan {
                problems,
                ..Plan::default()
            };
            let done = Done {
                carried,
                left,
                ..Done::default()
            };
            let summary = Summary::new(1, plan, done, None);
            next_look(false, &summary, "karmada", &context)
        };
        for _ in 0..9 {
            next(0, 1, problems(true));
        }
        let waits = |next| match next {
            Requeue::Retry(delay) => delay,
            Requeue::RetryAt(time) => time.saturating_duration_since(Instant::now()),
            Requeue::AwaitChange => Duration::MAX,
        };
        assert!(waits(next(0, 1, problems(true))) > Duration::from_secs(5));
        // Half of what is asked for may fail for want of room at the API server.
        assert!(waits(next(1, 1, problems(true))) > Duration::from_secs(5));
        assert_eq!(waits(next(1, 1, problems(false))), ECHO);
        assert_eq!(waits(next(1, 0, problems(false))), Duration::MAX);
    }

    #[tokio::test]
    async fn a_policy_goes_where_its_lifecycles_have_gone_with_their_crd() {
        let host = Host::new(&[]);
        clean_up(&policy(1), &context(&host)).await.unwrap();
    }

    #[tokio::test]
    async fn what_a_policy_has_made_goes_with_it_although_no_watch_has_told_of_it() {
        let host = Host::new(&[ServedType::new(
            "policy.clusterpedia.io",
            "v1alpha1",
            "pediaclusterlifecycles",
            "PediaClusterLifecycle",
        )]);
        let path =
            |name| format!("/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/{name}");
        let going = json!("2026-01-02T03:04:05Z");
        for (name, uid, since) in [
            ("its", "u", json!(null)),
            ("of-another", "v", json!(null)),
            ("going", "u", going),
        ] {
            let owner = json!({"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "ClusterImportPolicy",
                "name": "karmada", "uid": uid, "controller": true});
            host.put(
                &path(name),
                json!({"metadata": {"ownerReferences": [owner], "deletionTimestamp": since,
                    "finalizers": ["example.com/slow"]}}),
            );
        }
        clean_up(&policy(1), &context(&host)).await.unwrap();
        let asked = host.asked("delete", "pediaclusterlifecycles");
        assert_eq!(asked, 1, "of what goes already nothing is asked");
        let its = host.get(&path("its")).unwrap();
        assert!(!its["metadata"]["deletionTimestamp"].is_null());
        assert!(host.get(&path("of-another")).is_some());
    }
}
