//! What policies make of objects: the controllers' own rules, one after the other, with files in the place of a control plane that has nothing yet.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use armadex_crds::conditions::{
    LifecycleCondition, LifecycleReason, PolicyCondition, PolicyValidatedReason, ReconcilingReason,
};
use armadex_crds::{
    ClusterImportPolicy, ClusterImportPolicySpec, PediaCluster, PediaClusterLifecycle,
    PolicyReference, PolicySource, ResolvedReference, drop_nulls, is_subdomain, misfits,
};
use armadex_importpolicy::{Compiled, Invalid, Looks, Plan, refused_source};
use armadex_lifecycle::{Planned, Problem, Step, Stop};
use armadex_policy::{
    Found, Gvr, ObjectName, ResolveError, SecretNamespaces, Served, display_name,
};
use kube::{CustomResourceExt as _, Resource as _, ResourceExt as _};
use serde_json::Value;

use super::excerpt::excerpt;
use super::files::{Document, File};
use super::given::Given;
use super::refusal::Refusal;
use super::room::Room;

const GIVE: &str = "give it with --from";

/// A policy of a file.
pub(super) struct Policy {
    object: ClusterImportPolicy,
    /// Where an API server would refuse it.
    misfits: Vec<String>,
    file: Arc<File>,
}

/// All that comes about, and all that does not.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) made: Vec<Made>,
    pub(super) refused: Vec<Refusal>,
}

/// What a policy makes of one source object.
pub(super) struct Made {
    pub(super) lifecycle: Arc<PediaClusterLifecycle>,
    /// None as long as something is in the way.
    pub(super) cluster: Option<PediaCluster>,
}

/// What the controllers find out before they look at source objects.
struct Ground {
    compiled: Compiled,
    source: Gvr,
    /// Of the references, in their order.
    versions: Vec<String>,
}

impl Policy {
    /// Takes a document, unless it is something else.
    pub(super) fn read(document: Document) -> anyhow::Result<Result<Self, Document>> {
        let own = [
            ClusterImportPolicy::api_version(&()),
            ClusterImportPolicy::kind(&()),
        ];
        let (api_version, kind) = document.kind()?;
        if [api_version, kind] != [&*own[0], &*own[1]] {
            return Ok(Err(document));
        }
        let place = document.place();
        let Document {
            file, mut value, ..
        } = document;
        drop_nulls(&mut value);
        let misfits = misfits(&ClusterImportPolicy::crd(), &value);
        let name = value.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        let name = name
            .with_context(|| format!("{place}: metadata.name is missing"))?
            .to_owned();
        ensure!(
            is_subdomain(&name),
            "{place}: metadata.name {name:?} can't name a ClusterImportPolicy"
        );
        let mut object = match misfits[..] {
            [] => serde_json::from_value(value)
                .with_context(|| format!("{place} is no ClusterImportPolicy"))?,
            // There may be no policy in it at all.
            _ => ClusterImportPolicy::new(&name, ClusterImportPolicySpec::default()),
        };
        // What it makes is told from what others make by this.
        object.metadata.uid = Some(name);
        Ok(Ok(Self {
            object,
            misfits,
            file,
        }))
    }

    pub(super) fn name(&self) -> String {
        self.object.name_any()
    }

    /// The policy, if the controllers would follow it.
    pub(super) fn valid(self) -> Result<ClusterImportPolicySpec, Box<Refusal>> {
        self.compiled()?;
        Ok(self.object.spec)
    }

    /// Its templates, unless something is wrong with it that is seen without looking at anything else.
    fn compiled(&self) -> Result<Compiled, Box<Refusal>> {
        if !self.misfits.is_empty() {
            return Err(Box::new(self.not_taken()));
        }
        armadex_importpolicy::validate(&self.object.spec).map_err(|invalid| self.invalid(invalid))
    }

    fn invalid(&self, invalid: Invalid) -> Box<Refusal> {
        let Invalid {
            reason, message, ..
        } = invalid;
        Box::new(self.not_valid(reason, message))
    }

    fn refusal(&self, subject: String, message: String) -> Refusal {
        Refusal {
            subject,
            condition: None,
            hint: None,
            is_choice: false,
            excerpt: excerpt(&self.object.spec, &self.file, &message),
            message,
        }
    }

    fn not_taken(&self) -> Refusal {
        let misfits = self.misfits.join(", ");
        let message = format!("an API server takes no such policy: {misfits}");
        self.refusal(self.name(), message)
    }

    fn not_valid(&self, reason: PolicyValidatedReason, message: String) -> Refusal {
        let condition = (PolicyCondition::Validated.as_str(), reason.into());
        Refusal {
            condition: Some(condition),
            ..self.refusal(self.name(), message)
        }
    }

