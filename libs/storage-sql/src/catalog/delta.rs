//! What changed of the catalogue since a state, as rows.

use armadex_storage::StoreError;

use crate::backend::{Connection, rows};
use crate::sql::catalog::{self, HealthRow, TypeRow};
use crate::sql::cluster_labels::{self, LabelledRow};
use crate::sql::head::HeadRow;
use crate::sql::unposted::{self, UnpostedRow};
use crate::sql::{gone, stream};

/// What changed since a state.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// The head row's `catalog` that it leads to.
    pub(crate) version: i64,
    pub(crate) incarnation: String,
    pub(crate) clusters: Vec<LabelledRow>,
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
            clusters: rows(connection, clusters, cluster_labels::decode_since).await?,
            gone: match since {
                // Who begins knows of nothing that could be gone.
                0 => vec![],
                since => rows(connection, gone::since(since), gone::decode).await?,
            },
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
