//! Namespace ids: which (cluster, namespace) a number stands for.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::type_id;
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
pub(crate) fn places(keys: &[(i32, i64, &str)]) -> Statement {
    let padded = keys.len().next_power_of_two();
    let last = keys.last().expect("a batch has a namespace");
    let keys = keys.iter().chain(std::iter::repeat(last)).take(padded);
    let tuples = keys.map(|&(resource, cluster, namespace)| {
        [Param::from(resource), cluster.into(), namespace.into()]
    });
    Sql::new("ns.places", "WITH k (type, cluster, namespace) AS (VALUES ")
        .tuples(3, tuples)
        .push(
            ") SELECT k.type, k.cluster, k.namespace, n.nsid, COALESCE(c.n, 0) FROM k CROSS JOIN ns n \
             LEFT JOIN counter c ON c.type = k.type AND c.cluster = k.cluster AND c.namespace = k.namespace \
             WHERE n.cluster = k.cluster AND n.namespace = k.namespace",
        )
        .build()
}

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
pub(crate) fn by_id(ids: &[i64]) -> Statement {
    Sql::new(
        "ns.by_id",
        "SELECT nsid, cluster, namespace, types FROM ns WHERE nsid IN ",
    )
    .list(ids)
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
pub(crate) fn insert(rows: &[NamespaceRow]) -> Statement {
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
        "ns.insert",
        "INSERT INTO ns (nsid, cluster, namespace, types, emptied) VALUES ",
    )
    .tuples(5, tuples)
    .build()
}

/// So many more types have objects in each of these.
pub(crate) fn occupy(more: i64, ids: &[i64]) -> Statement {
    Sql::new("ns.occupy", "UPDATE ns SET emptied = 0")
        .bound(", types = types + ? WHERE nsid IN ", [more.into()])
        .list(ids)
        .build()
}

/// So many types fewer have objects in each of these.
pub(crate) fn vacate(fewer: i64, ids: &[i64]) -> Statement {
    Sql::new("ns.vacate", "UPDATE ns SET ")
        .bound("types = types - ? WHERE nsid IN ", [fewer.into()])
        .list(ids)
        .build()
}

/// Notes the revision at which namespaces were found empty.
pub(crate) fn note_empty(revision: i64, limit: u32) -> Statement {
    Statement::fixed(
        "ns.note_empty",
        "UPDATE ns SET emptied = ? WHERE nsid IN \
         (SELECT nsid FROM ns WHERE types = 0 AND emptied = 0 LIMIT ?)",
        [revision.into(), limit.into()],
    )
}

/// Some namespaces that were empty at `revision` or before: whatever the log says of them is older.
pub(crate) fn empty_since(revision: i64, limit: u32) -> Statement {
    Statement::fixed(
        "ns.empty_since",
        "SELECT nsid FROM ns WHERE types = 0 AND emptied > 0 AND emptied <= ? LIMIT ?",
        [revision.into(), limit.into()],
    )
}

/// Some ids of a cluster.
pub(crate) fn some(cluster: i64, limit: u32) -> Statement {
    Statement::fixed(
        "ns.some",
        "SELECT nsid FROM ns WHERE cluster = ? ORDER BY nsid LIMIT ?",
        [cluster.into(), limit.into()],
    )
}

/// Deletes namespaces, unless a type has objects there again. Found by id: by the index of `types` every empty namespace would be read.
pub(crate) fn delete(ids: &[i64]) -> Statement {
    Sql::new("ns.delete", "DELETE FROM ns WHERE +types = 0 AND nsid IN ")
        .list(ids)
        .build()
}
