//! Plan: from the source objects and the lifecycles that are there to the lifecycles that must
//! be made, changed and deleted. Pure.
//!
//! A source object that can't be rendered keeps the lifecycle it has; a name that is taken by
//! somebody else is left alone. Both are problems that are told.

use std::{collections::BTreeMap, sync::Arc};

use armadex_crds::{
    ClusterImportPolicy, LifecycleReference, LifecycleSource, PediaClusterLifecycle,
    PediaClusterLifecycleSpec,
};
use armadex_policy::{
    Found, Gvr, SecretNamespaces, controlled_by, owners_in_words, template::TemplateData,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use serde_json::Map;

use crate::Compiled;

/// The longest name of an object.
const NAME_LIMIT: usize = 253;

/// What a policy is planned with.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The policy.
    pub policy: &'a ClusterImportPolicy,
    /// Its templates.
    pub compiled: &'a Compiled,
    /// The kind of its source, in the version that was chosen.
    pub source: &'a Gvr,
    /// Versions of its references, in their order.
    pub versions: &'a [String],
    /// Every source object.
    pub objects: &'a [Arc<Found>],
    /// Every lifecycle of the control plane.
    pub lifecycles: &'a [Arc<PediaClusterLifecycle>],
    /// Which Secrets count, if the source objects are Secrets.
    pub secrets: &'a SecretNamespaces,
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// Lifecycles that are not there yet.
    pub create: Vec<PediaClusterLifecycle>,
    /// Lifecycles that are there and are to be like this; they carry the uid and the version of
    /// what was looked at.
    pub update: Vec<PediaClusterLifecycle>,
    /// Lifecycles that go, by name and uid.
    pub delete: Vec<(String, String)>,
    /// What stands in the way of some source objects.
    pub problems: Vec<Problem>,
    /// How many lifecycles the policy has when all this is done.
    pub wanted: usize,
}

/// A source object, or a name, that the policy can't be followed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The object or name.
    pub subject: String,
    /// What is wrong.
    pub message: String,
    /// Whether it may pass by itself; if not, it waits for an edit.
    pub may_pass: bool,
}

/// What has become of one source object.
enum Outcome {
    Skipped,
    Named(String),
    Failed(String),
}

/// Makes the plan.
pub fn plan(facts: &Facts<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut wanted: BTreeMap<String, Vec<&Found>> = BTreeMap::new();
    let mut kept: Vec<LifecycleSource> = Vec::new();
    for object in facts.objects {
        match look_at(facts, object) {
            Outcome::Skipped => {}
            Outcome::Named(name) => wanted.entry(name).or_default().push(object),
            Outcome::Failed(message) => {
                kept.push(source_of(facts.source, object));
                plan.problems.push(waits_for_edit(object, message));
            }
        }
    }
    let existing: BTreeMap<&str, &PediaClusterLifecycle> = facts
        .lifecycles
        .iter()
        .filter_map(|lifecycle| Some((lifecycle.metadata.name.as_deref()?, lifecycle.as_ref())))
        .collect();
    for (name, objects) in &wanted {
        let present = existing.get(name.as_str()).copied();
        let object = choose(facts, objects, present, &mut plan.problems);
        settle(facts, &mut plan, name, object, present);
    }
    plan.delete = facts
        .lifecycles
        .iter()
        .filter(|lifecycle| is_ours(facts.policy, lifecycle) && !is_deleting(lifecycle))
        .filter(|lifecycle| !wanted.contains_key(&lifecycle.name_any()))
        .filter(|lifecycle| {
            !kept
                .iter()
                .any(|source| same_object(source, &lifecycle.spec.source))
        })
        .map(|lifecycle| (lifecycle.name_any(), lifecycle.uid().unwrap_or_default()))
        .collect();
    plan
}

/// An object that is being deleted counts as gone: its credentials go at any moment.
fn look_at(facts: &Facts<'_>, object: &Found) -> Outcome {
    let (source, compiled) = (facts.source, facts.compiled);
    let namespace = &object.name.namespace;
    let may_read = facts.secrets.check(source, namespace).is_ok();
    if object.deleting || !may_read {
        return Outcome::Skipped;
    }
    let data = TemplateData {
        source: object.object.clone(),
        references: Map::new(),
    };
    if let Some(selector) = &compiled.selector {
        match selector.says_true(&data) {
            Ok(true) => {}
            Ok(false) => return Outcome::Skipped,
            Err(error) => return Outcome::Failed(format!("source.selectorTemplate: {error}")),
        }
    }
    match compiled.name.render(&data) {
        Ok(name) if is_object_name(name.trim()) => Outcome::Named(name.trim().to_owned()),
        Ok(name) => Outcome::Failed(format!(
            "nameTemplate: {:?} can't name an object",
            name.trim()
        )),
        Err(error) => Outcome::Failed(format!("nameTemplate: {error}")),
    }
}

