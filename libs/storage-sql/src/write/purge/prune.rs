//! Versions that were superseded longer ago than they are kept for, or whose successors alone take as much as they may: walking the log and following
//! `prev_rev` costs as much as there were changes, whatever the store's size.
//!
//! It is walked twice: where the watch window is over, for all types but those with a history, and where a history's is over, for whatever is left.
//! Without any history both are one.
//!
//! How old a version is nobody notes; the store notes now and then which revision the head was at. So a version is kept for the window, and up to
//! the time between two notes longer.

use armadex_storage::StoreError;
use tracing::warn;

use super::histories;
use super::notes::{self, Kept, Notes, Part, milliseconds};
use crate::backend::error::collided;
use crate::backend::{Connection, head_row, row, rows};
use crate::sql::head::{self, HeadRow};
use crate::sql::object::{self, LogRow};
use crate::sql::{catalog, milestone};
use crate::write::history::Histories;
use crate::write::past::{Past, Reach};
use crate::write::session::Session;
use crate::write::versions;

/// What came of pruning, and how far it has come.
pub(super) enum Pruned {
    /// The log begins later, and the head is held, or what is kept of it was decided anew.
    Some(Reach),
    Nothing(Reach),
}

/// Removes what the next `limit` revisions of the log superseded, and their tombstones; of more where many are to go. `clock` is that of the lease.
pub(super) async fn prune(
    session: &mut Session<'_>,
    clock: i64,
    limit: u32,
) -> Result<Pruned, StoreError> {
    let head = head_row::read(session.connection).await?;
    if histories::settle(session, &head).await? {
        return Ok(Pruned::Some(Reach {
            is_all: false,
            is_behind: false,
        }));
    }
    let histories = session.past.history.types();
    let notes = notes::take(session, &head, clock, most(session, limit)).await?;
    let until = watched_until(session, &notes, (&head, clock)).await?;
    let watch = Walk::take(session, &notes, Kept::Watch, (head.pruned, until), limit).await?;
    let is_plain = histories.is_empty() && head.history == head.pruned;
    let (last, history) = match is_plain {
        true => (watch.walked, None),
        false => {
            let last = kept_until(session, &notes, (&head, clock), watch.walked).await?;
            let way = (head.history, last);
            let walk = Walk::take(session, &notes, Kept::History, way, limit).await?;
            (last, Some(walk))
        }
    };
    let walked = history.as_ref().map_or(watch.walked, |walk| walk.walked);
    let past = notes.past(Kept::Watch, watch.walked, clock);
    let has_kept = !histories.is_empty() || walked < watch.walked;
    let kept = has_kept.then(|| notes.past(Kept::History, walked, clock));
    session.past.set(Some((past, kept)), session.instant);
    let mut walks = std::iter::once(&watch).chain(&history);
    let reach = Reach {
        is_all: notes.are_complete && (watch.walked, walked) == (until, last),
        is_behind: !notes.are_complete || walks.any(|walk| walk.is_behind),
    };
    if (watch.walked, walked) == (head.pruned, head.history) {
        return Ok(Pruned::Nothing(reach));
    }
    drop_notes(session, &notes, (walked, watch.walked)).await?;
    let connection = &mut *session.connection;
    let kept = watch.log.iter();
    let kept = kept.filter(|row| row.is_deletion() && histories.has(row.resource));
    versions::keep_names(connection, watch.walked, kept.map(|row| row.nsid)).await?;
    match &history {
        None => versions::delete(connection, &past_of(&watch.log, &histories)).await?,
        Some(walk) => {
            let gone = past_of(&watch.log, &histories);
            // What this step walks to the end of the history needs nobody that leads to it, so no version of a stretch that is walked becomes a tombstone here.
            versions::remove(connection, walked, gone).await?;
            versions::delete(connection, &past_of(&walk.log, &Histories::default())).await?;
        }
    }
    take_head(connection, &head, std::iter::once(&watch).chain(&history)).await?;
    let pruned = head::set_pruned(&head, watch.walked, walked);
    // Who has something to walk holds the lease, and nobody begins the log anew without it: a guard, for what was removed would be found no more.
    if connection.execute(pruned).await? == 0 {
        return Err(collided("the log was begun anew while it was pruned"));
    }
    let mut walks = std::iter::once(&watch).chain(&history);
    let is_past_note = walks.any(|walk| walk.is_past_note);
    session.past.prunes((watch.walked, walked), is_past_note);
    Ok(Pruned::Some(reach))
}

