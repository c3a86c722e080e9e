//! Namespace ids: which (cluster, namespace) a number stands for.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::statement::{Param, Sql, Statement};

/// A namespace with its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamespaceRow {
    pub(crate) id: i64,
    pub(crate) cluster: i64,
    pub(crate) namespace: String,
}

/// Those of a cluster that are called so.
pub(crate) fn of_cluster(cluster: i64, namespaces: &[String]) -> Statement {
    Sql::new(
        "ns.of_cluster",
        "SELECT nsid, cluster, namespace FROM ns WHERE cluster = ",
    )
    .bind(cluster)
    .push(" AND namespace IN ")
    .list(namespaces)
    .build()
}

/// What these ids stand for.
pub(crate) fn by_id(ids: &[i64]) -> Statement {
    Sql::new(
        "ns.by_id",
        "SELECT nsid, cluster, namespace FROM ns WHERE nsid IN ",
    )
    .list(ids)
    .build()
}

pub(crate) fn decode(row: &dyn Row) -> Result<NamespaceRow, StoreError> {
    Ok(NamespaceRow {
        id: row.int(0)?,
        cluster: row.int(1)?,
        namespace: row.text(2)?,
    })
}

/// Makes namespaces that no type has objects in yet.
pub(crate) fn insert(rows: &[NamespaceRow]) -> Statement {
    let tuples = rows.iter().map(|row| {
        [
            Param::from(row.id),
            row.cluster.into(),
            (&row.namespace).into(),
            0_i64.into(),
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

/// One more type has objects in each of these.
pub(crate) fn occupy(ids: &[i64]) -> Statement {
    Sql::new(
        "ns.occupy",
        "UPDATE ns SET types = types + 1, emptied = 0 WHERE nsid IN ",
    )
    .list(ids)
    .build()
}

/// One type fewer has objects in each of these.
pub(crate) fn vacate(ids: &[i64]) -> Statement {
    Sql::new(
        "ns.vacate",
        "UPDATE ns SET types = types - 1 WHERE nsid IN ",
    )
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

/// Deletes namespaces, unless a type has objects there again.
pub(crate) fn delete(ids: &[i64]) -> Statement {
    Sql::new("ns.delete", "DELETE FROM ns WHERE types = 0 AND nsid IN ")
        .list(ids)
        .build()
}
