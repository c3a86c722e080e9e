//! What is stored, added up by the database: for each type and cluster a row. Everything is read.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::type_id;
use crate::sql::dialect::Dialect;
use crate::sql::statement::{Sql, Statement};

/// A type of a cluster: the key of what is added up.
pub(crate) type Shared = (i32, i64);

/// Versions of a type of a cluster: those of objects, and those that were superseded or are tombstones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionSums {
    pub(crate) objects: i64,
    /// Of their bodies, before they were packed.
    pub(crate) served_bytes: i64,
    /// Of all bodies and terms, packed.
    pub(crate) stored_bytes: i64,
    pub(crate) past: i64,
    /// As pruning counts them.
    pub(crate) past_bytes: i64,
    /// Of all, those that a trained dictionary packs.
    pub(crate) trained: i64,
}

/// By type and cluster: [`decode_versions`]. Dictionaries that were trained have this number or a greater one.
pub(crate) fn versions(dialect: Dialect, first_trained: i64) -> Statement {
    let int = dialect.as_int();
    Sql::new(
        dialect,
        "stats.versions",
        "SELECT v.type, CAST(v.nsid >> 32",
    )
    .push(int)
    .push(", COUNT(*), ")
    .push(dialect.count())
    .push("o.id), CAST(COALESCE(SUM(o.size), 0)")
    .push(int)
    .push(", CAST(SUM(LENGTH(v.body) + LENGTH(v.terms))")
    .push(int)
    .push(", CAST(SUM(CASE WHEN o.id IS NULL AND v.op <> 3 THEN LENGTH(v.body) + LENGTH(v.terms) + LENGTH(v.name) + 128 ELSE 0 END)")
    .push(int)
    .bound(
        ", CAST(SUM(CASE WHEN v.dict >= ? THEN 1 ELSE 0 END)",
        [first_trained.into()],
    )
    .push(int)
    .push(" FROM ver v LEFT JOIN obj o ON o.id = v.obj AND o.rev = v.rev GROUP BY 1, 2")
    .build()
}

pub(crate) fn decode_versions(row: &dyn Row) -> Result<(Shared, VersionSums), StoreError> {
    let (all, objects) = (row.int(2)?, row.int(3)?);
    let sums = VersionSums {
        objects,
        served_bytes: row.int(4)?,
        stored_bytes: row.int(5)?,
        past: all - objects,
        past_bytes: row.int(6)?,
        trained: row.int(7)?,
    };
    Ok(((type_id(row.int(0)?)?, row.int(1)?), sums))
}

/// The index of a type of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexSums {
    pub(crate) blocks: i64,
    /// An object for each term that leads to it.
    pub(crate) entries: i64,
    pub(crate) bytes: i64,
}

/// By type and cluster: [`decode_index`].
pub(crate) fn index(dialect: Dialect) -> Statement {
    let int = dialect.as_int();
    Sql::new(dialect, "stats.index", "SELECT type, CAST(nsid >> 32")
        .push(int)
        .push(", COUNT(*), CAST(SUM(n)")
        .push(int)
        .push(", CAST(SUM(LENGTH(ids))")
        .push(int)
        .push(" FROM post GROUP BY 1, 2")
        .build()
}

pub(crate) fn decode_index(row: &dyn Row) -> Result<(Shared, IndexSums), StoreError> {
    let sums = IndexSums {
        blocks: row.int(2)?,
        entries: row.int(3)?,
        bytes: row.int(4)?,
    };
    Ok(((type_id(row.int(0)?)?, row.int(1)?), sums))
}

/// What each table takes with its indexes, the largest first: [`decode_table`]. A file says so in its own way.
pub(crate) fn tables(dialect: Dialect) -> Option<Statement> {
    let text = match dialect {
        Dialect::Sqlite => return None,
        Dialect::Postgres => {
            "SELECT CAST(c.relname AS TEXT), CAST(pg_catalog.pg_total_relation_size(c.oid) AS BIGINT) FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind = 'r' AND n.nspname = current_schema() ORDER BY 2 DESC, 1"
        }
        Dialect::MySql => {
            "SELECT CAST(t.table_name AS BINARY), CAST(t.data_length + t.index_length AS SIGNED) \
             FROM information_schema.tables t WHERE t.table_schema = DATABASE() ORDER BY 2 DESC, 1"
        }
    };
    Some(Statement::fixed("stats.tables", text, []))
}

pub(crate) fn decode_table(row: &dyn Row) -> Result<(String, u64), StoreError> {
    Ok((row.text(0)?, row.int(1)?.unsigned_abs()))
}
