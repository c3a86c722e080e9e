//! Counters that the write path only adds to; whoever serves metrics reads them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use armadex_model::ClusterName;
use armadex_storage::Written;
use jiff::Timestamp;

use crate::lock::lock;

/// What is counted over all clusters, and for each for as long as it is looked after here, so their number is bounded.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Rows that were removed after their cluster or type had left.
    pub purged: Counter,
    /// Events that the control plane did not take.
    pub events_failed: Counter,
    /// Members that the control plane is asked for, be it for the first time.
    pub by_control_plane: Counter,
    clusters: Mutex<BTreeMap<ClusterName, Weak<ClusterMetrics>>>,
}

/// A number that only grows, or one that is set.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

/// What happened with one cluster since the process began.
#[derive(Debug, Default)]
pub struct ClusterMetrics {
    /// Bytes of lists and watches that came in.
    pub received_bytes: Counter,
    /// Objects of lists and events of watches that came in.
    pub received_objects: Counter,
    /// Lists that were begun: a restart should begin none.
    pub lists: Counter,
    /// Watches that were begun.
    pub watches: Counter,
    /// Requests for lists and watches that failed.
    pub failures: Counter,
    /// Batches that were written.
    pub batches: Counter,
    /// Objects that were new.
    pub added: Counter,
    /// Objects that changed.
    pub changed: Counter,
    /// Objects that went away.
    pub deleted: Counter,
    /// Objects that were stored already.
    pub unchanged: Counter,
    /// Objects that were left out.
    pub skipped: Counter,
    /// Writes that the store was not available for.
    pub store_retries: Counter,
    /// 1 while the member answers.
    pub healthy: Counter,
    /// Streams that run.
    pub streams: Counter,
    /// Those of them whose list or watch fails, or is held up.
    pub failing_streams: Counter,
    /// Types that are new and wait, for there were many of them of late.
    pub waiting_types: Counter,
    /// 1 while it waits for its turn to say what it serves.
    pub waiting_discoveries: Counter,
    /// Types that were compared with the member and are what it has.
    pub proved: Counter,
    /// Types that could not be compared, or differ after a new list as well.
    pub unproved: Counter,
    /// Objects that the member listed for that.
    pub audited_objects: Counter,
    /// Bytes that it sent for that.
    pub audit_bytes: Counter,
    /// Objects that were not stored as the member has them.
    pub differences: Counter,
    /// Those that a new list has put right.
    pub mended: Counter,
    /// When all types were what the member has last, in seconds since 1970; where they never were, when the PediaCluster was made. 0: nobody owes a proof.
    pub unproved_since: Counter,
}

impl Counter {
    /// Its value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Of one that is set.
    pub(crate) fn subtract(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    /// Sets it.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Sets it to a time, in seconds since 1970.
    pub(crate) fn set_time(&self, time: Timestamp) {
        self.set(u64::try_from(time.as_second()).unwrap_or_default());
    }
}

impl ClusterMetrics {
    pub(crate) fn wrote(&self, written: Written) {
        let Written {
            added,
            changed,
            deleted,
            unchanged,
            bytes: _,
        } = written;
        self.batches.add(1);
        self.added.add(added);
        self.changed.add(changed);
        self.deleted.add(deleted);
        self.unchanged.add(unchanged);
    }
}

impl Metrics {
    /// The counters of every cluster, by name.
    #[must_use]
    pub fn clusters(&self) -> Vec<(ClusterName, Arc<ClusterMetrics>)> {
        let mut clusters = lock(&self.clusters);
        clusters.retain(|_, metrics| metrics.strong_count() > 0);
        clusters
            .iter()
            .filter_map(|(name, metrics)| Some((name.clone(), metrics.upgrade()?)))
            .collect()
    }

    /// How many clusters there are.
    pub(crate) fn number(&self) -> usize {
        let mut clusters = lock(&self.clusters);
        clusters.retain(|_, metrics| metrics.strong_count() > 0);
        clusters.len()
    }

    /// Those of one cluster, which are there for as long as somebody holds them.
    pub fn of(&self, cluster: &ClusterName) -> Arc<ClusterMetrics> {
        let mut clusters = lock(&self.clusters);
        if let Some(metrics) = clusters.get(cluster).and_then(Weak::upgrade) {
            return metrics;
        }
        let metrics = Arc::<ClusterMetrics>::default();
        clusters.insert(cluster.clone(), Arc::downgrade(&metrics));
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_counted_for_as_long_as_it_is_looked_after() {
        let metrics = Metrics::default();
        let name = ClusterName::new("member1").unwrap();
        let former = metrics.of(&name);
        former.lists.add(1);
        let now = metrics.of(&name);
        drop(former);
        assert_eq!(metrics.clusters()[0].1.lists.get(), 1);
        assert_eq!(metrics.number(), 1);
        drop(now);
        assert_eq!(metrics.number(), 0);
        assert!(metrics.clusters().is_empty());
        assert_eq!(metrics.of(&name).lists.get(), 0, "it counts anew");
    }
}
