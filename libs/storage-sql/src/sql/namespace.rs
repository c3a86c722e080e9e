//! Namespace ids: which (cluster, namespace) a number stands for.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::statement::{Sql, Statement};

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

/// Those of any cluster that are called so, in page order.
pub(crate) fn called(namespaces: &[String]) -> Statement {
    Sql::new(
        "ns.called",
        "SELECT nsid, cluster, namespace FROM ns WHERE namespace IN ",
    )
    .list(namespaces)
    .push(" ORDER BY nsid")
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

/// The id of the neighbour before `namespace`.
pub(crate) fn before(cluster: i64, namespace: &str) -> Statement {
    Statement::fixed(
        "ns.before",
        "SELECT nsid FROM ns WHERE cluster = ? AND namespace < ? ORDER BY namespace DESC LIMIT 1",
        [cluster.into(), namespace.into()],
    )
}

/// The id of the neighbour after `namespace`.
pub(crate) fn after(cluster: i64, namespace: &str) -> Statement {
    Statement::fixed(
        "ns.after",
        "SELECT nsid FROM ns WHERE cluster = ? AND namespace > ? ORDER BY namespace LIMIT 1",
        [cluster.into(), namespace.into()],
    )
}

/// All ids of a cluster, sorted.
pub(crate) fn taken(cluster: i64) -> Statement {
    Statement::fixed(
        "ns.taken",
        "SELECT nsid FROM ns WHERE cluster = ? ORDER BY nsid",
        [cluster.into()],
    )
}

pub(crate) fn insert(id: i64, cluster: i64, namespace: &str) -> Statement {
    Statement::fixed(
        "ns.insert",
        "INSERT INTO ns (nsid, cluster, namespace) VALUES (?, ?, ?)",
        [id.into(), cluster.into(), namespace.into()],
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

pub(crate) fn delete(ids: &[i64]) -> Statement {
    Sql::new("ns.delete", "DELETE FROM ns WHERE nsid IN ")
        .list(ids)
        .build()
}
