//! Clusters, their health, and resource types.

use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::{Health, Heard, StoreError};

use crate::backend::Row;
use crate::backend::error::broken;
use crate::sql::dialect::{Dialect, Many, Upsert};
use crate::sql::statement::{Param, Sql, Statement};

/// A cluster: active, or hidden until it comes back or is purged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) incarnation: String,
    pub(crate) active: bool,
    /// It is hidden, and what it has is kept for a time.
    pub(crate) has_left: bool,
}

const EXPIRED: i64 = 0;
const ACTIVE: i64 = 1;
const LEFT: i64 = 2;

/// What the last health check of a cluster said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HealthRow {
    pub(crate) cluster: i64,
    pub(crate) health: Health,
    pub(crate) version: Option<String>,
}

/// A resource type with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeRow {
    pub(crate) id: i32,
    pub(crate) resource: ResourceType,
}

/// The clusters that changed after a count of the catalogue, each with its labels: [`super::cluster_labels`] decodes those too.
pub(crate) fn clusters_since(seq: i64) -> Statement {
    Statement::fixed(
        "cluster.since",
        "SELECT id, name, incarnation, active, labels FROM cluster WHERE seq > ?",
        [seq.into()],
    )
}

/// A cluster that has rows.
pub(crate) fn cluster(id: i64) -> Statement {
    Statement::fixed(
        "cluster.by_id",
        "SELECT id, name, incarnation, active FROM cluster WHERE id = ?",
        [id.into()],
    )
}

/// The present and former incarnations of a cluster that have rows.
pub(crate) fn clusters_called(name: &str) -> Statement {
    Statement::fixed(
        "cluster.called",
        "SELECT id, name, incarnation, active FROM cluster WHERE name = ? ORDER BY id",
        [name.into()],
    )
}

pub(crate) fn decode_cluster(row: &dyn Row) -> Result<ClusterRow, StoreError> {
    Ok(ClusterRow {
        id: row.int(0)?,
        name: row.text(1)?,
        incarnation: row.text(2)?,
        active: row.int(3)? == ACTIVE,
        has_left: row.int(3)? == LEFT,
    })
}

/// The present and former incarnations of these clusters that have rows, in no order, and who looks after each, or did before it left: [`decode_owned`].
pub(crate) fn clusters_of_names(dialect: Dialect, names: &[&str]) -> Statement {
    Sql::new(
        dialect,
        "cluster.of_names",
        "SELECT id, name, incarnation, active, owner FROM cluster WHERE ",
    )
    .within("name", names)
    .build()
}

/// A cluster, and who looks after it, or did before it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedRow {
    pub(crate) cluster: ClusterRow,
    pub(crate) owner: String,
}

pub(crate) fn decode_owned(row: &dyn Row) -> Result<OwnedRow, StoreError> {
    Ok(OwnedRow {
        cluster: decode_cluster(row)?,
        owner: row.text(4)?,
    })
}

/// A cluster to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCluster<'a> {
    pub(crate) id: i64,
    pub(crate) name: &'a str,
    pub(crate) incarnation: &'a str,
    pub(crate) owner: &'a str,
}

