//! By what right a synchro looks after clusters, and after which: among the replicas of its shard, or alone.

use armadex_control_plane::{Claim, Held, LeaseTerms, Load, Replicas};
use kube::Client;

use crate::config::Shared;

/// The place of this process in its shard.
pub(crate) enum Place {
    /// It has all clusters, and nobody asks for a Lease.
    Unasked,
    /// It has all clusters by the one Lease, since it may not list those of others, until it may.
    Alone(Held, Box<Replicas>),
    /// It has its share of them.
    Among(armadex_control_plane::Place),
}

impl Place {
    /// Waits until there is one. Safe to cancel.
    pub(crate) async fn take(client: &Client, lease: Option<&LeaseTerms>) -> Self {
        let Some(terms) = lease else {
            return Self::Unasked;
        };
        loop {
            let replicas = || Replicas::new(client.clone(), terms);
            if let Some(place) = replicas().join().await {
                return Self::Among(place);
            }
            let others = Box::new(replicas());
            let mut claim = Claim::new(client.clone(), terms);
            tokio::select! {
                held = claim.hold() => return Self::Alone(held, others),
                () = others.may_be_seen() => {}
            }
        }
    }

    /// What is shared by the parts of a synchro that has this place.
    pub(crate) fn sharing(&self, shared: Shared) -> Shared {
        match self {
            Self::Unasked | Self::Alone(..) => shared,
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
            Self::Alone(held, _) => Some(held),
            Self::Among(place) => Some(place.held()),
        }
    }

    /// Until it is another one's, or to be shared by now; for ever where there is no Lease.
    pub(crate) async fn lost(&self) {
        match self {
            Self::Unasked => std::future::pending().await,
            Self::Alone(held, others) => tokio::select! {
                () = held.lost() => {}
                () = others.may_be_seen() => {}
            },
            Self::Among(place) => place.lost().await,
        }
    }

    /// Leaves it to others.
    pub(crate) async fn release(self) {
        match self {
            Self::Unasked => {}
            Self::Alone(held, _) => held.release().await,
            Self::Among(place) => place.release().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use armadex_control_plane::testing::{Host, ServedType};
    use tokio::time::timeout;

    use super::*;

    /// Longer than a right that is back goes unseen.
    const LONG: Duration = Duration::from_secs(100);

    async fn takes(client: Client, holder: &str) -> Place {
        let terms = LeaseTerms {
            holder: holder.to_owned(),
            ..LeaseTerms::of_this_process("own", "l")
        };
        Place::take(&client, Some(&terms)).await
    }

    /// Of processes that may not list Leases one has all clusters, and they share them when they may.
    #[tokio::test(start_paused = true)]
    async fn a_right_that_is_missing_for_a_while_is_missed_no_longer() {
        let leases = ServedType::new("coordination.k8s.io", "v1", "leases", "Lease").namespaced();
        let host = Host::new(&[leases]);
        host.forbid("list", "leases");
        let one = takes(host.client(), "one").await;
        assert!(matches!(&one, Place::Alone(..)));
        let mut two = tokio::spawn(takes(host.client(), "two"));
        assert!(timeout(LONG, &mut two).await.is_err(), "it waits");
        assert!(timeout(LONG, one.lost()).await.is_err(), "nothing is new");

        host.permit_all();
        timeout(LONG, one.lost()).await.expect("it may share");
        one.release().await;
        let places = tokio::join!(takes(host.client(), "one"), two);
        let shares = |place: &Place| matches!(place, Place::Among(_));
        assert!(shares(&places.0) && shares(&places.1.expect("no panic")));
    }
}
