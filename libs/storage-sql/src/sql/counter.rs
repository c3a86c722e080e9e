//! Counters: in which namespaces a type has objects, and how many. Their key is the page order within a cluster.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::dialect::{Dialect, Upsert};
use crate::sql::statement::{Param, Sql, Statement};

/// A counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CounterRow {
    pub(crate) cluster: i64,
    pub(crate) namespace: String,
    pub(crate) nsid: i64,
    pub(crate) objects: i64,
}

pub(crate) fn decode(row: &dyn Row) -> Result<CounterRow, StoreError> {
    Ok(CounterRow {
        cluster: row.int(0)?,
        namespace: row.text(1)?,
        nsid: row.int(2)?,
        objects: row.int(3)?,
    })
}

/// The first namespaces of each of these clusters, at most `limit` of each.
pub(crate) fn first(resource: i32, clusters: &[i64], limit: i64) -> Statement {
    let mut sql = Sql::new("counter.first", "");
    for (index, &cluster) in clusters.iter().enumerate() {
        sql = sql.push(if index == 0 { "" } else { " UNION ALL " }).bound(
            "SELECT * FROM (SELECT cluster, namespace, nsid, n FROM counter \
                 WHERE type = ? AND cluster = ? ORDER BY namespace LIMIT ?) p",
            [resource.into(), cluster.into(), limit.into()],
        );
    }
    sql.build()
}

/// The namespaces of a cluster from one on.
pub(crate) fn from(resource: i32, cluster: i64, namespace: &str, limit: i64) -> Statement {
    Statement::fixed(
        "counter.from",
        "SELECT cluster, namespace, nsid, n FROM counter \
         WHERE type = ? AND cluster = ? AND namespace >= ? ORDER BY namespace LIMIT ?",
        [
            resource.into(),
            cluster.into(),
            namespace.into(),
            limit.into(),
        ],
    )
}

/// Those of these namespaces that have objects.
pub(crate) fn named(resource: i32, clusters: &[i64], namespaces: &[&str]) -> Statement {
    Sql::new(
        "counter.named",
        "SELECT cluster, namespace, nsid, n FROM counter WHERE type = ",
    )
    .bind(resource)
    .push(" AND cluster IN ")
    .list(clusters)
    .push(" AND namespace IN ")
    .list(namespaces)
    .build()
}

/// A type that has objects in a namespace, of some.
pub(crate) fn any(resources: &[i64], cluster: i64, namespace: &str) -> Statement {
    Sql::new("counter.any", "SELECT type FROM counter WHERE cluster = ")
        .bind(cluster)
        .bound(" AND namespace = ?", [namespace.into()])
        .push(" AND type IN ")
        .list(resources)
        .push(" LIMIT 1")
        .build()
}

/// Writes counters, new ones and those that have another number.
pub(crate) fn put(dialect: Dialect, resource: i32, rows: &[CounterRow]) -> Statement {
    let tuples = rows.iter().map(|row| {
        [
            Param::from(resource),
            row.cluster.into(),
            (&row.namespace).into(),
            row.nsid.into(),
            row.objects.into(),
        ]
    });
    Sql::new(
        "counter.put",
        "INSERT INTO counter (type, cluster, namespace, nsid, n) VALUES ",
    )
    .tuples(5, tuples)
    .push(dialect.on_conflict(Upsert::Counter))
    .build()
}

/// Deletes counters that came to nothing.
pub(crate) fn delete(resource: i32, cluster: i64, namespaces: &[&str]) -> Statement {
    Sql::new("counter.delete", "DELETE FROM counter WHERE type = ")
        .bind(resource)
        .push(" AND cluster = ")
        .bind(cluster)
        .push(" AND namespace IN ")
        .list(namespaces)
        .build()
}