    /// Of one of its source objects.
    fn refusal_of(&self, source: &Gvr, object: &str, message: String) -> Refusal {
        self.refusal(format!("{}: {source} {object}", self.name()), message)
    }
}

/// What these policies make, the first ones first: a name belongs to whoever made it first.
pub(super) fn make(
    policies: &[Policy],
    given: &Given,
    secrets: &SecretNamespaces,
    room: &mut Room,
) -> anyhow::Result<Outcome> {
    let (mut outcome, mut lifecycles) = (Outcome::default(), Vec::new());
    for policy in policies {
        let making = Making {
            policy,
            given,
            secrets,
        };
        match making.ground() {
            Ok(ground) => making.follow(&ground, &mut lifecycles, &mut outcome, room)?,
            Err(refusal) => outcome.refused.push(*refusal),
        }
    }
    Ok(outcome)
}

/// What one policy makes.
struct Making<'a> {
    policy: &'a Policy,
    given: &'a Given,
    /// Which Secrets may be read.
    secrets: &'a SecretNamespaces,
}

impl Making<'_> {
    /// The policy understood, as far as it can be without a source object.
    fn ground(&self) -> Result<Ground, Box<Refusal>> {
        let policy = self.policy;
        let spec = &policy.object.spec;
        let compiled = policy.compiled()?;
        let invalid = |invalid| policy.invalid(invalid);
        let source = self.source()?;
        let (mut versions, mut namespaced) = (Vec::new(), Vec::new());
        for reference in &spec.references {
            let served = self.served(reference)?;
            namespaced.push(served.namespaced);
            versions.push(served.gvr.version);
        }
        armadex_importpolicy::validate_namespaces(spec, namespaced).map_err(invalid)?;
        let scopes = self.secrets.scopes(&source);
        scopes.map_err(|refusal| invalid(refused_source(&refusal)))?;
        Ok(Ground {
            compiled,
            source,
            versions,
        })
    }

    fn source(&self) -> Result<Gvr, Box<Refusal>> {
        let reason = PolicyValidatedReason::FailedNegotiateSourceResource;
        let refused = |error: ResolveError| self.policy.not_valid(reason, error.to_string());
        let PolicySource {
            group,
            resource,
            versions,
            ..
        } = &self.policy.object.spec.source;
        let served = self.given.served(group, resource, versions);
        let served = served.map_err(|error| Box::new(refused(error)))?;
        let there = self.given.resources();
        let hint = Some(format!("give a source object with --from; {there}"));
        let Some(Served { gvr, .. }) = served else {
            let refused = refused(not_served(group, resource));
            return Err(Box::new(Refusal { hint, ..refused }));
        };
        if self.given.objects(&gvr).is_empty() {
            let refused = self
                .policy
                .refusal(self.policy.name(), format!("no {gvr} is there"));
            return Err(Box::new(Refusal { hint, ..refused }));
        }
        Ok(gvr)
    }

    fn served(&self, reference: &PolicyReference) -> Result<Served, Box<Refusal>> {
        let PolicyReference {
            group,
            resource,
            versions,
            ..
        } = reference;
        let refused = |error: ResolveError| {
            let reason = PolicyValidatedReason::FailedNegotiateReferenceResource;
            self.policy.not_valid(reason, error.to_string())
        };
        let served = self.given.served(group, resource, versions);
        let served = served.map_err(|error| Box::new(refused(error)))?;
        served.ok_or_else(|| {
            let there = self.given.resources();
            let hint = Some(format!("{GIVE}, or its CustomResourceDefinition; {there}"));
            let refused = refused(not_served(group, resource));
            Box::new(Refusal { hint, ..refused })
        })
    }

    /// Makes what comes of its source objects.
    fn follow(
        &self,
        ground: &Ground,
        lifecycles: &mut Vec<Arc<PediaClusterLifecycle>>,
        outcome: &mut Outcome,
        room: &mut Room,
    ) -> anyhow::Result<()> {
        let source = &ground.source;
        let objects = self.given.objects(source);
        // Each lifecycle carries the templates, and all are made at once.
        let carried = serde_json::to_vec(&self.policy.object.spec)?.len();
        room.check(carried.saturating_mul(objects.len()))?;
        let facts = armadex_importpolicy::Facts {
            policy: &self.policy.object,
            compiled: &ground.compiled,
            source,
            versions: &ground.versions,
            objects: &objects,
            lifecycles,
            secrets: self.secrets,
        };
        let plan = armadex_importpolicy::plan(&facts, &mut Looks::default());
        let left = self.left_out(source, &objects, &plan);
        outcome.refused.extend(left);
        let failed = plan.problems.into_iter().map(|problem| {
            let reason = ReconcilingReason::FailedReconcile;
            let condition = Some((PolicyCondition::Reconciling.as_str(), reason.into()));
            Refusal {
                condition,
                ..self
                    .policy
                    .refusal_of(source, &problem.subject, problem.message)
            }
        });
        outcome.refused.extend(failed);
        // All have the same templates.
        let first = plan.create.first();
        let Some(compiled) = first.map(|first| armadex_lifecycle::validate(&first.spec)) else {
            return Ok(());
        };
        for mut lifecycle in plan.create {
            lifecycle.metadata.uid = Some(lifecycle.name_any());
            let cluster = self.cluster(source, &lifecycle, &compiled);
            let cluster = cluster.map_err(|refusal| outcome.refused.push(*refusal));
            let (lifecycle, cluster) = (Arc::new(lifecycle), cluster.ok());
            room.take(serde_json::to_vec(&(&lifecycle, &cluster))?.len())?;
            lifecycles.push(lifecycle.clone());
            outcome.made.push(Made { lifecycle, cluster });
        }
        Ok(())
    }

    /// The source objects that the policy does not speak of: it made nothing of them and found nothing wrong with them.
    fn left_out(&self, source: &Gvr, objects: &[Arc<Found>], plan: &Plan) -> Vec<Refusal> {
        let made = plan.create.iter();
        let made = made.map(|lifecycle| ObjectName::from(&lifecycle.spec.source).to_string());
        let told = plan.problems.iter().map(|problem| problem.subject.clone());
        let settled: BTreeSet<String> = made.chain(told).collect();
        let left = objects
            .iter()
            .map(|object| (object, object.name.to_string()));
        let left = left.filter(|(_, name)| !settled.contains(name));
        left.map(|(object, name)| {
            let readable = self.secrets.check(source, &object.name.namespace);
            let (is_choice, message) = match readable {
                _ if object.deleting => (false, "it is being deleted".to_owned()),
                Err(refusal) => (false, refusal),
                Ok(()) => (true, "source.selectorTemplate does not say true".to_owned()),
            };
            let refusal = self.policy.refusal_of(source, &name, message);
            Refusal {
                is_choice,
                ..refusal
            }
        })
        .collect()
    }

    /// The PediaCluster that a lifecycle leads to.
    fn cluster(
        &self,
        source: &Gvr,
        lifecycle: &PediaClusterLifecycle,
        compiled: &Result<armadex_lifecycle::Compiled, Problem>,
    ) -> Result<PediaCluster, Box<Refusal>> {
        let name = ObjectName::from(&lifecycle.spec.source);
        let refused = |problem: Problem, hint| {
            let condition = (LifecycleCondition::Created.as_str(), problem.reason.into());
            Box::new(Refusal {
                condition: Some(condition),
                hint,
                ..self
                    .policy
                    .refusal_of(source, &name.to_string(), problem.message)
            })
        };
        let compiled = compiled.as_ref();
        let compiled = compiled.map_err(|problem| refused(problem.clone(), None))?;
        let facts = armadex_lifecycle::Facts {
            lifecycle,
            compiled,
            source: self.given.object(&source.group, &source.resource, &name),
            cluster: None,
            secrets: self.secrets,
        };
        let Planned {
            references, step, ..
        } = armadex_lifecycle::plan(&facts, |reference| self.given.look_up(reference));
        match step {
            Ok(Step::Create(cluster) | Step::Update(cluster)) => Ok(cluster),
            Err(Stop::Because(problem)) => {
                let is_missing = problem.reason == LifecycleReason::ReferenceResourceNotFound;
                let missing = references.last().filter(|_| is_missing);
                Err(refused(problem, missing.map(|it| self.way_out(it))))
            }
            Ok(Step::Delete(_)) | Err(Stop::Listing) => {
                unreachable!("files are there at once, and a PediaCluster of them is not")
            }
        }
    }

    /// How a reference that is missing gets there.
    fn way_out(&self, missing: &ResolvedReference) -> String {
        let is_given = self.given.has_kind(&missing.group, &missing.resource);
        match self.given.namesake(missing) {
            None if !is_given => format!("{GIVE}; {}", self.given.resources()),
            None => GIVE.to_owned(),
            Some(other) if other.namespace.is_empty() => {
                format!("{GIVE}; {} has no metadata.namespace there", other.name)
            }
            Some(other) => format!("{GIVE}; there is {other} there"),
        }
    }
}

fn not_served(group: &str, resource: &str) -> ResolveError {
    ResolveError::NotServed(display_name(group, resource))
}
