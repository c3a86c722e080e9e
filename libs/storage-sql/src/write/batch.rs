//! One batch in a transaction: read the old rows, compare, write what differs.
//!
//! Locks are taken in one order: index and counters in key order, the stream (whose epoch is the fence), the head row, objects,
//! versions. The head row is locked late because every writer of the store waits for it.

use std::collections::HashMap;

use armadex_storage::{StoreError, Written};

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::form::term::TermSet;
use crate::sql::dialect::Dialect;
use crate::sql::object::{self, ObjectRow, OldRow, Operation, VersionRow};
use crate::sql::statement::{MAX_LIST, pieces};
use crate::sql::stream::{self, StreamRow};
use crate::sql::{catalog, head};
use crate::write::diff::{Diff, Effect, diff};
use crate::write::index::IndexChange;
use crate::write::namespaces::{self, Home};
use crate::write::numbers::ObjectIds;
use crate::write::prepare::{NewObject, Prepared, PreparedChange};

/// What a write needs besides its batch.
pub(crate) struct Session<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    pub(crate) dialect: Dialect,
    pub(crate) object_ids: &'a mut ObjectIds,
    /// How many revisions superseded versions and tombstones are kept for.
    pub(crate) retention: u64,
    /// Seconds since 1970.
    pub(crate) now: i64,
}

/// Writes a batch; on an error the transaction must be rolled back.
pub(crate) async fn write(
    session: &mut Session<'_>,
    batch: &Prepared,
) -> Result<Written, StoreError> {
    let stream = own_stream(session.connection, batch).await?;
    let home = home(session.connection, batch).await?;
    let nsids = namespaces::resolve(session.connection, home, batch).await?;
    let old = old_rows(session, batch, &nsids).await?;
    let Diff { effects, written } = diff(&batch.changes, &nsids, &old);
    let terms = old_terms(session.connection, &effects).await?;
    let object_ids = object_ids(session, &effects).await?;
    write_index(session, batch, &effects, &object_ids, &terms).await?;
    move_stream(session, batch, &stream, !effects.is_empty()).await?;
    write_rows(session, batch, &effects, &object_ids).await?;
    Ok(written)
}

/// The stream, if it is open and still belongs to the batch's epoch.
async fn own_stream(
    connection: &mut dyn Connection,
    batch: &Prepared,
) -> Result<StreamRow, StoreError> {
    let found = row(
        connection,
        stream::one(batch.cluster, batch.resource),
        stream::decode,
    )
    .await?;
    found
        .filter(|stream| stream.is_open && stream.epoch == batch.epoch)
        .ok_or_else(|| fenced(batch))
}

fn fenced(batch: &Prepared) -> StoreError {
    StoreError::Fenced {
        what: format!("type {} in cluster {}", batch.resource, batch.cluster),
    }
}

/// Where the batch's namespaces live.
async fn home(connection: &mut dyn Connection, batch: &Prepared) -> Result<Home, StoreError> {
    let slot = row(connection, catalog::cluster_slot(batch.cluster), |r| {
        r.int(0)
    })
    .await?;
    Ok(Home {
        cluster: batch.cluster,
        slot: slot.ok_or_else(|| fenced(batch))?,
    })
}

/// The stored rows of the batch's keys.
async fn old_rows(
    session: &mut Session<'_>,
    batch: &Prepared,
    nsids: &HashMap<String, i64>,
) -> Result<Vec<OldRow>, StoreError> {
    let mut keys: Vec<(i64, &str)> = batch
        .changes
        .iter()
        .map(PreparedChange::key)
        .filter_map(|key| Some((*nsids.get(&key.namespace)?, key.name.as_str())))
        .collect();
    keys.sort_unstable();
    let mut old = Vec::new();
    for piece in pieces(&keys) {
        let statement = object::old(session.dialect, batch.resource, piece);
        old.extend(rows(session.connection, statement, object::decode_old).await?);
    }
    Ok(old)
}

