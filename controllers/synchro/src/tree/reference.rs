//! The list of resources that a PediaCluster refers to by `syncResourcesRefName`: a ClusterSyncResources, which several share.

use std::sync::Arc;

use armadex_crds::{ClusterSyncResources, GroupResources, PediaClusterSpec};

use crate::named::{ByName, Followed, Kept, Named};
use crate::session::plan::{self, Gates, InvalidSyncResources, Scope};

/// Those that are there.
pub(crate) type References = ByName<ClusterSyncResources>;

impl Kept for ClusterSyncResources {
    type Value = Arc<[GroupResources]>;
    const PLURAL: &str = "ClusterSyncResources";
    const UNSERVED: &str = "so no PediaCluster can refer to one";

    fn value(&self) -> Self::Value {
        self.spec.sync_resources.clone().into()
    }
}

/// The one that a PediaCluster refers to, followed as long as it does.
pub(super) struct Referred {
    references: Arc<References>,
    followed: Option<Followed<Arc<[GroupResources]>>>,
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
    /// What it refers to is about to be read.
    Awaited,
}

impl Asked {
    /// What is asked for, if that can be said.
    pub(super) fn scope(self) -> Option<Scope> {
        match self {
            Self::For(scope, _) => Some(scope),
            Self::Invalid(_) | Self::Unknown(_) | Self::Awaited => None,
        }
    }
}

impl Referred {
    pub(super) fn new(references: Arc<References>) -> Self {
        Self {
            references,
            followed: None,
        }
    }

    /// What a spec asks for, the list that it refers to included.
    pub(super) fn asked(&mut self, spec: &PediaClusterSpec, gates: Gates) -> Asked {
        match self.reference(&spec.sync_resources_ref_name) {
            Ok(reference) => match plan::scope(spec, &reference, gates) {
                Ok((scope, warning)) => Asked::For(scope, warning),
                Err(error) => Asked::Invalid(error),
            },
            Err(why) if why.is_empty() => Asked::Awaited,
            Err(why) => {
                let name = &spec.sync_resources_ref_name;
                Asked::Unknown(format!(
                    "the ClusterSyncResources {name}, which syncResourcesRefName names, cannot be read: {why}"
                ))
            }
        }
    }

    /// What is known of the one of this name; why nothing is known yet, without words where it is about to be.
    fn reference(&mut self, name: &str) -> Result<plan::Reference, String> {
        if name.is_empty() {
            self.followed = None;
            return Ok(plan::Reference::None);
        }
        self.followed.take_if(|followed| followed.name() != name);
        let follow = || self.references.follow(name);
        match self.followed.get_or_insert_with(follow).now() {
            Named::Unlisted(why) => Err(why),
            Named::Absent => Ok(plan::Reference::Missing(name.to_owned())),
            Named::Found(resources) => Ok(plan::Reference::List {
                name: name.to_owned(),
                resources,
            }),
        }
    }

    /// Waits until something else is known of it. Safe to cancel.
    pub(super) async fn changed(&mut self) {
        match &mut self.followed {
            Some(followed) => followed.changed().await,
            None => std::future::pending().await,
        }
    }
}
