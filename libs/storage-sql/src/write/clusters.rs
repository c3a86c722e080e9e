//! Clusters and streams coming and going. Every function runs in a transaction of the writer and costs the same whatever the size of
//! the fleet.

use armadex_model::{ClusterName, ResourceType};
use armadex_storage::{
    ClusterId, Health, MemberPosition, Phase, Rules, StoreError, Stream, TypeId,
};

use crate::backend::{Connection, row, rows};
use crate::sql::catalog::{self, ClusterRow, TypeRow};
use crate::sql::head::Numbered;
use crate::sql::stream;
use crate::write::batch::Session;
use crate::write::numbers::take;

/// Finds or makes the cluster; another incarnation under its name leaves.
pub(crate) async fn join(
    session: &mut Session<'_>,
    name: &ClusterName,
    incarnation: &str,
) -> Result<ClusterId, StoreError> {
    if let Some(former) = active(session.connection, name).await? {
        if former.incarnation == incarnation {
            return Ok(ClusterId(former.id));
        }
        hide(session, former.id).await?;
    }
    let id = take(session.connection, Numbered::Cluster, 1).await?.start;
    let statement = catalog::insert_cluster(id, name.as_str(), incarnation);
    session.connection.execute(statement).await?;
    session.catalog.clusters.insert(id);
    Ok(ClusterId(id))
}

/// Hides the cluster; its rows wait for the purge.
pub(crate) async fn leave(
    session: &mut Session<'_>,
    name: &ClusterName,
    incarnation: &str,
) -> Result<(), StoreError> {
    match active(session.connection, name).await? {
        Some(cluster) if cluster.incarnation == incarnation => hide(session, cluster.id).await,
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
    check_active(session.connection, cluster).await?;
    let statement = catalog::health_of(cluster.0);
    let known = row(session.connection, statement, catalog::decode_health).await?;
    let statement = match &known {
        None => catalog::insert_health(cluster.0, health, version),
        Some(known) => {
            let version = version.or(known.version.as_deref());
            if known.health == *health && known.version.as_deref() == version {
                return Ok(());
            }
            catalog::update_health(cluster.0, health, version)
        }
    };
    session.connection.execute(statement).await?;
    session.catalog.health.insert(cluster.0);
    Ok(())
}

/// Takes a stream over. Rows that an earlier stream left behind and no purge has removed are shown again: its new writer compares
/// them with the member's, because the position is forgotten.
pub(crate) async fn open(
    session: &mut Session<'_>,
    cluster: ClusterId,
    resource: &ResourceType,
    rules: Rules,
) -> Result<Stream, StoreError> {
    check_active(session.connection, cluster).await?;
    let id = type_number(session, resource).await?;
    let statement = stream::one(cluster.0, id);
    let known = row(session.connection, statement, stream::decode).await?;
    let epoch = take(session.connection, Numbered::Epoch, 1).await?.start;
    let statement = stream::take_over(session.dialect, cluster.0, id, epoch);
    session.connection.execute(statement).await?;
    if !known.as_ref().is_some_and(|stream| stream.is_open) {
        session.catalog.streams.insert((cluster.0, id));
    }
    let position = known.and_then(|known| {
        let same_rules = known.rules == rules.0;
        known
            .position
            .map(|position| resumable(position, same_rules))
    });
    Ok(Stream {
        resource: TypeId(id),
        epoch,
        position,
    })
}

/// Rows of other rules have to be listed and compared anew; they are shown meanwhile.
fn resumable(position: MemberPosition, same_rules: bool) -> MemberPosition {
    if same_rules {
        return position;
    }
    MemberPosition {
        phase: Phase::Listing,
        ..position
    }
}

/// Hides a type of a cluster; its rows wait for the purge.
pub(crate) async fn close(
    session: &mut Session<'_>,
    cluster: ClusterId,
    resource: TypeId,
) -> Result<(), StoreError> {
    let statement = stream::close(cluster.0, resource.0);
    if session.connection.execute(statement).await? > 0 {
        session.catalog.streams.insert((cluster.0, resource.0));
    }
    Ok(())
}

async fn active(
    connection: &mut dyn Connection,
    name: &ClusterName,
) -> Result<Option<ClusterRow>, StoreError> {
    let statement = catalog::clusters_called(name.as_str());
    let found = rows(connection, statement, catalog::decode_cluster).await?;
    Ok(found.into_iter().find(|row| row.active))
}

async fn check_active(
    connection: &mut dyn Connection,
    cluster: ClusterId,
) -> Result<(), StoreError> {
    match row(connection, catalog::is_active(cluster.0), |r| r.int(0)).await? {
        Some(1) => Ok(()),
        _ => Err(gone(cluster)),
    }
}

async fn hide(session: &mut Session<'_>, cluster: i64) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    connection
        .execute(catalog::deactivate_cluster(cluster))
        .await?;
    connection.execute(stream::close_all(cluster)).await?;
    session.catalog.clusters.insert(cluster);
    Ok(())
}

/// The number of a type, whose description is brought up to date.
async fn type_number(
    session: &mut Session<'_>,
    resource: &ResourceType,
) -> Result<i32, StoreError> {
    let connection = &mut *session.connection;
    let statement = catalog::type_of(&resource.gvr);
    let id = match row(connection, statement, catalog::decode_type).await? {
        Some(known) if known.resource == *resource => return Ok(known.id),
        Some(TypeRow { id, .. }) => {
            connection
                .execute(catalog::update_type(id, resource))
                .await?;
            id
        }
        None => {
            let id = catalog::type_id(take(connection, Numbered::Type, 1).await?.start)?;
            connection
                .execute(catalog::insert_type(id, resource))
                .await?;
            id
        }
    };
    session.catalog.types.insert(id);
    Ok(id)
}

fn gone(cluster: ClusterId) -> StoreError {
    StoreError::Fenced {
        what: format!("cluster {}", cluster.0),
    }
}
