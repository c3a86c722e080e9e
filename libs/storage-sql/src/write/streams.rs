//! What a writer asks about its streams.

use std::collections::HashMap;

use armadex_model::ObjectKey;
use armadex_storage::{ClusterId, StoreError, StreamState, TypeId};

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::sql::catalog::{self, TypeRow};
use crate::sql::{select, stream};
use crate::write::allocate::slot_range;

/// The stored keys of a stream, by namespace, then name.
pub(crate) async fn keys(
    connection: &mut dyn Connection,
    cluster: ClusterId,
    resource: TypeId,
    after: Option<&ObjectKey>,
    limit: u32,
) -> Result<Vec<ObjectKey>, StoreError> {
    let (namespace, name) =
        after.map_or(("", ""), |key| (key.namespace.as_str(), key.name.as_str()));
    let mut keys = Vec::new();
    // The first namespace from its name on, then whole namespaces, in the order of their names.
    let statement = select::keys_in(cluster.0, resource.0, (namespace, name), limit);
    keys.extend(rows(connection, statement, decode_key).await?);
    let left = limit.saturating_sub(u32::try_from(keys.len()).unwrap_or(u32::MAX));
    if left > 0 {
        let statement = select::keys_after(cluster.0, resource.0, namespace, left);
        keys.extend(rows(connection, statement, decode_key).await?);
    }
    Ok(keys)
}

fn decode_key(row: &dyn crate::backend::Row) -> Result<ObjectKey, StoreError> {
    Ok(ObjectKey::new(row.text(0)?, row.text(1)?))
}

/// The open streams of a cluster.
pub(crate) async fn states(
    connection: &mut dyn Connection,
    cluster: ClusterId,
) -> Result<Vec<StreamState>, StoreError> {
    let Some(slot) = row(connection, catalog::cluster_slot(cluster.0), |r| r.int(0)).await? else {
        return Ok(Vec::new());
    };
    let types = rows(connection, catalog::types(), catalog::decode_type).await?;
    let mut types: HashMap<i32, TypeRow> = types.into_iter().map(|row| (row.id, row)).collect();
    let streams = rows(connection, stream::of_cluster(cluster.0), stream::decode).await?;
    let mut states = Vec::with_capacity(streams.len());
    for stream in streams.into_iter().filter(|stream| stream.is_open) {
        let known = types.remove(&stream.resource);
        let known = known.ok_or_else(|| broken(format!("type {} is gone", stream.resource)))?;
        let statement = select::count_range(stream.resource, &slot_range(slot));
        let objects = row(connection, statement, |r| r.int(0)).await?.unwrap_or(0);
        states.push(StreamState {
            id: TypeId(stream.resource),
            resource: known.resource,
            position: stream.position,
            objects: u64::try_from(objects).unwrap_or(0),
        });
    }
    Ok(states)
}
