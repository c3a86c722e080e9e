//! Reading objects and versions.

use std::collections::BTreeSet;

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::form::version::MemberVersion;
use crate::sql::dialect::{Dialect, Many, ObjIndex};
use crate::sql::post::{RANGES, given};
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

/// The objects of a few namespaces, or those that are called so, in no order.
pub(crate) fn within(
    dialect: Dialect,
    resource: i32,
    nsids: &[i64],
    names: Option<&BTreeSet<String>>,
) -> Statement {
    let sql = Sql::new(dialect, "page.within", COLUMNS);
    match dialect.many() {
        Many::Arrays => within_each(sql, resource, nsids, names),
        Many::Values | Many::Selects => {
            let sql = sql
                .push(dialect.obj(ObjIndex::Key))
                .bound(" WHERE o.type = ? AND ", [resource.into()])
                .within("o.nsid", nsids);
            named(sql, names)
        }
    }
    .build()
}

/// Place by place: `OFFSET 0` keeps the lookup of one apart from the others, so that each is a range of the index.
fn within_each(sql: Sql, resource: i32, nsids: &[i64], names: Option<&BTreeSet<String>>) -> Sql {
    let sql = places(sql, nsids);
    if let Some(names) = names
        && !names.is_empty()
    {
        return sql
            .push(" CROSS JOIN ")
            .table("m (name)", names.iter().map(|name| [name.into()]))
            .bound(
                " CROSS JOIN LATERAL (SELECT * FROM obj o \
                 WHERE o.type = ? AND o.nsid = k.nsid AND o.name = m.name LIMIT 1) o",
                [resource.into()],
            );
    }
    let sql = sql.bound(
        " CROSS JOIN LATERAL (SELECT * FROM obj o WHERE o.type = ? AND o.nsid = k.nsid",
        [resource.into()],
    );
    named(sql, names).push(" OFFSET 0) o")
}

fn places(sql: Sql, nsids: &[i64]) -> Sql {
    sql.table("k (nsid)", nsids.iter().map(|&nsid| [nsid.into()]))
}

/// The objects of a few namespaces that were created in one second, in no order.
pub(crate) fn created_within(
    dialect: Dialect,
    resource: i32,
    nsids: &[i64],
    created: i64,
) -> Statement {
    let sql = Sql::new(dialect, "page.created_within", COLUMNS);
    match dialect.many() {
        Many::Arrays => places(sql, nsids).bound(
            " CROSS JOIN LATERAL (SELECT * FROM obj o WHERE o.type = ? AND o.created = ? \
             AND o.nsid = k.nsid ORDER BY o.id) o",
            [resource.into(), created.into()],
        ),
        Many::Values | Many::Selects => sql
            .push(dialect.obj(ObjIndex::Created))
            .bound(
                " WHERE o.type = ? AND o.created = ? AND ",
                [resource.into(), created.into()],
            )
            .within("o.nsid", nsids),
    }
    .build()
}

/// The objects of one namespace after a name, in page order.
pub(crate) fn after(
    dialect: Dialect,
    resource: i32,
    (nsid, name): (i64, &str),
    limit: i64,
) -> Statement {
    let sql = Sql::new(dialect, "page.after", COLUMNS);
    after_name(sql, resource, (nsid, name), limit).build()
}

/// Along the index by nsid and name. Where no index can be named, one is meant by the order that no other has.
pub(super) fn after_name(sql: Sql, resource: i32, (nsid, name): (i64, &str), limit: i64) -> Sql {
    let dialect = sql.dialect;
    let sql = sql.push(dialect.obj(ObjIndex::Key));
    match dialect {
        Dialect::Sqlite | Dialect::MySql => sql.bound(
            " WHERE o.type = ? AND o.nsid = ? AND o.name > ? ORDER BY o.name LIMIT ?",
            [resource.into(), nsid.into(), name.into(), limit.into()],
        ),
        Dialect::Postgres => sql.bound(
            " WHERE o.type = ? AND (o.nsid, o.name) > (?, ?) AND o.nsid <= ? \
             ORDER BY o.nsid, o.name LIMIT ?",
            [
                resource.into(),
                nsid.into(),
                name.into(),
                nsid.into(),
                limit.into(),
            ],
        ),
    }
}

/// Objects that are called so anywhere, at most `limit`, in no order.
pub(crate) fn called(dialect: Dialect, resource: i32, names: &[&str], limit: i64) -> Statement {
    let sql = Sql::new(dialect, "page.called", COLUMNS);
    let sql = match dialect.many() {
        Many::Arrays => sql
            .table("k (name)", names.iter().map(|&name| [name.into()]))
            .bound(
                " CROSS JOIN LATERAL (SELECT * FROM obj o \
                 WHERE o.type = ? AND o.name = k.name ORDER BY o.nsid, o.id) o",
                [resource.into()],
            ),
        Many::Values | Many::Selects => sql
            .push(dialect.obj(ObjIndex::Name))
            .bound(" WHERE o.type = ? AND ", [resource.into()])
            .within("o.name", names),
    };
    sql.push(" LIMIT ").bind(limit).build()
}

