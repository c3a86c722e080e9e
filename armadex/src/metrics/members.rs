//! What a synchro counts, mostly for each cluster: a cluster that leaves takes its series with it.

use std::fmt;
use std::sync::Arc;

use armadex_synchro::{ClusterMetrics, Counter};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads the synchro's counters at each scrape.
#[derive(Debug)]
pub(super) struct Members(pub(super) Arc<armadex_synchro::Metrics>);

type Read = fn(&ClusterMetrics) -> &Counter;

const COUNTERS: &[(&str, &str, Read)] = &[
    (
        "member_received_bytes",
        "Bytes of lists and watches that came in",
        |m| &m.received_bytes,
    ),
    (
        "member_received_objects",
        "Objects and events that came in",
        |m| &m.received_objects,
    ),
    (
        "member_lists",
        "Lists begun; a restart should begin none",
        |m| &m.lists,
    ),
    ("member_watches", "Watches begun", |m| &m.watches),
    ("member_failures", "Lists and watches that failed", |m| {
        &m.failures
    }),
    ("sync_batches", "Batches written", |m| &m.batches),
    ("sync_added", "Objects that were new", |m| &m.added),
    ("sync_changed", "Objects that changed", |m| &m.changed),
    ("sync_deleted", "Objects that went away", |m| &m.deleted),
    ("sync_unchanged", "Objects that were stored already", |m| {
        &m.unchanged
    }),
    ("sync_skipped", "Objects that could not be stored", |m| {
        &m.skipped
    }),
    (
        "sync_store_retries",
        "Writes that the store was not available for",
        |m| &m.store_retries,
    ),
    (
        "audit_proved",
        "Resources that were compared with the member and are what it has",
        |m| &m.proved,
    ),
    (
        "audit_unproved",
        "Resources that could not be compared, or differ after a new list as well",
        |m| &m.unproved,
    ),
    (
        "audit_objects",
        "Objects that members listed for audits",
        |m| &m.audited_objects,
    ),
    (
        "audit_received_bytes",
        "Bytes that members sent for audits",
        |m| &m.audit_bytes,
    ),
    (
        "audit_differences",
        "Objects that were not stored as the member has them",
        |m| &m.differences,
    ),
    (
        "audit_mended",
        "Differences that a new list has put right",
        |m| &m.mended,
    ),
];

const GAUGES: &[(&str, &str, Read)] = &[
    (
        "cluster_up",
        "1 while the member answers its health check",
        |m| &m.healthy,
    ),
    ("sync_streams", "Streams that run", |m| &m.streams),
    (
        "sync_failing_streams",
        "Streams whose list or watch fails, or is held up, as status.syncResources says",
        |m| &m.failing_streams,
    ),
    (
        "sync_waiting_types",
        "Types that are new and wait, for there were many of them of late",
        |m| &m.waiting_types,
    ),
    (
        "sync_waiting_discoveries",
        "1 while the member waits for its turn to say what it serves",
        |m| &m.waiting_discoveries,
    ),
    (
        "audit_unproved_since_timestamp_seconds",
        "When all resources were what the member has last, or, if they never were, when the PediaCluster was made; 0: no audit is owed",
        |m| &m.unproved_since,
    ),
];

fn number(counter: &Counter) -> i64 {
    i64::try_from(counter.get()).unwrap_or(i64::MAX)
}

impl Collector for Members {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let purged = encoder.encode_descriptor(
            "sync_purged",
            "Rows removed after their cluster or type had left",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(self.0.purged.get()).encode(purged)?;
        let failed = encoder.encode_descriptor(
            "sync_events_failed",
            "Events that the control plane did not take",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(self.0.events_failed.get()).encode(failed)?;
        let around = encoder.encode_descriptor(
            "members_by_control_plane",
            "Members that the control plane is asked for, or is being asked for the first time",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(number(&self.0.by_control_plane)).encode(around)?;
        let clusters = self.0.clusters();
        for (name, help, read) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (cluster, counted) in &clusters {
                let labels = [("cluster", cluster.as_str())];
                ConstCounter::new(read(counted).get()).encode(family.encode_family(&labels)?)?;
            }
        }
        for (name, help, read) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (cluster, counted) in &clusters {
                let labels = [("cluster", cluster.as_str())];
                ConstGauge::new(number(read(counted))).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
