//! Notes of the log: which revision the head was at, since when at the latest, and how many bytes were superseded up to there. What is past the watch
//! window, or more than it may take, is told from them. Each step counts what has come since the last one, so no more is ever added up than a few notes.

use std::time::Duration;

use armadex_storage::StoreError;

use crate::backend::rows;
use crate::sql::head::HeadRow;
use crate::sql::milestone::{self, Milestone, Superseding};
use crate::write::Portions;
use crate::write::past::Past;
use crate::write::session::Session;

/// Notes in a window, and in what it may take: a minute between them at an hour.
const PARTS: i64 = 60;

/// Bytes of a version that is short.
const SHORT: u64 = 4096;
/// How many times as many are looked at after those that were short: what comes may be long, two hundred megabytes then.
const MORE: u32 = 2;

/// What is noted.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Of what is kept, oldest first.
    kept: Vec<Milestone>,
    /// Whether they reach the head.
    pub(super) are_complete: bool,
}

/// Counts what the next `limit` revisions superseded, or fewer that take a lot, and notes where the log is at `clock`. What an earlier release noted is
/// counted first: it says when that was.
pub(super) async fn take(
    session: &mut Session<'_>,
    head: &HeadRow,
    clock: i64,
    limit: u32,
) -> Result<Notes, StoreError> {
    let statement = milestone::after(head.pruned);
    let mut kept = rows(session.connection, statement, milestone::decode).await?;
    let uncounted = kept.iter().position(|note| note.bytes < 0);
    let mut later = kept.split_off(uncounted.unwrap_or(kept.len()));
    let noted = kept.last().map_or(head.pruned, |note| note.rev);
    let (until, at) = later
        .first()
        .map_or((head.revision, clock), |note| (note.rev, note.at));
    if noted >= until {
        return Ok(Notes {
            kept,
            are_complete: true,
        });
    }
    let (found, walked) = measure(session, (noted, until), limit).await?;
    let every = milliseconds(session.watch_window) / PARTS;
    // What is walked in one step is told by notes.
    let step = i64::try_from(session.portions.bytes).unwrap_or(i64::MAX);
    let share = (session.past.most / PARTS).min(step).max(1);
    let connection = &mut *session.connection;
    let open = match later.first() {
        Some(_) => None,
        None => open(&kept, clock, (every, share)),
    };
    if let Some(open) = open {
        connection.execute(milestone::delete(open.rev)).await?;
        kept.pop();
    }
    if walked == until && !later.is_empty() {
        connection.execute(milestone::delete(until)).await?;
        later.remove(0);
    }
    for note in parts(open, &found, (walked, at), share) {
        connection.execute(milestone::insert(&note)).await?;
        kept.push(note);
    }
    session.past.count(&found);
    kept.append(&mut later);
    Ok(Notes {
        kept,
        are_complete: walked == head.revision,
    })
}

/// What revisions after one and up to another superseded, as far as a step goes, and how far that is.
async fn measure(
    session: &mut Session<'_>,
    (after, until): (i64, i64),
    limit: u32,
) -> Result<(Vec<Superseding>, i64), StoreError> {
    let Portions { look, bytes, .. } = *session.portions;
    let (mut look_now, mut met) = (look, 0_u64);
    let mut found: Vec<Superseding> = Vec::new();
    while found.len() < limit as usize && met < bytes {
        let after = found.last().map_or(after, |row| row.rev);
        let asked = look_now.clamp(1, limit);
        let statement = milestone::measure((after, until), asked);
        let next = rows(session.connection, statement, milestone::decode_superseding).await?;
        let is_last = next.len() < asked as usize;
        let took: u64 = next.iter().map(|row| row.bytes.unsigned_abs()).sum();
        found.extend(next);
        if is_last {
            return Ok((found, until));
        }
        met += took;
        look_now = match took <= u64::from(asked) * SHORT {
            true => look.saturating_mul(MORE),
            false => look,
        };
    }
    let walked = found.last().map_or(after, |row| row.rev);
    Ok((found, walked))
}

/// The last note, if what comes now belongs to the same part of the window as it does.
fn open(kept: &[Milestone], clock: i64, (every, share): (i64, i64)) -> Option<Milestone> {
    let [.., before, last] = kept else {
        return None;
    };
    let is_open = clock.saturating_sub(before.at) < every && last.bytes < share;
    is_open.then_some(*last)
}

/// Notes of what was found up to a revision, at a time: each of so many bytes, the last of what is left.
fn parts(
    open: Option<Milestone>,
    found: &[Superseding],
    (until, at): (i64, i64),
    share: i64,
) -> Vec<Milestone> {
    let mut bytes = open.map_or(0, |open| open.bytes);
    let mut notes = Vec::new();
    for row in found {
        bytes += row.bytes;
        if bytes >= share {
            let rev = row.rev;
            notes.push(Milestone { rev, at, bytes });
            bytes = 0;
        }
    }
    if notes.last().is_none_or(|last| last.rev < until) {
        let rev = until;
        notes.push(Milestone { rev, at, bytes });
    }
    notes
}

