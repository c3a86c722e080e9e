//! What makes sums, namespaces and the log agree with the objects again. Rare, so some of it reads whole tables.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::form::term::TermSet;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Param, Sql, Statement};

/// An object of a namespace with what is stored of its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedRow {
    pub(crate) id: i64,
    pub(crate) rev: i64,
    pub(crate) form: i64,
    /// `None` where there is no version, or its terms are damaged.
    pub(crate) terms: Option<TermSet>,
    pub(crate) name: String,
}

/// The next objects of a type in a namespace, by name.
pub(crate) fn objects(
    dialect: Dialect,
    (resource, nsid): (i32, i64),
    after: &str,
    limit: u32,
) -> Statement {
    let sql = Sql::new(
        dialect,
        "mend.objects",
        "SELECT o.id, o.rev, o.form, COALESCE(v.rev, 0), ",
    )
    .bound("COALESCE(v.terms, ?), o.name FROM ", [Vec::new().into()])
    .push(dialect.obj(ObjIndex::Key))
    .push(" LEFT JOIN ver v ON v.rev = o.rev");
    let [resource, nsid] = [resource.into(), nsid].map(Param::from);
    match dialect {
        Dialect::Sqlite | Dialect::MySql => sql.bound(
            " WHERE o.type = ? AND o.nsid = ? AND o.name > ? ORDER BY o.name LIMIT ?",
            [resource, nsid, after.into(), limit.into()],
        ),
        // By the order of the index that is meant.
        Dialect::Postgres => sql.bound(
            " WHERE o.type = ? AND (o.nsid, o.name) > (?, ?) AND o.nsid <= ? \
             ORDER BY o.nsid, o.name LIMIT ?",
            [resource, nsid.clone(), after.into(), nsid, limit.into()],
        ),
    }
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
        name: row.text(5)?,
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

/// (nsid, name) of namespaces that have counters and no row of their own.
pub(crate) fn lost_namespaces() -> Statement {
    Statement::fixed(
        "mend.lost_namespaces",
        "SELECT DISTINCT c.nsid, c.namespace FROM counter c LEFT JOIN ns n ON n.nsid = c.nsid \
         WHERE n.nsid IS NULL",
        [],
    )
}

/// A label key of a type whose values are not posted, if there is one.
pub(crate) fn unposted(resource: i32) -> Statement {
    Statement::fixed(
        "mend.unposted",
        "SELECT term FROM unposted WHERE type = ? LIMIT 1",
        [resource.into()],
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

/// Counts the types of a namespace anew, along the streams of its cluster: each counter is looked up.
pub(crate) fn count_types(dialect: Dialect, nsid: i64) -> Statement {
    let sql = Sql::update(dialect, "mend.count_types", "ns")
        .push("emptied = 0, types = (SELECT COUNT(*) FROM stream s")
        .push(dialect.by_key());
    match dialect {
        Dialect::Sqlite | Dialect::MySql => sql
            .push(dialect.then_join())
            .push("counter c")
            .push(dialect.by_key())
            .push(
                " WHERE s.cluster = ns.cluster AND c.type = s.type AND c.cluster = s.cluster \
                 AND c.namespace = ns.namespace)",
            ),
        // With a limit each is looked up by itself.
        Dialect::Postgres => sql.push(
            " CROSS JOIN LATERAL (SELECT 1 FROM counter c WHERE c.type = s.type \
             AND c.cluster = s.cluster AND c.namespace = ns.namespace LIMIT 1) c \
             WHERE s.cluster = ns.cluster)",
        ),
    }
    .bound(" WHERE nsid = ?", [nsid.into()])
    .build()
}

/// Counts the objects of a stream anew.
pub(crate) fn count_objects(dialect: Dialect, cluster: i64, resource: i32) -> Statement {
    Sql::update(dialect, "mend.count_objects", "stream")
        .push("objects = (SELECT COALESCE(SUM(n), 0) FROM counter c")
        .push(dialect.by_key())
        .bound(
            " WHERE c.type = stream.type AND c.cluster = stream.cluster) \
             WHERE cluster = ? AND type = ?",
            [cluster.into(), resource.into()],
        )
        .build()
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
