//! Reading: objects along an index, versions, counters.

use std::ops::Range;

use armadex_model::NameFilter;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::form::version::MemberVersion;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Sql, Statement};

/// An object without its body: what is sorted, filtered and paged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) oid: i64,
    pub(crate) nsid: i64,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) created: i64,
    pub(crate) version: MemberVersion,
    pub(crate) size: i64,
    pub(crate) rev: i64,
}

const COLUMNS: &str =
    "SELECT o.oid, o.nsid, o.name, o.uid, o.created, o.rv, o.rv_text, o.size, o.rev FROM ";

pub(crate) fn decode(row: &dyn Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        oid: row.int(0)?,
        nsid: row.int(1)?,
        name: row.text(2)?,
        uid: row.text(3)?,
        created: row.int(4)?,
        version: MemberVersion::from_columns(row.int(5)?, row.optional_text(6)?),
        size: row.int(7)?,
        rev: row.int(8)?,
    })
}

/// Rows of a range of namespace ids, in page order.
pub(crate) fn range(
    dialect: Dialect,
    resource: i32,
    range: &Range<i64>,
    names: &NameFilter,
    limit: i64,
) -> Statement {
    let sql = Sql::new("page.range", COLUMNS)
        .push(dialect.obj(index_for(names)))
        .bound(
            " WHERE o.type = ? AND o.nsid >= ? AND o.nsid < ?",
            [resource.into(), range.start.into(), range.end.into()],
        );
    named(sql, names)
        .push(" ORDER BY o.nsid, o.name LIMIT ")
        .bind(limit)
        .build()
}

/// Rows of a few namespaces, in page order.
pub(crate) fn group(
    dialect: Dialect,
    resource: i32,
    nsids: &[i64],
    names: &NameFilter,
    limit: i64,
) -> Statement {
    let sql = Sql::new("page.group", COLUMNS)
        .push(dialect.obj(ObjIndex::Key))
        .bound(" WHERE o.type = ?", [resource.into()])
        .push(" AND o.nsid IN ")
        .list(nsids);
    named(sql, names)
        .push(" ORDER BY o.nsid, o.name LIMIT ")
        .bind(limit)
        .build()
}

/// Rows of one namespace after a name, in page order.
pub(crate) fn rest(
    dialect: Dialect,
    resource: i32,
    (nsid, after): (i64, &str),
    names: &NameFilter,
    limit: i64,
) -> Statement {
    let sql = Sql::new("page.rest", COLUMNS)
        .push(dialect.obj(ObjIndex::Key))
        .bound(
            " WHERE o.type = ? AND o.nsid = ? AND o.name > ?",
            [resource.into(), nsid.into(), after.into()],
        );
    named(sql, names)
        .push(" ORDER BY o.name LIMIT ")
        .bind(limit)
        .build()
}

/// Few names in many namespaces are found by name.
fn index_for(names: &NameFilter) -> ObjIndex {
    match names {
        NameFilter::In(_) => ObjIndex::Name,
        NameFilter::Any | NameFilter::NotIn(_) => ObjIndex::Key,
    }
}

/// Restricts the names.
pub(crate) fn named(sql: Sql, names: &NameFilter) -> Sql {
    match names {
        NameFilter::Any => sql,
        NameFilter::In(names) => match Vec::from_iter(names).as_slice() {
            [] => sql.push(" AND 1 = 0"),
            [name] => sql.bound(" AND o.name = ?", [(*name).into()]),
            names => sql.push(" AND o.name IN ").list(names),
        },
        NameFilter::NotIn(names) if names.is_empty() => sql,
        NameFilter::NotIn(names) => sql.push(" AND o.name NOT IN ").list(&Vec::from_iter(names)),
    }
}

/// How many objects each of these namespaces has, in page order; none are left out.
pub(crate) fn counts(resource: i32, nsids: &[i64]) -> Statement {
    Sql::new("counter.some", "SELECT nsid, n FROM counter WHERE type = ")
        .bind(resource)
        .push(" AND n > 0 AND nsid IN ")
        .list(nsids)
        .push(" ORDER BY nsid")
        .build()
}