/// The same within each of these ranges of namespace ids.
pub(crate) fn called_in(
    dialect: Dialect,
    resource: i32,
    names: &[&str],
    ranges: &[(i64, i64)],
    limit: i64,
) -> Statement {
    let sql = Sql::new(dialect, "page.called_in", "");
    match dialect.many() {
        Many::Arrays => sql
            .given(&RANGES, given(ranges))
            .push(COLUMNS)
            .push("k CROSS JOIN ")
            .table("m (name)", names.iter().map(|&name| [name.into()]))
            .bound(
                " CROSS JOIN LATERAL (SELECT * FROM obj o WHERE o.type = ? AND o.name = m.name \
                 AND o.nsid >= k.low AND o.nsid < k.high ORDER BY o.nsid, o.id) o",
                [resource.into()],
            ),
        Many::Values => sql.for_each(" UNION ALL ", ranges, |sql, &(low, high)| {
            called_anywhere(sql, resource, names)
                .bound(" AND o.nsid >= ? AND o.nsid < ?", [low.into(), high.into()])
        }),
        Many::Selects => called_anywhere(sql, resource, names)
            .push(" AND ")
            .within_ranges("o.nsid >= ? AND o.nsid < ?", ranges),
    }
    .push(" LIMIT ")
    .bind(limit)
    .build()
}

fn called_anywhere(sql: Sql, resource: i32, names: &[&str]) -> Sql {
    let by_name = sql.dialect.obj(ObjIndex::Name);
    sql.push(COLUMNS)
        .push(by_name)
        .bound(" WHERE o.type = ? AND ", [resource.into()])
        .within("o.name", names)
}

/// Objects by id.
pub(crate) fn by_id(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(dialect, "page.by_id", COLUMNS)
        .push("obj o WHERE ")
        .within("o.id", ids)
        .build()
}

/// Restricts the names.
fn named(sql: Sql, names: Option<&BTreeSet<String>>) -> Sql {
    let Some(names) = names else {
        return sql;
    };
    match Vec::from_iter(names).as_slice() {
        [] => sql.push(" AND 1 = 0"),
        [name] => sql.bound(" AND o.name = ?", [(*name).into()]),
        names => sql.push(" AND ").within("o.name", names),
    }
}

/// One object.
pub(crate) fn one(
    dialect: Dialect,
    resource: i32,
    cluster: i64,
    namespace: &str,
    name: &str,
) -> Statement {
    let text = match dialect {
        Dialect::Sqlite | Dialect::MySql => {
            "obj o JOIN ns n ON n.nsid = o.nsid \
             WHERE n.cluster = ? AND n.namespace = ? AND o.type = ? AND o.name = ?"
        }
        // The place comes first: an object of this name may be everywhere.
        Dialect::Postgres => {
            "(SELECT nsid FROM ns WHERE cluster = ? AND namespace = ?) n CROSS JOIN LATERAL \
             (SELECT * FROM obj o WHERE o.nsid = n.nsid AND o.type = ? AND o.name = ? LIMIT 1) o"
        }
    };
    let params = [
        cluster.into(),
        namespace.into(),
        resource.into(),
        name.into(),
    ];
    Sql::new(dialect, "get", COLUMNS)
        .bound(text, params)
        .build()
}

/// The bodies of these versions.
pub(crate) fn bodies(dialect: Dialect, revs: &[i64]) -> Statement {
    Sql::new(dialect, "ver.bodies", "SELECT rev, dict, body FROM ver")
        .push(dialect.by_key())
        .push(" WHERE ")
        .within("rev", revs)
        .build()
}

/// Keys of one namespace after a name, in page order: (nsid, name).
pub(crate) fn keys_after(
    dialect: Dialect,
    resource: i32,
    (nsid, name): (i64, &str),
    limit: i64,
) -> Statement {
    let sql = Sql::new(dialect, "keys.after", "SELECT o.nsid, o.name FROM ");
    after_name(sql, resource, (nsid, name), limit).build()
}

/// Keys of some namespaces, in no order: (nsid, name).
pub(crate) fn keys_within(dialect: Dialect, resource: i32, nsids: &[i64]) -> Statement {
    let sql = Sql::new(dialect, "keys.within", "SELECT o.nsid, o.name FROM ");
    match dialect.many() {
        Many::Arrays => within_each(sql, resource, nsids, None),
        Many::Values | Many::Selects => sql
            .push(dialect.obj(ObjIndex::Key))
            .bound(" WHERE o.type = ? AND ", [resource.into()])
            .within("o.nsid", nsids),
    }
    .build()
}
