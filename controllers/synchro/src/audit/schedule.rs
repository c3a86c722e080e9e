//! When a cluster is audited. Pure: times and chances are passed in.

use std::time::Duration;

use armadex_backoff::jittered;

/// Whoever asks for a longer period than ten years means never; times beyond those of the clock would have no place in it.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// After a member was away: its streams have come to where it is by then, and members that were away together are not audited together.
const AFTER_AN_OUTAGE: Duration = Duration::from_secs(10 * 60);
/// Between two audits, for whoever asks again and again: ten times as long as the last one took, so that nine tenths of the time the member has
/// peace,
const REST: u32 = 10;
/// and no less
const SHORTEST_REST: Duration = Duration::from_secs(2);
/// and no more than this, for whoever repairs something and looks again.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// How long after the start of a process: a part of the period by chance, or what is left of it since the last audit. So processes that
/// start do not audit everything at once, and those that are started again and again audit all the same.
pub(super) fn first(period: Duration, since_last: Option<Duration>, chance: f64) -> Duration {
    let period = period.min(LONGEST);
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
    jittered(period.min(LONGEST), chance)
}

/// How long after the end of an outage: from a fifth of that time to all of it.
pub(super) fn soon(chance: f64) -> Duration {
    AFTER_AN_OUTAGE.mul_f64(0.2 + 0.8 * chance.clamp(0.0, 1.0))
}

/// How long after an audit that took so long the next one may begin that somebody asks for.
pub(super) fn rest(took: Duration) -> Duration {
    took.saturating_mul(REST).clamp(SHORTEST_REST, LONGEST_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(1000);

    fn seconds(since_last: Option<u64>, chance: f64) -> u64 {
        first(PERIOD, since_last.map(Duration::from_secs), chance).as_secs()
    }

    #[test]
    fn a_period_that_is_longer_than_the_clock_is_as_good_as_never() {
        let first = [None, Some(Duration::MAX)].map(|since| first(Duration::MAX, since, 1.0));
        let next = next(Duration::MAX, 1.0);
        for wait in [first[0], first[1], next] {
            assert!(wait >= LONGEST / 4 && tokio::time::Instant::now().checked_add(wait).is_some());
        }
    }

    #[test]
    fn an_audit_after_an_outage_comes_within_ten_minutes_and_not_at_once() {
        assert_eq!([0.0, 1.0].map(|chance| soon(chance).as_secs()), [120, 600]);
    }

    #[test]
    fn who_asks_again_and_again_leaves_the_member_in_peace_for_most_of_the_time() {
        let rests = [0, 1, 3, 600].map(|took| rest(Duration::from_secs(took)).as_secs());
        assert_eq!(rests, [2, 10, 30, 60]);
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
