//! Answers of one connection that were given up lately: one may be an accident, and many users may be behind one connection for days.

use std::time::Duration;

use tokio::time::Instant;

/// How long one is remembered: twice as long as an answer is kept of which nothing is taken.
const REMEMBERED: Duration = Duration::from_secs(60);

/// When the last two were given up, the earlier one first.
#[derive(Debug, Default)]
pub(super) struct Strikes([Option<Instant>; 2]);

impl Strikes {
    /// One more. Tells whether it is the third that is remembered.
    pub(super) fn is_third(&mut self, now: Instant) -> bool {
        let [earlier, later] = self.0;
        self.0 = [later, Some(now)];
        earlier.is_some_and(|earlier| now - earlier <= REMEMBERED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_within_a_minute_are_too_many_and_three_in_a_week_are_not() {
        let began = Instant::now();
        for (seconds, expected) in [
            (&[0, 0, 0][..], &[false, false, true][..]),
            (&[0, 30, 60, 90], &[false, false, true, true]),
            (&[0, 30, 61, 92], &[false, false, false, false]),
            (
                &[0, 1, 86_400, 86_401, 86_402],
                &[false, false, false, false, true],
            ),
        ] {
            let mut strikes = Strikes::default();
            let at = |second: &u64| began + Duration::from_secs(*second);
            let third = seconds.iter().map(|second| strikes.is_third(at(second)));
            assert_eq!(third.collect::<Vec<_>>(), expected, "{seconds:?}");
        }
    }
}
