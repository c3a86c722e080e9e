//! What `/metrics` says, by the names that operators expect: `armadex_<subsystem>_<what>_<unit>`.

mod leases;
mod members;
mod policies;
mod registration;
mod requests;
mod store;
mod token;

use std::path::PathBuf;
use std::sync::Arc;

use armadex_apiserver::Counters;
use armadex_control_plane::LeaseTerms;
use armadex_registration::Standing;
use armadex_storage_sql::SqlStore;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use leases::Leases;
use members::Members;
pub(crate) use policies::PolicyCounters;
use registration::{Certificate, Registration};
use requests::Requests;
use store::Store;
use token::Token;

/// The registry of this process.
pub(crate) struct Metrics {
    registry: Registry,
    leases: Leases,
}

impl Metrics {
    /// A registry that knows the build.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("armadex");
        let version = vec![("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        registry.register("build", "Version of this binary", Info::new(version));
        let leases = Leases::default();
        registry.register_collector(Box::new(leases.clone()));
        Self { registry, leases }
    }

    /// Shows until when the token is good by which the control plane is asked, if it is in a file.
    pub(crate) fn add_token(&mut self, file: Option<PathBuf>) {
        if let Some(file) = file {
            self.registry.register_collector(Box::new(Token(file)));
        }
    }

    /// Shows what a synchro counts.
    pub(crate) fn add_members(&mut self, counted: Arc<armadex_synchro::Metrics>) {
        self.registry.register_collector(Box::new(Members(counted)));
    }

    /// Shows what the policy controllers count.
    pub(crate) fn add_policies(&mut self, counted: PolicyCounters) {
        self.registry.register_collector(Box::new(counted));
    }

    /// Shows whether this process has a Lease.
    pub(crate) fn add_lease(&mut self, lease: &LeaseTerms) {
        self.leases.add(lease.clone());
    }

    /// Shows whether an API server is registered.
    pub(crate) fn add_registration(&mut self, standing: watch::Receiver<Standing>) {
        let shown = Registration(standing);
        self.registry.register_collector(Box::new(shown));
    }

    /// Shows until when the certificate is good that an API server shows, as PEM.
    pub(crate) fn add_certificate(&mut self, pem: watch::Receiver<Option<String>>) {
        self.registry.register_collector(Box::new(Certificate(pem)));
    }

    /// Shows what an API server counts.
    pub(crate) fn add_requests(&mut self, counted: Arc<Counters>) {
        self.registry
            .register_collector(Box::new(Requests(counted)));
    }

    /// Shows how the store has been.
    pub(crate) fn add_store(&mut self, store: Arc<SqlStore>) {
        self.registry.register_collector(Box::new(Store(store)));
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
    use std::fmt;
    use std::time::Duration;

    use armadex_control_plane::LeaseStanding;
    use armadex_policy::{CounterValues, States};
    use armadex_storage_sql::{Availability, Past};
    use armadex_synchro::{ClusterMetrics, Counter};
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::DescriptorEncoder;

    use super::store::Told;
    use super::*;

    /// Shows values that stand still.
    struct Fixed<T>(T, fn(T, DescriptorEncoder<'_>) -> fmt::Result);

    impl<T> fmt::Debug for Fixed<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Fixed")
        }
    }

    impl<T: Copy + Send + Sync + 'static> Collector for Fixed<T> {
        fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
            (self.1)(self.0, encoder)
        }
    }

