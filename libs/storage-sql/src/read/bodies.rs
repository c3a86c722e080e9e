//! From chosen rows to answers: bodies fetched and unpacked.

use std::collections::HashMap;
use std::sync::Arc;

use armadex_model::{ObjectKey, ResourceType};
use armadex_storage::{Found, StoreError};
use bytes::Bytes;

use super::place::Located;
use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::form::codec::{Packed, Unpacker};
use crate::sql::pieces::MAX_LIST;
use crate::sql::select::{self, Candidate};

/// A row with its type and its packed body; what is known of it without a database.
#[derive(Debug)]
pub(crate) struct Chosen {
    resource: Arc<ResourceType>,
    row: Located,
    body: Packed,
}

impl Chosen {
    /// Bytes of the body as it will be.
    pub(crate) fn size(&self) -> i64 {
        self.row.object.size
    }
}

/// Fetches what belongs to the rows; afterwards the database is no longer needed.
pub(crate) async fn fetch(
    connection: &mut dyn Connection,
    chosen: Vec<(Arc<ResourceType>, Located)>,
) -> Result<Vec<Chosen>, StoreError> {
    let revs: Vec<i64> = chosen.iter().map(|(_, row)| row.object.rev).collect();
    let mut bodies = fetch_bodies(connection, &revs).await?;
    chosen
        .into_iter()
        .map(|(resource, row)| {
            let rev = row.object.rev;
            let body = bodies.remove(&rev);
            let body = body.ok_or_else(|| broken(format!("no version of revision {rev}")))?;
            Ok(Chosen {
                resource,
                row,
                body,
            })
        })
        .collect()
}

/// Unpacks the bodies. Takes the processor for microseconds a row: many rows, or a large one, are not for an async thread.
pub(crate) fn unpack(chosen: Vec<Chosen>) -> Result<Vec<Found>, StoreError> {
    let mut unpacker = Unpacker::default();
    let mut unpack = |chosen: Chosen| {
        let Chosen {
            resource,
            row: Located { place, object },
            body,
        } = chosen;
        let Candidate {
            name,
            created,
            version,
            rev,
            ..
        } = object;
        let body = unpacker.unpack(body);
        let body = body.map_err(|err| broken(format!("the body of revision {rev}: {err}")))?;
        Ok(Found {
            resource,
            cluster: place.cluster.clone(),
            key: ObjectKey::new(&*place.namespace, name),
            resource_version: version.into_text(),
            revision: rev,
            created,
            body: Bytes::from(body),
        })
    };
    chosen.into_iter().map(&mut unpack).collect()
}

async fn fetch_bodies(
    connection: &mut dyn Connection,
    revs: &[i64],
) -> Result<HashMap<i64, Packed>, StoreError> {
    let mut bodies = HashMap::with_capacity(revs.len());
    let dialect = connection.dialect();
    for part in revs.chunks(MAX_LIST) {
        let found = rows(connection, select::bodies(dialect, part), |row| {
            let dictionary = row.int(1)?;
            let bytes = row.blob(2)?;
            Ok((row.int(0)?, Packed { dictionary, bytes }))
        });
        bodies.extend(found.await?);
    }
    Ok(bodies)
}
