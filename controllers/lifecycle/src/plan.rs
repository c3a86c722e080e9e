//! Plan: from the source object, the objects it refers to and the PediaCluster that is there to
//! the one step that is due. Pure but for the look-up of references, which is given.

use armadex_crds::{
    ClusterImportPolicy, ConnectionFingerprint, LifecycleSource, PediaCluster,
    PediaClusterLifecycle, ResolvedReference, conditions::LifecycleReason as Reason,
};
use armadex_policy::{
    Gvr, Kept, ObjectName, SecretNamespaces, controller_of, owned_by, owners_in_words,
    template::TemplateData,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};

use crate::{
    Compiled, Lookup, Stop, decode,
    named::{check_named, check_proxy},
    references::{gather, not_listed},
};

/// What a lifecycle is planned with.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The lifecycle.
    pub lifecycle: &'a PediaClusterLifecycle,
    /// Its templates.
    pub compiled: &'a Compiled,
    /// The object that stands for the cluster.
    pub source: Lookup,
    /// The PediaCluster of its name, whoever made it.
    pub cluster: Option<&'a PediaCluster>,
    /// Which Secrets may be read.
    pub secrets: &'a SecretNamespaces,
}

/// The step that is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Create this PediaCluster.
    Create(PediaCluster),
    /// Make the PediaCluster like this one, which carries its uid.
    Update(PediaCluster),
    /// Delete the PediaCluster of this uid: its source goes.
    Delete(String),
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The referenced objects as far as their names are known.
    pub references: Vec<ResolvedReference>,
    /// What to do, or why nothing can be done.
    pub step: Result<Step, Stop>,
    /// What the templates read of the source, as a hash; none where it was not parsed.
    pub read: Option<u64>,
    /// What is told of what was rendered, and keeps nothing from being done.
    pub warning: Option<String>,
}

impl Planned {
    /// Nothing was looked at.
    pub(crate) const fn stopped(stop: Stop) -> Self {
        Self {
            references: Vec::new(),
            step: Err(stop),
            read: None,
            warning: None,
        }
    }
}

/// Whether a lifecycle may be planned for: what stands in the way can be told without a look at its source, and nothing is listed for one
/// that may not be read.
pub(crate) fn check(
    lifecycle: &PediaClusterLifecycle,
    cluster: Option<&PediaCluster>,
    secrets: &SecretNamespaces,
) -> Result<(), Stop> {
    check_owner(lifecycle)?;
    if let Some(cluster) = cluster {
        check_cluster(lifecycle, cluster)?;
    }
    check_source(&lifecycle.spec.source, secrets)
}

/// Makes the plan.
pub fn plan(facts: &Facts<'_>, look_up: impl FnMut(&ResolvedReference) -> Lookup) -> Planned {
    let mut beside = Beside::default();
    let step = step(facts, &mut beside, look_up);
    let Beside {
        references,
        read,
        warning,
    } = beside;
    Planned {
        references,
        step,
        read,
        warning,
    }
}

/// What is found out on the way to a step, or to why there is none.
#[derive(Default)]
struct Beside {
    references: Vec<ResolvedReference>,
    read: Option<u64>,
    warning: Option<String>,
}

/// Whether the PediaCluster is the lifecycle's.
pub(crate) fn is_ours(lifecycle: &PediaClusterLifecycle, cluster: &PediaCluster) -> bool {
    let uid = lifecycle.metadata.uid.as_deref();
    uid.is_some_and(|uid| owned_by(&cluster.metadata, uid))
}

fn step(
    facts: &Facts<'_>,
    beside: &mut Beside,
    mut look_up: impl FnMut(&ResolvedReference) -> Lookup,
) -> Result<Step, Stop> {
    let Facts {
        lifecycle,
        compiled,
        source,
        cluster,
        secrets,
    } = facts;
    check(lifecycle, *cluster, secrets)?;
    let name = display(&lifecycle.spec.source);
    let source = match source {
        Lookup::Found(source) => source,
        Lookup::Missing => {
            let message = format!("{name} does not exist");
            return Err(Stop::because(Reason::SourceResourceNotFound, message));
        }
        Lookup::NotListed(readiness) => return Err(not_listed(&name, readiness)),
    };
    if source.deleting {
        return match cluster {
            Some(cluster) => Ok(Step::Delete(cluster.uid().unwrap_or_default())),
            None => {
                let message = format!("{name} is being deleted");
                Err(Stop::because(Reason::SourceResourceDeleting, message))
            }
        };
    }
    check_read(compiled, cluster.is_none(), &source.object).map_err(|why| {
        Stop::because(
            Reason::FailedReferenceResourceParse,
            format!("{name}: {why}"),
        )
    })?;
    let source = source.object.read();
    beside.read = Some(compiled.reads.digest(&source));
    let mut data = TemplateData::of(source);
    gather(
        &lifecycle.spec.references,
        &compiled.references,
        &mut data,
        &mut beside.references,
        |reference| {
            may_read(reference, secrets)?;
            Ok(look_up(reference))
        },
    )?;
    if cluster.is_none() {
        check_condition(compiled, &data)?;
    }
    let desired = render(facts, &data)?;
    beside.warning = data.warning(desired.labels());
    Ok(if cluster.is_some() {
        Step::Update(desired)
    } else {
        Step::Create(desired)
    })
}