/// The terms of the versions whose index entries go away, by revision.
async fn old_terms(
    connection: &mut dyn Connection,
    effects: &[Effect<'_>],
) -> Result<HashMap<i64, TermSet>, StoreError> {
    let needed = effects.iter().filter_map(|effect| match effect {
        Effect::Change { old, new } if old.label_hash != new.label_hash => Some(old.rev),
        Effect::Remove { old } => Some(old.rev),
        Effect::Add { .. } | Effect::Change { .. } => None,
    });
    terms_of(connection, &needed.collect::<Vec<i64>>()).await
}

/// The terms of these versions, by revision.
pub(crate) async fn terms_of(
    connection: &mut dyn Connection,
    revs: &[i64],
) -> Result<HashMap<i64, TermSet>, StoreError> {
    let mut terms = HashMap::with_capacity(revs.len());
    for part in revs.chunks(MAX_LIST) {
        terms.extend(rows(connection, object::terms(part), object::decode_terms).await?);
    }
    match revs.iter().find(|rev| !terms.contains_key(rev)) {
        Some(rev) => Err(broken(format!("the version of revision {rev} is missing"))),
        None => Ok(terms),
    }
}

/// One id for each object that is added, in the order of the effects.
async fn object_ids(
    session: &mut Session<'_>,
    effects: &[Effect<'_>],
) -> Result<Vec<i64>, StoreError> {
    let added = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Add { .. }))
        .count();
    session.object_ids.next(session.connection, added).await
}

