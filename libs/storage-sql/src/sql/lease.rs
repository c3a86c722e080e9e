//! The lease on work that one process does at a time, and the clock that goes with it.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::statement::Statement;

/// The lease on the periodic work of the store. Its row is there from the beginning.
const NAME: &str = "upkeep";

/// The lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    /// Empty: nobody.
    pub(crate) holder: String,
    /// Grows with each step of the work.
    pub(crate) beat: i64,
    /// Milliseconds that it was held.
    pub(crate) clock: i64,
}

pub(crate) fn select() -> Statement {
    Statement::fixed(
        "lease.select",
        "SELECT holder, beat, clock FROM lease WHERE name = ?",
        [NAME.into()],
    )
}

pub(crate) fn decode(row: &dyn Row) -> Result<LeaseRow, StoreError> {
    Ok(LeaseRow {
        holder: row.text(0)?,
        beat: row.int(1)?,
        clock: row.int(2)?,
    })
}

/// Holds the lease, and its row until the transaction ends, if nobody has done a step since it was read: no row is touched otherwise.
pub(crate) fn hold(holder: &str, read: &LeaseRow, clock: i64) -> Statement {
    Statement::fixed(
        "lease.hold",
        "UPDATE lease SET holder = ?, beat = beat + 1, clock = ? WHERE name = ? AND beat = ?",
        [holder.into(), clock.into(), NAME.into(), read.beat.into()],
    )
}

/// Holds the row until the transaction ends, whoever's the lease is.
pub(crate) fn touch() -> Statement {
    Statement::fixed(
        "lease.touch",
        "UPDATE lease SET beat = beat WHERE name = ?",
        [NAME.into()],
    )
}

/// Lets anybody have it at once, if it is still this holder's.
pub(crate) fn give_back(holder: &str) -> Statement {
    Statement::fixed(
        "lease.give_back",
        "UPDATE lease SET holder = '', beat = beat + 1 WHERE name = ? AND holder = ?",
        [NAME.into(), holder.into()],
    )
}
