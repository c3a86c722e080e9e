//! Notes of the log: which revision the head was at, since when at the latest, and how many bytes were superseded up to there. What is past the watch
//! window or a history's, or more than either may take, is told from them. Each step counts what has come since the last one, so no more is ever added up than a few
//! notes; where the watch window is over there are fewer, as far apart as a history needs.

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

/// What superseded versions are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Those who follow changes.
    Watch,
    /// The history of their types.
    History,
}

impl Kept {
    /// Of what nobody has counted nothing is known: it is counted in parts, which have notes of their own.
    fn bytes(self, note: &Milestone) -> i64 {
        match self {
            _ if !note.is_counted() => 0,
            Self::Watch => note.bytes,
            Self::History => note.history,
        }
    }
}

/// How long a part of a window is, in milliseconds and in bytes. What is walked in one step is told by notes, so none has more than a step takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    every: i64,
    share: i64,
}

impl Part {
    /// Of a window, and the most bytes that are kept in it.
    pub(super) fn of(window: Duration, most: i64, portions: &Portions) -> Self {
        let step = i64::try_from(portions.bytes).unwrap_or(i64::MAX);
        Self {
            every: milliseconds(window) / PARTS,
            share: (most / PARTS).min(step).max(1),
        }
    }
}

/// What is noted.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Of what is kept, oldest first.
    all: Vec<Milestone>,
    /// How many of them are for histories alone.
    past: usize,
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
    let statement = milestone::after(head.history);
    let mut all = rows(session.connection, statement, milestone::decode).await?;
    let uncounted = all.iter().position(|note| !note.is_counted());
    let mut later = all.split_off(uncounted.unwrap_or(all.len()));
    let noted = all.last().map_or(head.history, |note| note.rev);
    let (until, at) = later
        .first()
        .map_or((head.revision, clock), |note| (note.rev, note.at));
    if noted >= until {
        return Ok(Notes::of(all, head.pruned, true));
    }
    let (found, walked) = measure(session, (noted, until), limit).await?;
    let part = Part::of(session.watch_window, session.past.most, session.portions);
    let connection = &mut *session.connection;
    let open = match later.first() {
        Some(_) => None,
        None => open(&all[past(&all, head.pruned)..], clock, part),
    };
    if let Some(open) = open {
        connection.execute(milestone::delete(open.rev)).await?;
        all.pop();
    }
    if walked == until && !later.is_empty() {
        connection.execute(milestone::delete(until)).await?;
        later.remove(0);
    }
    let histories = session.past.history.types();
    let counted = found
        .iter()
        .map(|row| (row, histories.keep(row, head.pruned)));
    for note in parts(open, counted, (walked, at), part.share) {
        connection.execute(milestone::insert(&note)).await?;
        all.push(note);
    }
    let past = &mut *session.past;
    past.shares.count(found.iter(), past.most);
    let kept = found.iter().filter(|row| histories.has(row.resource));
    past.history_shares.count(kept, past.history.most());
    all.append(&mut later);
    Ok(Notes::of(all, head.pruned, walked == head.revision))
}

/// What is kept by these notes for those who follow changes, and what for histories, where the log is pruned up to a revision, at a time of the clock.
pub(crate) fn pasts(notes: Vec<Milestone>, pruned: i64, clock: i64) -> (Past, Past) {
    let notes = Notes::of(notes, pruned, true);
    (
        notes.past(Kept::Watch, pruned, clock),
        notes.past(Kept::History, 0, clock),
    )
}

/// How many notes are up to a revision.
fn past(notes: &[Milestone], revision: i64) -> usize {
    notes.partition_point(|note| note.rev <= revision)
}

