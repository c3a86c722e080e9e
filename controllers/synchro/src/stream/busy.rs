//! Streams of a member that asks to be left alone for a while: it has too much to do. Times and chance are passed in.
//!
//! A member that refuses one of its streams refuses many, and mostly for as long: were each to come back when that is over, they would all knock at the
//! same moment, and most would be refused again. So the more of them wait, the longer is the time over which they come back.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Ten streams of a member come back in a second, for as much as it lets through at least: each then asks for little, or for a page.
const EACH: Duration = Duration::from_millis(100);
/// However many there are: six hundred kinds.
const LONGEST_SPREAD: Duration = Duration::from_secs(60);

/// How many wait because a member asked them to.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    waiting: AtomicU32,
}

/// One of them, until dropped.
#[derive(Debug)]
pub(crate) struct Waiting<'a>(&'a Busy);

impl Busy {
    /// One more waits.
    pub(crate) fn waits(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }
}

impl Waiting<'_> {
    /// How long, where the member asked for so much: no shorter than that.
    pub(crate) fn for_at_least(&self, asked: Duration, chance: f64) -> Duration {
        asked + spread(self.0.waiting.load(Ordering::Relaxed)).mul_f64(chance.clamp(0.0, 1.0))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The time over which so many come back.
fn spread(waiting: u32) -> Duration {
    EACH.saturating_mul(waiting).min(LONGEST_SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_wait_the_longer_is_the_time_over_which_they_come_back() {
        const ASKED: Duration = Duration::from_secs(5);
        let busy = Busy::default();
        let first = busy.waits();
        let latest = |waiting: &Waiting<'_>| waiting.for_at_least(ASKED, 1.0).as_millis();
        assert_eq!(first.for_at_least(ASKED, 0.0), ASKED);
        assert_eq!(latest(&first), 5100);
        let others: Vec<_> = (0..99).map(|_| busy.waits()).collect();
        assert_eq!(latest(&first), 15_000);
        let even_more: Vec<_> = (0..9999).map(|_| busy.waits()).collect();
        assert_eq!(latest(&first), 65_000);
        drop((others, even_more));
        assert_eq!(latest(&first), 5100);
    }
}
