//! What reconciles share.

use std::sync::Arc;

use armadex_crds::PediaCluster;
use armadex_policy::{Interests, Reporter, Retries, SecretNamespaces, Watches};
use kube::{Client, runtime::reflector::Store};

use crate::apply::Applied;

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) watches: Watches,
    pub(crate) secrets: SecretNamespaces,
    pub(crate) interests: Arc<Interests>,
    pub(crate) clusters: Store<PediaCluster>,
    pub(crate) reporter: Reporter,
    pub(crate) retries: Retries,
    pub(crate) applied: Applied,
}

impl Context {
    /// Drops all that is held for a lifecycle that goes.
    pub(crate) fn forget(&self, name: &str) {
        self.interests.remove(name);
        self.retries.clear(name);
        self.applied.forget(name);
    }
}
