//! Batches in a transaction: read the old rows, compare, write what differs.
//!
//! All batches of a transaction are staged first: index and counters in key order, then the stream, whose epoch is the fence. Then they
//! are published together: the head row, objects, versions. The head row is locked once and late, because every writer of the
//! store waits for it.

use std::collections::{BTreeMap, HashMap};

use armadex_storage::{StoreError, Written};

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::form::term::TermSet;
use crate::sql::dialect::Dialect;
use crate::sql::head::{self, HeadRow};
use crate::sql::object::{self, ObjectRow, OldRow, Operation, VersionRow};
use crate::sql::statement::{MAX_LIST, pieces};
use crate::sql::stream::{self, Fence, StreamRow};
use crate::write::catalog_change::CatalogChange;
use crate::write::counters::CounterChange;
use crate::write::diff::{Diff, Effect, diff};
use crate::write::incarnation::{self, Committed};
use crate::write::index::IndexChange;
use crate::write::namespaces;
use crate::write::numbers::ObjectIds;
use crate::write::prepare::{NewObject, Prepared, PreparedChange};

/// What a transaction needs besides its work.
pub(crate) struct Session<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    pub(crate) dialect: Dialect,
    pub(crate) object_ids: &'a mut ObjectIds,
    /// How many revisions superseded versions and tombstones are kept for.
    pub(crate) retention: u64,
    /// Seconds since 1970.
    pub(crate) now: i64,
    /// The last revision that this process committed; the last that this transaction took, from then on.
    pub(crate) committed: Committed,
    /// What readers will have to learn.
    pub(crate) catalog: CatalogChange,
}

/// A batch whose index, counters and stream are written, and whose objects are not.
pub(crate) struct Staged<'a> {
    resource: i32,
    effects: Vec<Effect<'a>>,
    /// One for each object that is added, in the order of the effects.
    object_ids: Vec<i64>,
    pub(crate) written: Written,
}

/// Stages a batch; on an error the transaction must be rolled back.
pub(crate) async fn stage<'a>(
    session: &mut Session<'_>,
    batch: &'a Prepared,
) -> Result<Staged<'a>, StoreError> {
    let stream = own_stream(session.connection, batch).await?;
    let nsids = namespaces::resolve(session.connection, batch).await?;
    let old = old_rows(session, batch, &nsids).await?;
    let Diff { effects, written } = diff(&batch.changes, &nsids, old);
    let terms = old_terms(session.connection, &effects).await?;
    let object_ids = object_ids(session, &effects).await?;
    let added = write_index(session, batch, &nsids, &effects, &object_ids, &terms).await?;
    move_stream(session, batch, &stream, added, !effects.is_empty()).await?;
    Ok(Staged {
        resource: batch.resource,
        effects,
        object_ids,
        written,
    })
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
        // Other rules alone change the form too; then the terms turn out to be the same.
        Effect::Change { old, new } if old.form != new.form => Some(old.rev),
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

