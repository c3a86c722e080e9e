//! How the API server is reached: whether it is registered, and until when its certificate is good.

use std::fmt;

use armadex_registration::{Standing, expires_at};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::sync::watch;

/// Whether it is registered.
#[derive(Debug)]
pub(super) struct Registration(pub(super) watch::Receiver<Standing>);

impl Collector for Registration {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let is_ok = *self.0.borrow() == Standing::Registered;
        let encoder = encoder.encode_descriptor(
            "registration_ok",
            "1 while the APIService is as this API server keeps it",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(i64::from(is_ok)).encode(encoder)
    }
}

/// The certificate that is shown, as PEM, when there is one.
#[derive(Debug)]
pub(super) struct Certificate(pub(super) watch::Receiver<Option<String>>);

impl Collector for Certificate {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let expires = self.0.borrow().as_deref().and_then(expires_at);
        let Some(expires) = expires else {
            return Ok(());
        };
        let encoder = encoder.encode_descriptor(
            "serving_certificate_expires_timestamp_seconds",
            "When the serving certificate runs out, in seconds since 1970",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(expires).encode(encoder)
    }
}
