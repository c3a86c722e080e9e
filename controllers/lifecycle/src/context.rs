//! What reconciles share, and what they fail with.

use std::sync::Arc;

use armadex_crds::PediaCluster;
use armadex_policy::{Interests, Reporter, Retries, Trouble, Watches};
use kube::{Client, runtime::reflector::Store};

use crate::apply::Applied;

/// What a reconcile could not do; it is tried again, later each time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request failed.
    #[error("{doing}: {trouble}")]
    Api {
        /// What it was for.
        doing: &'static str,
        /// What happened.
        trouble: Trouble,
    },
}

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) watches: Watches,
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