pub(crate) fn insert_clusters(dialect: Dialect, new: &[NewCluster<'_>]) -> Statement {
    let tuples = new.iter().map(|cluster| {
        let NewCluster {
            id,
            name,
            incarnation,
            owner,
        } = *cluster;
        [
            Param::from(id),
            name.into(),
            incarnation.into(),
            owner.into(),
            ACTIVE.into(),
            0_i64.into(),
            0_i64.into(),
        ]
    });
    Sql::new(dialect, "cluster.insert", dialect.insert_into())
        .push("cluster (id, name, incarnation, owner, active, next_namespace, seq) ")
        .rows(tuples)
        .build()
}

/// Leaves a cluster to the purge, unless it has left, or come back, meanwhile.
pub(crate) fn expire_cluster(id: i64, has_left: bool) -> Statement {
    let was = if has_left { LEFT } else { ACTIVE };
    Statement::fixed(
        "cluster.expire",
        "UPDATE cluster SET active = ? WHERE id = ? AND active = ?",
        [EXPIRED.into(), id.into(), was.into()],
    )
}

/// What is added to a time of the lease's clock, in milliseconds, where it says when a cluster left. Anything less is a host's clock, by which earlier releases
/// wrote it, or nothing.
const BY_LEASE: i64 = 1 << 40;

/// Hides a cluster that is shown, which may come back. When it left is for the lease's clock to say; until then it is this second since 1970, for processes of earlier releases,
/// which know no other clock and may be the ones that purge. Found by its number: `active + 0` has no index.
pub(crate) fn leave_clusters(dialect: Dialect, ids: &[i64], now: i64) -> Statement {
    Sql::update(dialect, "cluster.leave", "cluster")
        .bound("active = ?, left_at = ? WHERE ", [LEFT.into(), now.into()])
        .within("id", ids)
        .bound(" AND active + 0 = ?", [ACTIVE.into()])
        .build()
}

/// Shows clusters that left as they were, but those whose time is over.
pub(crate) fn come_back(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::update(dialect, "cluster.come_back", "cluster")
        .bound("active = ? WHERE ", [ACTIVE.into()])
        .within("id", ids)
        .bound(" AND active + 0 = ?", [LEFT.into()])
        .build()
}

/// Shows a cluster that left, under the incarnation, for the owner and with the labels of `successor`; unless its time is over.
pub(crate) fn return_cluster(dialect: Dialect, id: i64, successor: i64) -> Statement {
    let text = match dialect {
        Dialect::Sqlite | Dialect::Postgres => {
            "UPDATE cluster SET active = ?, incarnation = s.incarnation, owner = s.owner, labels = s.labels \
             FROM (SELECT incarnation, owner, labels FROM cluster WHERE id = ?) s WHERE id = ? AND active = ?"
        }
        Dialect::MySql => {
            "UPDATE cluster c, cluster s \
             SET c.active = ?, c.incarnation = s.incarnation, c.owner = s.owner, c.labels = s.labels WHERE s.id = ? AND c.id = ? AND c.active = ?"
        }
    };
    let params = [ACTIVE.into(), successor.into(), id.into(), LEFT.into()];
    Statement::fixed("cluster.return", text, params)
}

/// Whatever left by no clock, or by one that was ahead, left now by the lease's.
pub(crate) fn left_by(clock: i64) -> Statement {
    let now = clock.saturating_add(BY_LEASE);
    Statement::fixed(
        "cluster.left_by",
        "UPDATE cluster SET left_at = ? WHERE active = ? AND (left_at < ? OR left_at > ?)",
        [now.into(), LEFT.into(), BY_LEASE.into(), now.into()],
    )
}

/// The first clusters that left no later than at this time of the lease's clock.
pub(crate) fn left_until(clock: i64, limit: u32) -> Statement {
    let until = clock.saturating_add(BY_LEASE);
    Statement::fixed(
        "cluster.left_until",
        "SELECT id FROM cluster WHERE active = ? AND left_at <= ? ORDER BY id LIMIT ?",
        [LEFT.into(), until.into(), limit.into()],
    )
}

/// Notes who looks after these clusters from now on.
pub(crate) fn claim_clusters(dialect: Dialect, owner: &str, ids: &[i64]) -> Statement {
    Sql::update(dialect, "cluster.claim", "cluster")
        .bound("owner = ? WHERE ", [owner.into()])
        .within("id", ids)
        .bound(" AND owner <> ?", [owner.into()])
        .build()
}

/// The next active clusters.
pub(crate) fn joined_clusters(dialect: Dialect, after: i64, limit: u32) -> Statement {
    Sql::new(
        dialect,
        "cluster.joined",
        "SELECT id, name, incarnation, owner, COALESCE((SELECT MAX(at) FROM stream",
    )
    .push(dialect.by_key())
    .bound(
        " WHERE cluster = id), 0), \
         COALESCE((SELECT seen FROM owner o WHERE o.name = cluster.owner), 0) FROM cluster \
         WHERE active = ? AND id > ? ORDER BY id LIMIT ?",
        [ACTIVE.into(), after.into(), limit.into()],
    )
    .build()
}

/// A cluster that has not left, and when something of it was written or its owner was seen last, in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinedRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) incarnation: String,
    pub(crate) owner: String,
    pub(crate) heard: Heard,
}

