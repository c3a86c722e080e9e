//! When to try again: later each time, never all at once.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use kube::runtime::utils::Backoff;

const SHORTEST: Duration = Duration::from_millis(500);
/// What somebody who has just installed what was missing can be asked to wait.
const LONGEST: Duration = Duration::from_secs(15);
/// Four times the longest delay: a watch that held for so long works.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(60);
/// 0.5 s doubled five times is above the longest delay.
const DOUBLINGS: u32 = 5;

/// Failed attempts by name of the object; an object that succeeds or goes is forgotten.
#[derive(Debug, Default)]
pub struct Retries {
    attempts: Mutex<HashMap<String, u32>>,
}

impl Retries {
    /// Counts a failure and says how long to wait.
    pub fn next(&self, name: &str) -> Duration {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = attempts.entry(name.to_owned()).or_default();
        let delay = delay(*attempt, rand::random());
        *attempt = attempt.saturating_add(1);
        delay
    }

    /// Forgets the failures of an object.
    pub fn clear(&self, name: &str) {
        self.attempts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
    }
}

/// Backoff of a watch. A watch says that it begins before it is known whether it can, and kube's
/// own backoff takes that for success and never grows; this one starts over when the last failure
/// is long enough ago.
#[derive(Debug, Default)]
pub(crate) struct WatchBackoff {
    attempt: u32,
    last: Option<Instant>,
}

impl WatchBackoff {
    fn step(&mut self, now: Instant, chance: f64) -> Duration {
        let is_old = |last: Instant| now.saturating_duration_since(last) > FORGOTTEN;
        if self.last.replace(now).is_none_or(is_old) {
            self.attempt = 0;
        }
        let delay = delay(self.attempt, chance);
        self.attempt = self.attempt.saturating_add(1);
        delay
    }
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.step(Instant::now(), rand::random()))
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {}
}

/// Delay after so many failures; `chance`, from 0 to 1, spreads it over its upper half.
pub(crate) fn delay(attempt: u32, chance: f64) -> Duration {
    let full = (SHORTEST * 2_u32.pow(attempt.min(DOUBLINGS))).min(LONGEST);
    full.mul_f64(0.5 + chance / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_limit_and_are_spread_over_their_upper_half() {
        let table = [
            (0, 250, 500),
            (1, 500, 1000),
            (4, 4000, 8000),
            (5, 7500, 15000),
            (99, 7500, 15000),
        ];
        for (attempt, least, most) in table {
            assert_eq!(delay(attempt, 0.0), Duration::from_millis(least));
            assert_eq!(delay(attempt, 1.0), Duration::from_millis(most));
        }
    }

    #[test]
    fn a_watch_backs_off_although_it_begins_again_and_again() {
        let mut backoff = WatchBackoff::default();
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let mut after = |second| {
            let delay = backoff.step(at(second), 1.0);
            backoff.reset();
            delay.as_millis()
        };
        assert_eq!(
            [after(0), after(1), after(2), after(3)],
            [500, 1000, 2000, 4000]
        );
        assert_eq!([after(63), after(124)], [8000, 500]);
    }

    #[test]
    fn success_starts_over() {
        let retries = Retries::default();
        for _ in 0..6 {
            retries.next("a");
        }
        assert!(retries.next("a") >= LONGEST / 2);
        retries.clear("a");
        assert!(retries.next("a") <= SHORTEST);
    }
}
