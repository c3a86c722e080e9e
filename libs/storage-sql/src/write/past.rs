//! What is known of the past that is kept, by the process that does the store's periodic work: for a metric, and a line in the log where it is more than
//! it may be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::options::History;
use crate::sql::milestone::{Milestone, Superseding};
use crate::write::history::{HistoryKnown, bound};

/// What a store keeps of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Bytes of superseded versions, packed, as the store's periodic work has counted them: some seconds behind.
    pub bytes: u64,
    /// How long ago the oldest of them were superseded, at least, by the clock of the periodic work.
    pub age: Duration,
}

impl Past {
    /// So many bytes, the oldest of which are up to this note, at a time of the clock.
    pub(crate) fn since(oldest: Option<&Milestone>, bytes: u64, clock: i64) -> Self {
        let age = oldest.map_or(0, |oldest| clock.saturating_sub(oldest.at));
        Self {
            bytes,
            age: Duration::from_millis(age.max(0).unsigned_abs()),
        }
    }
}

/// What the periodic work of this process has last seen; nothing where another process does it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Option<(Pasts, Instant)>>>);

/// What is kept for those who follow changes, and for histories where there are any.
type Pasts = (Past, Option<Past>);

impl Seen {
    /// Of what was seen a while ago nothing is said: another process may do the work since.
    pub(crate) fn at(&self, now: Instant) -> Option<Pasts> {
        let seen = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.filter(|(_, seen)| now.saturating_duration_since(*seen) < HOLDS)
            .map(|(past, _)| past)
    }
}

/// Several of the pauses between two steps.
const HOLDS: Duration = Duration::from_secs(120);

/// Between two lines that say the same.
const SELDOM: Duration = Duration::from_secs(10 * 60);

/// How far a step for what is past has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// To the end.
    pub(crate) is_all: bool,
    /// As far as one step goes, and not to the end.
    pub(crate) is_behind: bool,
}

/// What came of the last steps that were for what is past.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrunedLast {
    /// How many they were.
    pub(crate) steps: u32,
    /// How far the last of them came.
    pub(crate) reach: Reach,
}

/// What this process knows of the past.
#[derive(Debug)]
pub(crate) struct PastKnown {
    /// The most bytes of superseded versions that are kept for those who follow changes.
    pub(crate) most: i64,
    seen: Seen,
    /// Who superseded most lately, of all, and of what is kept for histories.
    pub(crate) shares: Shares,
    pub(crate) history_shares: Shares,
    /// If the last step of the periodic work was for what is past, what came of that: the next one may be for what has left.
    pub(crate) pruned: Option<PrunedLast>,
    /// Up to where the log was pruned, and histories were, when every empty namespace that is named nowhere any more was found to be gone; or where it is since, as long as
    /// neither has come to the next note. With a history those that are named would be looked at again by each step.
    pub(crate) swept: Option<(i64, i64)>,
    /// Which types are kept for longer.
    pub(crate) history: HistoryKnown,
}

impl PastKnown {
    /// With a bound in bytes, 0: without one, and the histories that are asked for.
    pub(crate) fn new(most: u64, history: Option<History>) -> Self {
        Self {
            most: bound(most),
            seen: Seen::default(),
            shares: Shares::default(),
            history_shares: Shares::default(),
            pruned: None,
            swept: None,
            history: HistoryKnown::new(history),
        }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.clone()
    }

    pub(crate) fn set(&self, past: Option<Pasts>, now: Instant) {
        let seen = past.map(|past| (past, now));
        *self.seen.0.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Others may have done the work since.
    pub(crate) fn forget(&mut self) {
        self.undo();
        self.history.forget();
    }

    /// What the last step said of it may not have come to be.
    pub(crate) fn undo(&mut self) {
        (self.pruned, self.swept) = (None, None);
    }

    /// The log was pruned so far, and histories were; past a note or not.
    pub(crate) fn prunes(&mut self, until: (i64, i64), is_past_note: bool) {
        self.swept = self.swept.filter(|_| !is_past_note).map(|_| until);
    }
}

/// Of each cluster the bytes of what it superseded lately.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    by_cluster: HashMap<i64, i64>,
    told: Option<Instant>,
}

impl Shares {
    /// Counts whose versions were superseded. What was so long ago that as much came after it as may be kept counts for half.
    pub(crate) fn count<'a>(&mut self, found: impl Iterator<Item = &'a Superseding>, most: i64) {
        for Superseding { cluster, bytes, .. } in found {
            *self.by_cluster.entry(*cluster).or_default() += bytes;
        }
        if self.all() > most {
            self.by_cluster.retain(|_, bytes| {
                *bytes /= 2;
                *bytes > 0
            });
        }
    }

    fn all(&self) -> i64 {
        self.by_cluster
            .values()
            .fold(0, |all: i64, bytes| all.saturating_add(*bytes))
    }

    /// The cluster of which most was superseded lately, and how many hundredths of all that is; nothing as long as little was counted.
    pub(crate) fn largest(&self, most: i64) -> Option<(i64, i64)> {
        if self.all() < most / 4 {
            return None;
        }
        let largest = self.by_cluster.iter().max_by_key(|(_, bytes)| **bytes);
        largest.map(|(cluster, bytes)| (*cluster, bytes.saturating_mul(100) / self.all().max(1)))
    }

    /// Whether it is time for a line; from then on it was told.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.told.is_none_or(|told| now - told >= SELDOM);
        if is_due {
            self.told = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fills_the_log_is_told_seldom_and_by_what_was_written_lately() {
        let row = |cluster, bytes| Superseding {
            rev: 1,
            cluster,
            resource: 1,
            bytes,
        };
        let mut shares = Shares::default();
        shares.count([row(1, 100)].iter(), 1000);
        assert_eq!(shares.largest(1000), None);
        let mut shares = Shares::default();
        shares.count([row(1, 600), row(2, 300)].iter(), 1000);
        assert_eq!(shares.largest(1000), Some((1, 66)));
        shares.count([row(2, 600)].iter(), 1000);
        shares.count([row(2, 600)].iter(), 1000);
        assert_eq!(shares.largest(1000), Some((2, 77)));
        let begun = Instant::now();
        assert!(shares.is_due(begun));
        assert!(!shares.is_due(begun + SELDOM / 2));
        assert!(shares.is_due(begun + SELDOM));
    }

    #[test]
    fn what_was_seen_long_ago_is_not_told() {
        let past = PastKnown::new(1000, None);
        let now = Instant::now();
        assert_eq!(past.seen().at(now), None);
        let seen = (Past::default(), None);
        past.set(Some(seen), now);
        assert_eq!(past.seen().at(now + HOLDS / 2), Some(seen));
        assert_eq!(past.seen().at(now + HOLDS), None);
    }

    #[test]
    fn without_a_bound_any_number_of_bytes_is_kept() {
        assert_eq!(PastKnown::new(0, None).most, i64::MAX);
        assert_eq!(PastKnown::new(7, None).most, 7);
    }
}
