//! Trained dictionaries, and what they are trained on.

use armadex_storage::StoreError;

use super::catalog::type_id;
use crate::backend::Row;
use crate::form::dictionaries::Mark;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Sql, Statement};

/// All that there are: [`decode_trained`].
pub(crate) fn all() -> Statement {
    Statement::fixed("dict.all", "SELECT id, objects FROM dict ORDER BY id", [])
}

/// The number, and how many objects the type had when it was trained.
pub(crate) fn decode_trained(row: &dyn Row) -> Result<(i64, i64), StoreError> {
    Ok((row.int(0)?, row.int(1)?))
}

/// All that there are, with what they take: [`decode_sizes`].
pub(crate) fn sizes() -> Statement {
    Statement::fixed(
        "dict.sizes",
        "SELECT id, objects, LENGTH(bytes) FROM dict ORDER BY id",
        [],
    )
}

/// The number, how many objects the type had when it was trained, and its bytes.
pub(crate) fn decode_sizes(row: &dyn Row) -> Result<(i64, i64, i64), StoreError> {
    Ok((row.int(0)?, row.int(1)?, row.int(2)?))
}

/// Those of these numbers that there are, the first trained first: [`decode`].
pub(crate) fn several(dialect: Dialect, numbers: &[i64]) -> Statement {
    Sql::new(dialect, "dict.several", "SELECT id, bytes FROM dict WHERE ")
        .within("id", numbers)
        .push(" ORDER BY id")
        .build()
}

/// The number and the dictionary.
pub(crate) fn decode(row: &dyn Row) -> Result<(i64, Vec<u8>), StoreError> {
    Ok((row.int(0)?, row.blob(1)?))
}

/// Those of these numbers that there are, by how they begin: [`decode_mark`].
pub(crate) fn marks(dialect: Dialect, numbers: &[i64]) -> Statement {
    let select = "SELECT id, SUBSTR(bytes, 1, 8) FROM dict WHERE ";
    Sql::new(dialect, "dict.marks", select)
        .within("id", numbers)
        .build()
}

/// What a body that is packed with it says of it.
pub(crate) fn decode_mark(row: &dyn Row) -> Result<Mark, StoreError> {
    Ok(Mark::of(row.int(0)?, &row.blob(1)?))
}

pub(crate) fn insert(number: i64, objects: i64, bytes: &[u8]) -> Statement {
    Statement::fixed(
        "dict.insert",
        "INSERT INTO dict (id, objects, bytes) VALUES (?, ?, ?)",
        [number.into(), objects.into(), bytes.to_vec().into()],
    )
}

pub(crate) fn delete(dialect: Dialect, numbers: &[i64]) -> Statement {
    Sql::new(dialect, "dict.delete", "DELETE FROM dict WHERE ")
        .within("id", numbers)
        .build()
}

/// The types that have at least so many objects in streams that are shown, the largest first: [`decode_size`].
pub(crate) fn large_types(dialect: Dialect, least: i64) -> Statement {
    Sql::new(
        dialect,
        "dict.large_types",
        "SELECT type, CAST(SUM(objects)",
    )
    .push(dialect.as_int())
    .push(" FROM stream WHERE is_open = 1 GROUP BY type HAVING CAST(SUM(objects)")
    .push(dialect.as_int())
    .bound(" >= ? ORDER BY 2 DESC, 1", [least.into()])
    .build()
}

/// The type and its objects.
pub(crate) fn decode_size(row: &dyn Row) -> Result<(i32, i64), StoreError> {
    Ok((type_id(row.int(0)?)?, row.int(1)?))
}

/// The clusters that have objects of a type, and show them. Each is found by its number: `active + 0` has no index.
pub(crate) fn clusters(resource: i32) -> Statement {
    Statement::fixed(
        "dict.clusters",
        "SELECT s.cluster FROM stream s JOIN cluster c ON c.id = s.cluster \
         WHERE s.type = ? AND s.is_open = 1 AND s.objects > 0 AND c.active + 0 = 1",
        [resource.into()],
    )
}

/// The namespace ids of a cluster that have objects of a type, some of them.
pub(crate) fn namespaces(resource: i32, cluster: i64, limit: i64) -> Statement {
    Statement::fixed(
        "dict.namespaces",
        "SELECT nsid FROM counter WHERE type = ? AND cluster = ? ORDER BY namespace LIMIT ?",
        [resource.into(), cluster.into(), limit.into()],
    )
}

/// Some objects of a type in a namespace: (revision, bytes of the body).
pub(crate) fn sample(dialect: Dialect, resource: i32, nsid: i64, limit: i64) -> Statement {
    Sql::new(dialect, "dict.sample", "SELECT o.rev, o.size FROM ")
        .push(dialect.obj(ObjIndex::Key))
        .bound(
            " WHERE o.type = ? AND o.nsid = ? ORDER BY o.name LIMIT ?",
            [resource.into(), nsid.into(), limit.into()],
        )
        .build()
}
