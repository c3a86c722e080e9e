//! What reconciles share.

use armadex_control_plane::Objects;
use armadex_crds::{PediaCluster, PediaClusterLifecycle};
use armadex_policy::Shared;
use kube::runtime::reflector::Store;

use crate::{
    apply::{Applied, Clusters},
    compiled::Compilations,
    looks::Looks,
};

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) shared: Shared,
    pub(crate) clusters: Store<PediaCluster>,
    pub(crate) applied: Applied,
    pub(crate) compilations: Compilations,
    pub(crate) looks: Looks,
}

impl Context {
    /// Where PediaClusters are, rather than what is known of them.
    pub(crate) fn live_clusters<'a>(&'a self, of: &'a PediaClusterLifecycle) -> Clusters<'a> {
        Clusters {
            api: Objects::all(self.shared.client.clone()),
            gates: &self.shared.gates,
            owner: of.metadata.uid.as_deref().unwrap_or_default(),
        }
    }
}
