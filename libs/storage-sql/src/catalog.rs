//! What a reader must know before it plans: clusters, types and open streams. Kept in memory and brought up to date by what changed, so
//! that one more stream costs one row, whatever the size of the fleet.

pub(crate) mod holders;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use armadex_model::{ClusterName, GroupVersionResource, ResourceType};
use armadex_storage::{Catalog, ClusterEntry, StoreError};

use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::sql::catalog::{self, ClusterRow, HealthRow, TypeRow};
use crate::sql::head::HeadRow;
use crate::sql::unposted::{self, UnpostedRow};
use crate::sql::{gone, stream};
use holders::{Holders, KnownHolders};

/// One state of the catalogue. Immutable. Clusters and streams that wait for their purge are not in it: their rows are hidden.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// The head row's `catalog` that this belongs to.
    pub(crate) version: i64,
    /// The one that `version` counts in.
    pub(crate) incarnation: String,
    /// The revision at which clusters, types or streams were last seen to have changed: lists of an earlier one do not show what this state does.
    pub(crate) shown_at: i64,
    /// What the API server sees of it.
    pub(crate) catalog: Arc<Catalog>,
    /// Shared with the states before and after it in which no stream came or went.
    members: Arc<BTreeMap<ClusterName, Member>>,
    /// Shared with those in which no cluster did.
    names: Arc<HashMap<i64, ClusterName>>,
    type_ids: HashMap<GroupVersionResource, i32>,
    types: HashMap<i32, Arc<ResourceType>>,
    /// How many clusters have a type.
    holders: BTreeMap<i32, usize>,
    /// The sets of types that clusters have, each once.
    sets: HashMap<Arc<[i32]>, Arc<BTreeSet<GroupVersionResource>>>,
    /// The terms of label keys whose values are not posted, by type.
    unposted: HashMap<i32, Arc<BTreeSet<i64>>>,
    /// The clusters of types that were asked for.
    known_holders: KnownHolders,
}

/// A cluster that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: i64,
    /// The types that are shown of it, sorted: one list for all clusters that have the same.
    types: Arc<[i32]>,
}

/// What changed since a state.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// The head row's `catalog` that it leads to.
    pub(crate) version: i64,
    pub(crate) incarnation: String,
    pub(crate) clusters: Vec<ClusterRow>,
    /// Clusters (type 0) and streams that were hidden and are purged by now, and types that none has any more (cluster 0). What is in the other lists came later.
    pub(crate) gone: Vec<(i64, i32)>,
    pub(crate) health: Vec<HealthRow>,
    pub(crate) types: Vec<TypeRow>,
    /// Cluster, type, and whether it is open.
    pub(crate) streams: Vec<(i64, i32, bool)>,
    /// Label keys whose values are not posted any more.
    pub(crate) unposted: Vec<UnpostedRow>,
}

impl Delta {
    /// Reads what changed after `since` up to the head in the same transaction.
    pub(crate) async fn read(
        connection: &mut dyn Connection,
        since: i64,
        head: &HeadRow,
    ) -> Result<Self, StoreError> {
        let clusters = catalog::clusters_since(since);
        let (types, streams) = (catalog::types_since(since), stream::since(since));
        let health = catalog::health_since(since);
        Ok(Self {
            version: head.catalog,
            incarnation: head.incarnation.clone(),
            clusters: rows(connection, clusters, catalog::decode_cluster).await?,
            gone: rows(connection, gone::since(since), gone::decode).await?,
            types: rows(connection, types, catalog::decode_type).await?,
            streams: rows(connection, streams, stream::decode_since).await?,
            health: rows(connection, health, catalog::decode_health).await?,
            unposted: rows(connection, unposted::since(since), unposted::decode).await?,
        })
    }
}

impl Delta {
    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        let Self {
            version: _,
            incarnation: _,
            clusters,
            gone,
            health,
            types,
            streams,
            unposted,
        } = self;
        let catalog = clusters.len() + types.len() + streams.len() + gone.len();
        catalog + health.len() + unposted.len()
    }

    /// Whether it says of more than health and index that they changed.
    pub(crate) fn is_structural(&self) -> bool {
        let Self {
            clusters,
            gone,
            types,
            streams,
            ..
        } = self;
        !(clusters.is_empty() && gone.is_empty() && types.is_empty() && streams.is_empty())
    }
}

