//! Periodic work is done by one process at a time: purge, pruning, giving space back. Whoever does it holds a row of the store, and touches it in
//! the transaction of each step, so two never work at once: not even where one was stopped in the middle and comes back.
//!
//! Hosts have clocks of their own, so no time of one is compared with that of another. Whoever waits counts, by its own clock, for how long it has
//! seen the row as it is. Whoever holds it adds the time between its own steps to the row's clock, by which the age of versions is told: it never
//! goes back, whatever the hosts' clocks do, and stands still while nobody does the work, so that nothing gets old unseen.

use std::time::{Duration, Instant};

use armadex_storage::StoreError;
use tracing::info;

use crate::backend::error::{broken, collided};
use crate::backend::{Connection, row};
use crate::sql::lease::{self, LeaseRow};

/// Two steps of a holder that works are not further apart.
const LONGEST: Duration = Duration::from_secs(60);

/// What this process knows of the lease.
#[derive(Debug)]
pub(crate) struct Lease {
    /// A name that no other process has.
    me: String,
    /// How long the row of another is seen unchanged before it is taken.
    patience: Duration,
    /// When the last step was done that was committed.
    last_step: Option<Instant>,
    /// When the one was begun that is being done, if one is.
    step: Option<Instant>,
    /// When the row of another was seen first, and as what.
    seen: Option<(i64, Instant)>,
    /// Whether the log says that this process holds it.
    told: bool,
}

/// The lease, in a step of whoever holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Of the lease, in milliseconds.
    pub(crate) clock: i64,
    /// Whether others may have had it since this process did a step.
    pub(crate) is_taken: bool,
}

impl Lease {
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            me: format!("{:032x}", rand::random::<u128>()),
            patience,
            last_step: None,
            step: None,
            seen: None,
            told: false,
        }
    }

    /// Holds the lease for a step; `None` if the work is another's.
    pub(crate) async fn hold(
        &mut self,
        connection: &mut dyn Connection,
        now: Instant,
    ) -> Result<Option<Held>, StoreError> {
        let found = row(connection, lease::select(), lease::decode).await?;
        let found = found.ok_or_else(|| broken("it has no row for its periodic work"))?;
        let Some(worked) = self.decide(&found, now) else {
            self.tell(false);
            return Ok(None);
        };
        let worked = i64::try_from(worked.as_millis()).unwrap_or(i64::MAX);
        let clock = found.clock.saturating_add(worked);
        let held = lease::hold(&self.me, &found, clock);
        if connection.execute(held).await? == 0 {
            return Err(collided("another process took the periodic work"));
        }
        self.tell(true);
        Ok(Some(Held {
            clock,
            is_taken: found.holder != self.me,
        }))
    }

    /// How long it was held since the last step, if it is to be held now. Of a time in which no step could be done (the store was away, this process was
    /// stopped) nobody saw anything grow old: so little of it counts.
    fn decide(&mut self, found: &LeaseRow, now: Instant) -> Option<Duration> {
        if found.holder == self.me {
            self.step = Some(now);
            let worked = self.last_step.map_or(Duration::ZERO, |last| now - last);
            return Some(worked.min(LONGEST));
        }
        self.last_step = None;
        let is_free = found.holder.is_empty()
            || match self.seen {
                Some((beat, since)) if beat == found.beat => now - since >= self.patience,
                _ => {
                    self.seen = Some((found.beat, now));
                    false
                }
            };
        is_free.then(|| {
            self.step = Some(now);
            Duration::ZERO
        })
    }

    /// The step was committed.
    pub(crate) fn settle(&mut self) {
        if let Some(step) = self.step.take() {
            self.last_step = Some(step);
        }
    }

    /// The step may not have been committed: what it counted is not known, and too little is better than twice.
    pub(crate) fn forget(&mut self) {
        (self.last_step, self.step) = (None, None);
    }

    /// The step was rolled back, and the time up to it is still to be counted: where each step meets another transaction at first the clock would stand
    /// still otherwise.
    pub(crate) fn undo(&mut self) {
        self.step = None;
    }

    /// Gives it back, if it is held.
    pub(crate) async fn give_back(
        &self,
        connection: &mut dyn Connection,
    ) -> Result<(), StoreError> {
        let given = lease::give_back(&self.me);
        connection.execute(given).await.map(drop)
    }

    /// Whether this process may hold it.
    pub(crate) fn is_held(&self) -> bool {
        self.told
    }

    fn tell(&mut self, holds: bool) {
        if self.told == holds {
            return;
        }
        self.told = holds;
        match holds {
            true => info!("this process does the periodic work of the store"),
            false => info!("another process does the periodic work of the store"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn held_by(holder: &str, beat: i64) -> LeaseRow {
        LeaseRow {
            holder: holder.into(),
            beat,
            clock: 0,
        }
    }

    #[test]
    fn whoever_waits_counts_how_long_it_has_seen_the_row_as_it_is() {
        let mut lease = Lease::new(PATIENCE);
        let begun = Instant::now();
        let mut at = |seconds, beat| {
            let now = begun + Duration::from_secs(seconds);
            lease.decide(&held_by("other", beat), now)
        };
        assert_eq!(at(0, 1), None);
        assert_eq!(at(59, 1), None);
        // It lives.
        assert_eq!(at(61, 2), None);
        assert_eq!(at(120, 2), None);
        assert_eq!(at(121, 2), Some(Duration::ZERO));
    }

    #[test]
    fn what_nobody_holds_is_taken_at_once() {
        let mut lease = Lease::new(PATIENCE);
        let taken = lease.decide(&held_by("", 7), Instant::now());
        assert_eq!(taken, Some(Duration::ZERO));
    }

    #[test]
    fn only_time_between_two_steps_of_one_holder_is_counted() {
        let mut lease = Lease::new(PATIENCE);
        let begun = Instant::now();
        let mine = held_by(&lease.me, 3);
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(lease.decide(&mine, after(0)), Some(Duration::ZERO));
        lease.settle();
        assert_eq!(
            lease.decide(&mine, after(20)),
            Some(Duration::from_secs(20))
        );
        lease.settle();
        // One that failed before it had looked at the row.
        lease.undo();
        assert_eq!(
            lease.decide(&mine, after(30)),
            Some(Duration::from_secs(10))
        );
        lease.forget();
        assert_eq!(lease.decide(&mine, after(40)), Some(Duration::ZERO));
        lease.settle();
        assert_eq!(
            lease.decide(&mine, after(50)),
            Some(Duration::from_secs(10))
        );
        lease.settle();
        for _ in 0..3 {
            assert_eq!(
                lease.decide(&mine, after(65)),
                Some(Duration::from_secs(15))
            );
            lease.undo();
        }
        // The store was away for five minutes.
        assert_eq!(lease.decide(&mine, after(350)), Some(LONGEST));
        // Stopped meanwhile, and another took it: what that one counted is counted.
        assert_eq!(lease.decide(&held_by("other", 9), after(500)), None);
        assert_eq!(lease.decide(&mine, after(600)), Some(Duration::ZERO));
    }
}
