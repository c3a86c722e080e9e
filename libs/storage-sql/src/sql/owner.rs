//! Who looks after clusters, and when they said last that they live.

use crate::sql::dialect::{Dialect, Upsert};
use crate::sql::statement::{Sql, Statement};

/// An owner lives at this second since 1970.
pub(crate) fn keep(dialect: Dialect, owner: &str, now: i64) -> Statement {
    Sql::new(dialect, "owner.keep", "INSERT INTO owner (name, seen) ")
        .bound("VALUES (?, ?)", [owner.into(), now.into()])
        .push(dialect.on_conflict(Upsert::Owner))
        .build()
}

/// Forgets owners of nothing that were seen no later than at this second.
pub(crate) fn forget(until: i64) -> Statement {
    Statement::fixed(
        "owner.forget",
        "DELETE FROM owner WHERE seen <= ? \
         AND NOT EXISTS (SELECT 1 FROM cluster WHERE cluster.owner = owner.name)",
        [until.into()],
    )
}
