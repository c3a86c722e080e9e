//! What reconciles share.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard},
};

use armadex_control_plane::lock;
use armadex_crds::{ClusterImportPolicy, PediaClusterLifecycle, conditions::LifecycleReason};
use armadex_policy::template::{TEMPLATES_LIMIT, TemplateEngine};
use armadex_policy::{Room, Served, Shared, Shelf, controlled_by};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::{ResourceExt, runtime::reflector::Store};
use tokio::time::Instant;

use crate::{Compiled, Invalid, Looks, news::Noted, validate, validate::engine};

/// What was compiled of policies, by their names.
pub(crate) type Compilations = Shelf<String, (Version, Arc<Compiled>)>;

/// For what has come of looks, of all policies together. With 200 bytes for each what came of 100,000 objects, which is ten times what a large fleet has; or
/// a million times that an object is none of a policy's, and what came of the others.
pub(crate) const ROOM: usize = 20_000_000;

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) shared: Shared,
    pub(crate) lifecycles: Store<PediaClusterLifecycle>,
    pub(crate) resources: Mutex<HashMap<String, Known>>,
    pub(crate) memories: Mutex<HashMap<String, Remembered>>,
    pub(crate) compiled: Mutex<Compilations>,
    pub(crate) news: Arc<Noted>,
    /// For what has come of looks.
    pub(crate) room: Arc<Room>,
}

impl Context {
    /// Nothing is compiled yet. There is room for all templates of one policy, or for a name and a selector of each of a thousand.
    pub(crate) fn no_compiled() -> Mutex<Compilations> {
        Mutex::new(Shelf::with_room(TEMPLATES_LIMIT))
    }

    /// What was found for this very policy, as it is.
    pub(crate) fn known_resources(&self, policy: &ClusterImportPolicy) -> Option<Known> {
        let known = self.lock_resources();
        known
            .get(&policy.name_any())
            .filter(|known| known.of == Version::of(policy))
            .cloned()
    }

    pub(crate) fn remember_resources(&self, policy: &ClusterImportPolicy, found: Resources) {
        let known = Known {
            of: Version::of(policy),
            found,
            at: Instant::now(),
        };
        self.lock_resources().insert(policy.name_any(), known);
    }

    /// Whether a lifecycle of the policy can't follow something that it refers to: its version may be
    /// served no more. Secrets and other kinds of the core have one version for ever.
    pub(crate) fn waits_for_references(&self, policy: &ClusterImportPolicy) -> bool {
        waits_for_references(policy, || self.lifecycles.state())
    }

    /// What is remembered of this very policy, or why it is not valid, if it was looked at before.
    pub(crate) fn remembered(
        &self,
        policy: &ClusterImportPolicy,
    ) -> Option<Result<Memory, Invalid>> {
        let memories = lock(&self.memories);
        let looks = match &find(&memories, policy)?.found {
            Ok(looks) => looks.clone(),
            Err(invalid) => return Some(Err(invalid.clone())),
        };
        let (of, compiled) = lock(&self.compiled).get(&policy.name_any())?;
        let memory = Memory { compiled, looks };
        (of == Version::of(policy)).then_some(Ok(memory))
    }

    /// The same, found out if it was not. Takes its time.
    pub(crate) fn memory(&self, policy: &ClusterImportPolicy) -> Result<Memory, Invalid> {
        if let Some(known) = self.remembered(policy) {
            return known;
        }
        let found = validate(&policy.spec).map(|compiled| Memory {
            compiled: Arc::new(compiled),
            looks: self.looks(policy),
        });
        self.remember(policy, found.clone());
        found
    }

    /// What has come of looks by what this policy looks by, whose templates may have made room since, or which was edited elsewhere.
    fn looks(&self, policy: &ClusterImportPolicy) -> Arc<Mutex<Looks>> {
        let memories = lock(&self.memories);
        let known = memories.get(&policy.name_any());
        let known = known.filter(|known| known.looks_by == looks_by(policy));
        let looks = known.and_then(|known| known.found.as_ref().ok());
        let new = || Arc::new(Mutex::new(Looks::within(self.room.clone())));
        looks.cloned().unwrap_or_else(new)
    }

