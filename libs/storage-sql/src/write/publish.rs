//! Publishing what a transaction has staged, and what it shows or hides: the head row, objects, versions. The head row is locked once and late,
//! because every writer of the store waits for it.

use armadex_storage::StoreError;

use crate::backend::error::collided;
use crate::backend::{Connection, head_row, rows, schema};
use crate::sql::head::{self, HeadRow};
use crate::sql::history;
use crate::sql::object::{self, ObjectRow, OldRow, Operation, VersionRow};
use crate::write::diff::Effect;
use crate::write::label_keys::{LabelKeys, Unposted};
use crate::write::prepare::NewObject;
use crate::write::session::Session;
use crate::write::stage::Staged;
use crate::write::versions;

/// Takes a revision for each effect, and for what is shown or hidden, and writes objects and versions.
pub(crate) async fn publish(
    session: &mut Session<'_>,
    staged: &[Staged<'_>],
) -> Result<(), StoreError> {
    let effects: usize = staged.iter().map(|staged| staged.effects.len()).sum();
    let count = effects + session.shown.len();
    if count == 0 {
        return Ok(());
    }
    let count = i64::try_from(count).expect("a transaction fits memory");
    let head = advance_head(session.connection, count).await?;
    let last = head.revision;
    if session
        .labels
        .follow(session.connection, head.catalog)
        .await?
    {
        return Err(collided("another writer learnt which labels not to index"));
    }
    session.committed.reach(last, head.catalog);
    let mut revisions = last - count + 1..;
    let mut table = Table::new(staged, session.labels, &mut revisions);
    table.versions.extend(session.shown.versions(revisions));
    let (dialect, connection) = (session.dialect, &mut *session.connection);
    if session.watch_window.is_zero() && keeps_nothing(connection, &head, last - count).await? {
        table.forget_superseded();
        connection
            .execute(head::set_pruned(&head, last, last))
            .await?;
    }
    for part in table.removed.chunks(dialect.most_values()) {
        let removed = connection.execute(object::delete(dialect, part)).await?;
        if removed != part.len() as u64 {
            return Err(collided("an object was deleted while it was to be deleted"));
        }
    }
    for piece in dialect.pieces(&table.added) {
        connection.execute(object::insert(dialect, piece)).await?;
    }
    for piece in dialect.pieces(&table.changed) {
        connection.execute(object::update(dialect, piece)).await?;
    }
    versions::delete(connection, &table.superseded).await?;
    for piece in dialect.pieces_of(&table.versions, VersionRow::bytes) {
        connection.execute(object::append(dialect, piece)).await?;
    }
    Ok(())
}

/// Whether nothing superseded is left up to a revision, and nothing will be kept. Else what is older is found by the versions that superseded it: those stay
/// until the purge has walked them.
async fn keeps_nothing(
    connection: &mut dyn Connection,
    head: &HeadRow,
    before: i64,
) -> Result<bool, StoreError> {
    if head.history != before {
        return Ok(false);
    }
    // Once there was a history, which may be over.
    let had_histories = head.serves >= schema::serves_with_history(connection.dialect());
    if !had_histories {
        return Ok(true);
    }
    let types = rows(connection, history::types(), history::decode).await?;
    Ok(types.is_empty())
}

/// Takes `count` revisions; gives the head, which has the last.
async fn advance_head(connection: &mut dyn Connection, count: i64) -> Result<HeadRow, StoreError> {
    connection.execute(head::advance(count)).await?;
    head_row::read(connection).await
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
        staged: &'a [Staged<'a>],
        labels: &LabelKeys,
        revisions: &mut impl Iterator<Item = i64>,
    ) -> Self {
        let mut table = Self::default();
        for staged in staged {
            let kind = (staged.resource, labels.unposted(staged.resource));
            let mut ids = staged.object_ids.iter();
            for (effect, rev) in staged.effects.iter().zip(revisions.by_ref()) {
                table.take(kind, effect, rev, &mut ids);
            }
        }
        table
    }

    fn take(
        &mut self,
        (resource, unposted): (i32, &Unposted),
        effect: &'a Effect<'a>,
        rev: i64,
        ids: &mut std::slice::Iter<'_, i64>,
    ) {
        match effect {
            Effect::Add { nsid, new } => {
                let place = (*ids.next().expect("one for each add"), *nsid, rev);
                self.added.push(object_row(resource, place, new));
                let terms = new.stored_terms(unposted).to_bytes();
                self.versions
                    .push(version_row(resource, place, 0, (new, terms)));
            }
            Effect::Change { old, new } => {
                let place = (old.id, old.nsid, rev);
                self.changed.push(object_row(resource, place, new));
                let terms = new.stored_terms(unposted).to_bytes();
                self.versions
                    .push(version_row(resource, place, old.rev, (new, terms)));
            }
            Effect::Remove { old } => {
                self.removed.push(old.id);
                self.versions.push(tombstone(resource, old, rev));
            }
        }
    }

    /// With no watch window only the newest version of what exists is kept.
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
    (new, terms): (&NewObject, Vec<u8>),
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
        terms,
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
