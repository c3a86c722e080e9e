//! The list of resources that a PediaCluster refers to by `syncResourcesRefName`: a ClusterSyncResources, which several share.

use std::sync::Arc;
use std::time::Duration;

use armadex_crds::{ClusterSyncResources, PediaClusterSpec};
use tokio::time::Instant;

use crate::named::{ByName, Followed, Kept, Named};
use crate::session::plan::{self, Gates, InvalidSyncResources, List, Reference, Scope};

/// Before a list that is not there counts as none. It is told by a watch of its own, which may be behind that of PediaClusters, or be begun anew, and whoever replaces a list may
/// delete it first: what it asks for would be hidden everywhere, and listed anew.
const SETTLING: Duration = Duration::from_secs(10);

/// Those that are there.
pub(crate) type References = ByName<ClusterSyncResources>;

impl Kept for ClusterSyncResources {
    type Value = Arc<List>;
    const PLURAL: &str = "ClusterSyncResources";
    const UNSERVED: &str = "so no PediaCluster can refer to one";

    fn value(&self) -> Self::Value {
        Arc::new(List::new(&self.spec.sync_resources))
    }
}

/// The one that a PediaCluster refers to, followed as long as it does.
pub(super) struct Referred {
    references: Arc<References>,
    followed: Option<Followed<Arc<List>>>,
    /// Since when it is not there.
    missing: Option<Instant>,
}

/// What a PediaCluster asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// This; what should be mended, mostly nothing.
    For(Scope, String),
    /// What cannot be.
    Invalid(InvalidSyncResources),
    /// What it refers to cannot be read, and why.
    Unknown(String),
    /// What it refers to is about to be read, or may be there in a moment, at this time at the latest.
    Awaited(Option<Instant>),
}

impl Asked {
    /// What is asked for, if that can be said.
    pub(super) fn scope(&self) -> Option<Scope> {
        match self {
            Self::For(scope, _) => Some(scope.clone()),
            Self::Invalid(_) | Self::Unknown(_) | Self::Awaited(_) => None,
        }
    }
}

impl Referred {
    pub(super) fn new(references: Arc<References>) -> Self {
        Self {
            references,
            followed: None,
            missing: None,
        }
    }

    /// What a spec asks for, the list that it refers to included.
    pub(super) fn asked(&mut self, spec: &PediaClusterSpec, gates: Gates) -> Asked {
        let name = &spec.sync_resources_ref_name;
        let reference = match self.known(name) {
            None => Reference::None,
            Some(Named::Found(list)) => Reference::To(name.clone(), list),
            Some(Named::Absent) => {
                let due = *self.missing.get_or_insert_with(Instant::now) + SETTLING;
                if Instant::now() < due {
                    return Asked::Awaited(Some(due));
                }
                Reference::Missing(name.clone())
            }
            Some(Named::Unlisted(why)) if why.is_empty() => return Asked::Awaited(None),
            Some(Named::Unlisted(why)) => {
                return Asked::Unknown(format!(
                    "the ClusterSyncResources {name}, which syncResourcesRefName names, cannot be read: {why}"
                ));
            }
        };
        match plan::scope(spec, &reference, gates) {
            Ok((scope, warning)) => Asked::For(scope, warning),
            Err(error) => Asked::Invalid(error),
        }
    }

    /// What is known of the list of this name; `None` for that of no name.
    fn known(&mut self, name: &str) -> Option<Named<Arc<List>>> {
        self.followed.take_if(|followed| followed.name() != name);
        if name.is_empty() {
            self.missing = None;
            return None;
        }
        if self.followed.is_none() {
            self.missing = None;
        }
        let follow = || self.references.follow(name);
        let known = self.followed.get_or_insert_with(follow).now();
        if known != Named::Absent {
            self.missing = None;
        }
        Some(known)
    }

    /// Waits until something else is known of it. Safe to cancel.
    pub(super) async fn changed(&mut self) {
        match &mut self.followed {
            Some(followed) => followed.changed().await,
            None => std::future::pending().await,
        }
    }
}
