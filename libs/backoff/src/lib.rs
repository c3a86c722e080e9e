//! How long to wait before the next try, and how long until the next of what is done again and again. Pure: chance is passed in, from 0 to 1, and
//! so is how long something lasted. From where to where waits grow is for those to say who wait.
//!
//! ```
//! use std::time::Duration;
//!
//! let mut backoff = armadex_backoff::Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
//! assert_eq!(backoff.next(1.0), Duration::from_secs(1));
//! assert_eq!(backoff.next(0.5), Duration::from_millis(1500));
//! backoff.reset();
//! assert_eq!(backoff.next(0.0), Duration::from_millis(500));
//! ```

use std::time::Duration;

/// Whatever ends before that was not worth beginning.
pub const LIVED: Duration = Duration::from_secs(60);

/// Waits that double up to a limit, each shortened by chance so that many waiters do not come back together.
///
/// Those of the libraries add what chance gives on top of the limit, and draw it themselves.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    limit: Duration,
    failures: u32,
}

impl Backoff {
    /// Waits from `first` to `limit`.
    #[must_use]
    pub const fn new(first: Duration, limit: Duration) -> Self {
        Self {
            first,
            limit,
            failures: 0,
        }
    }

    /// The next wait. Between half and all of the present step.
    pub fn next(&mut self, chance: f64) -> Duration {
        let step = self
            .first
            .saturating_mul(1 << self.failures.min(20))
            .min(self.limit);
        self.failures = self.failures.saturating_add(1);
        step.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }

    /// The next wait after something that lasted for so long: whatever lives for a minute was worth beginning.
    pub fn after(&mut self, lived: Duration, chance: f64) -> Duration {
        if lived >= LIVED {
            self.reset();
        }
        self.next(chance)
    }

    /// Whether it failed more than once in a row.
    #[must_use]
    pub const fn is_repeated(&self) -> bool {
        self.failures > 1
    }

    /// After a success.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }
}

/// `period`, longer or shorter by up to a fifth.
#[must_use]
pub fn jittered(period: Duration, chance: f64) -> Duration {
    period.mul_f64(0.8 + 0.4 * chance.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn waits_double_up_to_the_limit() {
        let mut backoff = Backoff::new(seconds(1), seconds(5));
        let waits: Vec<_> = (0..4).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [1000, 2000, 4000, 5000]);
        assert!(backoff.is_repeated());
        backoff.reset();
        assert!(!backoff.is_repeated());
        assert_eq!(backoff.next(0.0).as_millis(), 500);
        let waits = [59, 59, 60, 61].map(|lived| backoff.after(seconds(lived), 1.0));
        assert_eq!(waits.map(|wait| wait.as_secs()), [2, 4, 1, 1]);
        let mut old = Backoff::new(seconds(1), seconds(5));
        old.failures = u32::MAX;
        assert_eq!(old.next(1.0), seconds(5));
    }

    #[test]
    fn chance_takes_half_of_a_wait_at_most_and_adds_nothing() {
        for (chance, milliseconds) in [(0.0, 500), (0.5, 750), (1.0, 1000), (7.0, 1000)] {
            let mut backoff = Backoff::new(seconds(1), seconds(1));
            assert_eq!(backoff.next(chance).as_millis(), milliseconds);
            assert_eq!(backoff.next(chance).as_millis(), milliseconds);
        }
    }

    #[test]
    fn a_period_is_longer_or_shorter_by_a_fifth_at_most() {
        let periods = [-1.0, 0.0, 0.5, 1.0, 7.0].map(|chance| jittered(seconds(10), chance));
        assert_eq!(periods.map(|period| period.as_secs()), [8, 8, 10, 12, 12]);
    }
}
