//! The cluster that is audited, and what is remembered of its audits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_model::{ClusterName, GroupVersionResource};
use armadex_storage::ClusterId;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::audit::comparison::Hashes;
use crate::audit::schedule;
use crate::config::Shared;
use crate::lock::lock;
use crate::stream::Connected;
use crate::told::board::Board;
use crate::told::metrics::ClusterMetrics;

/// A cluster whose member is connected.
pub(crate) struct AuditedCluster {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: ClusterName,
    pub(crate) id: ClusterId,
    pub(crate) board: Arc<Board>,
    pub(crate) metrics: Arc<ClusterMetrics>,
    pub(crate) connected: Arc<Connected>,
    pub(crate) audits: Arc<Audits>,
}

/// What stays while sessions with the member come and go.
#[derive(Debug)]
pub(crate) struct Audits {
    pub(super) hashes: Hashes,
    /// When the next one begins by itself; `None`: never.
    due: Mutex<Option<Instant>>,
    /// What was wrong after a list as well, by type: no further list is made for it.
    stubborn: Mutex<BTreeMap<GroupVersionResource, BTreeSet<u64>>>,
}

impl Audits {
    /// `last` is when the last one ended, whichever process made it.
    pub(crate) fn new(period: Duration, last: Option<Timestamp>) -> Self {
        let since = last.map(|last| Timestamp::now().duration_since(last));
        let since = since.map(|since| Duration::try_from(since).unwrap_or_default());
        let first = || Instant::now() + schedule::first(period, since, rand::random());
        Self {
            hashes: Hashes::default(),
            due: Mutex::new((!period.is_zero()).then(first)),
            stubborn: Mutex::default(),
        }
    }

    pub(super) async fn is_due(&self) {
        let due = *lock(&self.due);
        match due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn again_after(&self, period: Duration) {
        let mut due = lock(&self.due);
        if due.is_some() {
            *due = Some(Instant::now() + schedule::next(period, rand::random()));
        }
    }

    /// Whether a list has left all of this as it is, and nothing has put it right since.
    pub(super) fn is_stubborn(&self, gvr: &GroupVersionResource, wrong: &BTreeSet<u64>) -> bool {
        let stubborn = lock(&self.stubborn);
        stubborn
            .get(gvr)
            .is_some_and(|known| wrong.is_subset(known))
    }

    /// All that is wrong and was before a list as well; of the type nothing else is remembered.
    pub(super) fn remains(&self, gvr: &GroupVersionResource, wrong: &BTreeSet<u64>) {
        let mut stubborn = lock(&self.stubborn);
        if wrong.is_empty() {
            stubborn.remove(gvr);
        } else {
            stubborn.insert(gvr.clone(), wrong.clone());
        }
    }
}
