//! What an API server counts.

use std::fmt;
use std::sync::Arc;

use armadex_apiserver::{CounterValues, Counters};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads the API server's counters at each scrape.
#[derive(Debug)]
pub(super) struct Requests(pub(super) Arc<Counters>);

/// The name, the help and the value of each.
type Told<const N: usize> = [(&'static str, &'static str, u64); N];

impl Collector for Requests {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let values = self.0.read();
        for (name, help, value) in counters(&values) {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(family)?;
        }
        for (name, help, value) in gauges(&values) {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(family)?;
        }
        Ok(())
    }
}

fn counters(values: &CounterValues) -> Told<9> {
    [
        ("apiserver_requests", "Requests answered", values.requests),
        (
            "apiserver_refused",
            "Requests refused with a code of the 400s",
            values.refused,
        ),
        (
            "apiserver_failed",
            "Requests failed with a code of the 500s",
            values.failed,
        ),
        (
            "apiserver_broken_off",
            "Answers that broke off in the middle",
            values.broken_off,
        ),
        ("apiserver_rows", "Objects served", values.rows),
        ("apiserver_bytes", "Bytes of bodies made", values.bytes),
        (
            "apiserver_reviews",
            "Reviews asked of the control plane",
            values.reviews,
        ),
        (
            "apiserver_stalled",
            "Answers given up because their client took nothing",
            values.stalled,
        ),
        (
            "apiserver_evicted_connections",
            "Connections closed to make room for others",
            values.evicted,
        ),
    ]
}

fn gauges(values: &CounterValues) -> Told<3> {
    [
        (
            "apiserver_in_flight",
            "Requests being served",
            values.in_flight,
        ),
        (
            "apiserver_connections",
            "Connections open",
            values.connections,
        ),
        (
            "apiserver_held_bytes",
            "Bytes read or made for clients and not yet taken",
            values.held_bytes,
        ),
    ]
}
