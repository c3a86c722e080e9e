//! Versions that were superseded longer ago than the watch window: walking the log and following `prev_rev` costs as much as there were changes,
//! whatever the store's size.
//!
//! How old a version is nobody notes; the store notes now and then which revision the head was at. So a version is kept for the window, and up to
//! the time between two notes longer.

use std::time::Duration;

use armadex_storage::StoreError;

use crate::backend::{Connection, head_row, row, rows};
use crate::sql::head::{self, HeadRow};
use crate::sql::milestone;
use crate::sql::object::{self, LogRow};
use crate::write::session::Session;

/// Notes in a window: a minute between them at an hour.
const NOTES: i64 = 60;

/// Removes what the next `limit` revisions of the log superseded, and their tombstones; whether the log is pruned as far as it may be. `clock` is that
/// of the lease.
pub(super) async fn prune(
    session: &mut Session<'_>,
    clock: i64,
    limit: u32,
) -> Result<bool, StoreError> {
    let connection = &mut *session.connection;
    let head = head_row::read(connection).await?;
    let until = match session.watch_window {
        Duration::ZERO => head.revision,
        window => {
            let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
            note(connection, &head, clock, window / NOTES).await?;
            past_window(connection, clock.saturating_sub(window)).await?
        }
    };
    if head.pruned >= until {
        return Ok(true);
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
    Ok(walked == until)
}

/// Notes where the head is, if it is anywhere else than at the last note and that was long enough ago.
async fn note(
    connection: &mut dyn Connection,
    head: &HeadRow,
    clock: i64,
    every: i64,
) -> Result<(), StoreError> {
    let last = row(connection, milestone::last(), milestone::decode).await?;
    let (noted, at) = last.unwrap_or((head.pruned, i64::MIN));
    if head.revision > noted && clock.saturating_sub(at) >= every {
        let note = milestone::insert(head.revision, clock);
        connection.execute(note).await?;
    }
    Ok(())
}

/// What was superseded up to this revision was so at this time or before; 0 if nothing is that old.
async fn past_window(connection: &mut dyn Connection, at: i64) -> Result<i64, StoreError> {
    let noted = row(connection, milestone::until(at), milestone::decode).await?;
    Ok(noted.map_or(0, |(revision, _)| revision))
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
