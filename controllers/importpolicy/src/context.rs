//! What reconciles share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use armadex_crds::PediaClusterLifecycle;
use armadex_policy::{Interests, Reporter, Retries, Served, Watches};
use kube::{Client, runtime::reflector::Store};

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) watches: Watches,
    pub(crate) interests: Arc<Interests>,
    pub(crate) lifecycles: Store<PediaClusterLifecycle>,
    pub(crate) reporter: Reporter,
    pub(crate) retries: Retries,
    pub(crate) resources: Mutex<HashMap<String, (Option<i64>, Resources)>>,
}

impl Context {
    pub(crate) fn known_resources(&self, name: &str, generation: Option<i64>) -> Option<Resources> {
        let known = self
            .resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known
            .get(name)
            .filter(|(of, _)| *of == generation)
            .map(|(_, found)| found.clone())
    }

    pub(crate) fn remember_resources(&self, name: &str, generation: Option<i64>, found: Resources) {
        let mut known = self
            .resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), (generation, found));
    }

    /// Drops all that is held for a policy that goes.
    pub(crate) fn forget(&self, name: &str) {
        self.interests.remove(name);
        self.retries.clear(name);
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
    }
}

/// Group, version and namespacing of source and references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(crate) source: Served,
    pub(crate) references: Vec<Served>,
}
