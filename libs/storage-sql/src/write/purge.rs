//! Removing what has left or is past retention, a few rows at a time. Rows leave with their index entries and counters, so that a stream that is opened
//! again in the middle finds a sound index; a crash between two steps loses nothing.

mod prune;

use armadex_storage::{Purged, StoreError};

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::sql::object::{self, OldRow};
use crate::sql::statement::MAX_LIST;
use crate::sql::stream::{self, StreamRow};
use crate::sql::{catalog, head, index, namespace};
use crate::write::allocate::slot_range;
use crate::write::batch::{Session, terms_of};
use crate::write::index::IndexChange;

/// One step: some versions past retention, and some objects of a closed stream, or the stream, or some namespaces of a cluster
/// that left, or the cluster.
pub(crate) async fn purge(session: &mut Session<'_>, limit: u32) -> Result<Purged, StoreError> {
    let limit = limit.max(1);
    let pruned = prune::prune(session, limit).await?;
    let closed = row(session.connection, stream::first_closed(), stream::decode).await?;
    let objects = match closed {
        Some(stream) => purge_stream(session, &stream, limit).await?,
        None => {
            purge_cluster(session.connection, limit).await?;
            0
        }
    };
    Ok(Purged {
        objects,
        finished: pruned && nothing_left(session.connection).await?,
    })
}

async fn nothing_left(connection: &mut dyn Connection) -> Result<bool, StoreError> {
    let stream = row(connection, stream::first_closed(), stream::decode).await?;
    let cluster = row(connection, catalog::first_inactive(), |r| r.int(0)).await?;
    Ok(stream.is_none() && cluster.is_none())
}

async fn purge_stream(
    session: &mut Session<'_>,
    stream: &StreamRow,
    limit: u32,
) -> Result<u64, StoreError> {
    let connection = &mut *session.connection;
    let slot = row(connection, catalog::cluster_slot(stream.cluster), |r| {
        r.int(0)
    })
    .await?;
    let slot = slot.ok_or_else(|| broken("a stream has no cluster"))?;
    let range = (slot_range(slot).start, slot_range(slot).end);
    let statement = object::some(session.dialect, stream.resource, range, limit);
    let found = rows(connection, statement, object::decode_old).await?;
    if found.is_empty() {
        connection
            .execute(index::delete_counters(stream.resource, range))
            .await?;
        connection
            .execute(stream::delete(stream.cluster, stream.resource))
            .await?;
        connection.execute(head::bump_catalog()).await?;
        return Ok(0);
    }
    remove(session, stream.resource, &found).await?;
    Ok(found.len() as u64)
}

/// Removes objects without a trace: no tombstone, for their type or cluster is gone as a whole.
async fn remove(
    session: &mut Session<'_>,
    resource: i32,
    found: &[OldRow],
) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    let revs: Vec<i64> = found.iter().map(|row| row.rev).collect();
    let oids: Vec<i64> = found.iter().map(|row| row.oid).collect();
    let terms = terms_of(connection, &revs).await?;
    let mut change = IndexChange::default();
    for row in found {
        change.remove(row.nsid, row.oid, &terms[&row.rev]);
    }
    change.write(connection, session.dialect, resource).await?;
    for part in oids.chunks(MAX_LIST) {
        connection.execute(object::delete(part)).await?;
    }
    prune::delete_with_past(connection, revs).await
}

/// Removes namespaces of the first cluster that left, then the cluster. Its streams are gone by now.
async fn purge_cluster(connection: &mut dyn Connection, limit: u32) -> Result<(), StoreError> {
    let Some(cluster) = row(connection, catalog::first_inactive(), |r| r.int(0)).await? else {
        return Ok(());
    };
    let ids = rows(connection, namespace::some(cluster, limit), |r| r.int(0)).await?;
    if ids.is_empty() {
        connection.execute(catalog::delete_cluster(cluster)).await?;
        connection.execute(head::bump_catalog()).await?;
    }
    for part in ids.chunks(MAX_LIST) {
        connection.execute(namespace::delete(part)).await?;
    }
    Ok(())
}
