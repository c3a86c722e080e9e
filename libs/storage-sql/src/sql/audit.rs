//! Reading everything, to check it.

use crate::sql::dialect::Dialect;
use crate::sql::statement::{Param, Sql, Statement};

/// (type, nsid, id, form, terms, rev, size, dict, body) of every object that has a version.
pub(crate) fn objects() -> Statement {
    Statement::fixed(
        "check.objects",
        "SELECT o.type, o.nsid, o.id, o.form, v.terms, o.rev, o.size, v.dict, v.body \
         FROM obj o JOIN ver v ON v.rev = o.rev",
        [],
    )
}

/// (type, nsid, term, first_id, n, ids) of every block.
pub(crate) fn blocks() -> Statement {
    Statement::fixed(
        "check.blocks",
        "SELECT type, nsid, term, first_id, n, ids FROM post",
        [],
    )
}

/// (type, nsid, n) of every counter.
pub(crate) fn counters() -> Statement {
    Statement::fixed("check.counters", "SELECT type, nsid, n FROM counter", [])
}

/// (cluster, type, objects) of every stream.
pub(crate) fn streams() -> Statement {
    Statement::fixed(
        "check.streams",
        "SELECT cluster, type, objects FROM stream",
        [],
    )
}

/// (nsid, types) of every namespace.
pub(crate) fn namespaces() -> Statement {
    Statement::fixed("check.namespaces", "SELECT nsid, types FROM ns", [])
}

/// (all objects, those up to the revision `pruned`)
pub(crate) fn count_objects(dialect: Dialect, pruned: i64) -> Statement {
    Sql::new(dialect, "check.count_objects", "SELECT COUNT(*), ")
        .count_of("rev <= ?", [pruned.into()])
        .push(" FROM obj")
        .build()
}

/// What the log from the revision `history` on says of versions up to `pruned`, and of histories: (versions that something superseded and that are there, tombstones,
/// versions that a type's history lacks)
pub(crate) fn count_history(
    dialect: Dialect,
    history: i64,
    pruned: i64,
    revision: i64,
) -> Statement {
    Sql::new(dialect, "check.count_history", "SELECT ")
        .count_of("l.rev <= ? AND p.op <> 3", [pruned.into()])
        .push(", ")
        .count_of("l.rev <= ? AND l.op = 3", [pruned.into()])
        .push(", ")
        .count_of(
            "t.history >= 0 AND l.rev > t.history AND l.prev_rev > 0 AND p.rev IS NULL",
            [],
        )
        .bound(
            " FROM ver l LEFT JOIN ver p ON p.rev = l.prev_rev LEFT JOIN type t ON t.id = l.type \
             WHERE l.rev > ? AND l.rev <= ?",
            [history.into(), revision.into()],
        )
        .build()
}

/// (all versions, those up to `pruned`, those after it and up to `revision`, those of the latter that superseded one of the former)
pub(crate) fn count_versions(dialect: Dialect, pruned: i64, revision: i64) -> Statement {
    Sql::new(dialect, "check.count_versions", "SELECT COUNT(*), ")
        .count_of("rev <= ?", [pruned.into()])
        .push(", ")
        .count_of("rev > ? AND rev <= ?", [pruned.into(), revision.into()])
        .push(", ")
        .count_of(
            "rev > ? AND rev <= ? AND prev_rev > 0 AND prev_rev <= ?",
            [pruned.into(), revision.into(), pruned.into()],
        )
        .push(" FROM ver")
        .build()
}

impl Sql {
    /// Appends how many rows there are of which this is so.
    fn count_of<const N: usize>(self, test: &'static str, params: [Param; N]) -> Self {
        let count = self.dialect.count();
        self.push(count)
            .push("CASE WHEN ")
            .bound(test, params)
            .push(" THEN 1 END)")
    }
}