impl Snapshot {
    /// The state after a change.
    pub(crate) fn apply(&self, delta: Delta) -> Result<Self, StoreError> {
        let structural = delta.is_structural();
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
        let mut next = self.clone();
        next.version = version;
        next.incarnation = incarnation;
        let mut catalog = Catalog::clone(&self.catalog);
        next.take_types(types);
        for row in unposted {
            Arc::make_mut(next.unposted.entry(row.resource).or_default()).insert(row.key);
        }
        let (left, closed): (Vec<_>, Vec<_>) = gone.into_iter().partition(|&(_, id)| id == 0);
        let (dropped, closed): (Vec<_>, Vec<_>) =
            closed.into_iter().partition(|&(cluster, _)| cluster == 0);
        for (cluster, _) in left {
            next.drop_cluster(cluster, &mut catalog);
        }
        next.take_clusters(clusters, &mut catalog)?;
        let closed = closed.into_iter().map(|(cluster, id)| (cluster, id, false));
        let touched = next.take_streams(closed.chain(streams));
        next.fill_entries(&touched, &mut catalog);
        // After what had them, which would be counted again.
        for (_, id) in dropped {
            next.drop_type(id);
        }
        next.take_health(health, &mut catalog);
        if structural {
            next.known_holders = KnownHolders::default();
            let types = next.shown_types();
            if *catalog.types != types {
                catalog.types = Arc::new(types);
            }
            next.drop_unused_sets();
        }
        next.catalog = Arc::new(catalog);
        Ok(next)
    }

    fn take_types(&mut self, types: Vec<TypeRow>) {
        for TypeRow { id, resource } in types {
            self.type_ids.insert(resource.gvr.clone(), id);
            self.types.insert(id, Arc::new(resource));
        }
    }

    /// One of the same name that came later has another number.
    fn drop_type(&mut self, id: i32) {
        if let Some(dropped) = self.types.remove(&id)
            && self.type_ids.get(&dropped.gvr) == Some(&id)
        {
            self.type_ids.remove(&dropped.gvr);
        }
        self.holders.remove(&id);
        self.unposted.remove(&id);
    }

    fn take_clusters(
        &mut self,
        clusters: Vec<ClusterRow>,
        catalog: &mut Catalog,
    ) -> Result<(), StoreError> {
        let (come, gone): (Vec<_>, Vec<_>) = clusters.into_iter().partition(|row| row.active);
        for row in gone {
            self.drop_cluster(row.id, catalog);
        }
        for row in come {
            if self.names.contains_key(&row.id) {
                continue;
            }
            let name = ClusterName::new(&row.name).map_err(|err| broken(err.to_string()))?;
            debug_assert!(!self.members.contains_key(&name), "{name} joined twice");
            let member = Member {
                id: row.id,
                types: Arc::default(),
            };
            Arc::make_mut(&mut self.names).insert(row.id, name.clone());
            Arc::make_mut(&mut self.members).insert(name.clone(), member);
            let entry = ClusterEntry {
                health: None,
                version: None,
                resources: Arc::default(),
            };
            catalog.clusters.insert(name, Arc::new(entry));
        }
        Ok(())
    }

    fn drop_cluster(&mut self, id: i64, catalog: &mut Catalog) {
        if let Some(name) = Arc::make_mut(&mut self.names).remove(&id)
            && let Some(member) = Arc::make_mut(&mut self.members).remove(&name)
        {
            self.count(&member.types, false);
            catalog.clusters.remove(&name);
        }
    }

    /// Opens and closes streams; the clusters that were touched.
    fn take_streams(
        &mut self,
        streams: impl Iterator<Item = (i64, i32, bool)>,
    ) -> BTreeSet<ClusterName> {
        let mut changes: BTreeMap<ClusterName, Vec<(i32, bool)>> = BTreeMap::new();
        for (cluster, resource, is_open) in streams {
            if let Some(name) = self.names.get(&cluster) {
                changes
                    .entry(name.clone())
                    .or_default()
                    .push((resource, is_open));
            }
        }
        for (name, changes) in &changes {
            let Some(before) = self
                .members
                .get(name)
                .map(|member| Arc::clone(&member.types))
            else {
                continue;
            };
            let mut types: BTreeSet<i32> = before.iter().copied().collect();
            for &(resource, is_open) in changes {
                if is_open {
                    types.insert(resource);
                } else {
                    types.remove(&resource);
                }
            }
            let after: Arc<[i32]> = types.into_iter().collect();
            self.count(&before, false);
            self.count(&after, true);
            if let Some(member) = Arc::make_mut(&mut self.members).get_mut(name) {
                member.types = after;
            }
        }
        changes.into_keys().collect()
    }

