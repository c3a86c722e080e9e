//! The cluster's entry in the store: made when its tree begins, and made anew when the store says that it has left meanwhile.
//!
//! A cluster that left by a mistake comes back this way. One that was replaced does not: of two processes that look after different objects
//! of one name, each would take the place of the other without end.

use armadex_crds::PediaCluster;
use armadex_model::ClusterName;
use armadex_policy::Objects;
use armadex_storage::ClusterId;
use kube::{Client, ResourceExt};

use crate::config::Shared;

/// Whose entry it is.
pub(super) struct Entrant<'a> {
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
    /// The number of the entry, which is made if need be; or why it cannot be had yet.
    pub(super) async fn number(&mut self, entrant: &Entrant<'_>) -> Result<ClusterId, String> {
        match *self {
            Self::Joined(cluster) => return Ok(cluster),
            Self::Left => entrant.may_return().await?,
            Self::Unknown => {}
        }
        let joined = entrant.join().await?;
        *self = Self::Joined(joined);
        Ok(joined)
    }
}

impl Entrant<'_> {
    /// Whether nobody has taken the place of a cluster that left.
    async fn may_return(&self) -> Result<(), String> {
        self.is_there().await?;
        let stored = self.shared.sink.clusters().await;
        let stored = stored.map_err(|error| error.to_string())?;
        let mut others = stored.iter().filter(|other| other.incarnation != self.uid);
        match others.find(|other| other.name == *self.name) {
            Some(other) if !self.shared.owner.is_neighbour(&other.owner) => Err(format!(
                "another control plane has put a cluster of this name into the store ({}): rename one of them, or give each \
                 control plane a store of its own",
                other.owner
            )),
            _ => Ok(()),
        }
    }

    /// Whether the object is on the control plane, and no other of its name. What a watch told may be old.
    async fn is_there(&self) -> Result<(), String> {
        let api: Objects<PediaCluster> = Objects::all(self.client.clone());
        match api.get_opt(self.name.as_str()).await {
            Ok(Some(object)) if object.uid().as_deref() == Some(self.uid) => Ok(()),
            Ok(_) => Err("the cluster has left the store, and its PediaCluster is gone".to_owned()),
            Err(trouble) => Err(trouble.message),
        }
    }

    async fn join(&self) -> Result<ClusterId, String> {
        let owner = self.shared.owner.text();
        let joined = self.shared.sink.join(self.name, self.uid, &owner).await;
        joined.map_err(|error| error.to_string())
    }
}
