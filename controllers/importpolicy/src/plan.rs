//! Plan: from the source objects and the lifecycles that are there to the lifecycles that must
//! be made, changed and deleted. Pure.
//!
//! A source object that can't be rendered, or may not be read any more, keeps the lifecycle it has;
//! a name that is taken by somebody else is left alone. All are problems that are told.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use armadex_crds::{
    ClusterImportPolicy, LifecycleReference, LifecycleSource, PediaClusterLifecycle,
    PediaClusterLifecycleSpec,
};
use armadex_policy::{Found, Gvr, ObjectName, SecretNamespaces, controlled_by, owners_in_words};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};

use crate::{
    Compiled,
    leaving::{Leaving, is_made_of, leaving},
    looks::{Looks, Rules, Verdict},
};

/// What a policy is planned with.
#[derive(Clone, Copy, Debug)]
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
    /// Lifecycles that go.
    pub delete: Vec<Leaving>,
    /// What stands in the way of some source objects.
    pub problems: Vec<Problem>,
    /// Names of the lifecycles that these are about.
    pub troubled: BTreeSet<String>,
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

impl Plan {
    /// As it is carried out where there may be source objects that are not known: none of its lifecycles goes, and none becomes that of another object, for
    /// the one that it is of may be there.
    pub(crate) fn leave_to_unknown(
        &mut self,
        known: impl Fn(&str) -> Option<Arc<PediaClusterLifecycle>>,
    ) {
        self.delete.clear();
        self.update.retain(|planned| {
            let there = known(&planned.name_any());
            there.is_some_and(|there| same_object(&there.spec.source, &planned.spec.source))
        });
    }
}

impl<'a> Facts<'a> {
    /// What objects are looked at with.
    pub(crate) fn rules(&self) -> Rules<'a> {
        Rules {
            compiled: self.compiled,
            source: self.source,
            secrets: self.secrets,
        }
    }
}

/// What has become of all of them.
#[derive(Default)]
struct Looked<'a> {
    /// By the name that they render to.
    wanted: BTreeMap<&'a str, Vec<&'a Found>>,
    /// Those that nothing is known of: what they have stays.
    kept: HashSet<ObjectName>,
    /// Those of them that may not be read, and why not.
    refused: BTreeMap<ObjectName, String>,
}

/// Makes the plan. What objects have come to is remembered for the next one of this generation of the policy.
pub fn plan(facts: &Facts<'_>, looks: &mut Looks) -> Plan {
    looks.refresh(facts.objects, &facts.rules());
    let plan = decide(facts, looks);
    looks.fit();
    plan
}

/// What is to be done where this is what objects come to.
pub(crate) fn decide(facts: &Facts<'_>, looks: &Looks) -> Plan {
    let mut plan = Plan::default();
    let looked = look(facts, looks, &mut plan.problems);
    let references = references(facts);
    plan.problems.extend(refusal(&looked.refused));
    let existing: BTreeMap<&str, &PediaClusterLifecycle> = facts
        .lifecycles
        .iter()
        .filter_map(|lifecycle| Some((lifecycle.metadata.name.as_deref()?, lifecycle.as_ref())))
        .collect();
    for (name, objects) in &looked.wanted {
        let present = existing.get(name).copied();
        if let Some(keeper) = present.filter(|present| looked.keeps(facts, present)) {
            let keeper = ObjectName::from(&keeper.spec.source);
            tell_keeper(&keeper, objects, &mut plan.problems);
            continue;
        }
        if objects.len() > 1 {
            plan.troubled.insert((*name).to_owned());
        }
        let object = choose(facts, objects, present, &mut plan.problems);
        let name = (*name, object);
        settle(facts, &references, &mut plan, name, present);
    }
    let mut going = Vec::new();
    for lifecycle in facts.lifecycles {
        if looked.keeps(facts, lifecycle) {
            plan.wanted += 1;
            plan.troubled.insert(lifecycle.name_any());
        } else if is_ours(facts.policy, lifecycle)
            && !is_deleting(lifecycle)
            && !looked.wanted.contains_key(lifecycle.name_any().as_str())
        {
            going.push(lifecycle.as_ref());
        }
    }
    plan.delete = leaving((facts.source, facts.objects), looks, &going);
    plan
}

fn look<'a>(facts: &Facts<'a>, looks: &'a Looks, problems: &mut Vec<Problem>) -> Looked<'a> {
    let mut looked = Looked::default();
    // They are not asked for, so they can't be seen to be gone.
    for lifecycle in facts.lifecycles {
        let source = &lifecycle.spec.source;
        if is_made_of(facts.source, lifecycle)
            && is_ours(facts.policy, lifecycle)
            && !is_deleting(lifecycle)
            && let Err(why) = facts.secrets.check(facts.source, &source.namespace)
        {
            looked.kept.insert(ObjectName::from(source));
            looked.refused.insert(ObjectName::from(source), why);
        }
    }
    let mut roomless = Vec::new();
    for object in facts.objects {
        match looks.of(object) {
            Verdict::Skipped => {}
            Verdict::Named(name) => {
                looked.wanted.entry(name.as_str()).or_default().push(object);
            }
            Verdict::Failed(message) => {
                looked.kept.insert(object.name.clone());
                match object.object.has_no_room() {
                    true => roomless.push(object),
                    false => problems.push(waits_for_edit(object, message.clone())),
                }
            }
        }
    }
    if let [first, others @ ..] = roomless.as_slice()
        && let Verdict::Failed(message) = looks.of(first)
    {
        problems.push(Problem {
            subject: and_more(&first.name, others.len()),
            ..waits_for_edit(first, message.clone())
        });
    }
    looked
}

