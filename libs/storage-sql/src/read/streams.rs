//! What a writer asks about its streams.

use std::collections::HashMap;
use std::time::Duration;

use armadex_model::{ClusterName, ObjectKey};
use armadex_storage::{ClusterId, Joined, StoreError, StreamState, TypeId};

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::sql::catalog::{self, TypeRow};
use crate::sql::counter::{self, CounterRow};
use crate::sql::dialect::Dialect;
use crate::sql::statement::MAX_LIST;
use crate::sql::{select, stream};

/// The stored keys of a stream, by namespace, then name.
pub(crate) async fn keys(
    connection: &mut dyn Connection,
    dialect: Dialect,
    (cluster, resource): (ClusterId, TypeId),
    after: Option<&ObjectKey>,
    limit: u32,
) -> Result<Vec<ObjectKey>, StoreError> {
    let wanted = limit as usize;
    let mut keys = Vec::new();
    let mut from = String::new();
    if let Some(ObjectKey { namespace, name }) = after {
        keys = keys_in(connection, (cluster, resource), (namespace, name), limit).await?;
        from.clone_from(namespace);
    }
    let mut known = after.map(|key| key.namespace.clone());
    loop {
        let statement = counter::from(resource.0, cluster.0, &from, PLACES);
        let mut places = rows(connection, statement, counter::decode).await?;
        let more = places.len() as i64 == PLACES;
        places.retain(|place| known.as_ref() != Some(&place.namespace));
        let Some(last) = places.last().map(|place| place.namespace.clone()) else {
            break;
        };
        let missing = wanted - keys.len();
        keys.extend(keys_of(connection, dialect, (cluster, resource), &places, missing).await?);
        if !more || keys.len() >= wanted {
            break;
        }
        known = Some(last.clone());
        from = last;
    }
    keys.truncate(wanted);
    Ok(keys)
}

/// Namespaces that are read at a time.
pub(super) const PLACES: i64 = 512;

/// The first keys of some namespaces, about as many as are wanted, or all that there are.
async fn keys_of(
    connection: &mut dyn Connection,
    dialect: Dialect,
    (cluster, resource): (ClusterId, TypeId),
    places: &[CounterRow],
    wanted: usize,
) -> Result<Vec<ObjectKey>, StoreError> {
    let mut keys = Vec::new();
    let mut places = places;
    while let (Some(first), true) = (places.first(), keys.len() < wanted) {
        let missing = wanted - keys.len();
        let few = few_objects(places, missing);
        if few == 0 {
            let left = u32::try_from(missing).unwrap_or(u32::MAX);
            let place = (first.namespace.as_str(), "");
            keys.extend(keys_in(connection, (cluster, resource), place, left).await?);
            places = &places[1..];
            continue;
        }
        let (here, rest) = places.split_at(few);
        keys.extend(keys_within(connection, dialect, resource, here).await?);
        places = rest;
    }
    Ok(keys)
}

/// How many of the first namespaces have together no more objects than are wanted.
pub(super) fn few_objects(places: &[CounterRow], wanted: usize) -> usize {
    let mut sum = 0;
    let fits = |place: &&CounterRow| {
        sum += place.objects;
        usize::try_from(sum).is_ok_and(|sum| sum <= wanted)
    };
    places.iter().take(MAX_LIST).take_while(fits).count()
}

async fn keys_in(
    connection: &mut dyn Connection,
    (cluster, resource): (ClusterId, TypeId),
    place: (&str, &str),
    limit: u32,
) -> Result<Vec<ObjectKey>, StoreError> {
    let statement = select::keys_in(cluster.0, resource.0, place, limit);
    rows(connection, statement, |row| {
        Ok(ObjectKey::new(row.text(0)?, row.text(1)?))
    })
    .await
}

async fn keys_within(
    connection: &mut dyn Connection,
    dialect: Dialect,
    resource: TypeId,
    places: &[CounterRow],
) -> Result<Vec<ObjectKey>, StoreError> {
    let names: HashMap<i64, &str> = places
        .iter()
        .map(|place| (place.nsid, place.namespace.as_str()))
        .collect();
    let nsids: Vec<i64> = places.iter().map(|place| place.nsid).collect();
    let statement = select::keys_within(dialect, resource.0, &nsids);
    let found = rows(connection, statement, |row| Ok((row.int(0)?, row.text(1)?))).await?;
    let mut keys: Vec<ObjectKey> = found
        .into_iter()
        .map(|(nsid, name)| ObjectKey::new(names[&nsid], name))
        .collect();
    keys.sort();
    Ok(keys)
}

/// Clusters that are read at once, so that a fleet of any size takes statements of one size.
const CLUSTERS: u32 = 1000;

/// The active clusters, at this second since 1970.
pub(crate) async fn clusters(
    connection: &mut dyn Connection,
    now: i64,
) -> Result<Vec<Joined>, StoreError> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let statement = catalog::joined_clusters(after, CLUSTERS);
        let some = rows(connection, statement, catalog::decode_joined).await?;
        let Some(last) = some.last() else {
            return Ok(found);
        };
        after = last.id;
        for row in some {
            // A clock that was set back since says that it was just now.
            let silent = |at| u64::try_from(now.saturating_sub(at)).unwrap_or(0);
            found.push(Joined {
                name: ClusterName::new(&row.name).map_err(|err| broken(err.to_string()))?,
                incarnation: row.incarnation,
                owner: row.owner,
                silent: row.written.map(silent).map(Duration::from_secs),
            });
        }
    }
}

/// The streams of a cluster that were not closed.
pub(crate) async fn states(
    connection: &mut dyn Connection,
    cluster: ClusterId,
) -> Result<Vec<StreamState>, StoreError> {
    let streams = rows(connection, stream::of_cluster(cluster.0), stream::decode).await?;
    let open: Vec<_> = streams
        .into_iter()
        .filter(|stream| stream.is_open || stream.is_kept)
        .collect();
    let mut types: HashMap<i32, TypeRow> = HashMap::new();
    let ids: Vec<i64> = open.iter().map(|stream| stream.resource.into()).collect();
    for part in ids.chunks(MAX_LIST) {
        let found = rows(connection, catalog::types_by_id(part), catalog::decode_type).await?;
        types.extend(found.into_iter().map(|row| (row.id, row)));
    }
    open.into_iter()
        .map(|stream| {
            let known = types.remove(&stream.resource);
            let known = known.ok_or_else(|| broken(format!("type {} is gone", stream.resource)))?;
            Ok(StreamState {
                id: TypeId(stream.resource),
                resource: known.resource,
                position: stream.position,
                objects: u64::try_from(stream.objects).unwrap_or(0),
            })
        })
        .collect()
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
        let statement = counter::any(part, cluster, namespace);
        if row(connection, statement, |r| r.int(0)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
