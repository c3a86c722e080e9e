//! Which Leases this process has.

use std::fmt;
use std::sync::{Arc, Mutex};

use armadex_control_plane::{LeaseStanding, LeaseTerms, lock};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

/// Those that it would have, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases(Arc<Mutex<Vec<LeaseTerms>>>);

impl Leases {
    pub(super) fn add(&self, lease: LeaseTerms) {
        let mut leases = lock(&self.0);
        leases.push(lease);
    }

    fn all(&self) -> Vec<LeaseTerms> {
        let leases = lock(&self.0);
        leases.clone()
    }
}

impl Collector for Leases {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let leases = self.all();
        if leases.is_empty() {
            return Ok(());
        }
        let mut family = encoder.encode_descriptor(
            "lease_held",
            "1 while this process has the Lease, or one of those who share the work, and does its work",
            None,
            MetricType::Gauge,
        )?;
        for lease in leases {
            let labels = [("lease", lease.name.as_str())];
            let holds = *lease.standing.borrow() == LeaseStanding::Holds;
            ConstGauge::new(i64::from(holds)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
