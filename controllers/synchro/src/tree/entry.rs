//! The cluster's entry in the store: made when its tree begins, and made anew when the store says that it has left meanwhile, or that another synchro has
//! taken it over.
//!
//! A cluster that left by a mistake comes back this way, and so does one that was taken over by a mistake. One that was replaced does not: of two processes
//! that look after different objects of one name, each would take the place of the other without end. Nor does one that is for another shard by now, which a
//! watch that hangs does not tell: that is asked; or for another replica of this one, which may have seen sooner who came or went. Where one of two processes shares the clusters and the
//! other has all, they cannot agree, and none takes a cluster back at once.

use armadex_control_plane::Objects;
use armadex_crds::PediaCluster;
use armadex_model::ClusterName;
use armadex_storage::{ClusterId, StoreError};
use kube::{Client, ResourceExt};
use tokio::time::Instant;

use crate::config::Shared;
use crate::fleet::sharing::REPLACED;
use crate::told::store;

/// Why a cluster waits that a process has by now which sees nothing of this one.
const APART: &str = "another process that shares no clusters with this one looks after the cluster, which is taken back in half a minute (with --leader-elect=false there may be one process alone; the Leases of others have to be in the same namespace)";

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
    /// The cluster has left since it joined, or another synchro looks after it: since then.
    Lost(Instant),
}

/// Why a cluster is not in the store yet.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unentered {
    /// It fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It may not be, or that is not known.
    #[error("{0}")]
    Refused(String),
}

impl Unentered {
    /// In words for everybody.
    pub(super) fn in_a_status(&self) -> String {
        match self {
            Self::Store(error) => store::in_a_status(error),
            Self::Refused(words) => words.clone(),
        }
    }

    /// What the log has to say of it, if it is news.
    pub(super) fn news(&self, entrant: &Entrant<'_>) -> Option<String> {
        let Entrant { shared, name, .. } = entrant;
        match self {
            // Whoever has it says how it is.
            Self::Store(StoreError::TakenOver { .. }) => None,
            Self::Store(error) => shared.store_fails(name.as_str(), error),
            Self::Refused(words) => {
                let is_news = shared.store_outages.begins(name.as_str(), words);
                is_news.then(|| words.clone())
            }
        }
    }
}

impl Entry {
    /// The cluster was lost just now.
    pub(super) fn lost() -> Self {
        Self::Lost(Instant::now())
    }

    /// The number of the entry, which is made if need be; or why it cannot be had yet.
    pub(super) async fn number(&mut self, entrant: &Entrant<'_>) -> Result<ClusterId, Unentered> {
        match *self {
            Self::Joined(cluster) => return Ok(cluster),
            Self::Lost(since) => entrant.may_return(since).await?,
            Self::Unknown => {}
        }
        match entrant.join().await {
            Ok(joined) => {
                *self = Self::Joined(joined);
                Ok(joined)
            }
            Err(error) => {
                if entrant.shared.has_lost(&error) {
                    *self = Self::lost();
                }
                Err(error.into())
            }
        }
    }
}

impl Entrant<'_> {
    /// Whether nobody has taken the place of a cluster that left, and it is for this synchro to look after.
    async fn may_return(&self, lost: Instant) -> Result<(), Unentered> {
        self.is_there().await.map_err(Unentered::Refused)?;
        let holder = self.shared.sink.holder(self.name).await?;
        match holder {
            Some(other)
                if other.incarnation != self.uid
                    && !self.shared.owner.is_neighbour(&other.owner) =>
            {
                Err(Unentered::Refused(format!(
                    "another control plane has put a cluster of this name into the store ({}): rename one of them, or give each \
                 control plane a store of its own",
                    other.owner
                )))
            }
            Some(other)
                if self.shared.owner.is_apart_from(&other.owner) && lost.elapsed() < REPLACED =>
            {
                Err(Unentered::Refused(APART.to_owned()))
            }
            Some(other) if other.owner != self.shared.owner.text() => self.is_own().await,
            _ => Ok(()),
        }
    }

    /// Whether it is for this replica, by what all see by now who share the shard's clusters.
    async fn is_own(&self) -> Result<(), Unentered> {
        let words = match self.shared.sharing.has_by_now(self.name.as_str()).await {
            Some(true) => return Ok(()),
            Some(false) => "another replica looks after the cluster",
            None => {
                "the cluster was taken over, and the Leases of those who share the clusters cannot be seen"
            }
        };
        Err(Unentered::Refused(words.to_owned()))
    }

    /// Whether the object is on the control plane, and no other of its name, and for this shard. What a watch told may be old.
    async fn is_there(&self) -> Result<(), String> {
        let api: Objects<PediaCluster> = Objects::all(self.client.clone());
        let own_shard = &self.shared.config.sharding_name;
        match api.get_opt(self.name.as_str()).await {
            Ok(Some(object)) if object.uid().as_deref() == Some(self.uid) => {
                let shard = &object.spec.sharding_name;
                match shard == own_shard {
                    true => Ok(()),
                    false => Err(format!(
                        "another synchro looks after the cluster, whose shardingName is {shard:?} now"
                    )),
                }
            }
            Ok(_) => Err("the cluster has left the store, and its PediaCluster is gone".to_owned()),
            Err(trouble) => Err(trouble.message),
        }
    }

    async fn join(&self) -> Result<ClusterId, StoreError> {
        let owner = self.shared.owner.text();
        self.shared.sink.join(self.name, self.uid, &owner).await
    }
}
