//! What is known about one cluster now: written by the tasks of its tree, read when its status is made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use armadex_crds::conditions::{self, ClusterCondition, ConditionStatus};
use armadex_crds::conditions::{ClusterHealthyReason, ClusterValidatedReason};
use armadex_crds::{
    ClusterAudit, IdentitySource, PediaCluster, PediaClusterStatus, SynchroProcess,
};
use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::ClusterId;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::incoming::convert::Converted;
use crate::lock::lock;
use crate::session::plan::Missing;
use crate::told::left_out::LeftOutShare;
use crate::told::report::{Progress, Report};
use crate::told::tally::Tally;

/// What is known about one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The generation of the PediaCluster that this speaks of.
    pub(crate) generation: Option<i64>,
    /// Whether its spec makes sense.
    pub(crate) validated: Validated,
    /// Whether something syncs it.
    pub(crate) running: Running,
    /// For a minute or longer it has waited for its turn to say what it serves.
    pub(crate) in_line: bool,
    /// Why a member that is synced does not say what it serves now, if that lasts.
    pub(crate) undiscovered: Option<String>,
    /// Whether the member answers.
    pub(crate) health: MemberHealth,
    /// The API server in use.
    pub(crate) apiserver: String,
    /// Why a member that is synced is asked by the control plane; `None`: it is not.
    pub(crate) around: Option<String>,
    /// The member's version.
    pub(crate) version: String,
    /// By what the member is told from others.
    pub(crate) identity: Option<IdentitySource>,
    /// What was asked for and is not synced.
    pub(crate) missing: Vec<Missing>,
    /// Which synchro looks after it; `None` when it was given away.
    pub(crate) sharding_name: Option<String>,
    /// Which process of it; `None` when it was given away.
    pub(crate) synchro: Option<SynchroProcess>,
    /// How many resources that are asked for have to wait until they are begun with; `None`: which are asked for is not known yet. It becomes `None` together with
    /// the generation that asks for something else.
    pub(crate) planned: Option<usize>,
    /// What came of the last audit of all types.
    pub(crate) audit: Option<ClusterAudit>,
}

/// Whether a spec makes sense.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Validated {
    /// Not looked at yet.
    #[default]
    Unknown,
    /// It is not known yet, and why.
    Waits(ClusterValidatedReason, String),
    /// It does; a warning, mostly empty.
    Yes(String),
    /// It does not, and why.
    No(ClusterValidatedReason, String),
}

/// Whether something syncs a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Running {
    /// Not yet.
    #[default]
    Waiting,
    /// The member could not be reached for the first time.
    Failed(String),
    /// Yes.
    Yes,
    /// No more.
    Shutdown,
}

/// Whether a member answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum MemberHealth {
    /// Nobody asks.
    #[default]
    Unasked,
    /// It does.
    Healthy(String),
    /// It does not, and why.
    NotReachable(ClusterHealthyReason, String),
}

/// Streams in the order of their types.
type Streams = Vec<(Arc<ResourceType>, Arc<Report>)>;

/// The facts of one cluster and its streams, shared by the tasks of its tree.
#[derive(Debug, Default)]
pub(crate) struct Board {
    facts: Mutex<Facts>,
    streams: Mutex<Streams>,
    /// The object as a watch told it last.
    object: Mutex<Option<Arc<PediaCluster>>>,
    /// Its number in the store, as far as it is known.
    entry: Mutex<Option<ClusterId>>,
    /// What another process has said of types whose streams have not begun here.
    found: Mutex<BTreeMap<GroupVersionResource, Tally>>,
    /// The room for what its streams leave out.
    left_out: Arc<LeftOutShare>,
    changed: Arc<Notify>,
}

