//! From chosen rows to answers: bodies fetched and unpacked, ids turned back into names.

use std::collections::HashMap;

use armadex_model::ObjectKey;
use armadex_storage::{Found, StoreError};
use bytes::Bytes;

use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::catalog::Snapshot;
use crate::form::codec::{Packed, Unpacker};
use crate::sql::namespace;
use crate::sql::select::{self, Candidate};
use crate::sql::statement::MAX_LIST;

/// Rows with their packed bodies, and what their namespace ids stand for.
#[derive(Debug)]
pub(crate) struct Chosen {
    rows: Vec<(Candidate, Packed)>,
    namespaces: HashMap<i64, String>,
}

/// Fetches what belongs to the rows; afterwards the database is no longer needed.
pub(crate) async fn fetch(
    connection: &mut dyn Connection,
    chosen: Vec<Candidate>,
) -> Result<Chosen, StoreError> {
    let mut bodies = fetch_bodies(connection, &chosen).await?;
    let namespaces = fetch_namespaces(connection, &chosen).await?;
    let mut rows = Vec::with_capacity(chosen.len());
    for row in chosen {
        let body = bodies.remove(&row.rev);
        let body = body.ok_or_else(|| broken(format!("no version of revision {}", row.rev)))?;
        rows.push((row, body));
    }
    Ok(Chosen { rows, namespaces })
}

/// Unpacks the bodies. Takes the processor for microseconds a row: not for an async thread.
pub(crate) fn unpack(chosen: Chosen, snapshot: &Snapshot) -> Result<Vec<Found>, StoreError> {
    let Chosen { rows, namespaces } = chosen;
    let mut unpacker = Unpacker::default();
    rows.into_iter()
        .map(|(row, packed)| {
            let body = unpacker.unpack(packed);
            let body =
                body.map_err(|err| broken(format!("the body of revision {}: {err}", row.rev)))?;
            found(row, body, snapshot, &namespaces)
        })
        .collect()
}

fn found(
    row: Candidate,
    body: Vec<u8>,
    snapshot: &Snapshot,
    namespaces: &HashMap<i64, String>,
) -> Result<Found, StoreError> {
    let unknown = || broken(format!("namespace id {} stands for nothing", row.nsid));
    let cluster = snapshot.cluster_at(row.nsid).ok_or_else(unknown)?;
    let namespace = namespaces.get(&row.nsid).ok_or_else(unknown)?;
    Ok(Found {
        cluster: cluster.name.clone(),
        key: ObjectKey::new(namespace, row.name),
        resource_version: row.version.into_text(),
        revision: row.rev,
        created: row.created,
        body: Bytes::from(body),
    })
}

async fn fetch_bodies(
    connection: &mut dyn Connection,
    chosen: &[Candidate],
) -> Result<HashMap<i64, Packed>, StoreError> {
    let mut bodies = HashMap::with_capacity(chosen.len());
    let revs: Vec<i64> = chosen.iter().map(|row| row.rev).collect();
    for part in revs.chunks(MAX_LIST) {
        let found = rows(connection, select::bodies(part), |row| {
            let dictionary = row.int(1)?;
            let bytes = row.blob(2)?;
            Ok((row.int(0)?, Packed { dictionary, bytes }))
        });
        bodies.extend(found.await?);
    }
    Ok(bodies)
}

async fn fetch_namespaces(
    connection: &mut dyn Connection,
    chosen: &[Candidate],
) -> Result<HashMap<i64, String>, StoreError> {
    let mut ids: Vec<i64> = chosen.iter().map(|row| row.nsid).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut namespaces = HashMap::with_capacity(ids.len());
    for part in ids.chunks(MAX_LIST) {
        let found = rows(connection, namespace::by_id(part), namespace::decode).await?;
        namespaces.extend(found.into_iter().map(|row| (row.id, row.namespace)));
    }
    Ok(namespaces)
}
