//! What reconciles share.

use armadex_crds::PediaCluster;
use armadex_policy::Shared;
use kube::runtime::reflector::Store;

use crate::{apply::Applied, compiled::Compilations, looks::Looks};

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) shared: Shared,
    pub(crate) clusters: Store<PediaCluster>,
    pub(crate) applied: Applied,
    pub(crate) compilations: Compilations,
    pub(crate) looks: Looks,
}

impl Context {
    /// Drops all that is held for a lifecycle that goes.
    pub(crate) fn forget(&self, name: &str) {
        self.shared.forget(name);
        self.applied.forget(name);
        self.looks.forget(name);
    }
}
