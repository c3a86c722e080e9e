//! What was purged from the catalogue, for readers that have not heard yet that it is hidden.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::type_id;
use crate::sql::dialect::Dialect;
use crate::sql::statement::{Sql, Statement};
use crate::sql::stream::key_params;

/// Notes streams, which are deleted next.
pub(crate) fn note_streams(dialect: Dialect, keys: &[(i64, i32)]) -> Statement {
    Sql::new(
        dialect,
        "gone.note_streams",
        "INSERT INTO gone (seq, cluster, type) SELECT seq, cluster, type FROM stream",
    )
    .push(dialect.by_key())
    .push(" WHERE ")
    .keys("(cluster, type)", keys.iter().map(key_params))
    .build()
}

/// Notes a cluster, which is deleted next.
pub(crate) fn note_cluster(id: i64) -> Statement {
    Statement::fixed(
        "gone.note_cluster",
        "INSERT INTO gone (seq, cluster, type) SELECT seq, id, 0 FROM cluster WHERE id = ?",
        [id.into()],
    )
}

/// Notes a type that none has any more, as one of no cluster.
pub(crate) fn note_types(dialect: Dialect, seq: i64, ids: &[i64]) -> Statement {
    let tuples = ids.iter().map(|&id| [seq.into(), 0_i64.into(), id.into()]);
    Sql::new(
        dialect,
        "gone.note_types",
        "INSERT INTO gone (seq, cluster, type) ",
    )
    .rows(tuples)
    .build()
}

/// What was hidden after a count of the catalogue and is purged by now: (cluster, type), type 0 for the cluster itself, cluster 0 for a type that none
/// has any more.
pub(crate) fn since(seq: i64) -> Statement {
    Statement::fixed(
        "gone.since",
        "SELECT cluster, type FROM gone WHERE seq > ?",
        [seq.into()],
    )
}

pub(crate) fn decode(row: &dyn Row) -> Result<(i64, i32), StoreError> {
    Ok((row.int(0)?, type_id(row.int(1)?)?))
}

/// The count up to which so many were hidden, if more were.
pub(crate) fn count_of_first(many: i64) -> Statement {
    Statement::fixed(
        "gone.count_of_first",
        "SELECT seq FROM gone ORDER BY seq LIMIT 1 OFFSET ?",
        [many.into()],
    )
}

/// Drops what was hidden up to a count.
pub(crate) fn drop_until(seq: i64) -> Statement {
    Statement::fixed("gone.drop", "DELETE FROM gone WHERE seq <= ?", [seq.into()])
}
