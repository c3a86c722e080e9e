//! What policies rendered, by the name of the PediaCluster: nothing is kept of a PediaClusterLifecycle but what its status records. Where the kind is not served there are no
//! policies.

#[cfg(test)]
mod tests;

use armadex_crds::{PediaClusterLifecycle, RenderedConnection};
use armadex_member::Policy;

use crate::named::{ByName, Kept, Named};

/// What policies rendered.
pub(crate) type Lifecycles = ByName<PediaClusterLifecycle>;

impl Kept for PediaClusterLifecycle {
    /// Nothing, if it has not recorded it.
    type Value = Option<RenderedConnection>;
    const PLURAL: &str = "PediaClusterLifecycles";
    const UNSERVED: &str = "so no policy renders a PediaCluster";

    fn value(&self) -> Self::Value {
        self.status.as_ref()?.connection.clone()
    }
}

/// What is known of a policy by what is known of the lifecycle.
pub(crate) fn policy(lifecycle: Named<Option<RenderedConnection>>) -> Policy {
    match lifecycle {
        Named::Unlisted(why) => Policy::Unlisted(why),
        Named::Absent => Policy::Absent,
        Named::Found(None) => Policy::Silent,
        Named::Found(Some(rendered)) => Policy::Rendered(rendered),
    }
}