    /// What may be found otherwise the next time is not remembered.
    pub(crate) fn remember(&self, policy: &ClusterImportPolicy, found: Result<Memory, Invalid>) {
        if found.as_ref().is_err_and(|invalid| invalid.may_pass) {
            return;
        }
        let (name, of) = (policy.name_any(), Version::of(policy));
        let mut shelf = lock(&self.compiled);
        let found = match found {
            Ok(Memory { compiled, looks }) => {
                let bytes = text_of(policy);
                let one_each = |_: &String| 1;
                shelf.put(name.clone(), (of.clone(), compiled), bytes, one_each);
                Ok(looks)
            }
            Err(invalid) => {
                shelf.remove(&name);
                Err(invalid)
            }
        };
        drop(shelf);
        let looks_by = looks_by(policy);
        let remembered = Remembered {
            of,
            looks_by,
            found,
        };
        lock(&self.memories).insert(name, remembered);
    }

    pub(crate) fn forget_resources(&self, name: &str) {
        self.lock_resources().remove(name);
    }

    /// Drops all that is held for a policy that goes.
    pub(crate) fn forget(&self, name: &str) {
        self.shared.forget(name);
        self.news.forget(name);
        self.forget_resources(name);
        lock(&self.memories).remove(name);
        lock(&self.compiled).remove(name);
    }

    fn lock_resources(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        lock(&self.resources)
    }
}

/// The same of some lifecycles.
pub(crate) fn waits_for_references(
    policy: &ClusterImportPolicy,
    lifecycles: impl FnOnce() -> Vec<Arc<PediaClusterLifecycle>>,
) -> bool {
    let uid = policy.metadata.uid.as_deref().unwrap_or_default();
    let mut references = policy.spec.references.iter();
    references.any(|other| !other.group.is_empty())
        && lifecycles()
            .iter()
            .any(|lifecycle| controlled_by(&lifecycle.metadata, uid) && waits(lifecycle))
}

const WAITS: &str = LifecycleReason::WaitDependentResourceSynced.as_str();

/// Whether a lifecycle says that it waits for something that it refers to.
pub(crate) fn waits(lifecycle: &PediaClusterLifecycle) -> bool {
    let status = lifecycle.status.iter();
    let mut conditions = status.flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.reason == WAITS)
}

/// As much of how it says so as is kept.
pub(crate) fn waiting() -> Condition {
    Condition {
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        message: String::new(),
        observed_generation: None,
        reason: WAITS.to_owned(),
        status: String::new(),
        type_: String::new(),
    }
}

/// What a policy, as it was then, was found to be. That it is not valid is remembered too: it takes as long to find out.
pub(crate) struct Remembered {
    of: Version,
    looks_by: u64,
    /// A name for each source object, as far as there is room for them. What is compiled may have made room for others: it is compiled again then, and no
    /// source object is looked at again for it.
    found: Result<Arc<Mutex<Looks>>, Invalid>,
}

fn find<'a>(
    memories: &'a HashMap<String, Remembered>,
    policy: &ClusterImportPolicy,
) -> Option<&'a Remembered> {
    let known = memories.get(&policy.name_any());
    known.filter(|known| known.of == Version::of(policy))
}

/// All that a policy looks at objects by, as a hash: whatever else of it is edited, they come to the same.
fn looks_by(policy: &ClusterImportPolicy) -> u64 {
    let mut hasher = DefaultHasher::new();
    let (spec, uid) = (&policy.spec, &policy.metadata.uid);
    let source = &spec.source;
    let texts = [
        &source.group,
        &source.resource,
        &source.selector_template,
        &spec.name_template,
    ];
    (uid, texts, engine(spec) == TemplateEngine::GoTemplate).hash(&mut hasher);
    hasher.finish()
}

/// What is compiled of a policy for the looks to come; of one that is not valid nothing.
fn text_of(policy: &ClusterImportPolicy) -> usize {
    let spec = &policy.spec;
    spec.name_template.len() + spec.source.selector_template.len()
}

/// What is remembered of a policy from look to look.
#[derive(Clone)]
pub(crate) struct Memory {
    pub(crate) compiled: Arc<Compiled>,
    /// Whoever plans has them; a policy is looked at by one at a time.
    pub(crate) looks: Arc<Mutex<Looks>>,
}

/// What was found for a policy, and when.
#[derive(Clone)]
pub(crate) struct Known {
    of: Version,
    pub(crate) found: Resources,
    pub(crate) at: Instant,
}

/// A policy as it stands. A generation alone is not enough: one that was deleted and made again
/// begins with the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    uid: Option<String>,
    generation: Option<i64>,
}

impl Version {
    fn of(policy: &ClusterImportPolicy) -> Self {
        Self {
            uid: policy.metadata.uid.clone(),
            generation: policy.metadata.generation,
        }
    }
}

/// Group, version and namespacing of source and references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(crate) source: Served,
    pub(crate) references: Vec<Served>,
}
