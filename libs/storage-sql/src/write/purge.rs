//! Removing what has left or is past the watch window, a bounded number of rows at a time. Rows leave with their index entries and counters, so
//! that a stream that is opened again in the middle finds a sound index; a crash between two steps loses nothing.

mod dense;
mod histories;
mod notes;
mod prune;
mod rows;
mod types;

pub(crate) use notes::pasts;

use std::time::Duration;

use armadex_storage::{Purged, StoreError};

use crate::backend::error::collided;
use crate::backend::{Connection, head_row, row, rows};
use crate::sql::stream::Loss;
use crate::sql::{catalog, gone, head, namespace, stream};
use crate::write::clusters;
use crate::write::lease::Held;
use crate::write::past::{PrunedLast, Reach};
use crate::write::session::Session;
use prune::Pruned;

/// Steps for what is past that follow each other where no stream is closed. Clusters that are kept no longer, and namespaces that are empty, are looked for after
/// them: behind everybody who writes a step in which nothing is found waits for its turn as one that removes thousands of versions does.
pub(crate) const IN_A_ROW: u32 = 32;
/// The same where a stream is closed, while more is past than a step walks: with one alone a large stream would take half of the steps for as long as it has rows, and what is written without
/// end would not go as fast as it comes.
const BESIDE_STREAMS: u32 = 3;

/// One step: some versions past the watch window, or, where there are none, or it is time for what has left, some objects of closed streams, or of clusters
/// that left, and some namespaces that are empty. Versions go with the head, which every writer waits for, so nothing else is done in that
/// transaction. To a process that does not do the store's periodic work nothing is left to purge. The caller says how long it took.
pub(crate) async fn purge(
    session: &mut Session<'_>,
    limit: u32,
    grace: Duration,
) -> Result<Purged, StoreError> {
    let limit = limit.max(1);
    let held = session.lease.hold(session.connection, session.instant);
    let held = held.await?;
    if held.is_none_or(|held| held.is_taken) {
        session.past.forget();
    }
    let Some(Held { clock, .. }) = held else {
        session.past.set(None, session.instant);
        return Ok(Purged {
            finished: true,
            ..Purged::default()
        });
    };
    let before = session.past.pruned.take();
    let Reach { is_all, is_behind } = match before {
        Some(before) if is_time_for_what_left(session, before).await? => before.reach,
        _ => match prune::prune(session, clock, limit).await? {
            Pruned::Some(reach) => {
                let steps = before.map_or(0, |before| before.steps) + 1;
                session.past.pruned = Some(PrunedLast { steps, reach });
                return Ok(Purged {
                    is_behind: reach.is_behind,
                    ..Purged::default()
                });
            }
            Pruned::Nothing(reach) => reach,
        },
    };
    let objects = purge_streams(session, limit).await?;
    if no_stream_left(session.connection).await? {
        purge_clusters(session, limit).await?;
        // One look at all that are kept for so many of them, not for each step that removes some of their rows.
        clusters::expire_left(session, clock, grace, session.portions.removed).await?;
    }
    let swept = sweep_namespaces(session.connection, &mut session.past.swept, limit).await?;
    let finished = is_all && swept && nothing_left(session.connection).await?;
    // Seldom is there one.
    let finished = finished && types::sweep(session).await?;
    forget(session.connection).await?;
    Ok(Purged {
        objects,
        finished,
        is_behind,
        ..Purged::default()
    })
}

/// Whether what has left comes next, after these steps for what is past.
async fn is_time_for_what_left(
    session: &mut Session<'_>,
    PrunedLast { steps, reach }: PrunedLast,
) -> Result<bool, StoreError> {
    let is_due = reach.is_all || steps >= IN_A_ROW;
    let beside_streams = if reach.is_behind { BESIDE_STREAMS } else { 1 };
    Ok(is_due || steps >= beside_streams && !no_stream_left(session.connection).await?)
}

/// Changes of the catalogue for which it is remembered what was hidden by them: a reader that knows none of so many reads everything anew.
const REMEMBERED: i64 = 10_000;

/// So many of these are forgotten by one step, and what one change has hidden beside the last of them.
const FORGOTTEN: i64 = 8000;

/// The last thing of a step, for it holds the head.
async fn forget(connection: &mut dyn Connection) -> Result<(), StoreError> {
    let head = head_row::read(connection).await?;
    // What is hidden by now may have been stamped long ago.
    let until = head.floor.max(head.catalog - REMEMBERED);
    let first = hidden_up_to(connection, 0).await?;
    if first.is_none_or(|first| first > until) {
        return Ok(());
    }
    let some = hidden_up_to(connection, FORGOTTEN).await?;
    let until = some.map_or(until, |some| until.min(some));
    connection.execute(gone::drop_until(until)).await?;
    if until > head.floor {
        connection.execute(head::raise_floor(until)).await?;
    }
    Ok(())
}

/// The count up to which so many were hidden, and one more.
async fn hidden_up_to(
    connection: &mut dyn Connection,
    many: i64,
) -> Result<Option<i64>, StoreError> {
    row(connection, gone::count_of_first(many), |r| r.int(0)).await
}

