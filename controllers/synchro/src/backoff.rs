//! How long to wait after a failure. Pure: randomness is passed in.

use std::time::Duration;

/// Whatever ends before that was not worth beginning.
pub(crate) const LIVED: Duration = Duration::from_secs(60);

/// Waits that double up to a limit, each shortened by chance so that many waiters do not come back together.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    limit: Duration,
    failures: u32,
}

impl Backoff {
    /// Waits from `first` to `limit`.
    pub(crate) fn new(first: Duration, limit: Duration) -> Self {
        Self {
            first,
            limit,
            failures: 0,
        }
    }

    /// The next wait; `chance` is from 0 to 1. Between half and all of the present step.
    pub(crate) fn next(&mut self, chance: f64) -> Duration {
        let step = self
            .first
            .saturating_mul(1 << self.failures.min(20))
            .min(self.limit);
        self.failures = self.failures.saturating_add(1);
        step.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }

    /// The next wait after something that lasted for so long: whatever lives for a minute was worth beginning.
    pub(crate) fn after(&mut self, lived: Duration, chance: f64) -> Duration {
        if lived >= LIVED {
            self.reset();
        }
        self.next(chance)
    }

    /// Whether it failed more than once in a row.
    pub(crate) fn is_repeated(&self) -> bool {
        self.failures > 1
    }

    /// After a success.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// `period`, longer or shorter by up to a fifth.
pub(crate) fn jittered(period: Duration, chance: f64) -> Duration {
    period.mul_f64(0.8 + 0.4 * chance.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let waits: Vec<_> = (0..4).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [1000, 2000, 4000, 5000]);
        assert!(backoff.is_repeated());
        backoff.reset();
        assert!(!backoff.is_repeated());
        assert_eq!(backoff.next(0.0).as_millis(), 500);
        let waits = [59, 59, 60, 61].map(|lived| backoff.after(Duration::from_secs(lived), 1.0));
        assert_eq!(waits.map(|wait| wait.as_secs()), [2, 4, 1, 1]);
        let mut old = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        old.failures = u32::MAX;
        assert_eq!(old.next(1.0), Duration::from_secs(5));
    }
}
