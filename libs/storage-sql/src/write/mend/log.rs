//! A damaged log. It begins anew in one step, which holds the head and reads next to nothing. What was in it is removed afterwards, in the order of
//! revisions, while others write.

use std::collections::BTreeSet;

use armadex_storage::StoreError;

use super::rows::{LOOK, drop_notes};
use super::step::{Mending, Orphans, Step};
use crate::backend::{Connection, head_row, rows};
use crate::sql::head;
use crate::sql::{mend, object};
use crate::write::session::Session;
use crate::write::versions;

/// Whoever follows changes begins anew.
pub(super) async fn begin_anew(connection: &mut dyn Connection) -> Result<Step, StoreError> {
    // In the order of a purge.
    drop_notes(connection).await?;
    // Holds the head, so nobody appends meanwhile.
    connection.execute(head::advance(0)).await?;
    let head = head_row::read(connection).await?;
    let pruned = head::set_pruned(&head, head.revision, head.revision);
    connection.execute(pruned).await?;
    // What is beyond the head would be in the way of what comes.
    let mut after = head.revision;
    while let Some(found) = next_versions(connection, after, LOOK).await? {
        versions::delete(connection, &found.orphans).await?;
        after = found.last;
    }
    Ok(Step::before(Mending::Orphans(Orphans {
        after: -1,
        until: head.revision,
        read: head.revision,
        superseded: BTreeSet::new(),
    })))
}

/// Removes what no object has of the next versions.
pub(super) async fn step(session: &mut Session<'_>, orphans: &Orphans) -> Result<Step, StoreError> {
    let look = session.portions.orphans;
    let connection = &mut *session.connection;
    let &Orphans {
        after, until, read, ..
    } = orphans;
    let Some(found) = next_versions(connection, after, look).await? else {
        return Ok(Step::LAST);
    };
    // Read after them, so it has whatever superseded one of them before they were read.
    let (news, read) = superseded_since(connection, read).await?;
    let news = news.into_iter().chain(orphans.superseded.iter().copied());
    let superseded: BTreeSet<i64> = news
        .filter(|rev| (after + 1..=until).contains(rev))
        .collect();
    let is_past = |rev: &i64| *rev <= until && !superseded.contains(rev);
    let gone: Vec<i64> = found.orphans.into_iter().filter(is_past).collect();
    versions::delete(connection, &gone).await?;
    if found.last >= until {
        return Ok(Step::LAST);
    }
    Ok(Step::before(Mending::Orphans(Orphans {
        after: found.last,
        until,
        read,
        superseded,
    })))
}

/// Some versions, in the order of revisions.
struct Versions {
    last: i64,
    /// Those that no object has.
    orphans: Vec<i64>,
}

/// The next versions, if there are any.
async fn next_versions(
    connection: &mut dyn Connection,
    after: i64,
    limit: u32,
) -> Result<Option<Versions>, StoreError> {
    let looked = mend::versions_after(after, limit);
    let found = rows(connection, looked, |r| Ok((r.int(0)?, r.int(1)?))).await?;
    let orphans = found.iter().filter(|(_, object)| *object == 0);
    let orphans = orphans.map(|(rev, _)| *rev).collect();
    Ok(found.last().map(|&(last, _)| Versions { last, orphans }))
}

/// What the log says was superseded after a revision, and how far it goes.
async fn superseded_since(
    connection: &mut dyn Connection,
    mut read: i64,
) -> Result<(Vec<i64>, i64), StoreError> {
    let until = head_row::read(connection).await?.revision;
    let mut found = Vec::new();
    while read < until {
        let log = object::log(read, until, LOOK);
        let log = rows(connection, log, object::decode_log).await?;
        // What was pruned meanwhile is gone with what it had superseded.
        read = match log.last() {
            Some(last) if log.len() == LOOK as usize => last.rev,
            _ => until,
        };
        found.extend(log.iter().map(|row| row.prev_rev));
    }
    Ok((found, read))
}
