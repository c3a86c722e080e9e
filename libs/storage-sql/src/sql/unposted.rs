//! Label keys whose values are not posted.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::type_id;
use crate::sql::dialect::{Dialect, Upsert};
use crate::sql::head::HeadRow;
use crate::sql::statement::{Sql, Statement};

/// A label key of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnpostedRow {
    pub(crate) resource: i32,
    /// The term of the key.
    pub(crate) key: i64,
    /// No object was posted under a value after this revision.
    pub(crate) revision: i64,
}

/// Notes keys (the type, and the term of the key) at this head. What is there already stays as it is.
pub(crate) fn insert(dialect: Dialect, head: &HeadRow, keys: &[(i32, i64)]) -> Statement {
    let rows = keys.iter().map(|&(resource, key)| {
        [
            resource.into(),
            key.into(),
            head.revision.into(),
            head.catalog.into(),
        ]
    });
    Sql::new(
        dialect,
        "unposted.insert",
        "INSERT INTO unposted (type, term, rev, seq) ",
    )
    .rows(rows)
    .push(dialect.on_conflict(Upsert::Unposted))
    .build()
}

/// What was learnt of types that go.
pub(crate) fn delete(dialect: Dialect, types: &[i64]) -> Statement {
    Sql::new(dialect, "unposted.delete", "DELETE FROM unposted WHERE ")
        .within("type", types)
        .build()
}

/// Those that were noted after a count of the catalogue.
pub(crate) fn since(seq: i64) -> Statement {
    Statement::fixed(
        "unposted.since",
        "SELECT type, term, rev FROM unposted WHERE seq > ?",
        [seq.into()],
    )
}

pub(crate) fn decode(row: &dyn Row) -> Result<UnpostedRow, StoreError> {
    Ok(UnpostedRow {
        resource: type_id(row.int(0)?)?,
        key: row.int(1)?,
        revision: row.int(2)?,
    })
}
