//! By what right a synchro looks after clusters, and after which: among the replicas of its shard, or alone.

use armadex_control_plane::{Claim, Held, LeaseTerms, Load, Replicas};
use kube::Client;

use crate::config::Shared;

/// The place of this process in its shard.
pub(crate) enum Place {
    /// It has all clusters, and nobody asks for a Lease.
    Unasked,
    /// It has all clusters by the one Lease, since it may not list those of others.
    Alone(Held),
    /// It has its share of them.
    Among(armadex_control_plane::Place),
}

impl Place {
    /// Waits until there is one. Safe to cancel.
    pub(crate) async fn take(client: &Client, lease: Option<&LeaseTerms>) -> Self {
        let Some(terms) = lease else {
            return Self::Unasked;
        };
        match Replicas::new(client.clone(), terms).join().await {
            Some(place) => Self::Among(place),
            None => Self::Alone(Claim::new(client.clone(), terms).hold().await),
        }
    }

    /// What is shared by the parts of a synchro that has this place.
    pub(crate) fn sharing(&self, shared: Shared) -> Shared {
        match self {
            Self::Unasked | Self::Alone(_) => shared,
            Self::Among(place) => shared.of_replica(place.number(), place.members()),
        }
    }

    /// Says what it has, to those who share it.
    pub(crate) fn say(&self, load: Load) {
        if let Self::Among(place) = self {
            place.say(load);
        }
    }

    /// The Lease, if there is one.
    pub(crate) fn held(&self) -> Option<&Held> {
        match self {
            Self::Unasked => None,
            Self::Alone(held) => Some(held),
            Self::Among(place) => Some(place.held()),
        }
    }

    /// Until it is another one's; for ever where there is no Lease.
    pub(crate) async fn lost(&self) {
        match self {
            Self::Unasked => std::future::pending().await,
            Self::Alone(held) => held.lost().await,
            Self::Among(place) => place.lost().await,
        }
    }

    /// Leaves it to others.
    pub(crate) async fn release(self) {
        match self {
            Self::Unasked => {}
            Self::Alone(held) => held.release().await,
            Self::Among(place) => place.release().await,
        }
    }
}