impl Notes {
    /// What was superseded up to this revision was so at this time or before; 0 if nothing is that old.
    pub(super) fn until(&self, at: i64) -> i64 {
        let old = self.kept.iter().rev().find(|note| note.at <= at);
        old.map_or(0, |note| note.rev)
    }

    /// What was superseded after this revision takes no more than so many bytes; 0 if nothing is to go for that.
    pub(super) fn beyond(&self, most: i64) -> i64 {
        let mut bytes = 0_i64;
        let first = self.kept.iter().rev().find(|note| {
            bytes = bytes.saturating_add(note.bytes.max(0));
            bytes > most
        });
        first.map_or(0, |note| note.rev)
    }

    /// How far one step goes from a revision on towards another: past what supersedes so many bytes, one part at least, and not past what nobody has counted.
    pub(super) fn step(&self, (pruned, until): (i64, i64), most: u64) -> i64 {
        let (mut bytes, mut is_first) = (0_u64, true);
        let ahead = self.kept.iter();
        let ahead = ahead.filter(|note| (pruned + 1..=until).contains(&note.rev));
        let fits = ahead.take_while(|note| {
            bytes = bytes.saturating_add(note.bytes.max(0).unsigned_abs());
            note.bytes >= 0 && (std::mem::take(&mut is_first) || bytes <= most)
        });
        fits.last().map_or(pruned, |note| note.rev)
    }

    /// What is kept when everything up to a revision is gone.
    pub(super) fn past(&self, pruned: i64, clock: i64) -> Past {
        let first = self.kept.partition_point(|note| note.rev <= pruned);
        Past::of(&self.kept[first..], clock)
    }
}

pub(super) fn milliseconds(window: Duration) -> i64 {
    i64::try_from(window.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(rev: i64, at: i64, bytes: i64) -> Milestone {
        Milestone { rev, at, bytes }
    }

    fn superseded(found: &[(i64, i64)]) -> Vec<Superseding> {
        let found = found.iter().map(|&(rev, bytes)| Superseding {
            rev,
            cluster: 1,
            bytes,
        });
        found.collect()
    }

    #[test]
    fn what_is_found_is_noted_in_parts_of_a_window_and_of_its_bytes() {
        let found = superseded(&[(5, 0), (6, 70), (7, 40), (8, 10)]);
        assert_eq!(
            parts(None, &found, (9, 50), 100),
            [note(7, 50, 110), note(9, 50, 10)]
        );
        // The last one goes on.
        let open = Some(note(4, 20, 30));
        assert_eq!(
            parts(open, &found, (9, 50), 100),
            [note(6, 50, 100), note(9, 50, 50)]
        );
        assert_eq!(parts(None, &found, (8, 50), 10).len(), 3);
    }

    #[test]
    fn a_note_goes_on_until_it_is_as_long_as_a_part() {
        let kept = [note(4, 20, 500), note(9, 40, 30)];
        assert_eq!(open(&kept, 79, (60, 100)), Some(kept[1]));
        assert_eq!(open(&kept, 80, (60, 100)), None);
        assert_eq!(open(&kept, 79, (60, 30)), None);
        assert_eq!(open(&kept[1..], 41, (60, 100)), None);
    }

    #[test]
    fn what_is_too_old_or_too_much_is_told_by_notes() {
        let notes = Notes {
            kept: vec![note(4, 20, 500), note(9, 40, 30), note(12, 60, 20)],
            are_complete: true,
        };
        assert_eq!([19, 20, 59, 60].map(|at| notes.until(at)), [0, 4, 9, 12]);
        assert_eq!(
            [550, 549, 50, 49, 19].map(|most| notes.beyond(most)),
            [0, 4, 4, 9, 12]
        );
        assert_eq!(
            [(0, 12), (4, 12), (4, 9), (9, 12), (12, 12)].map(|way| notes.step(way, 40)),
            [4, 9, 9, 12, 12]
        );
        assert_eq!([(0, 12), (4, 9)].map(|way| notes.step(way, 550)), [12, 9]);
        let past = notes.past(4, 100);
        assert_eq!((past.bytes, past.age), (50, Duration::from_millis(60)));
        assert_eq!(notes.past(12, 100), Past::default());
    }

    #[test]
    fn a_step_ends_before_what_nobody_has_counted() {
        let notes = Notes {
            kept: vec![note(4, 20, 0), note(9, 40, -1), note(12, 60, -1)],
            are_complete: false,
        };
        assert_eq!([0, 4].map(|pruned| notes.step((pruned, 12), 40)), [4, 4]);
    }
}