impl Looked<'_> {
    /// Whether a lifecycle of the policy stays because nothing is known of its source object.
    fn keeps(&self, facts: &Facts<'_>, lifecycle: &PediaClusterLifecycle) -> bool {
        is_made_of(facts.source, lifecycle)
            && is_ours(facts.policy, lifecycle)
            && !is_deleting(lifecycle)
            && self
                .kept
                .contains(&ObjectName::from(&lifecycle.spec.source))
    }
}

/// One problem for all that may not be read: a namespace that the administrator does not allow any
/// more may have had a fleet.
fn refusal(refused: &BTreeMap<ObjectName, String>) -> Option<Problem> {
    let (first, why) = refused.first_key_value()?;
    Some(Problem {
        subject: and_more(first, refused.len() - 1),
        message: format!("{why}; what was made of them stays as it is"),
        may_pass: false,
    })
}

fn and_more(first: &ObjectName, more: usize) -> String {
    match more {
        0 => first.to_string(),
        more => format!("{first} and {more} more"),
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
        let message = format!("its name is the one of {keeper} too");
        problems.push(waits_for_edit(other, message));
    }
}

/// Decides what becomes of one name.
fn settle(
    facts: &Facts<'_>,
    references: &[LifecycleReference],
    plan: &mut Plan,
    (name, object): (&str, &Found),
    present: Option<&PediaClusterLifecycle>,
) {
    let obstacle = present.and_then(|present| obstacle(facts.policy, present));
    if let Some(message) = obstacle {
        let subject = object.name.to_string();
        plan.troubled.insert(name.to_owned());
        plan.problems.push(Problem {
            subject,
            message,
            may_pass: true,
        });
        return;
    }
    plan.wanted += 1;
    match present {
        None => plan.create.push(lifecycle(facts, references, name, object)),
        Some(present) if is_as_planned(facts, references, object, &present.spec) => {}
        Some(present) => {
            let mut desired = lifecycle(facts, references, name, object);
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

/// The references of every lifecycle of the policy.
fn references(facts: &Facts<'_>) -> Vec<LifecycleReference> {
    let references = facts.policy.spec.references.iter().zip(facts.versions);
    let references = references.map(|(reference, version)| LifecycleReference {
        key: reference.key.clone(),
        group: reference.group.clone(),
        version: version.clone(),
        resource: reference.resource.clone(),
        namespace_template: reference.namespace_template.as_str().into(),
        name_template: reference.name_template.as_str().into(),
    });
    references.collect()
}

/// Whether a lifecycle is what [`lifecycle`] would make, without making it: nearly all of them are.
fn is_as_planned(
    facts: &Facts<'_>,
    references: &[LifecycleReference],
    object: &Found,
    present: &PediaClusterLifecycleSpec,
) -> bool {
    let spec = &facts.policy.spec;
    let PediaClusterLifecycleSpec {
        source,
        references: known,
        template,
        creation_condition,
        template_engine,
    } = present;
    *source == source_of(facts.source, object)
        && known == references
        && template.as_str() == spec.template
        && creation_condition.as_str() == spec.creation_condition
        && *template_engine == spec.template_engine
}

fn lifecycle(
    facts: &Facts<'_>,
    references: &[LifecycleReference],
    name: &str,
    object: &Found,
) -> PediaClusterLifecycle {
    let spec = &facts.policy.spec;
    let mut lifecycle = PediaClusterLifecycle::new(
        name,
        PediaClusterLifecycleSpec {
            source: source_of(facts.source, object),
            references: references.to_vec(),
            template: spec.template.as_str().into(),
            creation_condition: spec.creation_condition.as_str().into(),
            template_engine: spec.template_engine,
        },
    );
    lifecycle.metadata.owner_references = facts.policy.controller_owner_ref(&()).map(in_a_list);
    lifecycle
}

fn waits_for_edit(object: &Found, message: String) -> Problem {
    Problem {
        subject: object.name.to_string(),
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
pub(crate) fn same_object(a: &LifecycleSource, b: &LifecycleSource) -> bool {
    a.group == b.group && a.resource == b.resource && a.namespace == b.namespace && a.name == b.name
}

pub(crate) fn is_ours(policy: &ClusterImportPolicy, lifecycle: &PediaClusterLifecycle) -> bool {
    let uid = policy.metadata.uid.as_deref();
    uid.is_some_and(|uid| controlled_by(&lifecycle.metadata, uid))
}

fn is_deleting(lifecycle: &PediaClusterLifecycle) -> bool {
    lifecycle.metadata.deletion_timestamp.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifecycle(version: &str, name: &str) -> PediaClusterLifecycle {
        let source = LifecycleSource {
            version: version.to_owned(),
            name: name.to_owned(),
            ..LifecycleSource::default()
        };
        let spec = PediaClusterLifecycleSpec {
            source,
            ..PediaClusterLifecycleSpec::default()
        };
        PediaClusterLifecycle::new("there", spec)
    }

    /// Or a fleet whose kind has another version all of a sudden would be followed by the one before, which nobody serves.
    #[test]
    fn where_some_are_unknown_a_lifecycle_may_become_that_of_another_version_and_of_no_other_object()
     {
        for (planned, stays) in [
            (lifecycle("v1", "one"), true),
            (lifecycle("v2", "one"), true),
            (lifecycle("v1", "another"), false),
        ] {
            let mut plan = Plan {
                update: vec![planned],
                ..Plan::default()
            };
            plan.leave_to_unknown(|_| Some(Arc::new(lifecycle("v1", "one"))));
            assert_eq!(plan.update.len(), usize::from(stays));
        }
    }
}
