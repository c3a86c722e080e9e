//! How the store has been.

use std::fmt;
use std::sync::Arc;

use armadex_storage_sql::{Availability, Past, SqlStore};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads how the store is at each scrape.
pub(super) struct Store(pub(super) Arc<SqlStore>);

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

impl Collector for Store {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let told = Told {
            availability: self.0.availability(),
            is_written: !self.0.is_replica(),
            past: self.0.past(),
            history: self.0.history(),
        };
        encode(told, encoder)
    }
}

/// What is told of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) availability: Availability,
    /// Of one that is only read nobody knows whether it could be written to.
    pub(super) is_written: bool,
    pub(super) past: Option<Past>,
    pub(super) history: Option<Past>,
}

pub(super) fn encode(told: Told, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
    let Told {
        availability,
        is_written,
        past,
        history,
    } = told;
    let Availability {
        reads,
        writes,
        outages,
        refused,
    } = availability;
    let gauges = [
        (
            "store_readable",
            "Whether the store answered when it was last asked",
            Some(u64::from(reads)),
        ),
        (
            "store_writable",
            "Whether the store could be written to when that was last tried",
            is_written.then_some(u64::from(writes)),
        ),
    ];
    for (name, help, value) in gauges.into_iter().chain(kept(past, history)) {
        let Some(value) = value else { continue };
        let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(family)?;
    }
    for (name, help, value) in [
        (
            "store_outages",
            "Times that the store stopped to answer, or to take changes",
            outages,
        ),
        (
            "store_refused",
            "Calls that were refused at once during an outage",
            refused,
        ),
    ] {
        let family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(family)?;
    }
    Ok(())
}

/// What is told of the past: name, help and value.
type Gauge = (&'static str, &'static str, Option<u64>);

fn kept(past: Option<Past>, history: Option<Past>) -> [Gauge; 4] {
    let seconds = |past: Past| past.age.as_secs();
    [
        (
            "store_past_bytes",
            "Superseded versions that are kept, where this process does the store's periodic work",
            past.map(|past| past.bytes),
        ),
        (
            "store_past_seconds",
            "Time since the oldest of them was superseded",
            past.map(seconds),
        ),
        (
            "store_history_bytes",
            "Superseded versions of types with a history that are kept, where this process does the store's periodic work",
            history.map(|history| history.bytes),
        ),
        (
            "store_history_seconds",
            "Time since the oldest of them was superseded",
            history.map(seconds),
        ),
    ]
}
