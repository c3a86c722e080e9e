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
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Availability {
            reads,
            writes,
            outages,
            refused,
        } = self.0.availability();
        for (name, help, value) in [
            (
                "store_readable",
                "Whether the store answered when it was last asked",
                reads,
            ),
            (
                "store_writable",
                "Whether the store could be written to when that was last tried",
                writes,
            ),
        ] {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::from(value)).encode(family)?;
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
        let Some(Past { bytes, age }) = self.0.past() else {
            return Ok(());
        };
        for (name, help, value) in [
            (
                "store_past_bytes",
                "Superseded versions that are kept, where this process does the store's periodic work",
                bytes,
            ),
            (
                "store_past_seconds",
                "Time since the oldest of them was superseded",
                age.as_secs(),
            ),
        ] {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(family)?;
        }
        Ok(())
    }
}
