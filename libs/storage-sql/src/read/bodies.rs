//! From chosen rows to answers: bodies fetched, with the dictionaries that they were packed with, and unpacked.

use std::collections::HashMap;
use std::sync::Arc;

use armadex_model::{ObjectKey, ResourceType};
use armadex_storage::{Found, StoreError};
use bytes::Bytes;

use super::place::Located;
use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::form::codec::{Packed, Unpacker};
use crate::form::dictionaries::{Dictionaries, Known, Mark};
use crate::sql::dictionary;
use crate::sql::pieces::MAX_LIST;
use crate::sql::select::{self, Candidate};

/// Rows with their types and packed bodies, and what these were packed with; all that is known of them without a database.
#[derive(Default)]
pub(crate) struct Chosen {
    rows: Vec<Row>,
    dictionaries: Known,
}

struct Row {
    resource: Arc<ResourceType>,
    row: Located,
    body: Packed,
}

impl Chosen {
    /// Bytes of the bodies as they will be.
    pub(crate) fn size(&self) -> i64 {
        self.rows.iter().map(|row| row.row.object.size).sum()
    }
}

/// Fetches what belongs to the rows; afterwards the database is no longer needed.
pub(crate) async fn fetch(
    connection: &mut dyn Connection,
    known: &Dictionaries,
    chosen: Vec<(Arc<ResourceType>, Located)>,
) -> Result<Chosen, StoreError> {
    let revs: Vec<i64> = chosen.iter().map(|(_, row)| row.object.rev).collect();
    let (mut bodies, dictionaries) = packed(connection, known, &revs).await?;
    let rows = chosen.into_iter().map(|(resource, row)| {
        let rev = row.object.rev;
        let body = bodies.remove(&rev);
        let body = body.ok_or_else(|| broken(format!("no version of revision {rev}")))?;
        Ok(Row {
            resource,
            row,
            body,
        })
    });
    Ok(Chosen {
        rows: rows.collect::<Result<_, StoreError>>()?,
        dictionaries,
    })
}

/// The bodies of these revisions, and the trained dictionaries that they were packed with: those that are not known are read, in the same snapshot.
pub(crate) async fn packed(
    connection: &mut dyn Connection,
    known: &Dictionaries,
    revs: &[i64],
) -> Result<(HashMap<i64, Packed>, Known), StoreError> {
    let bodies = fetch_bodies(connection, revs).await?;
    let mut marks: Vec<Mark> = bodies.values().filter_map(Packed::mark).collect();
    marks.sort_unstable();
    marks.dedup();
    let mut dictionaries = known.among(&marks);
    let numbers = marks.iter().map(|mark| mark.number);
    let mut unknown = Vec::from_iter(numbers.filter(|number| !dictionaries.contains_key(number)));
    unknown.dedup();
    for part in unknown.chunks(MAX_LIST) {
        let statement = dictionary::several(connection.dialect(), part);
        for (number, bytes) in rows(connection, statement, dictionary::decode).await? {
            dictionaries.insert(number, known.insert(number, bytes));
        }
    }
    Ok((bodies, dictionaries))
}

/// Unpacks the bodies. Takes the processor for microseconds a row: many rows, or a large one, are not for an async thread.
pub(crate) fn unpack(chosen: Chosen) -> Result<Vec<Found>, StoreError> {
    let mut unpacker = Unpacker::new(&chosen.dictionaries);
    let mut unpack = |chosen: Row| {
        let Row {
            resource,
            row: Located { place, object },
            body,
        } = chosen;
        let Candidate {
            name,
            created,
            version,
            size,
            rev,
            ..
        } = object;
        let body = unpacker.unpack(body, size);
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
    chosen.rows.into_iter().map(&mut unpack).collect()
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
