//! When a watch that was answered may be said to work. One that could not be begun does once it was silent for a moment; one that was answered and broke, again
//! and again, has to outlast its own last life, or it would be said to be well in each of them. Pure: the time is passed in.

use std::time::Duration;

use tokio::time::Instant;

/// A watch that was answered may still be told at once that it is none: what of it is silent for so long holds.
pub(super) const SETTLED: Duration = Duration::from_secs(2);

/// What breaks less often is no trouble: a load balancer may end what says nothing for twenty seconds, and the next watch goes on where that one was.
const LIVED: Duration = Duration::from_secs(15);

/// Of one watch.
#[derive(Debug)]
pub(super) struct Settling {
    /// Since when it is answered.
    answered: Option<Instant>,
    /// When it will have held.
    holds_at: Option<Instant>,
    /// Short lives in a row.
    breaks: u32,
    /// How long the next one has to last.
    lasts: Duration,
}

impl Default for Settling {
    fn default() -> Self {
        Self {
            answered: None,
            holds_at: None,
            breaks: 0,
            lasts: SETTLED,
        }
    }
}

impl Settling {
    /// It is answered, or brings something. Where it was answered before and did not break since, that is nothing new.
    pub(super) fn is_answered(&mut self, now: Instant) {
        if self.answered.is_none() {
            self.answered = Some(now);
            self.holds_at = Some(now + self.lasts);
        }
    }

    /// It begins anew with a list: an answer from before says nothing of what comes after that.
    pub(super) const fn begins(&mut self) {
        self.answered = None;
        self.holds_at = None;
    }

    /// It failed.
    pub(super) fn breaks(&mut self, now: Instant) {
        if let Some(answered) = self.answered {
            let lived = now - answered;
            (self.breaks, self.lasts) = match self.breaks {
                _ if lived >= LIVED => (0, SETTLED),
                0 => (1, SETTLED),
                before => (before.saturating_add(1), (2 * lived).clamp(SETTLED, LIVED)),
            };
        }
        self.begins();
    }

    /// When it will have held for long enough, if nothing happens until then.
    pub(super) const fn holds_at(&self) -> Option<Instant> {
        self.holds_at
    }

    /// It has.
    pub(super) const fn held(&mut self) {
        self.holds_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How long it has to last after it has lived for so many seconds each time.
    fn after(lives: &[u64]) -> u64 {
        let (mut settling, mut now) = (Settling::default(), Instant::now());
        for lived in lives {
            settling.is_answered(now);
            now += Duration::from_secs(*lived);
            settling.breaks(now);
            now += 15 * SECOND;
        }
        settling.is_answered(now);
        (settling.holds_at().expect("a time") - now).as_secs()
    }

    #[test]
    fn who_breaks_again_and_again_has_to_outlast_its_last_life() {
        assert_eq!([after(&[]), after(&[3]), after(&[0])], [2, 2, 2]);
        assert_eq!(
            [after(&[3, 3]), after(&[3, 3, 5]), after(&[3, 0])],
            [6, 10, 2]
        );
        assert_eq!(after(&[3, 14]), 15, "which it does not");
        assert_eq!(after(&[3, 3, 15]), 2, "that is long enough");
        assert_eq!(after(&[20, 20, 20]), 2, "and so is that");
        assert_eq!(after(&[3, 3, 15, 3]), 2, "it begins anew");
    }

    #[test]
    fn what_could_not_be_begun_has_to_last_no_longer_for_it() {
        let (mut settling, now) = (Settling::default(), Instant::now());
        for _ in 0..9 {
            settling.breaks(now);
            assert_eq!(settling.holds_at(), None);
        }
        settling.is_answered(now);
        assert_eq!(settling.holds_at(), Some(now + SETTLED));
    }

    #[test]
    fn what_a_busy_one_brings_is_no_reason_to_wait_longer() {
        let (mut settling, now) = (Settling::default(), Instant::now());
        for passed in 0..3 {
            settling.is_answered(now + passed * SECOND);
            assert_eq!(settling.holds_at(), Some(now + SETTLED));
        }
        settling.held();
        settling.is_answered(now + 4 * SECOND);
        assert_eq!(settling.holds_at(), None, "it is known");
        settling.begins();
        settling.is_answered(now + 5 * SECOND);
        assert_eq!(settling.holds_at(), Some(now + 7 * SECOND));
    }
}