    fn count(&mut self, types: &[i32], more: bool) {
        for &resource in types {
            let holders = self.holders.entry(resource).or_default();
            *holders = if more {
                *holders + 1
            } else {
                holders.saturating_sub(1)
            };
        }
    }

    fn fill_entries(&mut self, touched: &BTreeSet<ClusterName>, catalog: &mut Catalog) {
        for name in touched {
            let Some(types) = self
                .members
                .get(name)
                .map(|member| Arc::clone(&member.types))
            else {
                continue;
            };
            let (types, resources) = self.set_of(types);
            if let Some(member) = Arc::make_mut(&mut self.members).get_mut(name) {
                member.types = types;
            }
            if let Some(entry) = catalog.clusters.get_mut(name) {
                Arc::make_mut(entry).resources = resources;
            }
        }
    }

    /// The list and the set that all have who have these types.
    fn set_of(&mut self, types: Arc<[i32]>) -> (Arc<[i32]>, Arc<BTreeSet<GroupVersionResource>>) {
        if let Some((types, set)) = self.sets.get_key_value(&types) {
            return (Arc::clone(types), Arc::clone(set));
        }
        let gvrs = types
            .iter()
            .filter_map(|id| Some(self.types.get(id)?.gvr.clone()));
        let set = Arc::new(gvrs.collect());
        self.sets.insert(Arc::clone(&types), Arc::clone(&set));
        (types, set)
    }

    /// Lists are told apart by where they are: those of a fleet are megabytes, and this is done for each stream that comes or goes.
    fn drop_unused_sets(&mut self) {
        let lists = self.members.values().map(|member| &member.types);
        let used: HashSet<*const i32> = lists.map(|types| types.as_ptr()).collect();
        self.sets.retain(|types, _| used.contains(&types.as_ptr()));
    }

    fn take_health(&self, health: Vec<HealthRow>, catalog: &mut Catalog) {
        for row in health {
            let entry = self
                .names
                .get(&row.cluster)
                .and_then(|name| catalog.clusters.get_mut(name));
            if let Some(entry) = entry {
                let entry = Arc::make_mut(entry);
                entry.health = Some(row.health);
                entry.version = row.version;
            }
        }
    }

    fn shown_types(&self) -> BTreeMap<GroupVersionResource, Arc<ResourceType>> {
        let shown = self.holders.iter().filter(|(_, holders)| **holders > 0);
        shown
            .filter_map(|(id, _)| {
                let resource = self.types.get(id)?;
                Some((resource.gvr.clone(), Arc::clone(resource)))
            })
            .collect()
    }

    /// The number of a type.
    pub(crate) fn type_id(&self, gvr: &GroupVersionResource) -> Option<i32> {
        self.type_ids.get(gvr).copied()
    }

    /// A type by its number.
    pub(crate) fn resource(&self, id: i32) -> Option<&Arc<ResourceType>> {
        self.types.get(&id)
    }

    /// The terms of a type's label keys whose values are not posted.
    pub(crate) fn unposted(&self, id: i32) -> Arc<BTreeSet<i64>> {
        self.unposted.get(&id).cloned().unwrap_or_default()
    }

    /// The clusters of which a type is shown, by name.
    pub(crate) fn holders(&self, resource: i32) -> impl Iterator<Item = (&ClusterName, &Member)> {
        self.members
            .iter()
            .filter(move |(_, member)| member.shows(resource))
    }

    /// All clusters of which a type is shown: the same value for as long as no cluster and no stream comes or goes.
    pub(crate) fn all_holders(&self, resource: i32) -> Arc<Holders> {
        self.known_holders.of(resource, || {
            let holders = self.holders(resource);
            holders
                .map(|(name, member)| (name.clone(), member.id))
                .collect()
        })
    }

    /// A cluster by name, if it has a type.
    pub(crate) fn holder(&self, resource: i32, name: &str) -> Option<(&ClusterName, &Member)> {
        let name = ClusterName::new(name).ok()?;
        let found = self.members.get_key_value(&name);
        found.filter(|(_, member)| member.shows(resource))
    }

    /// A cluster that is shown.
    pub(crate) fn member(&self, name: &ClusterName) -> Option<&Member> {
        self.members.get(name)
    }
}

impl Member {
    /// Whether rows of the type may be shown.
    pub(crate) fn shows(&self, resource: i32) -> bool {
        self.types.binary_search(&resource).is_ok()
    }

    /// The numbers of the types that are shown.
    pub(crate) fn types(&self) -> &[i32] {
        &self.types
    }
}
