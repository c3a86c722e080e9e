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

impl Collector for Requests {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        encode(self.0.read(), encoder)
    }
}

#[expect(clippy::too_many_lines, reason = "one table of every counter")]
pub(super) fn encode(values: CounterValues, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
    let CounterValues {
        requests,
        refused,
        failed,
        broken_off,
        rows,
        bytes,
        reviews,
        in_flight,
        connections,
        held_bytes,
        stalled,
        evicted,
    } = values;
    let counters = [
        ("apiserver_requests", "Requests answered", requests),
        (
            "apiserver_refused",
            "Requests refused with a code of the 400s",
            refused,
        ),
        (
            "apiserver_failed",
            "Requests failed with a code of the 500s",
            failed,
        ),
        (
            "apiserver_broken_off",
            "Answers that broke off in the middle",
            broken_off,
        ),
        ("apiserver_rows", "Objects served", rows),
        ("apiserver_bytes", "Bytes of bodies made", bytes),
        (
            "apiserver_reviews",
            "Reviews asked of the control plane",
            reviews,
        ),
        (
            "apiserver_stalled",
            "Answers given up because their client took nothing",
            stalled,
        ),
        (
            "apiserver_evicted_connections",
            "Connections closed to make room for others",
            evicted,
        ),
    ];
    for (name, help, value) in counters {
        let family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(family)?;
    }
    let gauges = [
        ("apiserver_in_flight", "Requests being served", in_flight),
        ("apiserver_connections", "Connections open", connections),
        (
            "apiserver_held_bytes",
            "Bytes read or made for clients and not yet taken",
            held_bytes,
        ),
    ];
    for (name, help, value) in gauges {
        let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(family)?;
    }
    Ok(())
}
