//! What `/metrics` says, by the names that operators expect: `armadex_<subsystem>_<what>_<unit>`.

mod members;
mod requests;

use std::sync::Arc;

use armadex_apiserver::Counters;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use members::Members;
use requests::Requests;

/// The registry of this process.
pub(crate) struct Metrics {
    registry: Registry,
}

impl Metrics {
    /// A registry that knows the build.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("armadex");
        let version = vec![("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        registry.register("build", "Version of this binary", Info::new(version));
        Self { registry }
    }

    /// Shows what a synchro counts.
    pub(crate) fn add_members(&mut self, counted: Arc<armadex_synchro::Metrics>) {
        self.registry.register_collector(Box::new(Members(counted)));
    }

    /// Shows what an API server counts.
    pub(crate) fn add_requests(&mut self, counted: Arc<Counters>) {
        self.registry
            .register_collector(Box::new(Requests(counted)));
    }

    /// The OpenMetrics text.
    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_the_prefix_and_the_unit_of_its_kind() {
        let mut metrics = Metrics::new();
        metrics.add_members(Arc::default());
        metrics.add_requests(Arc::default());
        let text = metrics.encode();
        assert!(
            text.contains("armadex_apiserver_requests_total 0"),
            "{text}"
        );
        assert!(
            text.contains("# TYPE armadex_member_lists counter"),
            "{text}"
        );
        assert!(text.contains("armadex_sync_purged_total 0"), "{text}");
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        assert!(samples.clone().count() > 5, "{text}");
        assert!(
            samples.clone().all(|line| line.starts_with("armadex_")),
            "{text}"
        );
    }
}
