//! Milestones: which revision the head was at, and since when at the latest.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::statement::Statement;

/// The last milestone: (revision, milliseconds of the lease's clock).
pub(crate) fn last() -> Statement {
    Statement::fixed(
        "milestone.last",
        "SELECT rev, at FROM milestone ORDER BY rev DESC LIMIT 1",
        [],
    )
}

pub(crate) fn decode(row: &dyn Row) -> Result<(i64, i64), StoreError> {
    Ok((row.int(0)?, row.int(1)?))
}

pub(crate) fn insert(revision: i64, at: i64) -> Statement {
    Statement::fixed(
        "milestone.insert",
        "INSERT INTO milestone (rev, at) VALUES (?, ?)",
        [revision.into(), at.into()],
    )
}

/// The last revision that was the head at this time or before. They are few.
pub(crate) fn until(at: i64) -> Statement {
    Statement::fixed(
        "milestone.until",
        "SELECT rev, at FROM milestone WHERE at <= ? ORDER BY rev DESC LIMIT 1",
        [at.into()],
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
