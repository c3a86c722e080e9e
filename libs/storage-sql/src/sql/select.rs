//! Reading objects and versions.

use armadex_model::NameFilter;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::form::version::MemberVersion;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Sql, Statement};

/// An object without its body: what is sorted, filtered and paged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) id: i64,
    pub(crate) nsid: i64,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) created: i64,
    pub(crate) version: MemberVersion,
    pub(crate) size: i64,
    pub(crate) rev: i64,
}

pub(super) const COLUMNS: &str =
    "SELECT o.id, o.nsid, o.name, o.uid, o.created, o.rv, o.rv_text, o.size, o.rev FROM ";

pub(crate) fn decode(row: &dyn Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id: row.int(0)?,
        nsid: row.int(1)?,
        name: row.text(2)?,
        uid: row.text(3)?,
        created: row.int(4)?,
        version: MemberVersion::from_columns(row.int(5)?, row.optional_text(6)?),
        size: row.int(7)?,
        rev: row.int(8)?,
    })
}

/// The objects of a few namespaces, in no order.
pub(crate) fn within(
    dialect: Dialect,
    resource: i32,
    nsids: &[i64],
    names: &NameFilter,
) -> Statement {
    let sql = Sql::new("page.within", COLUMNS)
        .push(dialect.obj(ObjIndex::Key))
        .bound(" WHERE o.type = ?", [resource.into()])
        .push(" AND o.nsid IN ")
        .list(nsids);
    named(sql, names).build()
}

/// The objects of a few namespaces that were created in one second, in no order.
pub(crate) fn created_within(
    dialect: Dialect,
    resource: i32,
    nsids: &[i64],
    created: i64,
) -> Statement {
    Sql::new("page.created_within", COLUMNS)
        .push(dialect.obj(ObjIndex::Created))
        .bound(
            " WHERE o.type = ? AND o.created = ?",
            [resource.into(), created.into()],
        )
        .push(" AND o.nsid IN ")
        .list(nsids)
        .build()
}

/// The objects of one namespace after a name, in page order.
pub(crate) fn after(
    dialect: Dialect,
    resource: i32,
    (nsid, name): (i64, &str),
    limit: i64,
) -> Statement {
    Sql::new("page.after", COLUMNS)
        .push(dialect.obj(ObjIndex::Key))
        .bound(
            " WHERE o.type = ? AND o.nsid = ? AND o.name > ? ORDER BY o.name LIMIT ?",
            [resource.into(), nsid.into(), name.into(), limit.into()],
        )
        .build()
}

/// Objects that are called so anywhere, at most `limit`, in no order.
pub(crate) fn called(dialect: Dialect, resource: i32, names: &[&str], limit: i64) -> Statement {
    Sql::new("page.called", COLUMNS)
        .push(dialect.obj(ObjIndex::Name))
        .bound(" WHERE o.type = ?", [resource.into()])
        .push(" AND o.name IN ")
        .list(names)
        .push(" LIMIT ")
        .bind(limit)
        .build()
}

/// Objects by id.
pub(crate) fn by_id(ids: &[i64]) -> Statement {
    Sql::new("page.by_id", COLUMNS)
        .push("obj o WHERE o.id IN ")
        .list(ids)
        .build()
}

/// Restricts the names.
fn named(sql: Sql, names: &NameFilter) -> Sql {
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

/// Keys of one namespace after a name, in page order: (nsid, name).
pub(crate) fn keys_after(
    dialect: Dialect,
    resource: i32,
    (nsid, name): (i64, &str),
    limit: i64,
) -> Statement {
    Sql::new("keys.after", "SELECT o.nsid, o.name FROM ")
        .push(dialect.obj(ObjIndex::Key))
        .bound(
            " WHERE o.type = ? AND o.nsid = ? AND o.name > ? ORDER BY o.name LIMIT ?",
            [resource.into(), nsid.into(), name.into(), limit.into()],
        )
        .build()
}

/// Keys of some namespaces, in no order: (nsid, name).
pub(crate) fn keys_within(dialect: Dialect, resource: i32, nsids: &[i64]) -> Statement {
    Sql::new("keys.within", "SELECT o.nsid, o.name FROM ")
        .push(dialect.obj(ObjIndex::Key))
        .bound(" WHERE o.type = ?", [resource.into()])
        .push(" AND o.nsid IN ")
        .list(nsids)
        .build()
}
