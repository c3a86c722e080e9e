//! What the policy controllers count.

use std::fmt;
use std::sync::Arc;

use armadex_policy::{CounterValues, Counters};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The counters of both controllers.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyCounters {
    /// Of ClusterImportPolicies.
    pub(crate) policies: Arc<Counters>,
    /// Of PediaClusterLifecycles.
    pub(crate) lifecycles: Arc<Counters>,
}

impl Collector for PolicyCounters {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        encode((self.policies.values(), self.lifecycles.values()), encoder)
    }
}

type Read = fn(&CounterValues) -> u64;

const OF_BOTH: [(&str, &str, Read); 4] = [
    (
        "policy_reconciles",
        "Looks at an object of this kind",
        |c| c.reconciles,
    ),
    (
        "policy_plans",
        "Looks that could not be spared, for something had changed that may matter",
        |c| c.plans,
    ),
    (
        "policy_failures",
        "Looks that failed and are tried again",
        |c| c.failures,
    ),
    (
        "policy_sources_parsed",
        "Source objects that were parsed for an object of this kind",
        |c| c.parsed,
    ),
];

const STATES: [(&str, Read); 3] = [
    ("working", |c| c.states.working),
    ("partly", |c| c.states.partly),
    ("failing", |c| c.states.failing),
];

const OF_SOURCES: [(&str, &str, Read); 2] = [
    (
        "policy_sources_walked",
        "Source objects that policies went over",
        |c| c.walked,
    ),
    (
        "policy_sources_rendered",
        "Source objects whose name a policy rendered",
        |c| c.rendered,
    ),
];

/// Of policies and of lifecycles. Only the former go over source objects.
pub(super) fn encode(
    (policies, lifecycles): (CounterValues, CounterValues),
    mut encoder: DescriptorEncoder<'_>,
) -> fmt::Result {
    let of_kinds = [
        ("ClusterImportPolicy", &policies),
        ("PediaClusterLifecycle", &lifecycles),
    ];
    for (name, help, read) in OF_BOTH {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (kind, counted) in of_kinds {
            let labels = [("kind", kind)];
            ConstCounter::new(read(counted)).encode(family.encode_family(&labels)?)?;
        }
    }
    let (name, help) = (
        "policy_objects",
        "Objects of this kind whose conditions are true, or not yet in the usual course, and those that something stands in the way of, of some of what they are about or of all of it",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (kind, counted) in of_kinds {
        for (state, read) in STATES {
            let labels = [("kind", kind), ("state", state)];
            let value = i64::try_from(read(counted)).unwrap_or(i64::MAX);
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
    }
    for (name, help, read) in OF_SOURCES {
        let sample = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(read(&policies)).encode(sample)?;
    }
    Ok(())
}
