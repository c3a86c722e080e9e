//! The version that the fleet answers with: the highest of all clusters, looked for when the catalogue has changed and not for each request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use armadex_storage::Catalog;

use crate::discovery;

/// What was found last.
#[derive(Default)]
pub(super) struct FleetVersion {
    found: ArcSwapOption<Found>,
    searches: AtomicU64,
}

/// The catalogue keeps its place as long as it is named here, so that no other is taken for it; what was in it is held by those who use it.
struct Found {
    catalog: Weak<Catalog>,
    version: Option<String>,
}

impl FleetVersion {
    /// The highest version of this catalogue's clusters; `None` while none is known.
    pub(super) fn of(&self, catalog: &Arc<Catalog>) -> Option<String> {
        if let Some(found) = &*self.found.load()
            && std::ptr::eq(found.catalog.as_ptr(), Arc::as_ptr(catalog))
        {
            return found.version.clone();
        }
        self.searches.fetch_add(1, Ordering::Relaxed);
        let entries = catalog.clusters.values();
        let versions = entries.filter_map(|entry| entry.version.as_deref());
        let version = discovery::highest(versions).map(str::to_owned);
        self.found.store(Some(Arc::new(Found {
            catalog: Arc::downgrade(catalog),
            version: version.clone(),
        })));
        version
    }
}

#[cfg(test)]
mod tests {
    use armadex_storage::ClusterEntry;
    use armadex_storage::conformance::fixture::name;

    use super::*;

    fn catalog(versions: &[(&str, Option<&str>)]) -> Arc<Catalog> {
        let clusters = versions.iter().map(|(cluster, version)| {
            let entry = ClusterEntry {
                health: None,
                version: version.map(str::to_owned),
                resources: Arc::default(),
            };
            (name(cluster), Arc::new(entry))
        });
        Arc::new(Catalog {
            clusters: clusters.collect(),
            ..Catalog::default()
        })
    }

    #[test]
    fn the_highest_is_looked_for_once_for_each_catalogue() {
        let fleet = FleetVersion::default();
        let some = [("m1", Some("v1.36.1")), ("m2", Some("v1.9.0"))];
        let more = [("m1", Some("v1.36.1")), ("m2", Some("v1.37.0"))];
        for (number, (versions, highest)) in [
            (&some[..], Some("v1.36.1")),
            (&more, Some("v1.37.0")),
            (&[("m1", None)], None),
            (&[], None),
        ]
        .into_iter()
        .enumerate()
        {
            let catalog = catalog(versions);
            for _ in 0..3 {
                assert_eq!(fleet.of(&catalog).as_deref(), highest);
            }
            let searches = fleet.searches.load(Ordering::Relaxed);
            assert_eq!(searches, number as u64 + 1);
        }
    }
}
