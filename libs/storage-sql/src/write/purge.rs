//! Removing what has left or is past retention, a few rows at a time. Rows leave with their index entries and counters, so that a stream
//! that is opened again in the middle finds a sound index; a crash between two steps loses nothing.

mod prune;

use std::collections::{BTreeMap, HashMap};

use armadex_storage::{Purged, StoreError};

use crate::backend::error::{broken, collided};
use crate::backend::{Connection, row, rows};
use crate::sql::object::{self, OldRow};
use crate::sql::statement::MAX_LIST;
use crate::sql::stream::{self, StreamRow};
use crate::sql::{catalog, head, namespace};
use crate::write::batch::{Session, terms_of};
use crate::write::counters::CounterChange;
use crate::write::index::IndexChange;
use crate::write::namespaces::ids_of;

/// The most streams or clusters that one step removes: where they are small a step is as long as one with many rows.
const MOST_REMOVED: usize = 32;

/// One step: some versions past retention, some namespaces that are empty, and some objects of closed streams, or of clusters that left.
pub(crate) async fn purge(session: &mut Session<'_>, limit: u32) -> Result<Purged, StoreError> {
    let limit = limit.max(1);
    let pruned = prune::prune(session, limit).await?;
    let objects = purge_streams(session, limit).await?;
    let closed = row(session.connection, stream::first_closed(), stream::decode).await?;
    if closed.is_none() {
        purge_clusters(session.connection, limit).await?;
    }
    let swept = sweep_namespaces(session.connection, limit).await?;
    Ok(Purged {
        objects: objects.into(),
        finished: pruned && swept && nothing_left(session.connection).await?,
    })
}

async fn nothing_left(connection: &mut dyn Connection) -> Result<bool, StoreError> {
    let stream = row(connection, stream::first_closed(), stream::decode).await?;
    let cluster = row(connection, catalog::first_inactive(), |r| r.int(0)).await?;
    Ok(stream.is_none() && cluster.is_none())
}

/// Removes objects of closed streams, and the streams that have none left.
async fn purge_streams(session: &mut Session<'_>, limit: u32) -> Result<u32, StoreError> {
    let mut objects = 0;
    for _ in 0..MOST_REMOVED {
        let closed = row(session.connection, stream::first_closed(), stream::decode).await?;
        let (Some(stream), true) = (closed, objects < limit) else {
            break;
        };
        objects += purge_stream(session, &stream, limit - objects).await?;
    }
    Ok(objects)
}

/// The stream is locked by the write that counts its objects off: if it was opened again meanwhile, nothing is removed.
async fn purge_stream(
    session: &mut Session<'_>,
    stream: &StreamRow,
    limit: u32,
) -> Result<u32, StoreError> {
    let StreamRow {
        cluster, resource, ..
    } = *stream;
    let statement = object::some(session.dialect, resource, ids_of(cluster), limit);
    let found = rows(session.connection, statement, object::decode_old).await?;
    let count = u32::try_from(found.len()).expect("at most the limit");
    let held = stream::purged(cluster, resource, count.into());
    if session.connection.execute(held).await? == 0 {
        return Ok(0);
    }
    if !found.is_empty() {
        remove(session, cluster, resource, &found).await?;
    }
    if count < limit {
        let statement = stream::delete(cluster, resource);
        session.connection.execute(statement).await?;
        session.connection.execute(head::raise_floor()).await?;
    }
    Ok(count)
}

/// Removes objects without a trace: no tombstone, for their type or cluster is gone as a whole.
async fn remove(
    session: &mut Session<'_>,
    cluster: i64,
    resource: i32,
    found: &[OldRow],
) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    let revs: Vec<i64> = found.iter().map(|row| row.rev).collect();
    let ids: Vec<i64> = found.iter().map(|row| row.id).collect();
    let terms = terms_of(connection, &revs).await?;
    let mut change = IndexChange::default();
    for row in found {
        change.remove(row.nsid, row.id, &terms[&row.rev]);
    }
    let counters = CounterChange {
        resource,
        cluster,
        deltas: deltas(connection, &change).await?,
    };
    change.write(connection, session.dialect, resource).await?;
    counters.write(connection, session.dialect).await?;
    for part in ids.chunks(MAX_LIST) {
        connection.execute(object::delete(part)).await?;
    }
    prune::delete_with_past(connection, revs).await
}

/// The changes of counters by namespace.
async fn deltas(
    connection: &mut dyn Connection,
    change: &IndexChange,
) -> Result<BTreeMap<String, (i64, i64)>, StoreError> {
    let nsids: Vec<i64> = change.counts().map(|(nsid, _)| nsid).collect();
    let mut names = HashMap::with_capacity(nsids.len());
    for part in nsids.chunks(MAX_LIST) {
        let found = rows(connection, namespace::by_id(part), namespace::decode).await?;
        names.extend(found.into_iter().map(|row| (row.id, row.namespace)));
    }
    change
        .counts()
        .map(|(nsid, delta)| {
            let name = names.remove(&nsid);
            let name =
                name.ok_or_else(|| broken(format!("namespace id {nsid} stands for nothing")))?;
            Ok((name, (nsid, delta)))
        })
        .collect()
}

/// Removes namespaces of clusters that left, and the clusters that have none left. Their streams are gone by now.
async fn purge_clusters(connection: &mut dyn Connection, limit: u32) -> Result<(), StoreError> {
    let mut left = limit;
    for _ in 0..MOST_REMOVED {
        let first = row(connection, catalog::first_inactive(), |r| r.int(0)).await?;
        let (Some(cluster), true) = (first, left > 0) else {
            break;
        };
        let ids = rows(connection, namespace::some(cluster, left), |r| r.int(0)).await?;
        delete_namespaces(connection, &ids).await?;
        if ids.len() < left as usize {
            connection.execute(catalog::delete_health(cluster)).await?;
            connection.execute(catalog::delete_cluster(cluster)).await?;
            connection.execute(head::raise_floor()).await?;
        }
        left -= u32::try_from(ids.len()).expect("at most the limit");
    }
    Ok(())
}

/// Removes namespaces in which no type has objects any more, once no version that is kept names them; whether none is left for now.
async fn sweep_namespaces(connection: &mut dyn Connection, limit: u32) -> Result<bool, StoreError> {
    let head = row(connection, head::select(), head::decode).await?;
    let head = head.ok_or_else(|| broken("it has no head row"))?;
    let noted = connection
        .execute(namespace::note_empty(head.revision.max(1), limit))
        .await?;
    let statement = namespace::empty_since(head.pruned.max(1), limit);
    let ids = rows(connection, statement, |r| r.int(0)).await?;
    delete_namespaces(connection, &ids).await?;
    Ok(noted < u64::from(limit) && ids.len() < limit as usize)
}

async fn delete_namespaces(connection: &mut dyn Connection, ids: &[i64]) -> Result<(), StoreError> {
    for part in ids.chunks(MAX_LIST) {
        if connection.execute(namespace::delete(part)).await? != part.len() as u64 {
            return Err(collided("a namespace was written to while it was purged"));
        }
    }
    Ok(())
}
