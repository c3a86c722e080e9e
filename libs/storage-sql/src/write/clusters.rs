//! Clusters and streams coming and going. Every function runs in one transaction of the writer.

use armadex_model::{ClusterName, ResourceType};
use armadex_storage::{ClusterId, Health, StoreError, Stream, TypeId};

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::sql::catalog::{self, ClusterRow, TypeRow};
use crate::sql::head::{self, Numbered};
use crate::sql::stream;
use crate::write::allocate::{Place, any_cluster_slot, cluster_slot};
use crate::write::batch::Session;
use crate::write::numbers::take;

/// Finds or makes the cluster; another incarnation under its name leaves.
pub(crate) async fn join(
    session: &mut Session<'_>,
    name: &ClusterName,
    incarnation: &str,
) -> Result<ClusterId, StoreError> {
    let connection = &mut *session.connection;
    let clusters = rows(connection, catalog::clusters(), catalog::decode_cluster).await?;
    if let Some(former) = active(&clusters, name) {
        if former.incarnation == incarnation {
            return Ok(ClusterId(former.id));
        }
        hide(connection, former.id).await?;
    }
    let slot = slot_for(&clusters, name)?;
    let id = take(connection, Numbered::Cluster, 1).await?.start;
    connection
        .execute(catalog::insert_cluster(
            id,
            name.as_str(),
            incarnation,
            slot,
        ))
        .await?;
    connection.execute(head::bump_catalog()).await?;
    Ok(ClusterId(id))
}

/// Hides the cluster; its rows wait for the purge.
pub(crate) async fn leave(
    session: &mut Session<'_>,
    name: &ClusterName,
    incarnation: &str,
) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    let clusters = rows(connection, catalog::clusters(), catalog::decode_cluster).await?;
    match active(&clusters, name) {
        Some(cluster) if cluster.incarnation == incarnation => {
            hide(connection, cluster.id).await?;
            connection.execute(head::bump_catalog()).await?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Records health, and the version if it is known.
pub(crate) async fn set_health(
    session: &mut Session<'_>,
    cluster: ClusterId,
    health: &Health,
    version: Option<&str>,
) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    let clusters = rows(connection, catalog::clusters(), catalog::decode_cluster).await?;
    let known = clusters
        .iter()
        .find(|row| row.id == cluster.0 && row.active);
    let known = known.ok_or_else(|| gone(cluster))?;
    let version = version.or(known.version.as_deref());
    let same = known.healthy == Some(health.healthy)
        && known.reason == health.reason
        && known.version.as_deref() == version;
    if !same {
        let statement = catalog::set_health(cluster.0, health.healthy, &health.reason, version);
        connection.execute(statement).await?;
        connection.execute(head::bump_catalog()).await?;
    }
    Ok(())
}

/// Takes a stream over. Rows that an earlier stream left behind and no purge has removed are shown again: its new writer compares
/// them with the member's, because the position is forgotten.
pub(crate) async fn open(
    session: &mut Session<'_>,
    cluster: ClusterId,
    resource: &ResourceType,
) -> Result<Stream, StoreError> {
    let connection = &mut *session.connection;
    let active = row(connection, catalog::is_active(cluster.0), |r| r.int(0)).await?;
    if active != Some(1) {
        return Err(gone(cluster));
    }
    let (id, type_changed) = type_number(connection, resource).await?;
    let known = row(connection, stream::one(cluster.0, id), stream::decode).await?;
    let epoch = take(connection, Numbered::Epoch, 1).await?.start;
    connection
        .execute(stream::take_over(session.dialect, cluster.0, id, epoch))
        .await?;
    if type_changed || !known.as_ref().is_some_and(|stream| stream.is_open) {
        connection.execute(head::bump_catalog()).await?;
    }
    Ok(Stream {
        resource: TypeId(id),
        epoch,
        position: known.and_then(|stream| stream.position),
    })
}

/// Hides a type of a cluster; its rows wait for the purge.
pub(crate) async fn close(
    session: &mut Session<'_>,
    cluster: ClusterId,
    resource: TypeId,
) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    if connection
        .execute(stream::close(cluster.0, resource.0))
        .await?
        > 0
    {
        connection.execute(head::bump_catalog()).await?;
    }
    Ok(())
}

fn active<'a>(clusters: &'a [ClusterRow], name: &ClusterName) -> Option<&'a ClusterRow> {
    clusters
        .iter()
        .find(|row| row.active && row.name == name.as_str())
}

async fn hide(connection: &mut dyn Connection, cluster: i64) -> Result<(), StoreError> {
    connection
        .execute(catalog::deactivate_cluster(cluster))
        .await?;
    connection.execute(stream::close_all(cluster)).await?;
    Ok(())
}

/// A slot between the neighbours by name, those that wait for their purge included: their slots are taken as well.
fn slot_for(clusters: &[ClusterRow], name: &ClusterName) -> Result<i64, StoreError> {
    let slot_of = |row: &ClusterRow| row.slot;
    let key = |row: &&ClusterRow| (row.name.clone(), row.slot);
    let previous = clusters
        .iter()
        .filter(|row| row.name.as_str() <= name.as_str())
        .max_by_key(key);
    let next = clusters
        .iter()
        .filter(|row| row.name.as_str() > name.as_str())
        .min_by_key(key);
    let mut taken: Vec<i64> = clusters.iter().map(slot_of).collect();
    taken.sort_unstable();
    match cluster_slot(previous.map(slot_of), next.map(slot_of)) {
        Place::InOrder(slot) if taken.binary_search(&slot).is_err() => Ok(slot),
        _ => any_cluster_slot(&taken).ok_or_else(|| broken("no slot is left for a cluster")),
    }
}

/// The number of a type, and whether what is known of it changed.
async fn type_number(
    connection: &mut dyn Connection,
    resource: &ResourceType,
) -> Result<(i32, bool), StoreError> {
    match row(
        connection,
        catalog::type_of(&resource.gvr),
        catalog::decode_type,
    )
    .await?
    {
        Some(TypeRow {
            id,
            resource: known,
        }) if known == *resource => Ok((id, false)),
        Some(TypeRow { id, .. }) => {
            connection
                .execute(catalog::update_type(id, resource))
                .await?;
            Ok((id, true))
        }
        None => {
            let id = catalog::type_id(take(connection, Numbered::Type, 1).await?.start)?;
            connection
                .execute(catalog::insert_type(id, resource))
                .await?;
            Ok((id, true))
        }
    }
}

fn gone(cluster: ClusterId) -> StoreError {
    StoreError::Fenced {
        what: format!("cluster {}", cluster.0),
    }
}
