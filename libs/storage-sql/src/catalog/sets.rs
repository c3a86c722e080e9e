//! The sets of types that clusters have, each once: members of a fleet differ by a type or a version, and most are alike.

use std::collections::BTreeSet;
use std::sync::Arc;

use armadex_model::GroupVersionResource;
use armadex_storage::SharedMap;

/// Numbers of types, sorted.
pub(super) type List = Arc<[i32]>;
/// What the API server sees of them. The names are those of the fleet's types, so another set takes a pointer for each.
pub(super) type Resources = Arc<BTreeSet<Arc<GroupVersionResource>>>;

/// Every set that some cluster has.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets(SharedMap<List, Set>);

#[derive(Clone, Debug)]
struct Set {
    resources: Resources,
    /// How many clusters have it.
    clusters: usize,
}

impl Sets {
    /// The list and the set that all have who have these types, of which there is one more.
    pub(super) fn take(
        &mut self,
        types: List,
        make: impl FnOnce(&[i32]) -> Resources,
    ) -> (List, Resources) {
        if let Some(set) = self.0.get_mut(&types) {
            set.clusters += 1;
            let resources = Arc::clone(&set.resources);
            let shared = self
                .0
                .get_key_value(&types)
                .map(|(list, _)| Arc::clone(list));
            return (shared.unwrap_or(types), resources);
        }
        let resources = make(&types);
        let set = Set {
            resources: Arc::clone(&resources),
            clusters: 1,
        };
        self.0.insert(Arc::clone(&types), set);
        (types, resources)
    }

    /// One cluster less has these types.
    pub(super) fn release(&mut self, types: &List) {
        if let Some(set) = self.0.get_mut(types) {
            set.clusters = set.clusters.saturating_sub(1);
        }
    }

    /// Forgets those of these that no cluster has any more.
    pub(super) fn forget_unused(&mut self, released: impl IntoIterator<Item = List>) {
        for types in released {
            if self.0.get(&types).is_some_and(|set| set.clusters == 0) {
                self.0.remove(&types);
            }
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