async fn write_index(
    session: &mut Session<'_>,
    batch: &Prepared,
    effects: &[Effect<'_>],
    object_ids: &[i64],
    terms: &HashMap<i64, TermSet>,
) -> Result<(), StoreError> {
    let mut change = IndexChange::default();
    let mut ids = object_ids.iter();
    for effect in effects {
        match effect {
            Effect::Add { nsid, new } => {
                change.add(*nsid, *ids.next().expect("one for each add"), &new.terms);
            }
            Effect::Change { old, new } => {
                if let Some(before) = terms.get(&old.rev) {
                    change.change(old.nsid, old.oid, before, &new.terms);
                }
            }
            Effect::Remove { old } => change.remove(old.nsid, old.oid, &terms[&old.rev]),
        }
    }
    change
        .write(session.connection, session.dialect, batch.resource)
        .await
}

/// Moves the position. A batch that changes nothing and moves nothing writes nothing.
async fn move_stream(
    session: &mut Session<'_>,
    batch: &Prepared,
    stream: &StreamRow,
    changed: bool,
) -> Result<(), StoreError> {
    let fence = (batch.cluster, batch.resource, batch.epoch);
    let statement = match &batch.position {
        Some(position) if changed || stream.position.as_ref() != Some(position) => {
            stream::advance(fence, position, session.now)
        }
        None if changed => stream::touch(fence, session.now),
        _ => return Ok(()),
    };
    match session.connection.execute(statement).await? {
        0 => Err(fenced(batch)),
        _ => Ok(()),
    }
}

/// Takes a revision for each effect and writes objects and versions.
async fn write_rows(
    session: &mut Session<'_>,
    batch: &Prepared,
    effects: &[Effect<'_>],
    object_ids: &[i64],
) -> Result<(), StoreError> {
    if effects.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(effects.len()).expect("a batch fits memory");
    let last = advance_head(session.connection, count).await?;
    let first = last - count + 1;
    let keeps_nothing = session.retention == 0;
    let (dialect, connection) = (session.dialect, &mut *session.connection);
    let mut table = Table::new(batch, effects, object_ids, first);
    if keeps_nothing {
        table.forget_superseded();
        connection
            .execute(head::set_pruned(last - count, last))
            .await?;
    }
    for part in table.removed.chunks(MAX_LIST) {
        connection.execute(object::delete(part)).await?;
    }
    for piece in pieces(&table.added) {
        connection.execute(object::insert(piece)).await?;
    }
    for piece in pieces(&table.changed) {
        connection.execute(object::update(dialect, piece)).await?;
    }
    for part in table.superseded.chunks(MAX_LIST) {
        connection.execute(object::delete_versions(part)).await?;
    }
    let versions = std::mem::take(&mut table.versions);
    for piece in pieces(&versions) {
        connection.execute(object::append(piece)).await?;
    }
    Ok(())
}

/// Takes `count` revisions; gives the last.
async fn advance_head(connection: &mut dyn Connection, count: i64) -> Result<i64, StoreError> {
    connection.execute(head::advance(count)).await?;
    let head = row(connection, head::select(), head::decode).await?;
    Ok(head.ok_or_else(|| broken("it has no head row"))?.revision)
}

/// The rows that effects come to.
#[derive(Default)]
struct Table<'a> {
    removed: Vec<i64>,
    added: Vec<ObjectRow<'a>>,
    changed: Vec<ObjectRow<'a>>,
    versions: Vec<VersionRow<'a>>,
    /// Versions to delete.
    superseded: Vec<i64>,
}

impl<'a> Table<'a> {
    fn new(
        batch: &'a Prepared,
        effects: &[Effect<'a>],
        object_ids: &[i64],
        first_revision: i64,
    ) -> Self {
        let mut table = Self::default();
        let mut ids = object_ids.iter();
        for (effect, rev) in effects.iter().zip(first_revision..) {
            match *effect {
                Effect::Add { nsid, new } => {
                    let oid = *ids.next().expect("one for each add");
                    table
                        .added
                        .push(object_row(batch.resource, (oid, nsid, rev), new));
                    table
                        .versions
                        .push(version_row(batch.resource, (oid, nsid, rev), 0, new));
                }
                Effect::Change { old, new } => {
                    let place = (old.oid, old.nsid, rev);
                    table.changed.push(object_row(batch.resource, place, new));
                    table
                        .versions
                        .push(version_row(batch.resource, place, old.rev, new));
                }
                Effect::Remove { old } => {
                    table.removed.push(old.oid);
                    table.versions.push(tombstone(batch.resource, old, rev));
                }
            }
        }
        table
    }

    /// With no retention only the newest version of what exists is kept.
    fn forget_superseded(&mut self) {
        self.superseded = self
            .versions
            .iter()
            .map(|version| version.prev_rev)
            .filter(|&rev| rev != 0)
            .collect();
        self.versions
            .retain(|version| version.operation != Operation::Delete);
    }
}

fn object_row(resource: i32, (oid, nsid, rev): (i64, i64, i64), new: &NewObject) -> ObjectRow<'_> {
    ObjectRow {
        oid,
        resource,
        nsid,
        name: &new.key.name,
        uid: &new.uid,
        created: new.created,
        version: &new.version,
        size: new.size,
        rev,
        label_hash: new.label_hash,
    }
}

fn version_row(
    resource: i32,
    (oid, nsid, rev): (i64, i64, i64),
    prev_rev: i64,
    new: &NewObject,
) -> VersionRow<'_> {
    VersionRow {
        rev,
        prev_rev,
        oid,
        operation: if prev_rev == 0 {
            Operation::Add
        } else {
            Operation::Change
        },
        resource,
        nsid,
        name: &new.key.name,
        dictionary: new.packed.dictionary,
        terms: new.terms.to_bytes(),
        body: &new.packed.bytes,
    }
}

fn tombstone(resource: i32, old: &OldRow, rev: i64) -> VersionRow<'_> {
    VersionRow {
        rev,
        prev_rev: old.rev,
        oid: old.oid,
        operation: Operation::Delete,
        resource,
        nsid: old.nsid,
        name: &old.name,
        dictionary: 0,
        terms: Vec::new(),
        body: &[],
    }
}