pub(crate) fn decode_joined(row: &dyn Row) -> Result<JoinedRow, StoreError> {
    Ok(JoinedRow {
        id: row.int(0)?,
        name: row.text(1)?,
        incarnation: row.text(2)?,
        owner: row.text(3)?,
        heard: Heard {
            // 0 also where streams were opened only.
            written: row.int(4)?,
            owner: row.int(5)?,
        },
    })
}

pub(crate) fn delete_cluster(id: i64) -> Statement {
    Statement::fixed(
        "cluster.delete",
        "DELETE FROM cluster WHERE id = ?",
        [id.into()],
    )
}

/// Who looks after these clusters, or did before they left, and which have not.
pub(crate) fn owners(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "cluster.owners",
        "SELECT id, owner, active FROM cluster WHERE ",
    )
    .within("id", ids)
    .build()
}

/// Who looks after these clusters, and does until the transaction ends: whoever takes one over waits. They are held in the order of their numbers, whoever asks.
pub(crate) fn hold_owners(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "cluster.hold",
        "SELECT id, owner, active FROM cluster",
    )
    .push(dialect.by_key())
    .push(" WHERE ")
    .within("id", ids)
    .push(" ORDER BY id")
    .push(dialect.held())
    .build()
}

/// A row of [`owners`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnerRow {
    pub(crate) cluster: i64,
    pub(crate) owner: String,
    pub(crate) active: bool,
}

pub(crate) fn decode_owner(row: &dyn Row) -> Result<OwnerRow, StoreError> {
    Ok(OwnerRow {
        cluster: row.int(0)?,
        owner: row.text(1)?,
        active: row.int(2)? == ACTIVE,
    })
}

/// Takes as many numbers for namespaces of each of these clusters; [`next_namespaces`] in the same transaction tells those after the last.
pub(crate) fn take_namespaces(dialect: Dialect, count: i64, clusters: &[i64]) -> Statement {
    Sql::new(dialect, "cluster.take_namespaces", "UPDATE cluster SET ")
        .bound("next_namespace = next_namespace + ? WHERE ", [count.into()])
        .within("id", clusters)
        .build()
}

/// (cluster, the next free number of a namespace).
pub(crate) fn next_namespaces(dialect: Dialect, clusters: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "cluster.next_namespaces",
        "SELECT id, next_namespace FROM cluster WHERE ",
    )
    .within("id", clusters)
    .build()
}

/// The first cluster that waits for its purge.
pub(crate) fn first_inactive() -> Statement {
    Statement::fixed(
        "cluster.first_inactive",
        "SELECT id FROM cluster WHERE active = 0 ORDER BY id LIMIT 1",
        [],
    )
}

/// Stamps clusters with the count of their change.
pub(crate) fn stamp_clusters(dialect: Dialect, seq: i64, ids: &[i64]) -> Statement {
    Sql::new(dialect, "cluster.stamp", "UPDATE cluster SET seq = ")
        .bind(seq)
        .push(" WHERE ")
        .within("id", ids)
        .build()
}

/// The health checks that changed after a count of the catalogue.
pub(crate) fn health_since(seq: i64) -> Statement {
    Statement::fixed(
        "health.since",
        "SELECT cluster, healthy, reason, version FROM health WHERE seq > ?",
        [seq.into()],
    )
}

/// What is recorded of these clusters.
pub(crate) fn health_of(dialect: Dialect, clusters: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "health.of",
        "SELECT cluster, healthy, reason, version FROM health WHERE ",
    )
    .within("cluster", clusters)
    .build()
}

pub(crate) fn decode_health(row: &dyn Row) -> Result<HealthRow, StoreError> {
    Ok(HealthRow {
        cluster: row.int(0)?,
        health: Health {
            healthy: row.int(1)? != 0,
            reason: row.text(2)?,
        },
        version: row.optional_text(3)?,
    })
}