async fn no_stream_left(connection: &mut dyn Connection) -> Result<bool, StoreError> {
    let closed = stream::closed(connection.dialect(), 1);
    let stream = row(connection, closed, stream::decode).await?;
    Ok(stream.is_none())
}

async fn nothing_left(connection: &mut dyn Connection) -> Result<bool, StoreError> {
    let cluster = row(connection, catalog::first_inactive(), |r| r.int(0)).await?;
    Ok(cluster.is_none() && no_stream_left(connection).await?)
}

/// Removes objects of closed streams, and the streams that have none left; gives how many objects that were.
async fn purge_streams(session: &mut Session<'_>, limit: u32) -> Result<u64, StoreError> {
    let closed = stream::closed(session.dialect, session.portions.removed);
    let closed = rows(session.connection, closed, stream::decode).await?;
    // From here on nobody else changes what they have.
    hold(session.connection, &rows::nothing_of(&closed)).await?;
    let chosen = rows::choose(session, &closed, limit).await?;
    let losses = chosen.by_stream(&closed);
    hold(session.connection, &losses).await?;
    let empty = chosen.emptied();
    chosen.tell_of_damage(&closed);
    let removed = rows::remove(session, chosen).await?;
    if !empty.is_empty() {
        let noted = gone::note_streams(session.dialect, &empty);
        session.connection.execute(noted).await?;
        let statement = stream::delete(session.dialect, &empty);
        session.connection.execute(statement).await?;
    }
    Ok(removed)
}

/// Counts objects off streams, which locks them: one that was opened again meanwhile is not to lose anything, and one that somebody else
/// purges has lost already what was read of it.
async fn hold(connection: &mut dyn Connection, losses: &[Loss]) -> Result<(), StoreError> {
    let dialect = connection.dialect();
    for piece in dialect.pieces(losses) {
        if connection.execute(stream::purged(dialect, piece)).await? != piece.len() as u64 {
            return Err(collided("a stream changed while it was purged"));
        }
    }
    Ok(())
}

/// Removes namespaces of clusters that left, and the clusters that have none left. Their streams are gone by now.
async fn purge_clusters(session: &mut Session<'_>, limit: u32) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    let mut left = limit;
    for _ in 0..session.portions.removed {
        let first = row(connection, catalog::first_inactive(), |r| r.int(0)).await?;
        let (Some(cluster), true) = (first, left > 0) else {
            break;
        };
        let ids = rows(connection, namespace::some(cluster, left), |r| r.int(0)).await?;
        // Nobody writes to a cluster without streams, so no sum of theirs keeps them.
        for part in ids.chunks(connection.dialect().most_values()) {
            let deleted = namespace::delete_left(connection.dialect(), part);
            connection.execute(deleted).await?;
        }
        if ids.len() < left as usize {
            connection.execute(gone::note_cluster(cluster)).await?;
            // Whoever says how it is has the cluster first as well.
            connection.execute(catalog::delete_cluster(cluster)).await?;
            connection.execute(catalog::delete_health(cluster)).await?;
        }
        left -= u32::try_from(ids.len()).expect("at most the limit");
    }
    Ok(())
}

/// Removes namespaces in which no type has objects any more, once no version that is kept names them; whether none is left for now. `swept` is when that was so last.
pub(crate) async fn sweep_namespaces(
    connection: &mut dyn Connection,
    swept: &mut Option<(i64, i64)>,
    limit: u32,
) -> Result<bool, StoreError> {
    let head = head_row::read(connection).await?;
    let revision = head.revision.max(1);
    let noted = namespace::note_empty(connection.dialect(), revision, limit);
    let noted = connection.execute(noted).await?;
    if noted > 0 {
        // Whoever took the last object of one of them may have committed since the head was read, and has not after this: their rows are held.
        let now = head_row::read(connection).await?.revision;
        if now > revision {
            let later = namespace::note_later(revision, now);
            connection.execute(later).await?;
        }
    }
    let before = (head.pruned.max(1), head.history);
    let is_all_noted = noted < u64::from(limit);
    // Nothing that has just been noted is up to there, unless that is the end of the log.
    let goes_at_once = noted > 0 && before.0 >= revision;
    if *swept == Some((head.pruned, head.history)) && !goes_at_once {
        return Ok(is_all_noted);
    }
    let statement = namespace::empty_since(before, limit);
    let ids = rows(connection, statement, |r| r.int(0)).await?;
    let dialect = connection.dialect();
    for part in ids.chunks(dialect.most_values()) {
        let deleted = namespace::delete(dialect, before, part);
        if connection.execute(deleted).await? != part.len() as u64 {
            return Err(collided("a namespace was written to while it was purged"));
        }
    }
    let is_all_gone = ids.len() < limit as usize;
    *swept = is_all_gone.then_some((head.pruned, head.history));
    Ok(is_all_noted && is_all_gone)
}

#[cfg(test)]
mod tests;
