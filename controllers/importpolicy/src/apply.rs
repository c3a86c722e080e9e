//! Apply: carries a plan out by server-side apply. What fails is a problem of one lifecycle and
//! does not stop the others.

use std::time::Duration;

use armadex_control_plane::{NOT_THERE_YET, Objects, Trouble, TroubleKind};
use armadex_crds::{ClusterImportPolicy, PediaClusterLifecycle};
use armadex_policy::{ObjectName, controlled_by};
use futures::{StreamExt, stream::FuturesUnordered};
use kube::{
    ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
};
use tokio::time::Instant;
use tracing::info;

use crate::{
    Leaving, Plan, Problem,
    plan::{obstacle, same_object},
};

/// Owner of the fields of lifecycles.
const FIELD_MANAGER: &str = "armadex-importpolicy";

/// For the changes of one kind in one look, each of which takes milliseconds where all is well.
const LOOK: Duration = Duration::from_secs(10);
/// Failures of the API server in a row.
const OUTAGES: usize = 3;
/// Changes that are under way at the same time, half of what lifecycles are looked at: where each takes a webhook 100 ms, a fleet of 5,000 is made in a minute.
const TOGETHER: usize = 8;

/// One thing to carry out.
enum Change<'a> {
    Create(&'a PediaClusterLifecycle),
    Update(&'a PediaClusterLifecycle),
    Delete(&'a Leaving),
}

/// What came of one of them.
struct Tried {
    /// The name of the lifecycle.
    name: String,
    /// What it is once this is done.
    done: &'static str,
    /// Why, of one that goes.
    why: Option<String>,
    /// Whether it was done, or somebody else has it by now.
    outcome: Result<bool, Trouble>,
}

/// What came of a plan.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// In the order of their names: which were tried first is chance.
    pub(crate) failures: Vec<Problem>,
    /// Lifecycles that are gone, and why, in the order of their names.
    pub(crate) gone: Vec<String>,
    /// What failed first of all.
    pub(crate) trouble: Option<Trouble>,
    /// Changes that were carried out.
    pub(crate) carried: usize,
    /// Changes that were not tried.
    pub(crate) left: usize,
    /// There was no answer, so there is none to other requests either.
    pub(crate) silence: bool,
}

/// Carries the plan out and tells what failed.
///
/// All policies apply under one field manager, so an API server would let one of them overwrite
/// what another has made since the plan. Versions prevent it: whoever comes first keeps a name.
///
/// What an API server fails one after the other, or takes long for, is not asked for to the end, while nothing is told and what the policy has
/// become meanwhile is not seen: the next look goes on with it. That begins anywhere, or what always fails would be all that is tried. Whoever
/// leaves is let go first, and each kind of change has a time of its own: a webhook may fail one of them alone.
pub(crate) async fn apply(
    api: &Objects<PediaClusterLifecycle>,
    policy: &ClusterImportPolicy,
    plan: &Plan,
) -> Done {
    let delete = plan.delete.iter().map(Change::Delete);
    let create = plan.create.iter().map(Change::Create);
    let update = plan.update.iter().map(Change::Update);
    let kinds: [Vec<Change<'_>>; 3] = [delete.collect(), create.collect(), update.collect()];
    let mut done = Done::default();
    for changes in kinds {
        done.carry_out(api, policy, changes).await;
    }
    done.failures
        .sort_by(|one, other| one.subject.cmp(&other.subject));
    done.gone.sort();
    done
}

impl Done {
    /// Carries changes of one kind out, as many as there is time for. One goes ahead, and others beside each other while the API server answers.
    async fn carry_out(
        &mut self,
        api: &Objects<PediaClusterLifecycle>,
        policy: &ClusterImportPolicy,
        mut changes: Vec<Change<'_>>,
    ) {
        let first = rand::random_range(0..changes.len().max(1));
        changes.rotate_left(first);
        let (begun, mut outages, mut together) = (Instant::now(), 0, 1);
        let mut changes = changes.into_iter();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < together
                && !self.silence
                && outages < OUTAGES
                && begun.elapsed() < LOOK
                && let Some(change) = changes.next()
            {
                running.push(change.tried(api, policy));
            }
            let Some(tried) = running.next().await else {
                break;
            };
            let kind = tried.outcome.as_ref().err().map(|trouble| trouble.kind);
            // What is wrong for all of them is asked for one by one.
            let is_of_many = |kind: TroubleKind| kind.is_of_many() || kind == TroubleKind::Missing;
            together = if kind.is_some_and(is_of_many) {
                1
            } else {
                TOGETHER
            };
            outages = if kind.is_some_and(TroubleKind::is_outage) {
                outages + 1
            } else {
                0
            };
            self.note(tried);
        }
        self.left += changes.count();
    }

    fn note(&mut self, tried: Tried) {
        let Tried {
            name,
            done,
            why,
            outcome,
        } = tried;
        let trouble = match outcome {
            Ok(true) => {
                let because = why.as_ref().map(|why| format!(": {why}"));
                let because = because.unwrap_or_default();
                info!(cluster = name, "lifecycle {name} {done}{because}");
                self.carried += 1;
                self.gone.extend(why.map(|why| format!("{name}: {why}")));
                return;
            }
            // It has become somebody else's.
            Ok(false) => return,
            Err(trouble) => trouble,
        };
        self.silence |= trouble.kind == TroubleKind::Unanswered;
        self.trouble.get_or_insert_with(|| trouble.clone());
        self.failures.push(Problem {
            subject: format!("PediaClusterLifecycle {name}"),
            message: format!("could not be {done}: {trouble}"),
            may_pass: true,
        });
    }
}

impl Change<'_> {
    /// The name of the lifecycle, and what it is once this is done.
    fn in_words(&self) -> (String, &'static str) {
        match self {
            Self::Create(lifecycle) => (lifecycle.name_any(), "created"),
            Self::Update(lifecycle) => (lifecycle.name_any(), "updated"),
            Self::Delete(leaving) => (leaving.name.clone(), "deleted"),
        }
    }

    /// Why, of one that goes.
    fn why(&self) -> Option<String> {
        match self {
            Self::Create(_) | Self::Update(_) => None,
            Self::Delete(leaving) => Some(leaving.why.clone()),
        }
    }

    /// What comes of it, in the words for it.
    async fn tried(
        self,
        api: &Objects<PediaClusterLifecycle>,
        policy: &ClusterImportPolicy,
    ) -> Tried {
        let ((name, done), why) = (self.in_words(), self.why());
        let outcome = self.carry_out(api, policy).await;
        Tried {
            name,
            done,
            why,
            outcome,
        }
    }

    /// Whether there was anything to do.
    async fn carry_out(
        self,
        api: &Objects<PediaClusterLifecycle>,
        policy: &ClusterImportPolicy,
    ) -> Result<bool, Trouble> {
        let params = PatchParams::apply(FIELD_MANAGER);
        let put = match self {
            Self::Create(lifecycle) => {
                let mut new = lifecycle.clone();
                new.metadata.resource_version = Some(NOT_THERE_YET.to_owned());
                put(api, policy, new, &params, |present| {
                    is_of_another(lifecycle, present)
                })
                .await
            }
            Self::Update(lifecycle) => {
                let lifecycle = lifecycle.clone();
                put(api, policy, lifecycle, &params.force(), |_| None).await
            }
            Self::Delete(leaving) => return delete(api, policy, leaving).await,
        };
        put.map(|()| true)
    }
}

