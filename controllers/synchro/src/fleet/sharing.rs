//! Which clusters of its shard a synchro has, by who shares them with it now.

use std::collections::BTreeMap;
use std::time::Duration;

use armadex_control_plane::{Load, Members};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::fleet::shares::{holder_of, may_gain};

/// Two looks take four seconds, and no longer than this where the control plane answers.
const LOOKS: Duration = Duration::from_secs(10);

/// Before a process that was replaced wants its clusters back. Two that never agree (their Leases lie in different namespaces, or they want none)
/// take them from each other no more often.
pub(crate) const REPLACED: Duration = Duration::from_secs(30);

/// The replicas among which clusters are shared; none where one process has all.
#[derive(Clone)]
pub(crate) struct Sharing(Option<Replica>);

#[derive(Clone)]
struct Replica {
    number: u32,
    members: watch::Receiver<Members>,
}

impl Sharing {
    /// One process has all clusters.
    pub(crate) fn alone() -> Self {
        Self(None)
    }

    /// What this replica has of what all of these share.
    pub(crate) fn of_replica(number: u32, members: watch::Receiver<Members>) -> Self {
        Self(Some(Replica { number, members }))
    }

    /// The number of this replica; `None` where one process has all clusters.
    pub(crate) fn number(&self) -> Option<u32> {
        self.0.as_ref().map(|replica| replica.number)
    }

    /// Whether a cluster of its shard is its own.
    pub(crate) fn has(&self, cluster: &str) -> bool {
        let Some(Replica { number, members }) = &self.0 else {
            return true;
        };
        holder_of(cluster, &weights(&members.borrow())) == Some(*number)
    }

    /// The same, by what is seen from now on: another one may have taken the cluster over because it sees more. `None` if nothing is seen.
    pub(crate) async fn has_by_now(&self, cluster: &str) -> Option<bool> {
        if let Some(Replica { members, .. }) = &self.0 {
            let mut members = members.clone();
            // One look may be under way that has seen nothing yet.
            let fresh = members.borrow().looks + 2;
            let seen = members.wait_for(|members| members.looks >= fresh);
            timeout(LOOKS, seen).await.ok()?.ok()?;
        }
        Some(self.has(cluster))
    }

    /// Whether some may be its own by the change from these members to those that were not.
    pub(crate) fn may_gain(&self, before: &BTreeMap<u32, u32>, after: &BTreeMap<u32, u32>) -> bool {
        let replica = self.0.as_ref();
        replica.is_some_and(|replica| may_gain(replica.number, before, after))
    }

    /// Who shares them now, and what each weighs.
    pub(crate) fn members(&self) -> BTreeMap<u32, u32> {
        let replica = self.0.as_ref();
        replica.map_or_else(BTreeMap::new, |replica| weights(&replica.members.borrow()))
    }

    /// What each has of them by what it says, and which is the own one; nothing where one process has all.
    pub(crate) fn loads(&self) -> Option<(u32, BTreeMap<u32, Load>)> {
        let Replica { number, members } = self.0.as_ref()?;
        Some((*number, members.borrow().loads.clone()))
    }

    /// Waits until others than these share them, or they weigh otherwise. Safe to cancel.
    pub(crate) async fn are_others_than(&self, known: &BTreeMap<u32, u32>) {
        let Some(Replica { members, .. }) = &self.0 else {
            return std::future::pending().await;
        };
        let mut members = members.clone();
        let others = members.wait_for(|members| weights(members) != *known).await;
        if others.map(drop).is_err() {
            // It has lost its place, which is found out elsewhere.
            std::future::pending::<()>().await;
        }
    }
}

fn weights(members: &Members) -> BTreeMap<u32, u32> {
    let loads = members.loads.iter();
    loads.map(|(number, load)| (*number, load.weight)).collect()
}
