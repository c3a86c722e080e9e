//! Versions that were superseded longer ago than the watch window, or whose successors alone take as much as it may: walking the log and following
//! `prev_rev` costs as much as there were changes, whatever the store's size.
//!
//! How old a version is nobody notes; the store notes now and then which revision the head was at. So a version is kept for the window, and up to
//! the time between two notes longer.

use armadex_storage::StoreError;
use tracing::warn;

use super::notes::{self, milliseconds};
use crate::backend::{Connection, head_row, row, rows};
use crate::sql::head::{self, HeadRow};
use crate::sql::object::{self, LogRow};
use crate::sql::{catalog, milestone};
use crate::write::past::Past;
use crate::write::session::Session;

/// What came of pruning, and whether the log is pruned as far as it may be.
pub(super) enum Pruned {
    /// The log begins later, and the head is held.
    Some {
        is_all: bool,
    },
    Nothing {
        is_all: bool,
    },
}

/// Removes what the next `limit` revisions of the log superseded, and their tombstones. `clock` is that of the lease.
pub(super) async fn prune(
    session: &mut Session<'_>,
    clock: i64,
    limit: u32,
) -> Result<Pruned, StoreError> {
    let head = head_row::read(session.connection).await?;
    let notes = notes::take(session, &head, clock, limit).await?;
    let window = milliseconds(session.watch_window);
    let (old, too_much) = (
        notes.until(clock.saturating_sub(window)),
        notes.beyond(session.past.most),
    );
    if too_much > old.max(head.pruned) {
        tell(session, &notes.past(too_much, clock)).await?;
    }
    let until = old.max(too_much).max(head.pruned);
    let step = notes.step((head.pruned, until), session.portions.bytes);
    let walked = walk(session.connection, &head, step, limit).await?;
    session
        .past
        .set(Some(notes.past(walked, clock)), session.instant);
    let is_all = walked == until && notes.are_complete;
    Ok(match walked > head.pruned {
        true => Pruned::Some { is_all },
        false => Pruned::Nothing { is_all },
    })
}

/// Walks the log up to a revision, or so many revisions; gives how far.
async fn walk(
    connection: &mut dyn Connection,
    head: &HeadRow,
    until: i64,
    limit: u32,
) -> Result<i64, StoreError> {
    if head.pruned >= until {
        return Ok(until);
    }
    let statement = object::log(head.pruned, until, limit);
    let log = rows(connection, statement, object::decode_log).await?;
    let walked = match log.last() {
        Some(last) if log.len() == limit as usize => last.rev,
        _ => until,
    };
    connection.execute(milestone::drop_until(walked)).await?;
    delete(connection, &past(&log)).await?;
    let pruned = head::set_pruned(head.pruned, walked);
    connection.execute(pruned).await?;
    Ok(walked)
}

/// Says now and then that bytes and not time bound what is kept, and who had most of them.
async fn tell(session: &mut Session<'_>, kept: &Past) -> Result<(), StoreError> {
    if !session.past.is_due(session.instant) {
        return Ok(());
    }
    let mut name = None;
    if let Some((cluster, _)) = session.past.largest() {
        let called = catalog::cluster(cluster);
        let called = row(session.connection, called, catalog::decode_cluster).await?;
        name = called.map(|row| row.name);
    }
    let percent = session.past.largest().map(|(_, percent)| percent);
    warn!(
        bytes = kept.bytes,
        seconds = kept.age.as_secs(),
        cluster = name,
        percent,
        "what was superseded takes more than --watch-window-mib: it is kept for a shorter time than --watch-window says, and whoever follows changes from \
         before lists anew"
    );
    Ok(())
}

/// Takes the newest versions of objects that go away as if they had never been: at once where what they superseded is gone. Others give their
/// place in the log to tombstones, by which pruning finds what they superseded: that may be any number of versions for each.
pub(crate) async fn delete_newest(
    connection: &mut dyn Connection,
    revs: &[i64],
) -> Result<(), StoreError> {
    let head = head_row::read(connection).await?;
    let (walked, ahead): (Vec<i64>, Vec<i64>) = revs.iter().partition(|rev| **rev <= head.pruned);
    delete(connection, &walked).await?;
    let dialect = connection.dialect();
    for part in ahead.chunks(dialect.most_values()) {
        connection
            .execute(object::bury_versions(dialect, part))
            .await?;
    }
    Ok(())
}

/// What nobody may ask for any more once these revisions are past the window.
fn past(log: &[LogRow]) -> Vec<i64> {
    let superseded = log.iter().map(|row| row.prev_rev).filter(|&rev| rev != 0);
    let tombstones = log.iter().filter(|row| row.is_tombstone).map(|row| row.rev);
    superseded.chain(tombstones).collect()
}

async fn delete(connection: &mut dyn Connection, revs: &[i64]) -> Result<(), StoreError> {
    let dialect = connection.dialect();
    for part in revs.chunks(dialect.most_values()) {
        connection
            .execute(object::delete_versions(dialect, part))
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstones_go_with_what_they_superseded() {
        let row = |rev, prev_rev, is_tombstone| LogRow {
            rev,
            prev_rev,
            is_tombstone,
        };
        let log = [row(5, 0, false), row(6, 2, false), row(7, 5, true)];
        assert_eq!(past(&log), [2, 5, 7]);
    }
}
