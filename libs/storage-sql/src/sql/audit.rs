//! Reading everything, to check it.

use crate::sql::statement::Statement;

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
pub(crate) fn count_objects(pruned: i64) -> Statement {
    Statement::fixed(
        "check.count_objects",
        "SELECT COUNT(*), COUNT(CASE WHEN rev <= ? THEN 1 END) FROM obj",
        [pruned.into()],
    )
}

/// What the log from the revision `history` on says of versions up to `pruned`, and of histories: (versions that something superseded and that are there, tombstones,
/// versions that a type's history lacks)
pub(crate) fn count_history(history: i64, pruned: i64, revision: i64) -> Statement {
    Statement::fixed(
        "check.count_history",
        "SELECT COUNT(CASE WHEN l.rev <= ? AND p.op <> 3 THEN 1 END), \
         COUNT(CASE WHEN l.rev <= ? AND l.op = 3 THEN 1 END), \
         COUNT(CASE WHEN t.history >= 0 AND l.rev > t.history AND l.prev_rev > 0 AND p.rev IS NULL THEN 1 END) \
         FROM ver l LEFT JOIN ver p ON p.rev = l.prev_rev LEFT JOIN type t ON t.id = l.type \
         WHERE l.rev > ? AND l.rev <= ?",
        [
            pruned.into(),
            pruned.into(),
            history.into(),
            revision.into(),
        ],
    )
}

/// (all versions, those up to `pruned`, those after it and up to `revision`, those of the latter that superseded one of the former)
pub(crate) fn count_versions(pruned: i64, revision: i64) -> Statement {
    Statement::fixed(
        "check.count_versions",
        "SELECT COUNT(*), COUNT(CASE WHEN rev <= ? THEN 1 END), \
         COUNT(CASE WHEN rev > ? AND rev <= ? THEN 1 END), \
         COUNT(CASE WHEN rev > ? AND rev <= ? AND prev_rev > 0 AND prev_rev <= ? THEN 1 END) FROM ver",
        [
            pruned.into(),
            pruned.into(),
            revision.into(),
            pruned.into(),
            revision.into(),
            pruned.into(),
        ],
    )
}
