//! Keys and versions of a stream's objects, page by page, for whoever compares them with the member's.

use std::collections::HashMap;

use armadex_model::{NameFilter, ObjectKey};
use armadex_storage::{ClusterId, StoreError, StoredVersion, TypeId};

use super::streams::{PLACES, few_objects};
use crate::backend::{Connection, rows};
use crate::sql::counter::{self, CounterRow};
use crate::sql::dialect::Dialect;
use crate::sql::select::{self, Candidate};

/// At most `limit` objects after a key, by namespace, then name; fewer only at the end.
pub(crate) async fn page(
    connection: &mut dyn Connection,
    dialect: Dialect,
    (cluster, resource): (ClusterId, TypeId),
    after: Option<&ObjectKey>,
    limit: u32,
) -> Result<Vec<StoredVersion>, StoreError> {
    let wanted = limit as usize;
    let mut found = Vec::new();
    let (mut from, mut begun) = after.map_or_else(
        || (String::new(), None),
        |key| (key.namespace.clone(), Some(key.name.as_str())),
    );
    let mut done = None;
    loop {
        let statement = counter::from(resource.0, cluster.0, &from, PLACES);
        let mut places = rows(connection, statement, counter::decode).await?;
        let more = places.len() as i64 == PLACES;
        places.retain(|place| done.as_ref() != Some(&place.namespace));
        let Some(last) = places.last().map(|place| place.namespace.clone()) else {
            break;
        };
        let mut rest = places.as_slice();
        if let Some(name) = begun.take()
            && let Some((first, others)) = rest.split_first()
            && first.namespace == from
        {
            found.extend(after_name(connection, dialect, resource, (first, name), limit).await?);
            rest = others;
        }
        let missing = wanted.saturating_sub(found.len());
        found.extend(of_places(connection, dialect, resource, rest, missing).await?);
        if !more || found.len() >= wanted {
            break;
        }
        done = Some(last.clone());
        from = last;
    }
    found.truncate(wanted);
    Ok(found)
}

/// The first objects of some namespaces, about as many as are wanted, or all that there are.
async fn of_places(
    connection: &mut dyn Connection,
    dialect: Dialect,
    resource: TypeId,
    mut places: &[CounterRow],
    wanted: usize,
) -> Result<Vec<StoredVersion>, StoreError> {
    let mut found = Vec::new();
    while let (Some(first), true) = (places.first(), found.len() < wanted) {
        let missing = wanted - found.len();
        let few = few_objects(places, missing);
        if few == 0 {
            let left = u32::try_from(missing).unwrap_or(u32::MAX);
            found.extend(after_name(connection, dialect, resource, (first, ""), left).await?);
            places = &places[1..];
            continue;
        }
        let (here, rest) = places.split_at(few);
        found.extend(within(connection, dialect, resource, here).await?);
        places = rest;
    }
    Ok(found)
}

async fn after_name(
    connection: &mut dyn Connection,
    dialect: Dialect,
    resource: TypeId,
    (place, name): (&CounterRow, &str),
    limit: u32,
) -> Result<Vec<StoredVersion>, StoreError> {
    let statement = select::after(dialect, resource.0, (place.nsid, name), limit.into());
    let found = rows(connection, statement, select::decode).await?;
    let version = |object| version(&place.namespace, object);
    Ok(found.into_iter().map(version).collect())
}

async fn within(
    connection: &mut dyn Connection,
    dialect: Dialect,
    resource: TypeId,
    places: &[CounterRow],
) -> Result<Vec<StoredVersion>, StoreError> {
    let names: HashMap<i64, &str> = places
        .iter()
        .map(|place| (place.nsid, place.namespace.as_str()))
        .collect();
    let nsids: Vec<i64> = places.iter().map(|place| place.nsid).collect();
    let statement = select::within(dialect, resource.0, &nsids, &NameFilter::Any);
    let found = rows(connection, statement, select::decode).await?;
    let version = |object: Candidate| version(names[&object.nsid], object);
    let mut found: Vec<StoredVersion> = found.into_iter().map(version).collect();
    found.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(found)
}

fn version(namespace: &str, object: Candidate) -> StoredVersion {
    StoredVersion {
        key: ObjectKey::new(namespace, object.name),
        uid: object.uid,
        resource_version: object.version.into_text(),
    }
}
