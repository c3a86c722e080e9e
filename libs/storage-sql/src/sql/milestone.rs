//! Milestones: which revision the head was at, since when at the latest, and what of the past lies before it.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::form::namespace_id::cluster_of;
use crate::sql::statement::Statement;

/// A milestone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Milestone {
    pub(crate) rev: i64,
    /// Milliseconds of the lease's clock.
    pub(crate) at: i64,
    /// Of versions that were superseded after the milestone before and up to this one. Less than 0: an earlier release noted it, and nobody has counted yet.
    pub(crate) bytes: i64,
    /// Of these, those that are of types with a history, or whatever is still there where the log has been pruned. Less than 0: as above.
    pub(crate) history: i64,
}

impl Milestone {
    pub(crate) fn is_counted(&self) -> bool {
        self.bytes >= 0 && self.history >= 0
    }
}

/// Those after a revision, in their order. They are few.
pub(crate) fn after(revision: i64) -> Statement {
    Statement::fixed(
        "milestone.after",
        "SELECT rev, at, bytes, history FROM milestone WHERE rev > ? ORDER BY rev",
        [revision.into()],
    )
}

pub(crate) fn decode(row: &dyn Row) -> Result<Milestone, StoreError> {
    Ok(Milestone {
        rev: row.int(0)?,
        at: row.int(1)?,
        bytes: row.int(2)?,
        history: row.int(3)?,
    })
}

/// What one revision superseded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superseding {
    pub(crate) rev: i64,
    pub(crate) cluster: i64,
    /// The type.
    pub(crate) resource: i64,
    /// As they are stored, with the name and what a row takes; 0 of what was added.
    pub(crate) bytes: i64,
}

/// What revisions after one and up to another superseded, in their order: [`decode_superseding`]. A row takes some 128 bytes beside what is packed
/// and its name.
pub(crate) fn measure((after, until): (i64, i64), limit: u32) -> Statement {
    Statement::fixed(
        "milestone.measure",
        "SELECT l.rev, l.nsid, l.type, COALESCE(LENGTH(p.terms) + LENGTH(p.body) + OCTET_LENGTH(p.name) + 128, 0) FROM ver l \
         LEFT JOIN ver p ON p.rev = l.prev_rev AND p.op <> 3 WHERE l.rev > ? AND l.rev <= ? ORDER BY l.rev LIMIT ?",
        [after.into(), until.into(), limit.into()],
    )
}

pub(crate) fn decode_superseding(row: &dyn Row) -> Result<Superseding, StoreError> {
    Ok(Superseding {
        rev: row.int(0)?,
        cluster: cluster_of(row.int(1)?),
        resource: row.int(2)?,
        bytes: row.int(3)?,
    })
}

pub(crate) fn insert(milestone: &Milestone) -> Statement {
    let Milestone {
        rev,
        at,
        bytes,
        history,
    } = *milestone;
    Statement::fixed(
        "milestone.insert",
        "INSERT INTO milestone (rev, at, bytes, history) VALUES (?, ?, ?, ?)",
        [rev.into(), at.into(), bytes.into(), history.into()],
    )
}

pub(crate) fn delete(revision: i64) -> Statement {
    Statement::fixed(
        "milestone.delete",
        "DELETE FROM milestone WHERE rev = ?",
        [revision.into()],
    )
}

/// Has those after a revision counted once more.
pub(crate) fn uncount(revision: i64) -> Statement {
    Statement::fixed(
        "milestone.uncount",
        "UPDATE milestone SET history = -1 WHERE rev > ?",
        [revision.into()],
    )
}

/// Drops those after a revision.
pub(crate) fn drop_after(revision: i64) -> Statement {
    Statement::fixed(
        "milestone.drop_after",
        "DELETE FROM milestone WHERE rev > ?",
        [revision.into()],
    )
}

/// Drops those up to a revision.
pub(crate) fn drop_until(revision: i64) -> Statement {
    Statement::fixed(
        "milestone.drop",
        "DELETE FROM milestone WHERE rev <= ?",
        [revision.into()],
    )
}
