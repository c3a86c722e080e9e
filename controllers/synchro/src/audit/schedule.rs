//! When a cluster is audited. Pure: times and chances are passed in.

use std::time::Duration;

use crate::backoff::jittered;

/// How long after the start of a process: a part of the period by chance, or what is left of it since the last audit. So processes that
/// start do not audit everything at once, and those that are started again and again audit all the same.
pub(super) fn first(period: Duration, since_last: Option<Duration>, chance: f64) -> Duration {
    let soon = period.mul_f64(chance.clamp(0.0, 1.0));
    match since_last {
        None => soon,
        Some(since) => {
            let left = jittered(period, chance).saturating_sub(since);
            if left.is_zero() { soon / 4 } else { left }
        }
    }
}

/// How long after an audit.
pub(super) fn next(period: Duration, chance: f64) -> Duration {
    jittered(period, chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(1000);

    fn seconds(since_last: Option<u64>, chance: f64) -> u64 {
        first(PERIOD, since_last.map(Duration::from_secs), chance).as_secs()
    }

    #[test]
    fn a_first_audit_is_anywhere_in_the_period() {
        assert_eq!(
            [0.0, 0.3, 1.0].map(|chance| seconds(None, chance)),
            [0, 300, 1000]
        );
    }

    #[test]
    fn a_restart_neither_puts_an_audit_off_nor_makes_all_at_once() {
        assert_eq!(seconds(Some(600), 0.5), 400);
        assert_eq!(seconds(Some(0), 0.0), 800);
        let overdue = [0.0, 0.5, 1.0].map(|chance| seconds(Some(5000), chance));
        assert_eq!(overdue, [0, 125, 250]);
    }
}
