//! The cluster's entry in the store: made when its tree begins, and made anew when the store says that it has left meanwhile.
//!
//! A cluster that left by a mistake comes back this way. One that was replaced does not: of two processes that look after different objects
//! of one name, each would take the place of the other without end.

use armadex_crds::PediaCluster;
use armadex_model::ClusterName;
use armadex_storage::ClusterId;
use kube::api::Api;
use kube::{Client, ResourceExt};
use tracing::warn;

use crate::config::Shared;

/// Whose entry it is.
pub(super) struct Owner<'a> {
    pub(super) shared: &'a Shared,
    pub(super) client: &'a Client,
    pub(super) name: &'a ClusterName,
    pub(super) uid: &'a str,
}

/// What is known of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Nothing.
    Unknown,
    /// It has this number.
    Joined(ClusterId),
    /// The cluster has left since it joined.
    Left,
}

impl Entry {
    /// The number of the entry, which is made if need be. `None`: to be tried again.
    pub(super) async fn number(&mut self, owner: &Owner<'_>) -> Option<ClusterId> {
        match *self {
            Self::Joined(cluster) => return Some(cluster),
            Self::Left if !owner.is_there().await => return None,
            Self::Left | Self::Unknown => {}
        }
        let joined = owner.join().await?;
        *self = Self::Joined(joined);
        Some(joined)
    }
}

impl Owner<'_> {
    /// Whether the object is on the control plane, and no other of its name. What a watch told may be old.
    async fn is_there(&self) -> bool {
        let api: Api<PediaCluster> = Api::all(self.client.clone());
        let words = match api.get_opt(self.name.as_str()).await {
            Ok(Some(object)) if object.uid().as_deref() == Some(self.uid) => return true,
            Ok(_) => "its PediaCluster is gone".to_owned(),
            Err(error) => error.to_string(),
        };
        warn!(cluster = %self.name, error = words, "a cluster that has left the store does not join anew, looking again");
        false
    }

    async fn join(&self) -> Option<ClusterId> {
        let owner = &self.shared.config.sharding_name;
        match self.shared.sink.join(self.name, self.uid, owner).await {
            Ok(cluster) => Some(cluster),
            Err(error) => {
                warn!(cluster = %self.name, error = %error, "the cluster was not entered in the store, retrying");
                None
            }
        }
    }
}
