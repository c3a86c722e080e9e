//! What a reader must know before it plans: clusters, types and streams, read once and kept until the store's catalogue changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use armadex_model::{ClusterName, GroupVersionResource};
use armadex_storage::{Catalog, ClusterEntry, Health, StoreError};

use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::form::codec::Family;
use crate::sql::catalog::{self, ClusterRow, TypeRow};
use crate::sql::stream::{self, StreamRow};
use crate::write::allocate::slot_range;

/// One state of the catalogue. Immutable.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The head row's `catalog` that this belongs to.
    pub(crate) version: i64,
    /// What the API server sees of it.
    pub(crate) catalog: Arc<Catalog>,
    /// In the order of their namespace ids, those that wait for their purge included.
    clusters: Vec<Member>,
    types: BTreeMap<GroupVersionResource, i32>,
    families: HashMap<i32, Family>,
    /// Whether the stream of this cluster and type is open.
    streams: HashMap<(i64, i32), bool>,
}

/// A cluster with its range of namespace ids.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: i64,
    pub(crate) name: ClusterName,
    pub(crate) active: bool,
    pub(crate) in_order: bool,
    pub(crate) range: Range<i64>,
}

impl Snapshot {
    /// Reads the catalogue; `version` is the head's in the same transaction.
    pub(crate) async fn load(
        connection: &mut dyn Connection,
        version: i64,
    ) -> Result<Self, StoreError> {
        let clusters = rows(connection, catalog::clusters(), catalog::decode_cluster).await?;
        let types = rows(connection, catalog::types(), catalog::decode_type).await?;
        let streams = rows(connection, stream::all(), stream::decode).await?;
        Self::new(version, &clusters, &types, &streams)
    }

    /// Puts the rows together.
    pub(crate) fn new(
        version: i64,
        clusters: &[ClusterRow],
        types: &[TypeRow],
        streams: &[StreamRow],
    ) -> Result<Self, StoreError> {
        let mut members = clusters.iter().map(member).collect::<Result<Vec<_>, _>>()?;
        members.sort_by_key(|member| member.range.start);
        Ok(Self {
            version,
            catalog: Arc::new(public_catalog(clusters, types, streams)?),
            clusters: members,
            types: types
                .iter()
                .map(|row| (row.resource.gvr.clone(), row.id))
                .collect(),
            families: types
                .iter()
                .map(|row| (row.id, Family::of(&row.resource.gvr)))
                .collect(),
            streams: streams
                .iter()
                .map(|row| ((row.cluster, row.resource), row.is_open))
                .collect(),
        })
    }

    /// The number of a type.
    pub(crate) fn type_id(&self, gvr: &GroupVersionResource) -> Option<i32> {
        self.types.get(gvr).copied()
    }

    /// The family of a type; unknown types have none of their own.
    pub(crate) fn family(&self, resource: i32) -> Family {
        self.families
            .get(&resource)
            .copied()
            .unwrap_or(Family::Generic)
    }

    /// All clusters in page order.
    pub(crate) fn clusters(&self) -> &[Member] {
        &self.clusters
    }

    /// The cluster whose range holds this namespace id.
    pub(crate) fn cluster_at(&self, nsid: i64) -> Option<&Member> {
        let next = self
            .clusters
            .partition_point(|member| member.range.start <= nsid);
        let member = self.clusters.get(next.checked_sub(1)?)?;
        member.range.contains(&nsid).then_some(member)
    }

    /// Whether rows of the type in the cluster may be shown.
    pub(crate) fn is_visible(&self, member: &Member, resource: i32) -> bool {
        member.active && self.streams.get(&(member.id, resource)) == Some(&true)
    }

    /// Whether there may be rows of the type in the cluster, shown or not.
    pub(crate) fn may_have_rows(&self, member: &Member, resource: i32) -> bool {
        self.streams.contains_key(&(member.id, resource))
    }
}

fn member(row: &ClusterRow) -> Result<Member, StoreError> {
    Ok(Member {
        id: row.id,
        name: cluster_name(row)?,
        active: row.active,
        in_order: row.in_order,
        range: slot_range(row.slot),
    })
}

fn cluster_name(row: &ClusterRow) -> Result<ClusterName, StoreError> {
    ClusterName::new(&row.name).map_err(|err| broken(err.to_string()))
}

fn public_catalog(
    clusters: &[ClusterRow],
    types: &[TypeRow],
    streams: &[StreamRow],
) -> Result<Catalog, StoreError> {
    let gvrs: HashMap<i32, &TypeRow> = types.iter().map(|row| (row.id, row)).collect();
    let mut open: HashMap<i64, BTreeSet<GroupVersionResource>> = HashMap::new();
    for stream in streams.iter().filter(|stream| stream.is_open) {
        if let Some(row) = gvrs.get(&stream.resource) {
            open.entry(stream.cluster)
                .or_default()
                .insert(row.resource.gvr.clone());
        }
    }
    let mut catalog = Catalog::default();
    for row in clusters.iter().filter(|row| row.active) {
        let entry = ClusterEntry {
            health: row.healthy.map(|healthy| Health {
                healthy,
                reason: row.reason.clone(),
            }),
            version: row.version.clone(),
            resources: open.remove(&row.id).unwrap_or_default(),
        };
        catalog.clusters.insert(cluster_name(row)?, entry);
    }
    let stored: BTreeSet<&GroupVersionResource> = catalog
        .clusters
        .values()
        .flat_map(|entry| &entry.resources)
        .collect();
    catalog.types = types
        .iter()
        .filter(|row| stored.contains(&row.resource.gvr))
        .map(|row| (row.resource.gvr.clone(), row.resource.clone()))
        .collect();
    Ok(catalog)
}