/// Records what was said of clusters. Where no version was said the one that is known stays.
pub(crate) fn record_health(dialect: Dialect, said: &[HealthRow]) -> Statement {
    let tuples = said.iter().map(|row| {
        let HealthRow {
            cluster,
            health: Health { healthy, reason },
            version,
        } = row;
        [
            Param::from(*cluster),
            (*healthy).into(),
            reason.into(),
            version.as_deref().into(),
            0_i64.into(),
        ]
    });
    Sql::new(
        dialect,
        "health.record",
        "INSERT INTO health (cluster, healthy, reason, version, seq) ",
    )
    .rows(tuples)
    .push(dialect.on_conflict(Upsert::Health))
    .build()
}

pub(crate) fn delete_health(cluster: i64) -> Statement {
    Statement::fixed(
        "health.delete",
        "DELETE FROM health WHERE cluster = ?",
        [cluster.into()],
    )
}

/// Stamps health checks with the count of their change.
pub(crate) fn stamp_health(dialect: Dialect, seq: i64, clusters: &[i64]) -> Statement {
    Sql::new(dialect, "health.stamp", "UPDATE health SET seq = ")
        .bind(seq)
        .push(" WHERE ")
        .within("cluster", clusters)
        .build()
}

/// The types that changed after a count of the catalogue.
pub(crate) fn types_since(seq: i64) -> Statement {
    Statement::fixed(
        "type.since",
        "SELECT id, api_group, version, resource, kind, namespaced, singular, short_names, categories \
         FROM type WHERE seq > ?",
        [seq.into()],
    )
}

/// Those of these types that are known.
pub(crate) fn types_called(dialect: Dialect, types: &[&GroupVersionResource]) -> Statement {
    let keys = types.iter().map(|gvr| {
        [
            (&gvr.group).into(),
            (&gvr.version).into(),
            (&gvr.resource).into(),
        ]
    });
    let columns = "SELECT t.id, t.api_group, t.version, t.resource, t.kind, t.namespaced, t.singular, t.short_names, t.categories FROM ";
    let sql = Sql::new(dialect, "type.called", columns);
    match dialect.many() {
        Many::Arrays => sql.table("k (api_group, version, resource)", keys).push(
            " CROSS JOIN LATERAL (SELECT * FROM type t WHERE t.api_group = k.api_group \
             AND t.version = k.version AND t.resource = k.resource LIMIT 1) t",
        ),
        Many::Values | Many::Selects => sql
            .push("type t WHERE ")
            .keys("(t.api_group, t.version, t.resource)", keys),
    }
    .build()
}

pub(crate) fn types_by_id(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "type.by_id",
        "SELECT id, api_group, version, resource, kind, namespaced, singular, short_names, categories \
         FROM type WHERE ",
    )
    .within("id", ids)
    .build()
}

/// All versions of the resources of these types.
pub(crate) fn versions_of(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "type.versions_of",
        "SELECT t.id, t.api_group, t.version, t.resource, t.kind, t.namespaced, t.singular, t.short_names, t.categories FROM type o",
    )
    .push(dialect.then_join())
    .push("type t WHERE ")
    .within("o.id", ids)
    .push(" AND t.api_group = o.api_group AND t.resource = o.resource")
    .build()
}

pub(crate) fn decode_type(row: &dyn Row) -> Result<TypeRow, StoreError> {
    Ok(TypeRow {
        id: type_id(row.int(0)?)?,
        resource: ResourceType {
            gvr: GroupVersionResource::new(row.text(1)?, row.text(2)?, row.text(3)?),
            kind: row.text(4)?,
            namespaced: row.int(5)? != 0,
            singular: row.text(6)?,
            short_names: names(&row.text(7)?),
            categories: names(&row.text(8)?),
        },
    })
}

/// Types are few; their numbers fit 31 bits.
pub(crate) fn type_id(number: i64) -> Result<i32, StoreError> {
    i32::try_from(number).map_err(|_| broken(format!("{number} is no number of a type")))
}

pub(crate) fn insert_type(id: i32, resource: &ResourceType) -> Statement {
    let ResourceType {
        gvr,
        kind,
        namespaced,
        singular,
        short_names,
        categories,
    } = resource;
    Statement::fixed(
        "type.insert",
        "INSERT INTO type (id, api_group, version, resource, kind, namespaced, singular, short_names, categories, seq) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
        [
            id.into(),
            (&gvr.group).into(),
            (&gvr.version).into(),
            (&gvr.resource).into(),
            kind.into(),
            (*namespaced).into(),
            singular.into(),
            short_names.join(",").into(),
            categories.join(",").into(),
        ],
    )
}

