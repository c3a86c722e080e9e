//! The row that orders all revisions, and the numbers that are handed out.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::statement::Statement;

/// The head row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeadRow {
    pub(crate) revision: i64,
    /// Superseded versions and tombstones up to this revision are gone, but for those of types with a history.
    pub(crate) pruned: i64,
    /// Counts the changes of what a snapshot holds.
    pub(crate) catalog: i64,
    /// What was hidden up to this count and is purged may have been forgotten.
    pub(crate) floor: i64,
    pub(crate) incarnation: String,
    /// The oldest version of the schema that a binary has to know to use the store.
    pub(crate) serves: i64,
    /// Up to this revision those of types with a history are gone as well. Never more than `pruned`, and the same where no type has any.
    pub(crate) history: i64,
}

/// What numbers are handed out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
    Cluster,
    Epoch,
    Object,
    Type,
}

impl Numbered {
    fn name(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Epoch => "epoch",
            Self::Object => "object",
            Self::Type => "type",
        }
    }
}

pub(crate) fn select() -> Statement {
    Statement::fixed(
        "head.select",
        "SELECT rev, pruned, catalog, floor, incarnation, serves, history FROM head WHERE id = 1",
        [],
    )
}

/// Makes the row.
pub(crate) fn insert(incarnation: &str) -> Statement {
    Statement::fixed(
        "head.insert",
        "INSERT INTO head (id, rev, pruned, catalog, floor, incarnation) VALUES (1, 0, 0, 1, 0, ?)",
        [incarnation.into()],
    )
}

pub(crate) fn decode(row: &dyn Row) -> Result<HeadRow, StoreError> {
    Ok(HeadRow {
        revision: row.int(0)?,
        pruned: row.int(1)?,
        catalog: row.int(2)?,
        floor: row.int(3)?,
        incarnation: row.text(4)?,
        serves: row.int(5)?,
        history: row.int(6)?,
    })
}

/// Takes `count` revisions. From here to the commit no other transaction gets any: revision order is commit order.
pub(crate) fn advance(count: i64) -> Statement {
    Statement::fixed(
        "head.advance",
        "UPDATE head SET rev = rev + ? WHERE id = 1",
        [count.into()],
    )
}

/// Notes that nothing superseded is left up to `pruned`, but for histories, and up to `history` nothing at all, if the head is still what was read. Takes effect of one row
/// then, and of none where another has pruned.
pub(crate) fn set_pruned(from: &HeadRow, pruned: i64, history: i64) -> Statement {
    Statement::fixed(
        "head.set_pruned",
        "UPDATE head SET pruned = ?, history = ? WHERE id = 1 AND pruned = ? AND history = ?",
        [
            pruned.into(),
            history.into(),
            from.pruned.into(),
            from.history.into(),
        ],
    )
}

/// Counts one more change of the catalogue.
pub(crate) fn bump_catalog() -> Statement {
    Statement::fixed(
        "head.bump_catalog",
        "UPDATE head SET catalog = catalog + 1 WHERE id = 1",
        [],
    )
}

/// Notes that what was hidden up to a count is forgotten: a change that somebody has not seen cannot be read any more.
pub(crate) fn raise_floor(seq: i64) -> Statement {
    Statement::fixed(
        "head.raise_floor",
        "UPDATE head SET floor = ? WHERE id = 1",
        [seq.into()],
    )
}

/// Makes every revision that this incarnation has handed out meaningless; of no row where it is another one by now.
pub(crate) fn set_incarnation(incarnation: &str, former: &str) -> Statement {
    Statement::fixed(
        "head.set_incarnation",
        "UPDATE head SET incarnation = ? WHERE id = 1 AND incarnation = ?",
        [incarnation.into(), former.into()],
    )
}

/// The store serves binaries that know this version of the schema, and none that know only earlier ones.
pub(crate) fn raise_serves(version: i64) -> Statement {
    Statement::fixed(
        "head.raise_serves",
        "UPDATE head SET serves = ? WHERE id = 1 AND serves < ?",
        [version.into(), version.into()],
    )
}

/// Makes all of the row what it is to be, if the store serves nobody but binaries that know this version.
pub(crate) fn replace(serves: i64, row: &HeadRow) -> Statement {
    Statement::fixed(
        "head.replace",
        "UPDATE head SET rev = ?, pruned = ?, catalog = ?, floor = ?, incarnation = ?, serves = ?, history = ? WHERE id = 1 AND serves = ?",
        [
            row.revision.into(),
            row.pruned.into(),
            row.catalog.into(),
            row.floor.into(),
            row.incarnation.as_str().into(),
            row.serves.into(),
            row.history.into(),
            serves.into(),
        ],
    )
}

/// Takes `count` numbers; [`next_number`] in the same transaction tells the one after the last.
pub(crate) fn take_numbers(of: Numbered, count: i64) -> Statement {
    Statement::fixed(
        "allocation.take",
        "UPDATE allocation SET next = next + ? WHERE name = ?",
        [count.into(), of.name().into()],
    )
}

pub(crate) fn next_number(of: Numbered) -> Statement {
    Statement::fixed(
        "allocation.next",
        "SELECT next FROM allocation WHERE name = ?",
        [of.name().into()],
    )
}