/// Deletes a lifecycle, unless it has become somebody else's; whether it was there.
async fn delete(
    api: &Objects<PediaClusterLifecycle>,
    policy: &ClusterImportPolicy,
    leaving: &Leaving,
) -> Result<bool, Trouble> {
    let owner = policy.metadata.uid.as_deref().unwrap_or_default();
    let Leaving {
        name,
        uid,
        version,
        why: _,
    } = leaving;
    let is_ours = |metadata: &ObjectMeta| controlled_by(metadata, owner);
    api.delete_if(name, uid, version.clone(), is_ours).await
}

/// Applies a lifecycle. After a conflict it says whose the lifecycle is by now; if it is the
/// policy's own, which something else about it has changed, it is applied once more.
async fn put(
    api: &Objects<PediaClusterLifecycle>,
    policy: &ClusterImportPolicy,
    mut lifecycle: PediaClusterLifecycle,
    params: &PatchParams,
    refusal: impl FnOnce(&PediaClusterLifecycle) -> Option<String>,
) -> Result<(), Trouble> {
    match patch(api, &lifecycle, params).await {
        Err(trouble) if trouble.kind == TroubleKind::Conflict => {}
        done => return done,
    }
    let present = api.get(&lifecycle.name_any()).await?;
    if let Some(message) = obstacle(policy, &present).or_else(|| refusal(&present)) {
        let kind = TroubleKind::Conflict;
        return Err(Trouble { kind, message });
    }
    lifecycle.metadata.uid = present.metadata.uid;
    lifecycle.metadata.resource_version = present.metadata.resource_version;
    patch(api, &lifecycle, &params.clone().force()).await
}