/// The last thing of a step, for every writer waits for it: from here on nothing is made anew. What has been, which counts as a change of the catalogue, may have left tombstones
/// where the log was walked. While a fleet joins the catalogue changes all the time, so that is looked at before, and once more only where somebody who was waited for has changed it.
async fn take_head<'a>(
    connection: &mut dyn Connection,
    before: &HeadRow,
    walks: impl Iterator<Item = &'a Walk> + Clone,
) -> Result<(), StoreError> {
    let so_far = head_row::read(connection).await?.catalog;
    if so_far != before.catalog {
        check_unchanged(connection, walks.clone()).await?;
    }
    connection.execute(head::advance(0)).await?;
    if head_row::read(connection).await?.catalog != so_far {
        check_unchanged(connection, walks).await?;
    }
    Ok(())
}

async fn check_unchanged(
    connection: &mut dyn Connection,
    walks: impl Iterator<Item = &Walk>,
) -> Result<(), StoreError> {
    for walk in walks {
        if !walk.is_unchanged(connection).await? {
            return Err(collided(
                "damaged objects were removed while their past was pruned",
            ));
        }
    }
    Ok(())
}

/// Up to where nobody follows changes any more.
async fn watched_until(
    session: &mut Session<'_>,
    notes: &Notes,
    (head, clock): (&HeadRow, i64),
) -> Result<i64, StoreError> {
    let window = milliseconds(session.watch_window);
    let old = notes.until(clock.saturating_sub(window));
    let too_much = notes.beyond(Kept::Watch, session.past.most);
    if too_much > old.max(head.pruned) {
        let left = notes.past(Kept::Watch, too_much, clock);
        tell(session, Kept::Watch, &left).await?;
    }
    Ok(old.max(too_much).max(head.pruned))
}

/// Up to where no history reaches any more: not past what is pruned.
async fn kept_until(
    session: &mut Session<'_>,
    notes: &Notes,
    (head, clock): (&HeadRow, i64),
    pruned: i64,
) -> Result<i64, StoreError> {
    let known = &session.past.history;
    if known.types().is_empty() {
        return Ok(pruned);
    }
    let old = notes.until(clock.saturating_sub(milliseconds(known.window())));
    let too_much = notes.beyond(Kept::History, known.most());
    if too_much > old.max(head.history) {
        let left = notes.past(Kept::History, too_much, clock);
        tell(session, Kept::History, &left).await?;
    }
    Ok(old.max(too_much).min(pruned).max(head.history))
}

/// Transactions that are written while one step has its turn: that of this process, and two of another one.
const TRANSACTIONS: u32 = 3;

/// The most revisions that a step counts, and that one walks: as many as are written meanwhile, or pruning would fall behind those who write all the time. A transaction may have
/// a batch more than `changes`, and not every step is for what is past: where two processes write as much as they can there is room for both.
fn most(session: &Session<'_>, limit: u32) -> u32 {
    let changes = u32::try_from(session.portions.changes).unwrap_or(u32::MAX);
    changes.saturating_mul(TRANSACTIONS).max(limit)
}

/// A stretch of the log.
struct Walk {
    log: Vec<LogRow>,
    /// After where.
    from: i64,
    /// Up to where.
    walked: i64,
    /// Whether that is where a note is.
    is_past_note: bool,
    /// Whether it is as far as one step goes, and not the end of the way.
    is_behind: bool,
}

impl Walk {
    /// The next revisions of a way: `limit` of them, or as many as one step may where not even those come to its end.
    async fn take(
        session: &mut Session<'_>,
        notes: &Notes,
        kept: Kept,
        (from, until): (i64, i64),
        limit: u32,
    ) -> Result<Self, StoreError> {
        let step = notes.step(kept, (from, until), session.portions.bytes);
        if step <= from {
            return Ok(Self {
                log: vec![],
                from,
                walked: from,
                is_past_note: false,
                is_behind: false,
            });
        }
        let most = most(session, limit);
        let is_far = until - from > i64::from(most);
        let limit = if is_far { most } else { limit };
        let statement = object::log(from, step, limit);
        let log = rows(session.connection, statement, object::decode_log).await?;
        let walked = match log.last() {
            Some(last) if log.len() == limit as usize => last.rev,
            _ => step,
        };
        Ok(Self {
            log,
            from,
            walked,
            is_past_note: walked == step,
            // Bytes end it at a note.
            is_behind: walked < until && (is_far || walked == step),
        })
    }

    /// Whether what is left of the log is as it was read.
    async fn is_unchanged(&self, connection: &mut dyn Connection) -> Result<bool, StoreError> {
        let most = u32::try_from(self.log.len()).unwrap_or(u32::MAX);
        let left = object::log(self.from, self.walked, most);
        let left = rows(connection, left, object::decode_log).await?;
        let is_known = |row: &LogRow| {
            let found = self.log.binary_search_by_key(&row.rev, |read| read.rev);
            found.is_ok_and(|at| self.log[at] == *row)
        };
        Ok(left.iter().all(is_known))
    }
}

