//! Who looks after clusters, when they said last that they live, and the how manieth of their processes does so.

use armadex_storage::{StoreError, Tenure};

use crate::backend::Row;
use crate::sql::dialect::{Dialect, Upsert};
use crate::sql::statement::{Sql, Statement};

/// An owner lives at this second since 1970.
pub(crate) fn keep(dialect: Dialect, owner: &str, now: i64) -> Statement {
    Sql::new(dialect, "owner.keep", "INSERT INTO owner (name, seen) ")
        .bound("VALUES (?, ?)", [owner.into(), now.into()])
        .push(dialect.on_conflict(Upsert::Owner))
        .build()
}

/// Owners of nothing that were seen no later than at this second.
pub(crate) fn forgettable(until: i64, limit: u32) -> Statement {
    Statement::fixed(
        "owner.forgettable",
        "SELECT name FROM owner WHERE seen <= ? \
         AND NOT EXISTS (SELECT 1 FROM cluster WHERE cluster.owner = owner.name) \
         ORDER BY name LIMIT ?",
        [until.into(), limit.into()],
    )
}

/// Forgets one of them, unless it is seen again.
pub(crate) fn forget(owner: &str, until: i64) -> Statement {
    Statement::fixed(
        "owner.forget",
        "DELETE FROM owner WHERE name = ? AND seen <= ?",
        [owner.into(), until.into()],
    )
}

/// Begins the next tenure of an owner that had one. No row is touched if it had none.
pub(crate) fn begin_next(owner: &str) -> Statement {
    Statement::fixed(
        "owner.begin_next",
        "UPDATE tenure SET number = number + 1 WHERE owner = ?",
        [owner.into()],
    )
}

/// Begins a tenure of an owner of which none is known.
pub(crate) fn begin_as(owner: &str, Tenure(number): Tenure) -> Statement {
    Statement::fixed(
        "owner.begin_as",
        "INSERT INTO tenure (owner, number) VALUES (?, ?)",
        [owner.into(), number.into()],
    )
}

/// Makes this tenure of an owner the one that lasts, where a former one does.
pub(crate) fn go_on_as(owner: &str, Tenure(number): Tenure) -> Statement {
    Statement::fixed(
        "owner.go_on_as",
        "UPDATE tenure SET number = ? WHERE owner = ? AND number < ?",
        [number.into(), owner.into(), number.into()],
    )
}

/// The tenures that last of these owners: [`decode_tenure`].
pub(crate) fn tenures(dialect: Dialect, owners: &[&str]) -> Statement {
    Sql::new(
        dialect,
        "owner.tenures",
        "SELECT owner, number FROM tenure WHERE ",
    )
    .within("owner", owners)
    .build()
}

/// The same, which last until the transaction ends: whoever begins another one waits. They are held in the order of their owners, whoever asks.
pub(crate) fn hold_tenures(dialect: Dialect, owners: &[&str]) -> Statement {
    Sql::new(dialect, "tenure.hold", "SELECT owner, number FROM tenure")
        .push(dialect.by_key())
        .push(" WHERE ")
        .within("owner", owners)
        .push(" ORDER BY owner")
        .push(dialect.held())
        .build()
}

/// An owner and its tenure.
pub(crate) fn decode_tenure(row: &dyn Row) -> Result<(String, Tenure), StoreError> {
    Ok((row.text(0)?, row.int(1).map(Tenure)?))
}
