//! Reading everything, to check it.

use crate::sql::statement::Statement;

/// (type, nsid, oid, label_hash, terms) of every object that has a version.
pub(crate) fn objects() -> Statement {
    Statement::fixed(
        "check.objects",
        "SELECT o.type, o.nsid, o.oid, o.label_hash, v.terms FROM obj o JOIN ver v ON v.rev = o.rev",
        [],
    )
}

/// (type, nsid, term, first_oid, n, oids) of every block.
pub(crate) fn blocks() -> Statement {
    Statement::fixed(
        "check.blocks",
        "SELECT type, nsid, term, first_oid, n, oids FROM post",
        [],
    )
}

/// (type, nsid, n) of every counter.
pub(crate) fn counters() -> Statement {
    Statement::fixed("check.counters", "SELECT type, nsid, n FROM counter", [])
}

pub(crate) fn count_objects() -> Statement {
    Statement::fixed("check.count_objects", "SELECT COUNT(*) FROM obj", [])
}

pub(crate) fn count_versions() -> Statement {
    Statement::fixed("check.count_versions", "SELECT COUNT(*) FROM ver", [])
}
