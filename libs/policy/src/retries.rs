//! When to try again: later each time, never all at once.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use armadex_backoff::Backoff;
use armadex_control_plane::lock;
use kube::runtime::utils;

const SHORTEST: Duration = Duration::from_millis(500);
/// What somebody who has just installed what was missing can be asked to wait. A quarter of what is long enough for a watch to work.
pub(crate) const LONGEST: Duration = Duration::from_secs(15);

/// Before the first failure.
pub(crate) const fn backoff() -> Backoff {
    Backoff::new(SHORTEST, LONGEST)
}

/// Failures by name of the object; an object that succeeds or goes is forgotten.
#[derive(Debug, Default)]
pub struct Retries {
    failed: Mutex<HashMap<String, Backoff>>,
}

impl Retries {
    /// Counts a failure and says how long to wait.
    pub fn next(&self, name: &str) -> Duration {
        let mut failed = lock(&self.failed);
        let backoff = failed.entry(name.to_owned()).or_insert_with(backoff);
        backoff.next(rand::random())
    }

    /// Forgets the failures of an object.
    pub fn clear(&self, name: &str) {
        lock(&self.failed).remove(name);
    }
}

/// Backoff of a watch. A watch says that it begins before it is known whether it can, and kube's
/// own backoff takes that for success and never grows; this one starts over when the last failure
/// is long enough ago.
#[derive(Debug)]
pub(crate) struct WatchBackoff {
    backoff: Backoff,
    last: Option<Instant>,
}

impl Default for WatchBackoff {
    fn default() -> Self {
        Self {
            backoff: backoff(),
            last: None,
        }
    }
}

impl WatchBackoff {
    fn step(&mut self, now: Instant, chance: f64) -> Duration {
        let last = self.last.replace(now).unwrap_or(now);
        self.backoff
            .after(now.saturating_duration_since(last), chance)
    }
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.step(Instant::now(), rand::random()))
    }
}

impl utils::Backoff for WatchBackoff {
    fn reset(&mut self) {}
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
        for (failures, least, most) in table {
            for (chance, wait) in [(0.0, least), (1.0, most)] {
                let mut backoff = backoff();
                for _ in 0..failures {
                    backoff.next(1.0);
                }
                assert_eq!(backoff.next(chance), Duration::from_millis(wait));
            }
        }
    }

    #[test]
    fn a_watch_backs_off_although_it_begins_again_and_again() {
        let mut backoff = WatchBackoff::default();
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let mut after = |second| {
            let delay = backoff.step(at(second), 1.0);
            utils::Backoff::reset(&mut backoff);
            delay.as_millis()
        };
        assert_eq!(
            [after(0), after(1), after(2), after(3)],
            [500, 1000, 2000, 4000]
        );
        assert_eq!([after(62), after(122)], [8000, 500]);
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