/// What revisions after one and up to another superseded, as far as a step goes, and how far that is. Where versions are read to be measured it ends after so many bytes.
async fn measure(
    session: &mut Session<'_>,
    (after, until): (i64, i64),
    limit: u32,
) -> Result<(Vec<Superseding>, i64), StoreError> {
    let Portions { look, bytes, .. } = *session.portions;
    if !session.dialect.reads_to_measure() {
        return measure_at_once(session, (after, until), limit).await;
    }
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

/// The same in one statement, where a version is not read to tell how long it is.
async fn measure_at_once(
    session: &mut Session<'_>,
    (after, until): (i64, i64),
    limit: u32,
) -> Result<(Vec<Superseding>, i64), StoreError> {
    let statement = milestone::measure((after, until), limit);
    let found = rows(session.connection, statement, milestone::decode_superseding).await?;
    let walked = match found.last() {
        Some(last) if found.len() >= limit as usize => last.rev,
        _ => until,
    };
    Ok((found, walked))
}

/// The last note, if what comes now belongs to the same part of the window as it does.
fn open(kept: &[Milestone], clock: i64, part: Part) -> Option<Milestone> {
    let [.., before, last] = kept else {
        return None;
    };
    let is_open = clock.saturating_sub(before.at) < part.every && last.bytes < part.share;
    is_open.then_some(*last)
}

/// Notes of what was found up to a revision, and whether it is for a history, at a time: each of so many bytes, the last of what is left.
fn parts<'a>(
    open: Option<Milestone>,
    found: impl Iterator<Item = (&'a Superseding, bool)>,
    (until, at): (i64, i64),
    share: i64,
) -> Vec<Milestone> {
    let (mut bytes, mut history) = open.map_or((0, 0), |open| (open.bytes, open.history));
    let mut notes = Vec::new();
    let note = |rev, bytes, history| Milestone {
        rev,
        at,
        bytes,
        history,
    };
    for (row, is_kept) in found {
        bytes += row.bytes;
        history += if is_kept { row.bytes } else { 0 };
        if bytes >= share {
            notes.push(note(row.rev, bytes, history));
            (bytes, history) = (0, 0);
        }
    }
    if notes.last().is_none_or(|last| last.rev < until) {
        notes.push(note(until, bytes, history));
    }
    notes
}

impl Notes {
    fn of(all: Vec<Milestone>, pruned: i64, are_complete: bool) -> Self {
        Self {
            past: past(&all, pruned),
            all,
            are_complete,
        }
    }

    fn kept(&self, kept: Kept) -> &[Milestone] {
        match kept {
            Kept::Watch => &self.all[self.past..],
            Kept::History => &self.all,
        }
    }

    /// What was superseded up to this revision was so at this time or before; 0 if nothing is that old.
    pub(super) fn until(&self, at: i64) -> i64 {
        let old = self.all.iter().rev().find(|note| note.at <= at);
        old.map_or(0, |note| note.rev)
    }

    /// What was superseded after this revision takes no more than so many bytes; 0 if nothing is to go for that.
    pub(super) fn beyond(&self, kept: Kept, most: i64) -> i64 {
        let mut bytes = 0_i64;
        let first = self.kept(kept).iter().rev().find(|note| {
            bytes = bytes.saturating_add(kept.bytes(note));
            bytes > most
        });
        first.map_or(0, |note| note.rev)
    }

    /// How far one step goes from a revision on towards another: past what supersedes so many bytes, one part at least, and not past what nobody has counted. All the way
    /// where nothing is noted.
    pub(super) fn step(&self, kept: Kept, (from, until): (i64, i64), most: u64) -> i64 {
        let (mut bytes, mut is_first) = (0_u64, true);
        let mut ahead = self
            .all
            .iter()
            .filter(|note| (from + 1..=until).contains(&note.rev))
            .peekable();
        if ahead.peek().is_none() {
            return until;
        }
        let fits = ahead.take_while(|note| {
            bytes = bytes.saturating_add(kept.bytes(note).unsigned_abs());
            note.is_counted() && (std::mem::take(&mut is_first) || bytes <= most)
        });
        fits.last().map_or(from, |note| note.rev)
    }

    /// What is kept when everything up to a revision is gone.
    pub(super) fn past(&self, kept: Kept, pruned: i64, clock: i64) -> Past {
        let left = &self.all[past(&self.all, pruned)..];
        let bytes = left.iter().map(|note| kept.bytes(note).unsigned_abs());
        Past::since(left.first(), bytes.sum(), clock)
    }

    /// The notes after one revision and up to another, no more of them than parts of this length need: (those that go, those that come in the place of some).
    pub(super) fn fewer(
        &self,
        (after, until): (i64, i64),
        part: Part,
    ) -> (Vec<i64>, Vec<Milestone>) {
        let (from, to) = (past(&self.all, after), past(&self.all, until));
        let there = self.all.get(from..to).unwrap_or_default();
        let counted = there.iter().take_while(|note| note.is_counted());
        let mut fewer: Vec<Milestone> = Vec::new();
        for note in counted.clone() {
            let mut note = *note;
            if let [.., before, last] = fewer[..]
                && note.at.saturating_sub(before.at) < part.every
                && last.history + note.history <= part.share
            {
                fewer.pop();
                note.bytes += last.bytes;
                note.history += last.history;
            }
            fewer.push(note);
        }
        // Both are in the order of revisions.
        let is_in = |notes: &[Milestone], note: &Milestone| {
            let found = notes.binary_search_by_key(&note.rev, |other| other.rev);
            found.is_ok_and(|at| notes[at] == *note)
        };
        let gone = counted.filter(|note| !is_in(&fewer, note));
        let gone = gone.map(|note| note.rev).collect();
        fewer.retain(|note| !is_in(there, note));
        (gone, fewer)
    }
}

pub(super) fn milliseconds(window: Duration) -> i64 {
    i64::try_from(window.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(rev: i64, at: i64, bytes: i64) -> Milestone {
        Milestone {
            rev,
            at,
            bytes,
            history: 0,
        }
    }

    fn superseded(found: &[(i64, i64)]) -> Vec<Superseding> {
        let found = found.iter().map(|&(rev, bytes)| Superseding {
            rev,
            cluster: 1,
            resource: 1,
            bytes,
        });
        found.collect()
    }

    #[test]
    fn what_is_found_is_noted_in_parts_of_a_window_and_of_its_bytes() {
        let found = superseded(&[(5, 0), (6, 70), (7, 40), (8, 10)]);
        let found = || found.iter().map(|row| (row, false));
        assert_eq!(
            parts(None, found(), (9, 50), 100),
            [note(7, 50, 110), note(9, 50, 10)]
        );
        // The last one goes on.
        let open = Some(note(4, 20, 30));
        assert_eq!(
            parts(open, found(), (9, 50), 100),
            [note(6, 50, 100), note(9, 50, 50)]
        );
        assert_eq!(parts(None, found(), (8, 50), 10).len(), 3);
    }

    #[test]
    fn a_note_goes_on_until_it_is_as_long_as_a_part() {
        let kept = [note(4, 20, 500), note(9, 40, 30)];
        let part = |share| Part { every: 60, share };
        assert_eq!(open(&kept, 79, part(100)), Some(kept[1]));
        assert_eq!(open(&kept, 80, part(100)), None);
        assert_eq!(open(&kept, 79, part(30)), None);
        assert_eq!(open(&kept[1..], 41, part(100)), None);
    }

    #[test]
    fn what_is_too_old_or_too_much_is_told_by_notes() {
        let all = vec![note(4, 20, 500), note(9, 40, 30), note(12, 60, 20)];
        let notes = Notes::of(all, 0, true);
        assert_eq!([19, 20, 59, 60].map(|at| notes.until(at)), [0, 4, 9, 12]);
        assert_eq!(
            [550, 549, 50, 49, 19].map(|most| notes.beyond(Kept::Watch, most)),
            [0, 4, 4, 9, 12]
        );
        assert_eq!(
            [(0, 12), (4, 12), (4, 9), (9, 12), (12, 12)].map(|way| notes.step(
                Kept::Watch,
                way,
                40
            )),
            [4, 9, 9, 12, 12]
        );
        assert_eq!(
            [(0, 12), (4, 9)].map(|way| notes.step(Kept::Watch, way, 550)),
            [12, 9]
        );
        let past = notes.past(Kept::Watch, 4, 100);
        assert_eq!((past.bytes, past.age), (50, Duration::from_millis(60)));
        assert_eq!(notes.past(Kept::Watch, 12, 100), Past::default());
    }

    #[test]
    fn a_step_ends_before_what_nobody_has_counted() {
        let all = vec![note(4, 20, 0), note(9, 40, -1), note(12, 60, -1)];
        let notes = Notes::of(all, 0, false);
        let steps = [0, 4].map(|pruned| notes.step(Kept::Watch, (pruned, 12), 40));
        assert_eq!(steps, [4, 4]);
    }

    #[test]
    fn what_is_kept_for_a_history_is_told_apart() {
        let of = |note: Milestone, history| Milestone { history, ..note };
        let found = superseded(&[(5, 30), (6, 70), (7, 40)]);
        let found = found.iter().map(|row| (row, row.rev != 6));
        let noted = parts(Some(of(note(4, 20, 5), 5)), found, (7, 50), 100);
        assert_eq!(noted, [of(note(6, 50, 105), 35), of(note(7, 50, 40), 40)]);
        let all = vec![
            of(note(4, 20, 500), 70),
            of(note(9, 40, 30), 10),
            note(12, 60, 20),
        ];
        let notes = Notes::of(all, 4, true);
        assert_eq!([49, 50].map(|most| notes.beyond(Kept::Watch, most)), [9, 0]);
        let beyond = [9, 10, 79, 80].map(|most| notes.beyond(Kept::History, most));
        assert_eq!(beyond, [9, 4, 4, 0]);
        assert_eq!(notes.step(Kept::History, (0, 12), 40), 4);
        assert_eq!(notes.step(Kept::History, (0, 12), 80), 12);
        assert_eq!(
            notes.step(Kept::History, (12, 14), 80),
            14,
            "nothing is noted"
        );
        assert_eq!(notes.past(Kept::History, 0, 100).bytes, 80);
        assert_eq!(notes.past(Kept::Watch, 4, 100).bytes, 50);
    }

    #[test]
    fn a_history_has_fewer_notes_than_the_window_and_says_the_same() {
        let of = |rev, at, history| Milestone {
            history,
            ..note(rev, at, 2 * history)
        };
        let all = [
            of(2, 0, 5),
            of(3, 10, 1),
            of(4, 20, 2),
            of(5, 70, 3),
            of(6, 79, 90),
            of(7, 90, 30),
            of(8, 100, 1),
        ];
        let notes = Notes::of(all.to_vec(), 7, true);
        let part = Part {
            every: 60,
            share: 100,
        };
        let (gone, come) = notes.fewer((1, 7), part);
        assert_eq!(gone, [3, 4, 5, 6]);
        assert_eq!(come, [of(4, 20, 3), of(6, 79, 93)]);
        let mut left: Vec<Milestone> = all
            .into_iter()
            .filter(|note| !gone.contains(&note.rev))
            .chain(come)
            .collect();
        left.sort_by_key(|note| note.rev);
        let again = Notes::of(left, 7, true).fewer((1, 7), part);
        assert_eq!(again, (vec![], vec![]));
        assert_eq!(notes.fewer((7, 7), part), (vec![], vec![]));
    }
}