    /// The samples that a collector of these values tells, in the order of their names.
    fn samples<T: Copy + Send + Sync + 'static>(
        values: T,
        encode: fn(T, DescriptorEncoder<'_>) -> fmt::Result,
    ) -> Vec<String> {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("armadex"),
            leases: Leases::default(),
        };
        let fixed = Fixed(values, encode);
        metrics.registry.register_collector(Box::new(fixed));
        let text = metrics.encode();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let mut samples: Vec<_> = samples.map(str::to_owned).collect();
        samples.sort_unstable();
        samples
    }

    /// Each number of a cluster by the name that operators know it by, in the order of the names.
    fn named(cluster: &ClusterMetrics) -> [(&'static str, &Counter); 24] {
        let ClusterMetrics {
            received_bytes,
            received_objects,
            lists,
            watches,
            failures,
            batches,
            added,
            changed,
            deleted,
            unchanged,
            skipped,
            store_retries,
            healthy,
            streams,
            failing_streams,
            waiting_types,
            waiting_discoveries,
            proved,
            unproved,
            audited_objects,
            audit_bytes,
            differences,
            mended,
            unproved_since,
        } = cluster;
        [
            ("audit_differences_total", differences),
            ("audit_mended_total", mended),
            ("audit_objects_total", audited_objects),
            ("audit_proved_total", proved),
            ("audit_received_bytes_total", audit_bytes),
            ("audit_unproved_since_timestamp_seconds", unproved_since),
            ("audit_unproved_total", unproved),
            ("cluster_up", healthy),
            ("member_failures_total", failures),
            ("member_lists_total", lists),
            ("member_received_bytes_total", received_bytes),
            ("member_received_objects_total", received_objects),
            ("member_watches_total", watches),
            ("sync_added_total", added),
            ("sync_batches_total", batches),
            ("sync_changed_total", changed),
            ("sync_deleted_total", deleted),
            ("sync_failing_streams", failing_streams),
            ("sync_skipped_total", skipped),
            ("sync_store_retries_total", store_retries),
            ("sync_streams", streams),
            ("sync_unchanged_total", unchanged),
            ("sync_waiting_discoveries", waiting_discoveries),
            ("sync_waiting_types", waiting_types),
        ]
    }

    #[test]
    fn every_number_of_a_cluster_has_its_own_name() {
        let counted = Arc::<armadex_synchro::Metrics>::default();
        let cluster = counted.of(&"m1".parse().unwrap());
        let mut expected = Vec::new();
        for (value, (name, counter)) in (100..).zip(named(&cluster)) {
            counter.set(value);
            expected.push(format!("armadex_{name}{{cluster=\"m1\"}} {value}"));
        }
        let mut metrics = Metrics::new();
        metrics.add_members(counted);
        let text = metrics.encode();
        let mut told: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("cluster="))
            .collect();
        told.sort_unstable();
        assert_eq!(told, expected);
    }

    /// The file is another one's to write, at any time.
    #[test]
    fn a_token_is_told_of_as_it_is_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let mut metrics = Metrics::new();
        metrics.add_token(Some(file.clone()));
        let told = |metrics: &Metrics| {
            let text = metrics.encode();
            let samples = text
                .lines()
                .filter(|line| line.starts_with("armadex_control"));
            samples.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(told(&metrics), [""; 0]);
        for expires in [100, 200] {
            let claims = serde_json::json!({"iat": 7, "exp": expires});
            std::fs::write(&file, crate::token::token(&claims)).expect("written");
            let expected = [
                "armadex_control_plane_token_issued_timestamp_seconds 7".to_owned(),
                format!("armadex_control_plane_token_expires_timestamp_seconds {expires}"),
            ];
            assert_eq!(told(&metrics), expected);
        }
    }

    #[test]
    fn every_number_of_the_api_server_has_its_own_name() {
        let values = armadex_apiserver::CounterValues {
            requests: 1,
            refused: 2,
            failed: 3,
            broken_off: 4,
            rows: 5,
            bytes: 6,
            reviews: 7,
            in_flight: 8,
            connections: 9,
            held_bytes: 10,
            stalled: 11,
            evicted: 12,
        };
        let expected = [
            "armadex_apiserver_broken_off_total 4",
            "armadex_apiserver_bytes_total 6",
            "armadex_apiserver_connections 9",
            "armadex_apiserver_evicted_connections_total 12",
            "armadex_apiserver_failed_total 3",
            "armadex_apiserver_held_bytes 10",
            "armadex_apiserver_in_flight 8",
            "armadex_apiserver_refused_total 2",
            "armadex_apiserver_requests_total 1",
            "armadex_apiserver_reviews_total 7",
            "armadex_apiserver_rows_total 5",
            "armadex_apiserver_stalled_total 11",
        ];
        assert_eq!(samples(values, requests::encode), expected);
    }

    #[test]
    fn every_number_of_the_policy_controllers_has_its_own_name() {
        let values = |first: u64| CounterValues {
            reconciles: first,
            plans: first + 1,
            failures: first + 2,
            walked: first + 3,
            rendered: first + 4,
            parsed: first + 5,
            states: States {
                working: first + 6,
                partly: first + 8,
                failing: first + 7,
            },
        };
        let of =
            |kind, name, value| format!("armadex_policy_{name}_total{{kind=\"{kind}\"}} {value}");
        let states = |kind, state, value| {
            format!("armadex_policy_objects{{kind=\"{kind}\",state=\"{state}\"}} {value}")
        };
        let (policy, lifecycle) = ("ClusterImportPolicy", "PediaClusterLifecycle");
        let expected = [
            of(policy, "failures", 3),
            of(lifecycle, "failures", 13),
            states(policy, "failing", 8),
            states(policy, "partly", 9),
            states(policy, "working", 7),
            states(lifecycle, "failing", 18),
            states(lifecycle, "partly", 19),
            states(lifecycle, "working", 17),
            of(policy, "plans", 2),
            of(lifecycle, "plans", 12),
            of(policy, "reconciles", 1),
            of(lifecycle, "reconciles", 11),
            of(policy, "sources_parsed", 6),
            of(lifecycle, "sources_parsed", 16),
            "armadex_policy_sources_rendered_total 5".to_owned(),
            "armadex_policy_sources_walked_total 4".to_owned(),
        ];
        assert_eq!(samples((values(1), values(11)), policies::encode), expected);
    }

    #[test]
    fn which_leases_a_process_has_is_told() {
        let mut metrics = Metrics::new();
        let of = |name| LeaseTerms::of_this_process("own", name);
        let (held, awaited) = (of("armadex-controllers"), of("armadex-synchro-1"));
        held.standing.send_replace(LeaseStanding::Holds);
        metrics.add_lease(&held);
        metrics.add_lease(&awaited);
        let text = metrics.encode();
        let told = text.lines().filter(|line| line.contains("lease="));
        assert_eq!(
            Vec::from_iter(told),
            [
                "armadex_lease_held{lease=\"armadex-controllers\"} 1",
                "armadex_lease_held{lease=\"armadex-synchro-1\"} 0",
            ]
        );
    }

    #[test]
    fn how_an_api_server_is_reached_is_told() {
        let (standing, stands) = watch::channel(Standing::Registered);
        let (shows, shown) = watch::channel(None);
        let mut metrics = Metrics::new();
        metrics.add_registration(stands);
        metrics.add_certificate(shown);
        let told = |metrics: &Metrics| {
            let text = metrics.encode();
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let mut lines: Vec<String> = lines.map(str::to_owned).collect();
            lines.retain(|line| !line.starts_with("armadex_build"));
            lines
        };
        assert_eq!(told(&metrics), ["armadex_registration_ok 1"]);
        standing.send_replace(Standing::Disturbed("it leads elsewhere".to_owned()));
        shows.send_replace(Some(certificate()));
        let told = told(&metrics);
        assert!(
            told.contains(&"armadex_registration_ok 0".to_owned()),
            "{told:?}"
        );
        let expires = told.iter().find_map(|line| {
            line.strip_prefix("armadex_serving_certificate_expires_timestamp_seconds ")
        });
        let expires: i64 = expires.expect("it is told").parse().expect("a number");
        assert!(expires > 1_800_000_000, "{expires}");
    }

    /// One that is made at a start, good for a year.
    fn certificate() -> String {
        let made = armadex_apiserver::SelfMade::for_names(&["localhost".to_owned()]);
        made.expect("it is made").ca_pem().to_owned()
    }

    #[test]
    fn every_number_of_the_store_has_its_own_name() {
        let written = Told {
            availability: Availability {
                reads: true,
                writes: false,
                outages: 1,
                refused: 2,
            },
            is_written: true,
            past: Some(Past {
                bytes: 3,
                age: Duration::from_secs(4),
            }),
            history: Some(Past {
                bytes: 5,
                age: Duration::from_secs(6),
            }),
        };
        let read = Told {
            is_written: false,
            past: None,
            history: None,
            ..written
        };
        let expected = [
            "armadex_store_history_bytes 5",
            "armadex_store_history_seconds 6",
            "armadex_store_outages_total 1",
            "armadex_store_past_bytes 3",
            "armadex_store_past_seconds 4",
            "armadex_store_readable 1",
            "armadex_store_refused_total 2",
            "armadex_store_writable 0",
        ];
        assert_eq!(samples(written, store::encode), expected);
        let of_replica = [expected[2], expected[5], expected[6]];
        assert_eq!(samples(read, store::encode), of_replica);
    }

    #[tokio::test]
    async fn every_name_has_the_prefix_and_the_unit_of_its_kind() {
        let mut metrics = Metrics::new();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.db");
        let store = SqlStore::sqlite(&path, &armadex_storage_sql::Options::default()).await;
        metrics.add_store(Arc::new(store.expect("a store")));
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
        assert!(text.contains("armadex_store_writable 1"), "{text}");
        assert!(text.contains("armadex_store_outages_total 0"), "{text}");
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        assert!(samples.clone().count() > 5, "{text}");
        assert!(
            samples.clone().all(|line| line.starts_with("armadex_")),
            "{text}"
        );
    }
}