/// How many objects of a range of namespace ids pass the names.
pub(crate) fn count_named(
    dialect: Dialect,
    resource: i32,
    range: &Range<i64>,
    names: &NameFilter,
) -> Statement {
    let sql = Sql::new("count.named", "SELECT COUNT(*) FROM ")
        .push(dialect.obj(index_for(names)))
        .bound(
            " WHERE o.type = ? AND o.nsid >= ? AND o.nsid < ?",
            [resource.into(), range.start.into(), range.end.into()],
        );
    named(sql, names).build()
}

/// How many objects of some namespaces pass the names.
pub(crate) fn count_named_in(
    dialect: Dialect,
    resource: i32,
    nsids: &[i64],
    names: &NameFilter,
) -> Statement {
    let sql = Sql::new("count.named_in", "SELECT COUNT(*) FROM ")
        .push(dialect.obj(ObjIndex::Key))
        .bound(" WHERE o.type = ?", [resource.into()])
        .push(" AND o.nsid IN ")
        .list(nsids);
    named(sql, names).build()
}

/// The namespaces of a range that have objects, and how many, in page order.
pub(crate) fn counts_from(resource: i32, range: &Range<i64>, limit: i64) -> Statement {
    Statement::fixed(
        "counter.from",
        "SELECT nsid, n FROM counter WHERE type = ? AND n > 0 AND nsid >= ? AND nsid < ? \
         ORDER BY nsid LIMIT ?",
        [
            resource.into(),
            range.start.into(),
            range.end.into(),
            limit.into(),
        ],
    )
}

/// Objects by id.
pub(crate) fn by_id(oids: &[i64]) -> Statement {
    Sql::new("page.by_id", COLUMNS)
        .push("obj o WHERE o.oid IN ")
        .list(oids)
        .build()
}

/// One object.
pub(crate) fn one(resource: i32, cluster: i64, namespace: &str, name: &str) -> Statement {
    Sql::new("get", COLUMNS)
        .bound(
            "obj o JOIN ns n ON n.nsid = o.nsid \
             WHERE n.cluster = ? AND n.namespace = ? AND o.type = ? AND o.name = ?",
            [
                cluster.into(),
                namespace.into(),
                resource.into(),
                name.into(),
            ],
        )
        .build()
}

/// The bodies of these versions.
pub(crate) fn bodies(revs: &[i64]) -> Statement {
    Sql::new(
        "ver.bodies",
        "SELECT rev, dict, body FROM ver WHERE rev IN ",
    )
    .list(revs)
    .build()
}

/// How many objects a range of namespace ids has.
pub(crate) fn count_range(resource: i32, range: &Range<i64>) -> Statement {
    Statement::fixed(
        "counter.sum",
        "SELECT COALESCE(SUM(n), 0) FROM counter WHERE type = ? AND nsid >= ? AND nsid < ?",
        [resource.into(), range.start.into(), range.end.into()],
    )
}

/// Keys of one namespace after a name: (namespace, name).
pub(crate) fn keys_in(
    cluster: i64,
    resource: i32,
    (namespace, after): (&str, &str),
    limit: u32,
) -> Statement {
    Statement::fixed(
        "keys.in",
        "SELECT n.namespace, o.name FROM ns n JOIN obj o ON o.nsid = n.nsid \
         WHERE n.cluster = ? AND n.namespace = ? AND o.type = ? AND o.name > ? \
         ORDER BY o.name LIMIT ?",
        [
            cluster.into(),
            namespace.into(),
            resource.into(),
            after.into(),
            limit.into(),
        ],
    )
}

/// Keys of the namespaces after one: (namespace, name).
pub(crate) fn keys_after(cluster: i64, resource: i32, namespace: &str, limit: u32) -> Statement {
    Statement::fixed(
        "keys.after",
        "SELECT n.namespace, o.name FROM ns n CROSS JOIN obj o \
         WHERE o.nsid = n.nsid AND n.cluster = ? AND n.namespace > ? AND o.type = ? \
         ORDER BY n.namespace, o.name LIMIT ?",
        [
            cluster.into(),
            namespace.into(),
            resource.into(),
            limit.into(),
        ],
    )
}
