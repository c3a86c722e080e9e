//! From one state of the catalogue to the next. Pure. What is copied is what changed, and some of what stands beside it, whatever the size of the fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use armadex_model::{ClusterLabels, ClusterName, ResourceType};
use armadex_storage::{Catalog, ClusterEntry, StoreError};

use super::delta::Delta;
use super::sets::{List, Resources};
use super::{Kind, Member, Snapshot};
use crate::backend::error::broken;
use crate::sql::catalog::{HealthRow, TypeRow};
use crate::sql::cluster_labels::LabelledRow;
use crate::sql::unposted::UnpostedRow;

impl Snapshot {
    /// The state after a change.
    pub(crate) fn apply(&self, delta: Delta) -> Result<Self, StoreError> {
        let Delta {
            version,
            incarnation,
            clusters,
            gone,
            health,
            types,
            streams,
            unposted,
        } = delta;
        let mut next = Successor {
            snapshot: self.clone(),
            catalog: Catalog::clone(&self.catalog),
            moved: BTreeSet::new(),
            released: Vec::new(),
            relabelled: false,
            shown_differs: false,
        };
        next.take_types(types);
        next.take_unposted(unposted);
        let (left, closed): (Vec<_>, Vec<_>) = gone.into_iter().partition(|&(_, id)| id == 0);
        let (dropped, closed): (Vec<_>, Vec<_>) =
            closed.into_iter().partition(|&(cluster, _)| cluster == 0);
        for (cluster, _) in left {
            next.drop_cluster(cluster);
        }
        next.take_clusters(clusters)?;
        let closed = closed.into_iter().map(|(cluster, id)| (cluster, id, false));
        next.take_streams(closed.chain(streams));
        // After what had them, which would be counted again.
        for (_, id) in dropped {
            next.drop_type(id);
        }
        next.take_health(health);
        Ok(Self {
            version,
            incarnation,
            ..next.finish()
        })
    }
}

/// A state that is being made.
struct Successor {
    snapshot: Snapshot,
    catalog: Catalog,
    /// Types that other clusters have than before.
    moved: BTreeSet<i32>,
    /// Lists of types that some cluster has no more.
    released: Vec<List>,
    /// Whether a cluster has other labels than before.
    relabelled: bool,
    /// Whether the types that are shown, or what they are, may differ.
    shown_differs: bool,
}

impl Successor {
    fn take_types(&mut self, types: Vec<TypeRow>) {
        let Snapshot {
            type_ids,
            types: known,
            ..
        } = &mut self.snapshot;
        for TypeRow { id, resource } in types {
            let name = match type_ids.get_key_value(&resource.gvr) {
                Some((name, _)) => Arc::clone(name),
                None => Arc::new(resource.gvr.clone()),
            };
            type_ids.insert(Arc::clone(&name), id);
            let resource = Arc::new(resource);
            known.insert(id, Kind { name, resource });
            self.shown_differs = true;
        }
    }

    fn take_unposted(&mut self, unposted: Vec<UnpostedRow>) {
        for row in unposted {
            let known = self.snapshot.unposted.get(&row.resource).cloned();
            let mut keys = known.unwrap_or_default();
            Arc::make_mut(&mut keys).insert(row.key);
            self.snapshot.unposted.insert(row.resource, keys);
        }
    }

    /// One of the same name that came later has another number.
    fn drop_type(&mut self, id: i32) {
        let Snapshot {
            type_ids,
            types,
            holders,
            unposted,
            ..
        } = &mut self.snapshot;
        if let Some(Kind { name, .. }) = types.remove(&id)
            && type_ids.get(&name) == Some(&id)
        {
            type_ids.remove(&name);
        }
        holders.remove(&id);
        unposted.remove(&id);
        self.moved.insert(id);
        self.shown_differs = true;
    }

    fn take_clusters(&mut self, clusters: Vec<LabelledRow>) -> Result<(), StoreError> {
        let is_active = |row: &LabelledRow| row.cluster.active;
        let (come, gone): (Vec<_>, Vec<_>) = clusters.into_iter().partition(is_active);
        for row in gone {
            self.drop_cluster(row.cluster.id);
        }
        for LabelledRow {
            cluster: row,
            labels,
        } in come
        {
            if self.snapshot.names.contains_key(&row.id) {
                self.label(row.id, labels);
                continue;
            }
            let name = ClusterName::new(&row.name).map_err(|err| broken(err.to_string()))?;
            // A store has one of a name that is active. Were there two, the later one is shown, in whatever order they are read; the other would be counted for ever.
            match self.snapshot.member(&name).map(|known| known.id) {
                Some(later) if later > row.id => continue,
                Some(former) => self.drop_cluster(former),
                None => {}
            }
            let (types, resources) = self.set_of(Arc::default());
            let member = Member { id: row.id, types };
            self.snapshot.names.insert(row.id, name.clone());
            self.snapshot.members.insert(name.clone(), member);
            let entry = ClusterEntry {
                health: None,
                version: None,
                labels: self.snapshot.label_sets.take(labels),
                resources,
            };
            self.catalog.clusters.insert(name, Arc::new(entry));
        }
        Ok(())
    }

