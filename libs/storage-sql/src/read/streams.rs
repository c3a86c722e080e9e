//! What a writer asks about its streams.

use std::collections::HashMap;

use armadex_model::ClusterName;
use armadex_storage::{ClusterId, Holder, Joined, StoreError, StreamState, TypeId};

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::sql::catalog::{self, TypeRow};
use crate::sql::counter;
use crate::sql::pieces::MAX_LIST;
use crate::sql::stream::{self, StreamRow};

/// Clusters that are read at once, so that a fleet of any size takes statements of one size.
const CLUSTERS: u32 = 1000;

/// The active clusters.
pub(crate) async fn clusters(connection: &mut dyn Connection) -> Result<Vec<Joined>, StoreError> {
    let mut found = Vec::new();
    let mut after = 0;
    let dialect = connection.dialect();
    loop {
        let statement = catalog::joined_clusters(dialect, after, CLUSTERS);
        let some = rows(connection, statement, catalog::decode_joined).await?;
        let Some(last) = some.last() else {
            return Ok(found);
        };
        after = last.id;
        for row in some {
            found.push(Joined {
                name: ClusterName::new(&row.name).map_err(|err| broken(err.to_string()))?,
                incarnation: row.incarnation,
                owner: row.owner,
                heard: row.heard,
            });
        }
    }
}

/// Whose the active cluster of this name is.
pub(crate) async fn holder(
    connection: &mut dyn Connection,
    cluster: &ClusterName,
) -> Result<Option<Holder>, StoreError> {
    let statement = catalog::clusters_called(cluster.as_str());
    let called = rows(connection, statement, catalog::decode_cluster).await?;
    let Some(active) = called.into_iter().find(|called| called.active) else {
        return Ok(None);
    };
    let statement = catalog::owners(connection.dialect(), &[active.id]);
    let known = row(connection, statement, catalog::decode_owner).await?;
    Ok(known.map(|known| Holder {
        incarnation: active.incarnation,
        owner: known.owner,
    }))
}

/// The streams of a cluster that were not closed.
#[derive(Debug, Default)]
pub(crate) struct States {
    pub(crate) known: Vec<StreamState>,
    /// Those of types that are not there.
    pub(crate) untyped: Vec<TypeId>,
}

/// The streams of a cluster that were not closed.
pub(crate) async fn states(
    connection: &mut dyn Connection,
    cluster: ClusterId,
) -> Result<States, StoreError> {
    let streams = rows(connection, stream::of_cluster(cluster.0), stream::decode).await?;
    let open: Vec<_> = streams.into_iter().filter(StreamRow::is_there).collect();
    let mut types: HashMap<i32, TypeRow> = HashMap::new();
    let ids: Vec<i64> = open.iter().map(|stream| stream.resource.into()).collect();
    for part in ids.chunks(MAX_LIST) {
        let statement = catalog::types_by_id(connection.dialect(), part);
        let found = rows(connection, statement, catalog::decode_type).await?;
        types.extend(found.into_iter().map(|row| (row.id, row)));
    }
    let mut states = States::default();
    for stream in open {
        let id = TypeId(stream.resource);
        match types.remove(&stream.resource) {
            Some(known) => states.known.push(StreamState {
                id,
                resource: known.resource,
                position: stream.position,
                objects: u64::try_from(stream.objects).unwrap_or(0),
                is_beside: stream.is_beside,
            }),
            None => states.untyped.push(id),
        }
    }
    Ok(states)
}

/// Whether a cluster has objects of any of these types in a namespace.
pub(crate) async fn has_namespace(
    connection: &mut dyn Connection,
    cluster: i64,
    types: &[i32],
    namespace: &str,
) -> Result<bool, StoreError> {
    let types: Vec<i64> = types.iter().copied().map(i64::from).collect();
    for part in types.chunks(MAX_LIST) {
        let statement = counter::any(connection.dialect(), part, cluster, namespace);
        if row(connection, statement, |r| r.int(0)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
