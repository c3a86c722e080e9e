//! Clusters and resource types.

use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::backend::error::broken;
use crate::sql::statement::Statement;

/// A cluster, active or waiting for its purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) incarnation: String,
    pub(crate) active: bool,
    pub(crate) slot: i64,
    /// Its namespace ids sort as the namespaces' names do.
    pub(crate) in_order: bool,
    pub(crate) healthy: Option<bool>,
    pub(crate) reason: String,
    pub(crate) version: Option<String>,
}

/// A resource type with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeRow {
    pub(crate) id: i32,
    pub(crate) resource: ResourceType,
}

pub(crate) fn clusters() -> Statement {
    Statement::fixed(
        "cluster.all",
        "SELECT id, name, incarnation, active, slot, in_order, healthy, reason, version \
         FROM cluster ORDER BY slot",
        [],
    )
}

pub(crate) fn decode_cluster(row: &dyn Row) -> Result<ClusterRow, StoreError> {
    Ok(ClusterRow {
        id: row.int(0)?,
        name: row.text(1)?,
        incarnation: row.text(2)?,
        active: row.int(3)? != 0,
        slot: row.int(4)?,
        in_order: row.int(5)? != 0,
        healthy: row.optional_int(6)?.map(|healthy| healthy != 0),
        reason: row.text(7)?,
        version: row.optional_text(8)?,
    })
}

pub(crate) fn insert_cluster(id: i64, name: &str, incarnation: &str, slot: i64) -> Statement {
    Statement::fixed(
        "cluster.insert",
        "INSERT INTO cluster (id, name, incarnation, active, slot, in_order, reason) \
         VALUES (?, ?, ?, 1, ?, 1, '')",
        [id.into(), name.into(), incarnation.into(), slot.into()],
    )
}

pub(crate) fn deactivate_cluster(id: i64) -> Statement {
    Statement::fixed(
        "cluster.deactivate",
        "UPDATE cluster SET active = 0 WHERE id = ?",
        [id.into()],
    )
}

pub(crate) fn mark_out_of_order(id: i64) -> Statement {
    Statement::fixed(
        "cluster.mark_out_of_order",
        "UPDATE cluster SET in_order = 0 WHERE id = ?",
        [id.into()],
    )
}

pub(crate) fn set_health(id: i64, healthy: bool, reason: &str, version: Option<&str>) -> Statement {
    Statement::fixed(
        "cluster.set_health",
        "UPDATE cluster SET healthy = ?, reason = ?, version = ? WHERE id = ?",
        [healthy.into(), reason.into(), version.into(), id.into()],
    )
}

pub(crate) fn delete_cluster(id: i64) -> Statement {
    Statement::fixed(
        "cluster.delete",
        "DELETE FROM cluster WHERE id = ?",
        [id.into()],
    )
}

pub(crate) fn cluster_slot(id: i64) -> Statement {
    Statement::fixed(
        "cluster.slot",
        "SELECT slot FROM cluster WHERE id = ?",
        [id.into()],
    )
}

pub(crate) fn is_active(id: i64) -> Statement {
    Statement::fixed(
        "cluster.is_active",
        "SELECT active FROM cluster WHERE id = ?",
        [id.into()],
    )
}

/// The first cluster that waits for its purge.
pub(crate) fn first_inactive() -> Statement {
    Statement::fixed(
        "cluster.first_inactive",
        "SELECT id FROM cluster WHERE active = 0 ORDER BY id LIMIT 1",
        [],
    )
}

pub(crate) fn types() -> Statement {
    Statement::fixed(
        "type.all",
        "SELECT id, api_group, version, resource, kind, namespaced, singular, short_names, categories \
         FROM type ORDER BY id",
        [],
    )
}

pub(crate) fn type_of(gvr: &GroupVersionResource) -> Statement {
    Statement::fixed(
        "type.of",
        "SELECT id, api_group, version, resource, kind, namespaced, singular, short_names, categories \
         FROM type WHERE api_group = ? AND version = ? AND resource = ?",
        [
            (&gvr.group).into(),
            (&gvr.version).into(),
            (&gvr.resource).into(),
        ],
    )
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
        "INSERT INTO type (id, api_group, version, resource, kind, namespaced, singular, short_names, categories) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

/// Names in a list have no commas.
fn names(joined: &str) -> Vec<String> {
    joined
        .split(',')
        .filter(|name| !name.is_empty())
        .map(String::from)
        .collect()
}