    /// A cluster that is shown has these labels now.
    fn label(&mut self, id: i64, labels: ClusterLabels) {
        let Some(name) = self.snapshot.names.get(&id) else {
            return;
        };
        let known = self.catalog.clusters.get(name);
        if known.is_none_or(|entry| entry.labels == labels) {
            return;
        }
        self.relabelled = true;
        let label_sets = &mut self.snapshot.label_sets;
        if let Some(entry) = self.catalog.clusters.get_mut(name) {
            let entry = Arc::make_mut(entry);
            label_sets.release(&entry.labels);
            entry.labels = label_sets.take(labels);
        }
    }

    fn drop_cluster(&mut self, id: i64) {
        if let Some(name) = self.snapshot.names.remove(&id)
            && let Some(member) = self.snapshot.members.remove(&name)
        {
            for &resource in &*member.types {
                self.count(resource, false);
            }
            self.release(member.types);
            if let Some(entry) = self.catalog.clusters.remove(&name) {
                self.snapshot.label_sets.release(&entry.labels);
            }
        }
    }

    /// Opens and closes streams.
    fn take_streams(&mut self, streams: impl Iterator<Item = (i64, i32, bool)>) {
        let mut changes: BTreeMap<ClusterName, Vec<(i32, bool)>> = BTreeMap::new();
        for (cluster, resource, is_open) in streams {
            if let Some(name) = self.snapshot.names.get(&cluster) {
                changes
                    .entry(name.clone())
                    .or_default()
                    .push((resource, is_open));
            }
        }
        for (name, changes) in changes {
            self.take_streams_of(&name, &changes);
        }
    }

    fn take_streams_of(&mut self, name: &ClusterName, changes: &[(i32, bool)]) {
        let Some(before) = self
            .snapshot
            .member(name)
            .map(|member| Arc::clone(&member.types))
        else {
            return;
        };
        let mut types: BTreeSet<i32> = before.iter().copied().collect();
        for &(resource, is_open) in changes {
            let differs = match is_open {
                true => types.insert(resource),
                false => types.remove(&resource),
            };
            if differs {
                self.count(resource, is_open);
            }
        }
        let after: List = types.into_iter().collect();
        if after == before {
            return;
        }
        let (types, resources) = self.set_of(after);
        if let Some(member) = self.snapshot.members.get_mut(name) {
            member.types = types;
        }
        if let Some(entry) = self.catalog.clusters.get_mut(name) {
            Arc::make_mut(entry).resources = resources;
        }
        self.release(before);
    }

    fn set_of(&mut self, list: List) -> (List, Resources) {
        let Snapshot { sets, types, .. } = &mut self.snapshot;
        sets.take(list, |list| {
            let names = list
                .iter()
                .filter_map(|id| Some(Arc::clone(&types.get(id)?.name)));
            Arc::new(names.collect())
        })
    }

    fn release(&mut self, types: List) {
        self.snapshot.sets.release(&types);
        self.released.push(types);
    }

    /// Counts a cluster that has a type, or has it no more.
    fn count(&mut self, resource: i32, more: bool) {
        let before = self.snapshot.holders.get(&resource).copied().unwrap_or(0);
        let after = match more {
            true => before + 1,
            false => before.saturating_sub(1),
        };
        self.snapshot.holders.insert(resource, after);
        self.moved.insert(resource);
        self.shown_differs |= before == 0 || after == 0;
    }

    fn take_health(&mut self, health: Vec<HealthRow>) {
        for row in health {
            let Some(name) = self.snapshot.names.get(&row.cluster) else {
                continue;
            };
            if let Some(entry) = self.catalog.clusters.get_mut(name) {
                let entry = Arc::make_mut(entry);
                entry.health = Some(row.health);
                entry.version = row.version;
            }
        }
    }

    fn finish(self) -> Snapshot {
        let Self {
            snapshot: mut next,
            mut catalog,
            moved,
            released,
            relabelled,
            shown_differs,
        } = self;
        next.known_holders.forget(&moved);
        if relabelled {
            next.known_holders.forget_selections();
        }
        next.sets.forget_unused(released);
        if shown_differs {
            let types = next.shown_types();
            if *catalog.types != types {
                catalog.types = Arc::new(types);
            }
        }
        next.catalog = Arc::new(catalog);
        next
    }
}

impl Snapshot {
    fn shown_types(&self) -> BTreeMap<armadex_model::GroupVersionResource, Arc<ResourceType>> {
        let shown = self.holders.iter().filter(|(_, holders)| **holders > 0);
        shown
            .filter_map(|(id, _)| {
                let Kind { resource, .. } = self.types.get(id)?;
                Some((resource.gvr.clone(), Arc::clone(resource)))
            })
            .collect()
    }
}