/// Writes postings and counters; gives how many objects more there are.
async fn write_index(
    session: &mut Session<'_>,
    batch: &Prepared,
    nsids: &HashMap<String, i64>,
    effects: &[Effect<'_>],
    object_ids: &[i64],
    terms: &HashMap<i64, TermSet>,
) -> Result<i64, StoreError> {
    let mut change = IndexChange::default();
    let mut ids = object_ids.iter();
    for effect in effects {
        match effect {
            Effect::Add { nsid, new } => {
                change.add(*nsid, *ids.next().expect("one for each add"), &new.terms);
            }
            Effect::Change { old, new } => {
                if let Some(before) = terms.get(&old.rev) {
                    change.change(old.nsid, old.id, before, &new.terms);
                }
            }
            Effect::Remove { old } => change.remove(old.nsid, old.id, &terms[&old.rev]),
        }
    }
    let names: HashMap<i64, &String> = nsids.iter().map(|(name, &nsid)| (nsid, name)).collect();
    let deltas: BTreeMap<String, (i64, i64)> = change
        .counts()
        .map(|(nsid, delta)| (names[&nsid].clone(), (nsid, delta)))
        .collect();
    let counters = CounterChange {
        resource: batch.resource,
        cluster: batch.cluster,
        deltas,
    };
    let added = counters.total();
    change
        .write(session.connection, session.dialect, batch.resource)
        .await?;
    counters.write(session.connection, session.dialect).await?;
    Ok(added)
}

/// Moves the position and counts. A batch that changes nothing and moves nothing writes nothing.
async fn move_stream(
    session: &mut Session<'_>,
    batch: &Prepared,
    stream: &StreamRow,
    added: i64,
    changed: bool,
) -> Result<(), StoreError> {
    let fence = Fence {
        cluster: batch.cluster,
        resource: batch.resource,
        epoch: batch.epoch,
    };
    let statement = match &batch.position {
        Some(position) if changed || stream.position.as_ref() != Some(position) => {
            stream::advance(fence, position, batch.rules.0, added, session.now)
        }
        None if changed => stream::touch(fence, added, session.now),
        _ => return Ok(()),
    };
    match session.connection.execute(statement).await? {
        0 => Err(fenced(batch)),
        _ => Ok(()),
    }
}

/// Takes a revision for each effect and writes objects and versions.
pub(crate) async fn publish(
    session: &mut Session<'_>,
    staged: &[Staged<'_>],
) -> Result<(), StoreError> {
    let effects: usize = staged.iter().map(|staged| staged.effects.len()).sum();
    if effects == 0 {
        return Ok(());
    }
    let count = i64::try_from(effects).expect("a transaction fits memory");
    let head = advance_head(session.connection, count).await?;
    let last = head.revision;
    let rewound = last - count < session.committed.revision;
    session.committed = Committed {
        incarnation: match rewound {
            true => incarnation::renew(session.connection).await?,
            false => head.incarnation,
        },
        revision: last,
    };
    let mut table = Table::new(staged, last - count + 1);
    let (dialect, connection) = (session.dialect, &mut *session.connection);
    // Where something older is still kept, it is found by the versions that superseded it: those stay until the purge has walked them.
    if session.retention == 0 && head.pruned == last - count {
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
    for piece in pieces(&table.versions) {
        connection.execute(object::append(piece)).await?;
    }
    Ok(())
}

/// Takes `count` revisions; gives the head, which has the last.
async fn advance_head(connection: &mut dyn Connection, count: i64) -> Result<HeadRow, StoreError> {
    connection.execute(head::advance(count)).await?;
    let head = row(connection, head::select(), head::decode).await?;
    head.ok_or_else(|| broken("it has no head row"))
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
    fn new(staged: &'a [Staged<'a>], first_revision: i64) -> Self {
        let mut table = Self::default();
        let mut revisions = first_revision..;
        for staged in staged {
            let mut ids = staged.object_ids.iter();
            for (effect, rev) in staged.effects.iter().zip(revisions.by_ref()) {
                table.take(staged.resource, effect, rev, &mut ids);
            }
        }
        table
    }

    fn take(
        &mut self,
        resource: i32,
        effect: &'a Effect<'a>,
        rev: i64,
        ids: &mut std::slice::Iter<'_, i64>,
    ) {
        match effect {
            Effect::Add { nsid, new } => {
                let place = (*ids.next().expect("one for each add"), *nsid, rev);
                self.added.push(object_row(resource, place, new));
                self.versions.push(version_row(resource, place, 0, new));
            }
            Effect::Change { old, new } => {
                let place = (old.id, old.nsid, rev);
                self.changed.push(object_row(resource, place, new));
                self.versions
                    .push(version_row(resource, place, old.rev, new));
            }
            Effect::Remove { old } => {
                self.removed.push(old.id);
                self.versions.push(tombstone(resource, old, rev));
            }
        }
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

fn object_row(resource: i32, (id, nsid, rev): (i64, i64, i64), new: &NewObject) -> ObjectRow<'_> {
    ObjectRow {
        id,
        resource,
        nsid,
        name: &new.key.name,
        uid: &new.uid,
        created: new.created,
        version: &new.version,
        size: new.size,
        rev,
        form: new.form,
    }
}

fn version_row(
    resource: i32,
    (id, nsid, rev): (i64, i64, i64),
    prev_rev: i64,
    new: &NewObject,
) -> VersionRow<'_> {
    VersionRow {
        rev,
        prev_rev,
        object: id,
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
        object: old.id,
        operation: Operation::Delete,
        resource,
        nsid: old.nsid,
        name: &old.name,
        dictionary: 0,
        terms: Vec::new(),
        body: &[],
    }
}
