//! Versions past retention: walking the log and following `prev_rev` costs as much as there were changes, whatever the store's size.

use armadex_storage::StoreError;

use crate::backend::{Connection, head_row, rows};
use crate::sql::head;
use crate::sql::object::{self, LogRow};
use crate::write::session::Session;

/// Removes what the next `limit` revisions of the log superseded, and their tombstones; whether the log is pruned as far as it may be.
pub(super) async fn prune(session: &mut Session<'_>, limit: u32) -> Result<bool, StoreError> {
    let connection = &mut *session.connection;
    let head = head_row::read(connection).await?;
    let kept = i64::try_from(session.retention).unwrap_or(i64::MAX);
    let until = head.revision.saturating_sub(kept);
    if head.pruned >= until {
        return Ok(true);
    }
    let statement = object::log(head.pruned, until, limit);
    let log = rows(connection, statement, object::decode_log).await?;
    let walked = match log.last() {
        Some(last) if log.len() == limit as usize => last.rev,
        _ => until,
    };
    delete(connection, &past(&log)).await?;
    connection
        .execute(head::set_pruned(head.pruned, walked))
        .await?;
    Ok(walked == until)
}

/// Deletes versions and all that they superseded, for objects that go away without a tombstone.
pub(super) async fn delete_with_past(
    connection: &mut dyn Connection,
    revs: Vec<i64>,
) -> Result<(), StoreError> {
    let (dialect, mut revs) = (connection.dialect(), revs);
    while !revs.is_empty() {
        let mut past = Vec::new();
        for part in revs.chunks(dialect.most_values()) {
            let statement = object::previous(dialect, part);
            past.extend(rows(connection, statement, |r| r.int(0)).await?);
        }
        delete(connection, &revs).await?;
        past.retain(|&rev| rev != 0);
        revs = past;
    }
    Ok(())
}

/// What nobody may ask for any more once these revisions are past retention.
fn past(log: &[LogRow]) -> Vec<i64> {
    let superseded = log.iter().map(|row| row.prev_rev).filter(|&rev| rev != 0);
    let tombstones = log.iter().filter(|row| row.is_tombstone).map(|row| row.rev);
    superseded.chain(tombstones).collect()
}

pub(super) async fn delete(
    connection: &mut dyn Connection,
    revs: &[i64],
) -> Result<(), StoreError> {
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