impl Board {
    /// Changes the facts; whoever makes the status is told if something became another.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Facts)) {
        let mut facts = lock(&self.facts);
        let before = facts.clone();
        change(&mut facts);
        if *facts != before {
            self.changed.notify_one();
        }
    }

    /// Of a stream of this cluster that is about to begin, and converts like this. What was counted of the type before is gone on with.
    pub(crate) fn report(
        &self,
        resource: &ResourceType,
        converted: Option<Arc<Converted>>,
    ) -> Report {
        let (left_out, changed) = (Arc::clone(&self.left_out), Arc::clone(&self.changed));
        let (now, gvr) = (Timestamp::now(), &resource.gvr);
        let found = lock(&self.found).remove(gvr);
        let before = lock(&self.streams)
            .iter()
            .find(|(before, _)| before.gvr == *gvr)
            .map(|(_, report)| report.tally());
        let tally = before.or(found).unwrap_or_default();
        Report::within(left_out, changed, tally, now).of_converted(converted)
    }

    /// What another process has said of the types of the cluster.
    pub(crate) fn found(&self, told: &PediaClusterStatus, now: Timestamp) {
        let synced = conditions::find(&told.conditions, ClusterCondition::Synced.as_str());
        let all_were_listed =
            synced.is_some_and(|synced| synced.status == ConditionStatus::True.as_str());
        let mut found = lock(&self.found);
        for group in &told.sync_resources {
            for resource in &group.resources {
                let conditions = resource.sync_conditions.iter().map(|condition| {
                    let version = match condition.storage_version.as_str() {
                        "" => condition.version.clone(),
                        stored => stored.to_owned(),
                    };
                    let gvr = GroupVersionResource::new(&*group.group, version, &*resource.name);
                    (gvr, Tally::of(condition, all_were_listed, now))
                });
                found.extend(conditions.filter(|(_, tally)| *tally != Tally::default()));
            }
        }
    }

    /// All streams have begun of what is stored. What begins later may have been away meanwhile.
    pub(crate) fn all_have_begun(&self) {
        let mut found = lock(&self.found);
        found.values_mut().for_each(Tally::forgets_others);
    }

    /// The member that is connected may be another than the one before.
    pub(crate) fn is_in_doubt(&self) {
        for (_, report) in self.streams() {
            report.is_in_doubt();
        }
        self.update(|facts| facts.planned = None);
    }

    /// The facts now.
    pub(crate) fn facts(&self) -> Facts {
        lock(&self.facts).clone()
    }

    /// How every stream is doing now.
    pub(crate) fn progress(&self) -> Vec<(Arc<ResourceType>, Progress)> {
        lock(&self.streams)
            .iter()
            .map(|(resource, report)| (Arc::clone(resource), report.shown()))
            .collect()
    }

    /// The streams whose progress is shown.
    pub(crate) fn streams(&self) -> Streams {
        lock(&self.streams).clone()
    }

    /// The streams whose progress is shown from now on. They are told with every discovery, and seldom others.
    pub(crate) fn show_streams(&self, streams: Streams) {
        let mut shown = lock(&self.streams);
        let same = shown.len() == streams.len()
            && shown
                .iter()
                .zip(&streams)
                .all(|((a, before), (b, now))| Arc::ptr_eq(before, now) && a == b);
        if !same {
            *shown = streams;
            self.changed.notify_one();
        }
    }

    /// Whatever was done for the cluster broke off, and nothing of it runs. Its streams are told of by reports that they do not write any more.
    pub(crate) fn broke_off(&self, words: &str) {
        let stopped = |(resource, before): &(Arc<ResourceType>, Arc<Report>)| {
            let report = self.report(resource, before.shown().converted);
            report.stopped(None, words);
            (Arc::clone(resource), Arc::new(report))
        };
        let stopped = self.streams().iter().map(stopped).collect();
        self.show_streams(stopped);
        self.update(|facts| {
            facts.running = Running::Failed(words.to_owned());
            facts.health = MemberHealth::Unasked;
        });
    }

    /// The object was read on the control plane. Whoever keeps its status is told: he knows whether it is as he left it.
    pub(crate) fn read(&self, object: &Arc<PediaCluster>) {
        *lock(&self.object) = Some(Arc::clone(object));
        self.changed.notify_one();
    }

    /// The object as a watch told it since this was asked last.
    pub(crate) fn take_object(&self) -> Option<Arc<PediaCluster>> {
        lock(&self.object).take()
    }

    /// The cluster has this number in the store: that of its entry, or of a former one that it goes on with.
    pub(crate) fn entered(&self, cluster: ClusterId) {
        *lock(&self.entry) = Some(cluster);
    }

    /// Its number in the store, as far as it is known.
    pub(crate) fn entry(&self) -> Option<ClusterId> {
        *lock(&self.entry)
    }

    /// Told of every change, of reports as well.
    pub(crate) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::testing::named;

    fn stream(plural: &str, board: &Board) -> (Arc<ResourceType>, Arc<Report>) {
        let report = Report::new(Arc::clone(board.changed()), Timestamp::UNIX_EPOCH);
        (Arc::new(named(plural)), Arc::new(report))
    }

    #[test]
    fn streams_that_are_told_again_are_no_news() {
        let board = Board::default();
        let news = || board.changed().notified().now_or_never().is_some();
        let (pods, nodes) = (stream("pods", &board), stream("nodes", &board));
        board.show_streams(vec![pods.clone()]);
        assert!(news());
        board.show_streams(vec![pods.clone()]);
        assert!(!news());
        board.show_streams(vec![pods.clone(), nodes]);
        assert!(news());
        let began_anew = stream("pods", &board);
        board.show_streams(vec![pods]);
        assert!(news());
        board.show_streams(vec![began_anew]);
        assert!(news());
    }
}
