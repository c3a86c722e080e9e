//! Types whose superseded versions are kept beyond the watch window.

use armadex_model::GroupVersionResource;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::type_id;
use crate::sql::dialect::{Dialect, Many};
use crate::sql::statement::{Param, Sql, Statement};

/// What is to be kept of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedRow {
    pub(crate) group: String,
    /// The plural name.
    pub(crate) resource: String,
    /// In milliseconds.
    pub(crate) period: i64,
    pub(crate) bytes: i64,
}

/// Resources of which a history was asked for last.
pub(crate) fn asked() -> Statement {
    Statement::fixed(
        "history.asked",
        "SELECT api_group, resource, period, bytes FROM history ORDER BY api_group, resource",
        [],
    )
}

pub(crate) fn decode_asked(row: &dyn Row) -> Result<AskedRow, StoreError> {
    Ok(AskedRow {
        group: row.text(0)?,
        resource: row.text(1)?,
        period: row.int(2)?,
        bytes: row.int(3)?,
    })
}

/// Forgets what was asked for.
pub(crate) fn forget_asked() -> Statement {
    Statement::fixed("history.forget", "DELETE FROM history", [])
}

pub(crate) fn ask(dialect: Dialect, rows: &[AskedRow]) -> Statement {
    let tuples = rows.iter().map(|row| {
        [
            Param::from(&row.group),
            (&row.resource).into(),
            row.period.into(),
            row.bytes.into(),
        ]
    });
    Sql::new(
        dialect,
        "history.ask",
        "INSERT INTO history (api_group, resource, period, bytes) ",
    )
    .rows(tuples)
    .build()
}

/// Types that have a history.
pub(crate) fn types() -> Statement {
    Statement::fixed(
        "type.with_history",
        "SELECT id, history, api_group, version, resource FROM type WHERE history >= 0 ORDER BY id",
        [],
    )
}

/// The same of all versions of these resources, (group, plural name): a history of less than 0 is none.
pub(crate) fn types_of(dialect: Dialect, resources: &[(&str, &str)]) -> Statement {
    let keys = resources
        .iter()
        .map(|&(group, resource)| [group.into(), resource.into()]);
    let sql = Sql::new(
        dialect,
        "type.of_resources",
        "SELECT t.id, t.history, t.api_group, t.version, t.resource FROM ",
    );
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

/// A type, and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistoryRow {
    pub(crate) id: i32,
    /// From which revision on what it superseded is kept; less than 0: it has no history.
    pub(crate) since: i64,
    pub(crate) gvr: GroupVersionResource,
}

pub(crate) fn decode(row: &dyn Row) -> Result<HistoryRow, StoreError> {
    Ok(HistoryRow {
        id: type_id(row.int(0)?)?,
        since: row.int(1)?,
        gvr: GroupVersionResource::new(row.text(2)?, row.text(3)?, row.text(4)?),
    })
}

/// Histories are whole from a revision on, and may lack something before it.
pub(crate) fn begin_at(revision: i64) -> Statement {
    Statement::fixed(
        "type.begin_histories",
        "UPDATE type SET history = ? WHERE history >= 0 AND history < ?",
        [revision.into(), revision.into()],
    )
}

/// What is noted of a type whose history has ended, when all up to this revision was pruned but for histories: that it has none, and up to where some of it may be
/// left. One that never had any is as one whose history ended at 0.
pub(crate) fn ended(pruned: i64) -> i64 {
    -1 - pruned
}

/// Notes from which revision on types have a history; less than 0: they have none.
pub(crate) fn note(dialect: Dialect, since: i64, types: &[i64]) -> Statement {
    Sql::update(dialect, "type.note_history", "type")
        .bound("history = ? WHERE ", [since.into()])
        .within("id", types)
        .build()
}
