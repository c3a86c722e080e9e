//! When a member is asked what it serves, after it told that something may have changed. Pure: times are passed in.
//!
//! The first word is followed at once. While more come the member is asked at a distance, which grows where nothing came of it; and a few times
//! after the last word, since what a member says it serves may be behind what it told.

use std::time::Duration;

use tokio::time::Instant;

/// Between two questions while the member goes on telling: one that installs forty CRDs is asked three times.
const GAP: Duration = Duration::from_secs(2);
/// The same where the answers are always the same, as where an APIService flaps. Nothing that changed waits longer.
const LONGEST_GAP: Duration = Duration::from_secs(10);
/// A member that told nothing for so long is followed at once again.
const QUIET: Duration = Duration::from_secs(60);
/// After an answer, for what it did not have yet.
const AFTERWARDS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];

/// How urgent it is to ask.
#[derive(Debug)]
pub(super) struct Urgency {
    gap: Duration,
    told: Option<Instant>,
    asked: Option<Instant>,
    /// Answers since it was told.
    answers: usize,
}

impl Default for Urgency {
    fn default() -> Self {
        Self {
            gap: GAP,
            told: None,
            asked: None,
            answers: AFTERWARDS.len(),
        }
    }
}

impl Urgency {
    /// Something may have changed: when to ask.
    pub(super) fn told(&mut self, now: Instant) -> Instant {
        if self.told.is_none_or(|told| now - told > QUIET) {
            self.gap = GAP;
        }
        self.told = Some(now);
        self.answers = 0;
        self.asked.map_or(now, |asked| (asked + self.gap).max(now))
    }

    /// The member is being asked.
    pub(super) fn asks(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// It answered, be it something new: how soon to ask again, if that is urgent. Only what it told and did not mean counts against it: that the
    /// questions afterwards find nothing more is as it should be.
    pub(super) fn answered(&mut self, is_news: bool) -> Option<Duration> {
        if is_news {
            self.gap = GAP;
        }
        let wait = AFTERWARDS.get(self.answers).map(|wait| self.gap.max(*wait));
        if !is_news && self.answers == 0 {
            self.gap = (self.gap * 2).min(LONGEST_GAP);
        }
        self.answers += 1;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_followed_at_once_and_asked_after_twice() {
        let now = Instant::now();
        let mut urgency = Urgency::default();
        urgency.asks(now);
        assert_eq!(urgency.answered(true), None, "nobody told anything");
        let later = now + QUIET;
        assert_eq!(urgency.told(later), later);
        urgency.asks(later);
        let waits: Vec<_> = (0..3).map(|_| urgency.answered(false)).collect();
        assert_eq!(waits, [Some(AFTERWARDS[0]), Some(AFTERWARDS[1]), None]);
    }

    /// A CRD tells that it is there, and a moment later that it is served.
    #[test]
    fn what_comes_one_after_the_other_is_asked_for_as_soon_each_time() {
        let mut now = Instant::now();
        let mut urgency = Urgency::default();
        for _ in 0..5 {
            assert_eq!(urgency.told(now), now, "it is quiet since some seconds");
            urgency.asks(now);
            assert_eq!(urgency.answered(false), Some(AFTERWARDS[0]));
            let due = now + AFTERWARDS[0];
            assert!(urgency.told(now + Duration::from_secs(1)) >= due);
            urgency.asks(due);
            let waits = [true, false, false].map(|is_news| urgency.answered(is_news));
            assert_eq!(waits, [Some(AFTERWARDS[0]), Some(AFTERWARDS[1]), None]);
            now = due + GAP;
        }
    }

    #[test]
    fn who_tells_on_and_on_is_asked_at_a_distance_and_nothing_waits_for_longer() {
        let mut now = Instant::now();
        let mut urgency = Urgency::default();
        let begun = urgency.told(now);
        let mut asked = vec![];
        let mut due = begun;
        while now < begun + Duration::from_secs(100) {
            if due <= now {
                asked.push(now);
                urgency.asks(now);
                let again = urgency.answered(false);
                due = now + again.expect("it told something since");
            }
            now += Duration::from_millis(60);
            due = due.min(urgency.told(now));
        }
        let gaps: Vec<_> = asked.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(gaps.iter().all(|gap| *gap <= LONGEST_GAP + GAP), "{gaps:?}");
        assert!((10..=13).contains(&asked.len()), "{gaps:?}");
        // Something came of it.
        urgency.asks(now);
        urgency.answered(true);
        assert_eq!(urgency.told(now), now + GAP);
    }
}
