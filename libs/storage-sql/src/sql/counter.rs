//! Counters: in which namespaces a type has objects, and how many. Their key is the page order within a cluster.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::type_id;
use crate::sql::dialect::{Dialect, Many, Upsert};
use crate::sql::lists::Given;
use crate::sql::statement::{Param, Sql, Statement};

/// Where a type has objects: the key of a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CounterKey {
    pub(crate) resource: i32,
    pub(crate) cluster: i64,
    pub(crate) namespace: String,
}

/// A counter of a type that the statement names.
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
pub(crate) fn first(dialect: Dialect, resource: i32, clusters: &[i64], limit: i64) -> Statement {
    let sql = Sql::new(dialect, "counter.first", "");
    match dialect.many() {
        Many::Arrays => sql
            .given(&CLUSTERS, clusters.iter().map(|&cluster| [cluster.into()]))
            .bound(
                "SELECT p.cluster, p.namespace, p.nsid, p.n FROM k CROSS JOIN LATERAL \
                 (SELECT cluster, namespace, nsid, n FROM counter \
                 WHERE type = ? AND cluster = k.cluster ORDER BY namespace LIMIT ?) p",
                [resource.into(), limit.into()],
            ),
        Many::Values | Many::Selects => sql.for_each(" UNION ALL ", clusters, |sql, id| {
            sql.bound(
                "SELECT * FROM (SELECT cluster, namespace, nsid, n FROM counter \
                     WHERE type = ? AND cluster = ? ORDER BY namespace LIMIT ?) p",
                [resource.into(), (*id).into(), limit.into()],
            )
        }),
    }
    .build()
}

const CLUSTERS: Given = Given {
    alias: "k",
    columns: &["cluster"],
};

/// Namespaces of whatever clusters that have objects of a type, at most `limit`.
pub(crate) fn of_type(resource: i32, limit: i64) -> Statement {
    Statement::fixed(
        "counter.of_type",
        "SELECT cluster, namespace, nsid, n FROM counter WHERE type = ? ORDER BY cluster, namespace LIMIT ?",
        [resource.into(), limit.into()],
    )
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
pub(crate) fn named(
    dialect: Dialect,
    resource: i32,
    clusters: &[i64],
    namespaces: &[&str],
) -> Statement {
    let columns = "SELECT c.cluster, c.namespace, c.nsid, c.n FROM ";
    let sql = Sql::new(dialect, "counter.named", columns);
    match dialect.many() {
        Many::Arrays => sql
            .table("k (cluster)", clusters.iter().map(|&id| [id.into()]))
            .push(" CROSS JOIN ")
            .table("m (namespace)", namespaces.iter().map(|&name| [name.into()]))
            .bound(
                " CROSS JOIN LATERAL (SELECT * FROM counter c \
                 WHERE c.type = ? AND c.cluster = k.cluster AND c.namespace = m.namespace LIMIT 1) c",
                [resource.into()],
            ),
        Many::Values | Many::Selects => sql
            .push("counter c")
            .push(dialect.by_key())
            .bound(" WHERE c.type = ? AND ", [resource.into()])
            .within("c.cluster", clusters)
            .push(" AND ")
            .within("c.namespace", namespaces),
    }
    .build()
}

/// A type that has objects in a namespace, of some.
pub(crate) fn any(dialect: Dialect, resources: &[i64], cluster: i64, namespace: &str) -> Statement {
    Sql::new(dialect, "counter.any", "SELECT type FROM counter")
        .push(dialect.by_key())
        .bound(
            " WHERE cluster = ? AND namespace = ? AND ",
            [cluster.into(), namespace.into()],
        )
        .within("type", resources)
        .push(" LIMIT 1")
        .build()
}

/// Some counters of these streams, by cluster and type, in no order: [`decode_keyed`].
pub(crate) fn of_streams(dialect: Dialect, streams: &[(i64, i32)], limit: i64) -> Statement {
    let keys = streams
        .iter()
        .map(|&(cluster, resource)| [resource.into(), cluster.into()]);
    let columns = "SELECT c.type, c.cluster, c.namespace, c.nsid, c.n FROM ";
    let sql = Sql::new(dialect, "counter.of_streams", columns);
    let sql = match dialect.many() {
        Many::Arrays => sql.table("k (type, cluster)", keys).push(
            " CROSS JOIN LATERAL (SELECT * FROM counter c \
             WHERE c.type = k.type AND c.cluster = k.cluster ORDER BY c.namespace) c",
        ),
        Many::Values | Many::Selects => sql
            .push("counter c")
            .push(dialect.by_key())
            .push(" WHERE ")
            .keys("(c.type, c.cluster)", keys),
    };
    sql.push(" LIMIT ").bind(limit).build()
}

/// A counter with its key: the namespace's id, and how many objects there are.
pub(crate) type Keyed = (CounterKey, i64, i64);

pub(crate) fn decode_keyed(row: &dyn Row) -> Result<Keyed, StoreError> {
    let key = CounterKey {
        resource: type_id(row.int(0)?)?,
        cluster: row.int(1)?,
        namespace: row.text(2)?,
    };
    Ok((key, row.int(3)?, row.int(4)?))
}

/// Writes counters, new ones and those that have another number.
pub(crate) fn put(dialect: Dialect, rows: &[Keyed]) -> Statement {
    let tuples = rows.iter().map(|(key, nsid, objects)| {
        let [resource, cluster, namespace] = key_params(key);
        [
            resource,
            cluster,
            namespace,
            (*nsid).into(),
            (*objects).into(),
        ]
    });
    Sql::new(
        dialect,
        "counter.put",
        "INSERT INTO counter (type, cluster, namespace, nsid, n) ",
    )
    .rows(tuples)
    .push(dialect.on_conflict(Upsert::Counter))
    .build()
}

/// Deletes counters that came to nothing.
pub(crate) fn delete(dialect: Dialect, keys: &[CounterKey]) -> Statement {
    Sql::new(dialect, "counter.delete", "DELETE FROM counter WHERE ")
        .keys("(type, cluster, namespace)", keys.iter().map(key_params))
        .build()
}

fn key_params(key: &CounterKey) -> [Param; 3] {
    let CounterKey {
        resource,
        cluster,
        namespace,
    } = key;
    [(*resource).into(), (*cluster).into(), namespace.into()]
}
