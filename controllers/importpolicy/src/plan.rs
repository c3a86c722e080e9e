//! Plan: from the source objects and the lifecycles that are there to the lifecycles that must
//! be made, changed and deleted. Pure.
//!
//! A source object that can't be rendered, or may not be read any more, keeps the lifecycle it has;
//! a name that is taken by somebody else is left alone. All are problems that are told.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use armadex_crds::{
    ClusterImportPolicy, LifecycleReference, LifecycleSource, PediaClusterLifecycle,
    PediaClusterLifecycleSpec,
};
use armadex_policy::{
    Found, Gvr, ObjectName, SecretNamespaces, controlled_by, owners_in_words,
    template::TemplateData,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};

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
    /// It may not be read; why not.
    Refused(String),
    Named(String),
    Failed(String),
}

/// What has become of all of them.
#[derive(Default)]
struct Looked<'a> {
    /// By the name that they render to.
    wanted: BTreeMap<String, Vec<&'a Found>>,
    /// Those that nothing is known of: what they have stays.
    kept: HashSet<&'a ObjectName>,
    /// Those of them that may not be read, and why not.
    refused: Vec<(&'a Found, String)>,
}

/// Makes the plan.
pub fn plan(facts: &Facts<'_>) -> Plan {
    let mut plan = Plan::default();
    let looked = look(facts, &mut plan.problems);
    plan.problems.extend(refusal(&looked.refused));
    let existing: BTreeMap<&str, &PediaClusterLifecycle> = facts
        .lifecycles
        .iter()
        .filter_map(|lifecycle| Some((lifecycle.metadata.name.as_deref()?, lifecycle.as_ref())))
        .collect();
    for (name, objects) in &looked.wanted {
        let present = existing.get(name.as_str()).copied();
        if let Some(keeper) = present.filter(|present| looked.keeps(facts, present)) {
            let keeper = name_of(&keeper.spec.source);
            tell_keeper(&keeper, objects, &mut plan.problems);
            continue;
        }
        let object = choose(facts, objects, present, &mut plan.problems);
        settle(facts, &mut plan, name, object, present);
    }
    for lifecycle in facts.lifecycles {
        if looked.keeps(facts, lifecycle) {
            plan.wanted += 1;
        } else if is_ours(facts.policy, lifecycle)
            && !is_deleting(lifecycle)
            && !looked.wanted.contains_key(&lifecycle.name_any())
        {
            let uid = lifecycle.uid().unwrap_or_default();
            plan.delete.push((lifecycle.name_any(), uid));
        }
    }
    plan
}

fn look<'a>(facts: &Facts<'a>, problems: &mut Vec<Problem>) -> Looked<'a> {
    let ours = facts
        .lifecycles
        .iter()
        .filter(|lifecycle| is_ours(facts.policy, lifecycle));
    let ours: HashSet<ObjectName> = ours
        .map(|lifecycle| name_of(&lifecycle.spec.source))
        .collect();
    let mut looked = Looked::default();
    for object in facts.objects {
        match look_at(facts, object) {
            Outcome::Skipped => {}
            // Of all the Secrets of a control plane most are no clusters, and never were.
            Outcome::Refused(_) if !ours.contains(&object.name) => {}
            Outcome::Refused(why) => {
                looked.kept.insert(&object.name);
                looked.refused.push((&**object, why));
            }
            Outcome::Named(name) => looked.wanted.entry(name).or_default().push(object),
            Outcome::Failed(message) => {
                looked.kept.insert(&object.name);
                problems.push(waits_for_edit(object, message));
            }
        }
    }
    looked
}

impl Looked<'_> {
    /// Whether a lifecycle of the policy stays because nothing is known of its source object.
    fn keeps(&self, facts: &Facts<'_>, lifecycle: &PediaClusterLifecycle) -> bool {
        let source = &lifecycle.spec.source;
        let of_kind =
            source.group == facts.source.group && source.resource == facts.source.resource;
        of_kind
            && is_ours(facts.policy, lifecycle)
            && !is_deleting(lifecycle)
            && self.kept.contains(&name_of(source))
    }
}

/// One problem for all that may not be read: a namespace that the administrator does not allow any
/// more may have had a fleet.
fn refusal(refused: &[(&Found, String)]) -> Option<Problem> {
    let [(first, why), rest @ ..] = refused else {
        return None;
    };
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Problem {
        subject: format!("{}{more}", subject_of(first)),
        message: format!("{why}; what was made of them stays as it is"),
        may_pass: false,
    })
}

/// An object that is being deleted counts as gone: its credentials go at any moment.
fn look_at(facts: &Facts<'_>, object: &Found) -> Outcome {
    let compiled = facts.compiled;
    if object.deleting {
        return Outcome::Skipped;
    }
    if let Err(why) = facts.secrets.check(facts.source, &object.name.namespace) {
        return Outcome::Refused(why);
    }
    let data = TemplateData::of(object.object.expose().clone());
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
    tell_keeper(&chosen.name, objects, problems);
    chosen
}

/// Tells all objects but one that their name is the one of that.
fn tell_keeper(keeper: &ObjectName, objects: &[&Found], problems: &mut Vec<Problem>) {
    for other in objects.iter().filter(|other| other.name != *keeper) {
        let message = format!("its name is the one of {} too", subject(keeper));
        problems.push(waits_for_edit(other, message));
    }
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
    subject(&object.name)
}

fn subject(object: &ObjectName) -> String {
    let ObjectName { namespace, name } = object;
    match namespace.as_str() {
        "" => name.clone(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn name_of(source: &LifecycleSource) -> ObjectName {
    ObjectName {
        namespace: source.namespace.clone(),
        name: source.name.clone(),
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