/// Of several objects with one name the one that has the lifecycle keeps it, else the first.
fn choose<'a>(
    facts: &Facts<'_>,
    objects: &[&'a Found],
    present: Option<&PediaClusterLifecycle>,
    problems: &mut Vec<Problem>,
) -> &'a Found {
    let has_it = |object: &&&Found| {
        present.is_some_and(|lifecycle| {
            same_object(&source_of(facts.source, object), &lifecycle.spec.source)
        })
    };
    let chosen = *objects.iter().find(has_it).unwrap_or(&objects[0]);
    for other in objects.iter().filter(|other| other.name != chosen.name) {
        let message = format!("its name is the one of {} too", subject_of(chosen));
        problems.push(waits_for_edit(other, message));
    }
    chosen
}

/// Decides what becomes of one name.
fn settle(
    facts: &Facts<'_>,
    plan: &mut Plan,
    name: &str,
    object: &Found,
    present: Option<&PediaClusterLifecycle>,
) {
    let obstacle = present.and_then(|present| obstacle(facts.policy, present));
    if let Some(message) = obstacle {
        let subject = subject_of(object);
        plan.problems.push(Problem {
            subject,
            message,
            may_pass: true,
        });
        return;
    }
    plan.wanted += 1;
    let mut desired = lifecycle(facts, name, object);
    match present {
        None => plan.create.push(desired),
        Some(present) if present.spec == desired.spec => {}
        Some(present) => {
            desired.metadata.uid.clone_from(&present.metadata.uid);
            let version = &present.metadata.resource_version;
            desired.metadata.resource_version.clone_from(version);
            plan.update.push(desired);
        }
    }
}

/// Why a lifecycle that is there can't be the policy's.
pub(crate) fn obstacle(
    policy: &ClusterImportPolicy,
    present: &PediaClusterLifecycle,
) -> Option<String> {
    let name = present.name_any();
    if !is_ours(policy, present) {
        let owner = owners_in_words(&present.metadata);
        return Some(format!(
            "PediaClusterLifecycle {name} is there already and is owned by {owner}"
        ));
    }
    is_deleting(present)
        .then(|| format!("an earlier PediaClusterLifecycle {name} is still being deleted"))
}

fn lifecycle(facts: &Facts<'_>, name: &str, object: &Found) -> PediaClusterLifecycle {
    let spec = &facts.policy.spec;
    let references = spec
        .references
        .iter()
        .zip(facts.versions)
        .map(|(reference, version)| LifecycleReference {
            key: reference.key.clone(),
            group: reference.group.clone(),
            version: version.clone(),
            resource: reference.resource.clone(),
            namespace_template: reference.namespace_template.clone(),
            name_template: reference.name_template.clone(),
        });
    let mut lifecycle = PediaClusterLifecycle::new(
        name,
        PediaClusterLifecycleSpec {
            source: source_of(facts.source, object),
            references: references.collect(),
            template: spec.template.clone(),
            creation_condition: spec.creation_condition.clone(),
            template_engine: spec.template_engine,
        },
    );
    lifecycle.metadata.owner_references = facts.policy.controller_owner_ref(&()).map(in_a_list);
    lifecycle
}

fn waits_for_edit(object: &Found, message: String) -> Problem {
    Problem {
        subject: subject_of(object),
        message,
        may_pass: false,
    }
}

fn in_a_list(owner: OwnerReference) -> Vec<OwnerReference> {
    vec![owner]
}

fn source_of(gvr: &Gvr, object: &Found) -> LifecycleSource {
    LifecycleSource {
        group: gvr.group.clone(),
        version: gvr.version.clone(),
        resource: gvr.resource.clone(),
        namespace: object.name.namespace.clone(),
        name: object.name.name.clone(),
    }
}

/// The same object, in whatever version.
fn same_object(a: &LifecycleSource, b: &LifecycleSource) -> bool {
    a.group == b.group && a.resource == b.resource && a.namespace == b.namespace && a.name == b.name
}

fn is_ours(policy: &ClusterImportPolicy, lifecycle: &PediaClusterLifecycle) -> bool {
    let uid = policy.metadata.uid.as_deref();
    uid.is_some_and(|uid| controlled_by(&lifecycle.metadata, uid))
}

fn is_deleting(lifecycle: &PediaClusterLifecycle) -> bool {
    lifecycle.metadata.deletion_timestamp.is_some()
}

fn subject_of(object: &Found) -> String {
    match object.name.namespace.as_str() {
        "" => object.name.name.clone(),
        namespace => format!("{namespace}/{}", object.name.name),
    }
}

/// What an API server takes as the name of an object: a DNS subdomain.
fn is_object_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= NAME_LIMIT && name.split('.').all(is_label)
}