/// Drops what is noted of what is gone, and has of what is kept for histories no more notes than these need.
async fn drop_notes(
    session: &mut Session<'_>,
    notes: &Notes,
    (history, pruned): (i64, i64),
) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    connection.execute(milestone::drop_until(history)).await?;
    let known = &session.past.history;
    let part = Part::of(known.window(), known.most(), session.portions);
    let (gone, come) = notes.fewer((history, pruned), part);
    for revision in gone {
        connection.execute(milestone::delete(revision)).await?;
    }
    for note in &come {
        connection.execute(milestone::insert(note)).await?;
    }
    Ok(())
}

/// Says now and then that bytes and not time bound what is kept, and who had most of them.
async fn tell(session: &mut Session<'_>, of: Kept, kept: &Past) -> Result<(), StoreError> {
    let (shares, most) = match of {
        Kept::Watch => (&mut session.past.shares, session.past.most),
        Kept::History => {
            let most = session.past.history.most();
            (&mut session.past.history_shares, most)
        }
    };
    if !shares.is_due(session.instant) {
        return Ok(());
    }
    let (mut cluster, mut percent) = (None, None);
    if let Some((largest, hundredths)) = shares.largest(most) {
        let called = catalog::cluster(largest);
        let called = row(session.connection, called, catalog::decode_cluster).await?;
        cluster = called.map(|row| row.name);
        percent = Some(hundredths);
    }
    let (bytes, seconds) = (kept.bytes, kept.age.as_secs());
    match of {
        Kept::Watch => warn!(
            bytes,
            seconds,
            cluster,
            percent,
            "what was superseded takes more than --watch-window-mib: it is kept for a shorter time than --watch-window says, and whoever follows changes from \
             before lists anew"
        ),
        Kept::History => warn!(
            bytes,
            seconds,
            cluster,
            percent,
            "what is kept for histories takes more than --history-window-mib: it is kept for a shorter time than --history-window says"
        ),
    }
    Ok(())
}

/// What nobody may ask for any more once these revisions are past the window, but for what these types have.
fn past_of(log: &[LogRow], histories: &Histories) -> Vec<i64> {
    let log = || log.iter().filter(|row| !histories.has(row.resource));
    let superseded = log().map(|row| row.prev_rev).filter(|&rev| rev != 0);
    let tombstones = log().filter(|row| row.is_tombstone).map(|row| row.rev);
    superseded.chain(tombstones).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_storage::conformance::{Fixture, object};

    use super::*;
    use crate::options::Options;
    use crate::{Location, open_with};

    /// While a fleet joins the catalogue changes all the time.
    #[tokio::test]
    async fn a_change_of_the_catalogue_is_no_hindrance_where_the_log_is_as_it_was_read() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let location = Location::Sqlite(directory.path().join("store.db"));
        let store = open_with(&location, &Options::default()).await;
        let store = Arc::new(store.expect("a store"));
        let fixture = Fixture::of(&store);
        let pods = fixture.pods_of("member1").await;
        fixture
            .put(&pods, ["a", "b"].map(|name| object("ns", name)))
            .await;
        let mut step = store.database.write().await.expect("a transaction");
        let log = rows(&mut *step, object::log(0, 2, 10), object::decode_log).await;
        let log = log.expect("a log");
        assert_eq!(log.len(), 2);
        let walk = |tombstones: usize| {
            let mut log = log.clone();
            for row in log.iter_mut().take(tombstones) {
                row.is_tombstone = true;
            }
            Walk {
                log,
                from: 0,
                walked: 2,
                is_past_note: true,
                is_behind: false,
            }
        };
        let now = head_row::read(&mut *step).await.expect("a head");
        let before = HeadRow {
            catalog: now.catalog - 1,
            ..now.clone()
        };
        for (head, others, is_taken) in [(&before, 0, true), (&before, 1, false), (&now, 1, true)] {
            let walks = [walk(0), walk(others)];
            let taken = take_head(&mut *step, head, walks.iter()).await;
            assert_eq!(taken.is_ok(), is_taken, "{head:?} {others}");
        }
        step.rollback().await.expect("ended");
    }

    #[test]
    fn tombstones_go_with_what_they_superseded() {
        let row = |rev, prev_rev, is_tombstone| LogRow {
            rev,
            prev_rev,
            is_tombstone,
            resource: rev % 2,
            nsid: 1,
        };
        let log = [row(5, 0, false), row(6, 2, false), row(7, 5, true)];
        assert_eq!(past_of(&log, &Histories::default()), [2, 5, 7]);
        assert_eq!(past_of(&log, &Histories::of([1])), [2]);
    }
}
