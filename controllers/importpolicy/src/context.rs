//! What reconciles share.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use armadex_crds::{ClusterImportPolicy, PediaClusterLifecycle};
use armadex_policy::{Served, Shared};
use kube::{ResourceExt, runtime::reflector::Store};

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) shared: Shared,
    pub(crate) lifecycles: Store<PediaClusterLifecycle>,
    pub(crate) resources: Mutex<HashMap<String, (Version, Resources)>>,
}

impl Context {
    /// What was found for this very policy, as it is.
    pub(crate) fn known_resources(&self, policy: &ClusterImportPolicy) -> Option<Resources> {
        let known = self.lock_resources();
        known
            .get(&policy.name_any())
            .filter(|(of, _)| *of == Version::of(policy))
            .map(|(_, found)| found.clone())
    }

    pub(crate) fn remember_resources(&self, policy: &ClusterImportPolicy, found: Resources) {
        let version = Version::of(policy);
        self.lock_resources()
            .insert(policy.name_any(), (version, found));
    }

    pub(crate) fn forget_resources(&self, name: &str) {
        self.lock_resources().remove(name);
    }

    /// Drops all that is held for a policy that goes.
    pub(crate) fn forget(&self, name: &str) {
        self.shared.forget(name);
        self.forget_resources(name);
    }

    fn lock_resources(&self) -> MutexGuard<'_, HashMap<String, (Version, Resources)>> {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
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
