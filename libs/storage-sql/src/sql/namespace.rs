//! Namespace ids: which (cluster, namespace) a number stands for.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::form::namespace_id::ids_of;
use crate::sql::catalog::type_id;
use crate::sql::dialect::Dialect;
use crate::sql::lists::Given;
use crate::sql::statement::{Param, Sql, Statement};

/// A namespace with its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamespaceRow {
    pub(crate) id: i64,
    pub(crate) cluster: i64,
    pub(crate) namespace: String,
    /// How many types have objects there.
    pub(crate) types: i64,
}

/// Where a batch's objects are: a type, a cluster and a namespace, its id, and how many objects of the type it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlaceRow {
    pub(crate) resource: i32,
    pub(crate) cluster: i64,
    pub(crate) namespace: String,
    pub(crate) nsid: i64,
    pub(crate) objects: i64,
}

/// Those of these namespaces that have an id: (type, cluster, namespace).
pub(crate) fn places(dialect: Dialect, keys: &[(i32, i64, &str)]) -> Statement {
    let padded = dialect.padded(keys.len());
    let last = keys.last().expect("a batch has a namespace");
    let tuples = (0..padded).map(|at| {
        let &(resource, cluster, namespace) = keys.get(at).unwrap_or(last);
        [Param::from(resource), cluster.into(), namespace.into()]
    });
    Sql::new(dialect, "ns.places", "")
        .given(&KEYS, tuples)
        .push("SELECT k.type, k.cluster, k.namespace, n.nsid, COALESCE(c.n, 0) FROM k")
        .push(dialect.then_join())
        .push(
            "ns n \
             LEFT JOIN counter c ON c.type = k.type AND c.cluster = k.cluster AND c.namespace = k.namespace \
             WHERE n.cluster = k.cluster AND n.namespace = k.namespace",
        )
        .build()
}

const KEYS: Given = Given {
    alias: "k",
    columns: &["type", "cluster", "namespace"],
};

pub(crate) fn decode_place(row: &dyn Row) -> Result<PlaceRow, StoreError> {
    Ok(PlaceRow {
        resource: type_id(row.int(0)?)?,
        cluster: row.int(1)?,
        namespace: row.text(2)?,
        nsid: row.int(3)?,
        objects: row.int(4)?,
    })
}

/// What these ids stand for.
pub(crate) fn by_id(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "ns.by_id",
        "SELECT nsid, cluster, namespace, types FROM ns",
    )
    .push(dialect.by_key())
    .push(" WHERE ")
    .within("nsid", ids)
    .build()
}

pub(crate) fn decode(row: &dyn Row) -> Result<NamespaceRow, StoreError> {
    Ok(NamespaceRow {
        id: row.int(0)?,
        cluster: row.int(1)?,
        namespace: row.text(2)?,
        types: row.int(3)?,
    })
}

/// Makes namespaces.
pub(crate) fn insert(dialect: Dialect, rows: &[NamespaceRow]) -> Statement {
    let tuples = rows.iter().map(|row| {
        [
            Param::from(row.id),
            row.cluster.into(),
            (&row.namespace).into(),
            row.types.into(),
            0_i64.into(),
        ]
    });
    Sql::new(
        dialect,
        "ns.insert",
        "INSERT INTO ns (nsid, cluster, namespace, types, emptied) ",
    )
    .rows(tuples)
    .build()
}

/// So many more types have objects in each of these.
pub(crate) fn occupy(dialect: Dialect, more: i64, ids: &[i64]) -> Statement {
    Sql::update(dialect, "ns.occupy", "ns")
        .bound("emptied = 0, types = types + ? WHERE ", [more.into()])
        .within("nsid", ids)
        .build()
}

/// So many types fewer have objects in each of these. What is empty now was not before, so nothing is noted of it.
pub(crate) fn vacate(dialect: Dialect, fewer: i64, ids: &[i64]) -> Statement {
    Sql::update(dialect, "ns.vacate", "ns")
        .bound("emptied = 0, types = types - ? WHERE ", [fewer.into()])
        .within("nsid", ids)
        .build()
}

/// Notes the revision at which namespaces were found empty. PostgreSQL, which waits for whoever has a row, looks anew at what is asked of the row itself and not at
/// what led to it: a type may have objects there by then.
pub(crate) fn note_empty(dialect: Dialect, revision: i64, limit: u32) -> Statement {
    let text = match dialect {
        Dialect::Sqlite | Dialect::Postgres => {
            "UPDATE ns SET emptied = ? WHERE nsid IN \
             (SELECT nsid FROM ns WHERE types = 0 AND emptied = 0 LIMIT ?) \
             AND types + 0 = 0 AND emptied + 0 = 0"
        }
        Dialect::MySql => "UPDATE ns SET emptied = ? WHERE types = 0 AND emptied = 0 LIMIT ?",
    };
    Statement::fixed("ns.note_empty", text, [revision.into(), limit.into()])
}

/// Notes a later revision for those that were found empty at this one.
pub(crate) fn note_later(revision: i64, later: i64) -> Statement {
    Statement::fixed(
        "ns.note_later",
        "UPDATE ns SET emptied = ? WHERE types = 0 AND emptied = ?",
        [later.into(), revision.into()],
    )
}

/// Some namespaces that were empty at the revision `pruned` or before, and of which no history has anything after `history`: whatever the log says of them is older.
pub(crate) fn empty_since((pruned, history): (i64, i64), limit: u32) -> Statement {
    Statement::fixed(
        "ns.empty_since",
        "SELECT nsid FROM ns WHERE types = 0 AND emptied > 0 AND emptied <= ? AND kept <= ? LIMIT ?",
        [pruned.into(), history.into(), limit.into()],
    )
}

/// Notes that a history has something of these up to a revision, where it is not noted that it has of a later one.
pub(crate) fn keep(dialect: Dialect, revision: i64, ids: &[i64]) -> Statement {
    Sql::update(dialect, "ns.keep", "ns")
        .bound("kept = ? WHERE ", [revision.into()])
        .within("nsid", ids)
        .bound(" AND kept < ?", [revision.into()])
        .build()
}

/// Some ids of a cluster.
pub(crate) fn some(cluster: i64, limit: u32) -> Statement {
    let (first, end) = ids_of(cluster);
    Statement::fixed(
        "ns.some",
        "SELECT nsid FROM ns WHERE nsid >= ? AND nsid < ? ORDER BY nsid LIMIT ?",
        [first.into(), end.into(), limit.into()],
    )
}

/// Deletes those of these that are still as [`empty_since`] found them: a type may have, or have had, objects there again, and a history something later. Found
/// by id: by the index of `types` every empty namespace would be read.
pub(crate) fn delete(dialect: Dialect, (pruned, history): (i64, i64), ids: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "ns.delete",
        "DELETE FROM ns WHERE types + 0 = 0 AND ",
    )
    .within("nsid", ids)
    .bound(" AND emptied + 0 > 0 AND emptied + 0 <= ?", [pruned.into()])
    .bound(" AND kept <= ?", [history.into()])
    .build()
}

/// Deletes namespaces of a cluster that is gone with all its streams, whatever they say of types.
pub(crate) fn delete_left(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(dialect, "ns.delete_left", "DELETE FROM ns WHERE ")
        .within("nsid", ids)
        .build()
}