pub(crate) fn update_type(id: i32, resource: &ResourceType) -> Statement {
    let ResourceType {
        gvr: _,
        kind,
        namespaced,
        singular,
        short_names,
        categories,
    } = resource;
    Statement::fixed(
        "type.update",
        "UPDATE type SET kind = ?, namespaced = ?, singular = ?, short_names = ?, categories = ? \
         WHERE id = ?",
        [
            kind.into(),
            (*namespaced).into(),
            singular.into(),
            short_names.join(",").into(),
            categories.join(",").into(),
            id.into(),
        ],
    )
}

/// A stream of the type `t`.
fn stream_of_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite | Dialect::MySql => {
            "(SELECT s.cluster FROM stream s WHERE s.type = t.id LIMIT 1)"
        }
        // The order of the index by type alone.
        Dialect::Postgres => {
            "(SELECT s.cluster FROM stream s WHERE s.type = t.id ORDER BY s.is_open DESC, s.cluster LIMIT 1)"
        }
    }
}

/// The numbers of all types.
pub(crate) fn type_ids() -> Statement {
    Statement::fixed("type.ids", "SELECT id FROM type", [])
}

/// Types that no cluster has any more, which is not noted yet.
pub(crate) fn types_unused(dialect: Dialect, limit: u32) -> Statement {
    Sql::new(
        dialect,
        "type.unused",
        "SELECT id FROM type t WHERE unused = 0 AND ",
    )
    .push(stream_of_type(dialect))
    .bound(" IS NULL ORDER BY id LIMIT ?", [limit.into()])
    .build()
}

/// Types that one has again.
pub(crate) fn types_used_again(dialect: Dialect, limit: u32) -> Statement {
    Sql::new(
        dialect,
        "type.used_again",
        "SELECT id FROM type t WHERE unused > 0 AND ",
    )
    .push(stream_of_type(dialect))
    .bound(" IS NOT NULL ORDER BY id LIMIT ?", [limit.into()])
    .build()
}

/// Types that none has since the revision `pruned` or an earlier one, or since an earlier one if they have a history. One whose history has ended may have
/// some of it left up to where it ended, see [`ended`](super::history::ended).
pub(crate) fn types_unused_since(
    dialect: Dialect,
    (pruned, history): (i64, i64),
    limit: u32,
) -> Statement {
    Sql::new(dialect, "type.unused_since", "SELECT id FROM type t WHERE ")
        .bound(
            "unused > 0 AND unused <= ? AND (history < 0 AND -1 - history <= ? OR history >= 0 AND unused <= ?) AND ",
            [pruned.into(), history.into(), history.into()],
        )
        .push(stream_of_type(dialect))
        .bound(" IS NULL ORDER BY id LIMIT ?", [limit.into()])
        .build()
}

/// Notes that types are had, where it was noted that they were not.
pub(crate) fn note_types_in_use(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::update(dialect, "type.in_use", "type")
        .push("unused = 0 WHERE ")
        .within("id", ids)
        .push(" AND unused > 0")
        .build()
}

/// Notes at which revision types are had by none; 0: they are had.
pub(crate) fn note_types_unused(dialect: Dialect, revision: i64, ids: &[i64]) -> Statement {
    Sql::update(dialect, "type.note_unused", "type")
        .bound("unused = ? WHERE ", [revision.into()])
        .within("id", ids)
        .build()
}

pub(crate) fn delete_types(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(dialect, "type.delete", "DELETE FROM type WHERE ")
        .within("id", ids)
        .build()
}

/// Stamps types with the count of their change.
pub(crate) fn stamp_types(dialect: Dialect, seq: i64, ids: &[i64]) -> Statement {
    Sql::new(dialect, "type.stamp", "UPDATE type SET seq = ")
        .bind(seq)
        .push(" WHERE ")
        .within("id", ids)
        .build()
}

/// Names in a list have no commas.
fn names(joined: &str) -> Vec<String> {
    joined
        .split(',')
        .filter(|name| !name.is_empty())
        .map(String::from)
        .collect()
}
