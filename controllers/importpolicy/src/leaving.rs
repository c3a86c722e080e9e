//! Lifecycles that go, and why. Pure.

use std::{collections::HashMap, sync::Arc};

use armadex_crds::PediaClusterLifecycle;
use armadex_policy::{Found, Gvr, ObjectName};
use kube::api::ObjectMeta;

use crate::looks::{Looks, Verdict};

/// A lifecycle that goes, as it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub version: Option<String>,
    /// What has become of its source object, in words.
    pub why: String,
}

impl Leaving {
    /// By its metadata.
    pub(crate) fn of(metadata: &ObjectMeta, why: String) -> Self {
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            version: metadata.resource_version.clone(),
            why,
        }
    }
}

/// Says of lifecycles that go why they do: of a policy about this kind, whose objects are these.
pub(crate) fn leaving(
    (kind, objects): (&Gvr, &[Arc<Found>]),
    looks: &Looks,
    going: &[&PediaClusterLifecycle],
) -> Vec<Leaving> {
    if going.is_empty() {
        return Vec::new();
    }
    let objects = objects.iter().map(|object| (&object.name, object));
    let objects: HashMap<&ObjectName, &Arc<Found>> = objects.collect();
    let leaving = going.iter().map(|lifecycle| {
        let why = why((kind, &objects), looks, lifecycle);
        Leaving::of(&lifecycle.metadata, why)
    });
    leaving.collect()
}

/// Whether it is of an object of this kind, in whatever version.
pub(crate) fn is_made_of(kind: &Gvr, lifecycle: &PediaClusterLifecycle) -> bool {
    let source = &lifecycle.spec.source;
    source.group == kind.group && source.resource == kind.resource
}

fn why(
    (kind, objects): (&Gvr, &HashMap<&ObjectName, &Arc<Found>>),
    looks: &Looks,
    lifecycle: &PediaClusterLifecycle,
) -> String {
    let source = &lifecycle.spec.source;
    let (name, resource) = (ObjectName::from(source), &source.resource);
    if !is_made_of(kind, lifecycle) {
        return format!("the policy is not about {resource} any more, as {name} is");
    }
    let Some(object) = objects.get(&name) else {
        return format!("there is no {name} among the {resource} any more");
    };
    match looks.of(object) {
        _ if object.deleting => format!("{name} of the {resource} is being deleted"),
        Verdict::Skipped => {
            format!("source.selectorTemplate does not choose {name} of the {resource} any more")
        }
        Verdict::Named(other) => {
            format!("nameTemplate makes {other} of {name} of the {resource} now")
        }
        Verdict::Failed(words) => format!("{name} of the {resource}: {words}"),
    }
}
