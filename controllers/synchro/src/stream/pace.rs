//! For how long a watch is asked for: as long as it may be without being cut off on its way.

use std::time::Duration;

use crate::stream::silence::{CERTAIN, SILENT};

/// Below the 5 minutes after which many load balancers cut a connection off.
const LONGEST_WATCH: u32 = 290;
/// So that watches that began together do not end together.
const SHORTEST_WATCH: u32 = 230;
/// Of the first watch of a stream, or after a check: all streams of a fleet may begin theirs within a minute, and each generation of them
/// would be begun anew as close together, for an hour and more. Long enough for a silence to be believed.
const SHORTEST_FIRST_WATCH: u32 = 120;
const _: () = assert!((SILENT.as_secs() + CERTAIN.as_secs()) < SHORTEST_FIRST_WATCH as u64);
/// How much longer a watch may be where one came to its own end: nothing between here and the member cuts off what is not idle.
const LONGER: u32 = 2;
const _: () = assert!((LONGER * LONGEST_WATCH) as u64 <= armadex_member::LONGEST_WATCH.as_secs());
/// Watches that come to their own end before one is longer again, after one was cut off that was longer than [`LONGEST_WATCH`]: an hour and
/// a half. What cut it off may be a balancer, which does so each time, or an API server that was restarted.
const WARY_FOR: u8 = 20;

/// How long the next watch may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    /// The last one came to its own end.
    in_time: bool,
    /// So many more have to before one is longer.
    wary: u8,
}

impl Pace {
    /// For how many seconds the next watch is asked for.
    pub(super) fn seconds(self) -> u32 {
        let (shortest, longest) = self.range();
        rand::random_range(shortest..=longest)
    }

    fn range(self) -> (u32, u32) {
        match (self.in_time, self.wary) {
            (false, _) => (SHORTEST_FIRST_WATCH, LONGEST_WATCH),
            (true, 0) => (LONGER * SHORTEST_WATCH, LONGER * LONGEST_WATCH),
            (true, _) => (SHORTEST_WATCH, LONGEST_WATCH),
        }
    }

    /// What follows a watch that took so long, and ended when it was to end or before.
    pub(super) fn after(self, in_time: bool, took: Duration) -> Self {
        let is_long = took > Duration::from_secs(LONGEST_WATCH.into());
        let wary = match in_time {
            false if is_long => WARY_FOR,
            false => self.wary,
            true => self.wary.saturating_sub(1),
        };
        Self { in_time, wary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: (u32, u32) = (120, 290);
    const USUAL: (u32, u32) = (230, 290);
    const LONG: (u32, u32) = (460, 580);

    /// For how long watches are asked for, one after the other, of which each takes so many seconds and ends in time or does not.
    #[track_caller]
    fn check(watches: &[(bool, u64)], ranges: &[(u32, u32)]) {
        let mut pace = Pace::default();
        assert_eq!(pace.range(), FIRST);
        let after = watches.iter().map(|(in_time, took)| {
            pace = pace.after(*in_time, Duration::from_secs(*took));
            pace.range()
        });
        assert_eq!(after.collect::<Vec<_>>(), ranges);
    }

    #[test]
    fn watches_are_long_once_one_has_come_to_its_own_end() {
        check(&[(true, 200), (true, 500)], &[LONG, LONG]);
    }

    #[test]
    fn watches_that_broke_are_begun_anew_at_other_times_than_each_other() {
        check(&[(false, 100), (true, 200)], &[FIRST, LONG]);
        check(
            &[(true, 200), (false, 60), (true, 130)],
            &[LONG, FIRST, LONG],
        );
    }

    #[test]
    fn what_is_cut_off_is_not_longer_for_a_while() {
        let wary = usize::from(WARY_FOR);
        let mut watches = vec![(true, 200), (false, 295)];
        watches.extend(vec![(true, 260); wary]);
        let mut ranges = vec![LONG, FIRST];
        ranges.extend(vec![USUAL; wary - 1]);
        ranges.push(LONG);
        check(&watches, &ranges);
        // One that is short and breaks meanwhile changes nothing of that.
        check(
            &[(true, 200), (false, 295), (false, 100), (true, 260)],
            &[LONG, FIRST, FIRST, USUAL],
        );
    }
}