/// Why one that was to be made is not made what is wanted: it is there, of another object, and no watch has told so yet. Which of both has it is decided
/// with all that there is.
fn is_of_another(
    wanted: &PediaClusterLifecycle,
    present: &PediaClusterLifecycle,
) -> Option<String> {
    let (wanted, present) = (&wanted.spec.source, &present.spec.source);
    let message = || format!("it was made of {} meanwhile", ObjectName::from(present));
    (!same_object(wanted, present)).then(message)
}

async fn patch(
    api: &Objects<PediaClusterLifecycle>,
    lifecycle: &PediaClusterLifecycle,
    params: &PatchParams,
) -> Result<(), Trouble> {
    let (name, patch) = (lifecycle.name_any(), Patch::Apply(lifecycle));
    api.patch(&name, params, &patch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::{Host, ServedType};
    use armadex_policy::{Found, Gvr, ObjectName, SecretNamespaces};
    use serde_json::json;
    use std::sync::Arc;

    use super::*;
    use crate::{Facts, Looks, plan, validate};

    const LIFECYCLE: &str = "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/east";

    fn host() -> Host {
        Host::new(&[ServedType::new(
            "policy.clusterpedia.io",
            "v1alpha1",
            "pediaclusterlifecycles",
            "PediaClusterLifecycle",
        )])
    }

    fn policy(name: &str, template: &str) -> ClusterImportPolicy {
        serde_json::from_value(json!({
            "metadata": {"name": name, "uid": format!("uid-of-{name}")},
            "spec": {
                "source": {"group": "cluster.karmada.io", "resource": "clusters"},
                "references": [],
                "nameTemplate": "{{source.metadata.name}}",
                "template": template,
                "creationCondition": "true",
            },
        }))
        .unwrap()
    }

    /// What a policy makes of one cluster where these lifecycles are known.
    fn planned(policy: &ClusterImportPolicy, known: &[Arc<PediaClusterLifecycle>]) -> Plan {
        let object = json!({"metadata": {"name": "east"}});
        let name = ObjectName {
            namespace: String::new(),
            name: "east".into(),
        };
        let objects = [Arc::new(Found {
            name,
            deleting: false,
            object: object.into(),
        })];
        let facts = Facts {
            policy,
            compiled: &validate(&policy.spec).unwrap(),
            source: &Gvr {
                group: "cluster.karmada.io".into(),
                version: "v1alpha1".into(),
                resource: "clusters".into(),
            },
            versions: &[],
            objects: &objects,
            lifecycles: known,
            secrets: &SecretNamespaces::default(),
        };
        plan(&facts, &mut Looks::default())
    }

    fn owner(host: &Host) -> String {
        let lifecycle = host.get(LIFECYCLE).unwrap();
        let owners = &lifecycle["metadata"]["ownerReferences"];
        owners[0]["name"].as_str().unwrap().to_owned()
    }

    fn told(done: &Done) -> Vec<String> {
        let words = |problem: &Problem| format!("{}: {}", problem.subject, problem.message);
        done.failures.iter().map(words).collect()
    }

    #[tokio::test]
    async fn of_two_policies_that_make_one_name_at_once_the_first_keeps_it() {
        let host = host();
        let api = Objects::all(host.client());
        let (first, second) = (policy("first", "a"), policy("second", "b"));
        let plans = (planned(&first, &[]), planned(&second, &[]));
        assert_eq!(told(&apply(&api, &first, &plans.0).await), [""; 0]);
        let done = apply(&api, &second, &plans.1).await;
        assert_eq!(
            told(&done),
            [
                "PediaClusterLifecycle east: could not be created: PediaClusterLifecycle east is \
              there already and is owned by ClusterImportPolicy first"
            ]
        );
        assert!(done.failures[0].may_pass);
        assert_eq!(owner(&host), "first");
    }

    #[tokio::test]
    async fn a_policy_that_has_lost_a_name_since_it_looked_does_not_take_it_back() {
        let host = host();
        let api = Objects::all(host.client());
        let (first, second) = (policy("first", "a"), policy("second", "b"));
        apply(&api, &first, &planned(&first, &[])).await;
        let seen = Arc::new(api.get("east").await.unwrap());
        let edited = policy("first", "c");
        let late = planned(&edited, &[seen]);
        assert_eq!(late.update.len(), 1);
        let mut taken = serde_json::to_value(&planned(&second, &[]).create[0]).unwrap();
        taken["metadata"]["uid"] = host.get(LIFECYCLE).unwrap()["metadata"]["uid"].clone();
        host.put(LIFECYCLE, taken);
        assert_eq!(
            told(&apply(&api, &edited, &late).await),
            [
                "PediaClusterLifecycle east: could not be updated: PediaClusterLifecycle east is \
              there already and is owned by ClusterImportPolicy second"
            ]
        );
        assert_eq!(owner(&host), "second");
    }

    #[tokio::test]
    async fn a_lifecycle_that_changes_meanwhile_goes_unless_it_is_somebody_elses_by_now() {
        let (first, second) = (policy("first", "a"), policy("second", "b"));
        for (owner, stays) in [(&first, false), (&second, true)] {
            let host = host();
            let api = Objects::all(host.client());
            apply(&api, &first, &planned(&first, &[])).await;
            let seen = Arc::new(api.get("east").await.unwrap());
            let leaving = Leaving {
                name: "east".into(),
                uid: seen.uid().unwrap(),
                version: seen.resource_version(),
                why: "it wilts".into(),
            };
            let plan = Plan {
                delete: vec![leaving],
                ..Plan::default()
            };
            let made = &planned(owner, &[]).create[0];
            let mut changed = serde_json::to_value(made).unwrap();
            changed["metadata"]["uid"] = json!(seen.uid());
            changed["status"] = json!({"observedGeneration": 1});
            host.ahead("delete", "pediaclusterlifecycles", move |host| {
                host.put(LIFECYCLE, changed);
            });
            assert_eq!(told(&apply(&api, &first, &plan).await), [""; 0]);
            assert_eq!(host.get(LIFECYCLE).is_some(), stays);
        }
    }

    #[tokio::test]
    async fn a_lifecycle_whose_status_was_written_in_the_meantime_is_updated_all_the_same() {
        let host = host();
        let api = Objects::all(host.client());
        let before = policy("first", "a");
        apply(&api, &before, &planned(&before, &[])).await;
        let seen = Arc::new(api.get("east").await.unwrap());
        let mut other = host.get(LIFECYCLE).unwrap();
        other["status"] = json!({"observedGeneration": 1});
        host.put(LIFECYCLE, other);
        let edited = policy("first", "c");
        let late = planned(&edited, &[seen]);
        assert_eq!(told(&apply(&api, &edited, &late).await), [""; 0]);
        assert_eq!(host.get(LIFECYCLE).unwrap()["spec"]["template"], "c");
    }
}
