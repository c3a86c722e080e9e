//! Until when the token is good by which the control plane is asked.

use std::fmt;
use std::path::PathBuf;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::token::Claims;

/// The file that it is in, which is read at each scrape as it is for requests: somebody else writes a new one.
#[derive(Debug)]
pub(super) struct Token(pub(super) PathBuf);

impl Collector for Token {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let Some(Claims {
            issued, expires, ..
        }) = Claims::of(&text)
        else {
            return Ok(());
        };
        for (name, help, value) in [
            (
                "control_plane_token_issued_timestamp_seconds",
                "When the token was issued by which the control plane is asked, in seconds since 1970",
                issued,
            ),
            (
                "control_plane_token_expires_timestamp_seconds",
                "When it runs out, in seconds since 1970",
                expires,
            ),
        ] {
            let encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(encoder)?;
        }
        Ok(())
    }
}
