//! Types whose superseded versions are kept beyond the watch window.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::type_id;
use crate::sql::dialect::{Dialect, Many};
use crate::sql::statement::{Sql, Statement};

/// (id, history) of types that have a history.
pub(crate) fn types() -> Statement {
    Statement::fixed(
        "type.with_history",
        "SELECT id, history FROM type WHERE history >= 0 ORDER BY id",
        [],
    )
}

/// The same of all versions of these resources, (group, plural name): a history of less than 0 is none.
pub(crate) fn types_of(dialect: Dialect, resources: &[(&str, &str)]) -> Statement {
    let keys = resources
        .iter()
        .map(|&(group, resource)| [group.into(), resource.into()]);
    let sql = Sql::new(dialect, "type.of_resources", "SELECT t.id, t.history FROM ");
    match dialect.many() {
        Many::Arrays => sql.table("k (api_group, resource)", keys).push(
            " CROSS JOIN LATERAL (SELECT * FROM type t \
             WHERE t.api_group = k.api_group AND t.resource = k.resource OFFSET 0) t",
        ),
        Many::Values | Many::Selects => sql
            .push("type t WHERE ")
            .keys("(t.api_group, t.resource)", keys),
    }
    .build()
}

/// (type, from which revision on what it superseded is kept; less than 0: it has no history)
pub(crate) fn decode(row: &dyn Row) -> Result<(i32, i64), StoreError> {
    Ok((type_id(row.int(0)?)?, row.int(1)?))
}

/// Notes from which revision on types have a history; less than 0: they have none.
pub(crate) fn note(dialect: Dialect, since: i64, types: &[i64]) -> Statement {
    Sql::update(dialect, "type.note_history", "type")
        .bound("history = ? WHERE ", [since.into()])
        .within("id", types)
        .build()
}
