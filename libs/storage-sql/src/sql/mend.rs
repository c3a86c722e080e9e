//! What makes sums, namespaces and the log agree with the objects again. Rare, so some of it reads whole tables.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::form::term::TermSet;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Sql, Statement};

/// An object of a namespace with what is stored of its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedRow {
    pub(crate) id: i64,
    pub(crate) rev: i64,
    pub(crate) form: i64,
    /// `None` where there is no version, or its terms are damaged.
    pub(crate) terms: Option<TermSet>,
}

/// The objects of a type in a namespace.
pub(crate) fn objects(dialect: Dialect, resource: i32, nsid: i64) -> Statement {
    Sql::new(
        dialect,
        "mend.objects",
        "SELECT o.id, o.rev, o.form, COALESCE(v.rev, 0), ",
    )
    .bound("COALESCE(v.terms, ?) FROM ", [Vec::new().into()])
    .push(dialect.obj(ObjIndex::Key))
    .bound(
        " LEFT JOIN ver v ON v.rev = o.rev WHERE o.type = ? AND o.nsid = ?",
        [resource.into(), nsid.into()],
    )
    .build()
}

pub(crate) fn decode_object(row: &dyn Row) -> Result<PlacedRow, StoreError> {
    let has_version = row.int(3)? != 0;
    let terms = row.blob(4)?;
    Ok(PlacedRow {
        id: row.int(0)?,
        rev: row.int(1)?,
        form: row.int(2)?,
        terms: TermSet::from_bytes(&terms).filter(|_| has_version),
    })
}

/// (type, nsid) of objects that have no version.
pub(crate) fn without_version() -> Statement {
    Statement::fixed(
        "mend.without_version",
        "SELECT DISTINCT o.type, o.nsid FROM obj o LEFT JOIN ver v ON v.rev = o.rev \
         WHERE v.rev IS NULL",
        [],
    )
}

/// The name of a namespace, by its counters.
pub(crate) fn namespace_name(nsid: i64) -> Statement {
    Statement::fixed(
        "mend.namespace_name",
        "SELECT namespace FROM counter WHERE nsid = ? LIMIT 1",
        [nsid.into()],
    )
}

/// Holds a namespace, so that nobody's type comes or goes there.
pub(crate) fn hold_namespace(nsid: i64) -> Statement {
    Statement::fixed(
        "mend.hold_namespace",
        "UPDATE ns SET emptied = 0 WHERE nsid = ?",
        [nsid.into()],
    )
}

/// Counts the types of a namespace anew.
pub(crate) fn count_types(nsid: i64) -> Statement {
    Statement::fixed(
        "mend.count_types",
        "UPDATE ns SET emptied = 0, types = (SELECT COUNT(*) FROM counter c \
         WHERE c.cluster = ns.cluster AND c.namespace = ns.namespace) WHERE nsid = ?",
        [nsid.into()],
    )
}

/// Counts the objects of a stream anew.
pub(crate) fn count_objects(cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "mend.count_objects",
        "UPDATE stream SET objects = (SELECT COALESCE(SUM(n), 0) FROM counter c \
         WHERE c.type = stream.type AND c.cluster = stream.cluster) WHERE cluster = ? AND type = ?",
        [cluster.into(), resource.into()],
    )
}

/// The next revisions that have a version.
pub(crate) fn versions_after(rev: i64, limit: u32) -> Statement {
    Statement::fixed(
        "mend.versions_after",
        "SELECT v.rev, COALESCE(o.id, 0) FROM ver v \
         LEFT JOIN obj o ON o.id = v.obj AND o.rev = v.rev WHERE v.rev > ? ORDER BY v.rev LIMIT ?",
        [rev.into(), limit.into()],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nothing is damaged it has no row, however much is read.
    #[test]
    fn whoever_looks_for_what_is_damaged_waits_for_all_of_it() {
        assert!(without_version().adds_up());
        assert!(!versions_after(0, 1).adds_up());
    }
}