/// Whether all of the source is known that templates read; why not, if not.
fn check_read(compiled: &Compiled, is_new: bool, source: &Kept) -> Result<(), String> {
    let condition = is_new.then(|| compiled.condition.reads());
    let mut reads = condition.into_iter().chain([&*compiled.reads]);
    reads
        .find_map(|reads| source.lacks(reads))
        .map_or(Ok(()), Err)
}

/// Of the group of policies too: who made up another one would have a lifecycle that no policy
/// looks after and no garbage collector takes away.
fn check_owner(lifecycle: &PediaClusterLifecycle) -> Result<(), Stop> {
    let (group, policy) = (
        ClusterImportPolicy::group(&()),
        ClusterImportPolicy::kind(&()),
    );
    let is_policy = |owner: &OwnerReference| {
        owner.kind == policy && owner.api_version.split('/').next() == Some(&group)
    };
    match controller_of(&lifecycle.metadata) {
        Some(owner) if is_policy(owner) => Ok(()),
        Some(owner) => {
            let message = format!(
                "controlled by {} {} of {}, not by a {policy} of {group}",
                owner.kind, owner.name, owner.api_version
            );
            Err(Stop::because(Reason::OrphanLifecycle, message))
        }
        None => {
            let message = format!("not controlled by a {policy}");
            Err(Stop::because(Reason::OrphanLifecycle, message))
        }
    }
}

fn check_cluster(lifecycle: &PediaClusterLifecycle, cluster: &PediaCluster) -> Result<(), Stop> {
    let name = cluster.name_any();
    if cluster.metadata.deletion_timestamp.is_some() {
        let message = format!("an earlier PediaCluster {name} is still being deleted");
        return Err(Stop::because(Reason::PediaClusterDeleting, message));
    }
    if !is_ours(lifecycle, cluster) {
        let owners = owners_in_words(&cluster.metadata);
        let message = format!(
            "PediaCluster {name} is there already and is owned by {owners}, not by this lifecycle; \
             it is left as it is{}",
            and_refused(lifecycle, cluster)
        );
        return Err(Stop::because(Reason::PediaClusterNotOwned, message));
    }
    Ok(())
}

/// That a synchro does not take a PediaCluster for what was rendered under its name, and the way out. The record stays: whoever writes PediaClusters
/// could strip one of its owner and else have what everybody reads under the name come from somewhere else.
fn and_refused(lifecycle: &PediaClusterLifecycle, cluster: &PediaCluster) -> &'static str {
    let status = lifecycle.status.as_ref();
    let recorded = status.and_then(|status| status.connection.as_ref());
    let found = ConnectionFingerprint::of(&cluster.spec);
    if recorded.is_none_or(|recorded| recorded.covers(&found)) {
        return "";
    }
    ", and is not synced from where it says, because this lifecycle rendered another connection under the name: delete \
     the PediaCluster to have the policy's, or this lifecycle to have it synced as it is"
}

fn check_source(source: &LifecycleSource, secrets: &SecretNamespaces) -> Result<(), Stop> {
    let checked = secrets.check_object(&Gvr::from(source), &ObjectName::from(source));
    checked.map_err(|refusal| {
        let message = format!("source: {refusal}");
        Stop::because(Reason::FailedReferenceResourceParse, message)
    })
}

fn may_read(reference: &ResolvedReference, secrets: &SecretNamespaces) -> Result<(), String> {
    secrets.check_object(&Gvr::from(reference), &ObjectName::from(reference))
}

fn check_condition(compiled: &Compiled, data: &TemplateData) -> Result<(), Stop> {
    match compiled.condition.says_true(data) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let message = "creationCondition does not say true";
            Err(Stop::because(Reason::WaitCreationCondition, message))
        }
        Err(error) => {
            let message = format!("creationCondition: {error}");
            Err(Stop::because(Reason::FailedCreationCondition, message))
        }
    }
}

/// The PediaCluster as the template has it, under the lifecycle's name and ownership.
fn render(facts: &Facts<'_>, data: &TemplateData) -> Result<PediaCluster, Stop> {
    let failed = |message: String| {
        let message = format!("template: {message}");
        Stop::because(Reason::FailedResolveAndDecodePediaCluster, message)
    };
    let text = facts
        .compiled
        .cluster
        .render(data)
        .map_err(|error| failed(error.to_string()))?;
    let mut cluster = decode(&text).map_err(failed)?;
    check_named(&facts.lifecycle.spec.template, &cluster.spec).map_err(failed)?;
    check_proxy(&facts.lifecycle.spec.source, &cluster.spec).map_err(failed)?;
    let owner = facts.lifecycle.owner_ref(&()).ok_or_else(|| {
        Stop::because(
            Reason::FailedSetOwner,
            "the lifecycle has no uid to own anything with",
        )
    })?;
    cluster.metadata.name = Some(facts.lifecycle.name_any());
    cluster.metadata.owner_references = Some(vec![owner]);
    cluster.metadata.uid = facts
        .cluster
        .and_then(|present| present.metadata.uid.clone());
    Ok(cluster)
}

fn display(source: &LifecycleSource) -> String {
    let LifecycleSource {
        group,
        resource,
        namespace,
        name,
        ..
    } = source;
    let kind = if group.is_empty() {
        resource.clone()
    } else {
        format!("{resource}.{group}")
    };
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}
