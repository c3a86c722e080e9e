//! The clusters of a catalogue that may be behind, sorted so that those of a list are found without looking at all of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use armadex_model::query::{Scope, Searched};
use armadex_model::{ClusterName, GroupVersionResource, NameFilter};
use armadex_storage::{Catalog, ClusterEntry};

use crate::answer::listing::Extent;

/// Clusters that may be behind.
#[derive(Default)]
pub(super) struct Unhealthy {
    groups: Vec<Group>,
}

/// Those that have the same types, by name.
struct Group {
    resources: Arc<BTreeSet<Arc<GroupVersionResource>>>,
    clusters: Vec<One>,
}

type One = (ClusterName, Arc<ClusterEntry>);

/// Some clusters of which only the first are told, and how many they are.
pub(super) struct Few<'a> {
    pub(super) first: Vec<(&'a ClusterName, &'a ClusterEntry)>,
    pub(super) count: usize,
}

impl Unhealthy {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        // Sets are shared, so the same ones are known by their place.
        let mut known: HashMap<_, usize> = HashMap::new();
        for (name, entry) in catalog.clusters.iter() {
            if is_healthy(entry) {
                continue;
            }
            let one = (name.clone(), Arc::clone(entry));
            let group = *known
                .entry(Arc::as_ptr(&entry.resources))
                .or_insert_with(|| {
                    groups.push(Group {
                        resources: Arc::clone(&entry.resources),
                        clusters: Vec::new(),
                    });
                    groups.len() - 1
                });
            groups[group].clusters.push(one);
        }
        Self { groups }
    }

    /// Those that a response is made from, and the first `most` of them.
    pub(super) fn within<'a>(
        &'a self,
        catalog: &'a Catalog,
        extent: &Extent<'_>,
        most: usize,
    ) -> Few<'a> {
        let mut few = Few {
            first: Vec::new(),
            count: 0,
        };
        let Extent { query, first, last } = extent;
        if let Some(names) = named(extent) {
            let named = names.filter_map(|name| {
                let name = ClusterName::new(name).ok()?;
                catalog.clusters.get_key_value(&name)
            });
            let meant = named.filter(|(name, entry)| {
                let may_have = |searched: &Searched| {
                    entry.resources.contains(&searched.resource) && admits(&searched.scope, name)
                };
                let is_within = first.is_none_or(|first| name.as_str() >= first)
                    && last.is_none_or(|last| name.as_str() <= last);
                !is_healthy(entry)
                    && is_within
                    && query.clusters.admits(name.as_str())
                    && entry.labels.meet(&query.cluster_labels)
                    && query.types.iter().any(may_have)
            });
            few.extend(meant.map(|(name, entry)| (name, &**entry)), most);
            return few;
        }
        for group in &self.groups {
            let has = |searched: &Searched| group.resources.contains(&searched.resource);
            if query.types.iter().any(has) {
                group.add(extent, &mut few, most);
            }
        }
        few
    }
}

impl Group {
    fn add<'a>(&'a self, extent: &Extent<'_>, few: &mut Few<'a>, most: usize) {
        let Extent { query, first, last } = extent;
        let from = first.map_or(0, |first| {
            self.clusters
                .partition_point(|(name, _)| name.as_str() < first)
        });
        let to = last.map_or(self.clusters.len(), |last| {
            self.clusters
                .partition_point(|(name, _)| name.as_str() <= last)
        });
        let within = self.clusters.get(from..to).unwrap_or_default();
        let admitted = within.iter().filter(|(name, entry)| {
            query.clusters.admits(name.as_str()) && entry.labels.meet(&query.cluster_labels)
        });
        let admitted = admitted.map(|(name, entry)| (name, &**entry));
        match query.clusters == NameFilter::Any && query.cluster_labels.is_empty() {
            // All of them are: nobody has to look.
            true => {
                few.extend(admitted.take(most), most);
                few.count += within.len().saturating_sub(most);
            }
            false => few.extend(admitted, most),
        }
    }
}

impl<'a> Few<'a> {
    /// Counts more of them; each time they come by name.
    fn extend(
        &mut self,
        more: impl Iterator<Item = (&'a ClusterName, &'a ClusterEntry)>,
        most: usize,
    ) {
        for (number, one) in more.enumerate() {
            self.count += 1;
            if number < most {
                self.first.push(one);
            }
        }
        self.first.sort_by_key(|(name, _)| *name);
        self.first.truncate(most);
    }
}

/// The names of the only clusters that may be meant; `None` if those of the fleet may be.
fn named<'a>(extent: &Extent<'a>) -> Option<Box<dyn Iterator<Item = &'a str> + 'a>> {
    let query = extent.query;
    if let NameFilter::In(names) = &query.clusters {
        return Some(Box::new(names.iter().map(String::as_str)));
    }
    let mut allowed = BTreeSet::new();
    for searched in &query.types {
        match &searched.scope {
            Scope::Everything => return None,
            Scope::Clusters(clusters) => allowed.extend(clusters.keys().map(String::as_str)),
        }
    }
    Some(Box::new(allowed.into_iter()))
}

fn admits(scope: &Scope, cluster: &ClusterName) -> bool {
    match scope {
        Scope::Everything => true,
        Scope::Clusters(clusters) => clusters.contains_key(cluster.as_str()),
    }
}

fn is_healthy(entry: &ClusterEntry) -> bool {
    entry.health.as_ref().is_some_and(|health| health.healthy)
}
