//! The version that the fleet answers with: the highest of all clusters.

use armadex_storage::Catalog;

use crate::discovery;

/// The highest version of these clusters; `None` while none is known.
pub(super) fn fleet_version(catalog: &Catalog) -> Option<String> {
    let entries = catalog.clusters.values();
    let versions = entries.filter_map(|entry| entry.version.as_deref());
    discovery::highest(versions).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_model::ClusterLabels;
    use armadex_storage::ClusterEntry;
    use armadex_storage::conformance::fixture::name;

    use super::*;

    #[track_caller]
    fn check(versions: &[(&str, Option<&str>)], highest: Option<&str>) {
        let clusters = versions.iter().map(|(cluster, version)| {
            let entry = ClusterEntry {
                health: None,
                version: version.map(str::to_owned),
                labels: ClusterLabels::default(),
                resources: Arc::default(),
            };
            (name(cluster), Arc::new(entry))
        });
        let catalog = Catalog {
            clusters: clusters.collect(),
            ..Catalog::default()
        };
        assert_eq!(fleet_version(&catalog).as_deref(), highest);
    }

    #[test]
    fn it_is_the_highest_of_all_clusters() {
        check(
            &[("m1", Some("v1.36.1")), ("m2", Some("v1.9.0"))],
            Some("v1.36.1"),
        );
        check(
            &[("m1", Some("v1.36.1")), ("m2", Some("v1.37.0"))],
            Some("v1.37.0"),
        );
        check(&[("m1", None)], None);
        check(&[], None);
    }
}
