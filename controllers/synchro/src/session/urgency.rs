//! When a member is asked what it serves, after it told that something may have changed. Pure: times are passed in.
//!
//! The first word is followed at once. While more come the member is asked at a distance, which grows where nothing came of it; and a few times
//! after the last word, since what a member says it serves may be behind what it told.

use std::time::Duration;

use tokio::time::Instant;

/// Between two questions while the member goes on telling: one that installs forty CRDs is asked a few times.
const GAP: Duration = Duration::from_secs(1);
/// The same where the answers are always the same, as where an APIService flaps. Nothing that changed waits longer.
const LONGEST_GAP: Duration = Duration::from_secs(10);
/// For so long nothing may come of what was told before the gap grows: a CRD tells several things before the member says that it serves it.
const PATIENCE: Duration = Duration::from_secs(10);
/// A member that told nothing for so long is followed at once again.
const QUIET: Duration = Duration::from_secs(60);
/// After an answer, for what it did not have yet. What it does not have any more is believed to be gone by two answers that are five seconds apart: the fourth one comes 5.2 to 7.8
/// seconds after the first, as chance has it, so that a kind goes within ten. Another version that is believed as well has been listed by the last one, which lets the former one go.
const AFTERWARDS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_millis(3500),
    Duration::from_secs(5),
];

/// How urgent it is to ask.
#[derive(Debug)]
pub(super) struct Urgency {
    gap: Duration,
    told: Option<Instant>,
    asked: Option<Instant>,
    /// Answers since it was told.
    answers: usize,
    /// Since when nothing came of what it told.
    in_vain: Option<Instant>,
}

impl Default for Urgency {
    fn default() -> Self {
        Self {
            gap: GAP,
            told: None,
            asked: None,
            answers: AFTERWARDS.len(),
            in_vain: None,
        }
    }
}

impl Urgency {
    /// Something may have changed: when to ask.
    pub(super) fn told(&mut self, now: Instant) -> Instant {
        if self.told.is_none_or(|told| now - told > QUIET) {
            self.gap = GAP;
            self.in_vain = None;
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
    pub(super) fn answered(&mut self, is_news: bool, now: Instant) -> Option<Duration> {
        if is_news {
            self.gap = GAP;
            self.in_vain = None;
        }
        let wait = AFTERWARDS.get(self.answers).map(|wait| self.gap.max(*wait));
        if !is_news && self.answers == 0 {
            let since = *self.in_vain.get_or_insert(now);
            if now - since >= PATIENCE {
                self.gap = (self.gap * 2).min(LONGEST_GAP);
            }
        }
        self.answers += 1;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_followed_at_once_and_asked_after_a_few_times() {
        let now = Instant::now();
        let mut urgency = Urgency::default();
        urgency.asks(now);
        assert_eq!(urgency.answered(true, now), None, "nobody told anything");
        let later = now + QUIET;
        assert_eq!(urgency.told(later), later);
        urgency.asks(later);
        let answers = 0..=AFTERWARDS.len();
        let waits: Vec<_> = answers.map(|_| urgency.answered(false, later)).collect();
        assert_eq!(waits, [AFTERWARDS.map(Some).as_slice(), &[None]].concat());
    }

    /// A CRD tells that it is there, that its names are taken, that it is established; its APIService that it is there and available. What the
    /// member says it serves is seconds behind all that.
    #[test]
    fn what_comes_one_after_the_other_is_asked_for_as_soon_each_time() {
        const BEHIND: Duration = Duration::from_millis(4500);
        let mut now = Instant::now();
        let mut urgency = Urgency::default();
        for _ in 0..5 {
            let made = now;
            let words = [0, 100, 900, 2000, 3800].map(Duration::from_millis);
            let mut words = words.map(|after| made + after).into_iter().peekable();
            let mut due = None;
            loop {
                while let Some(told) = words.next_if(|word| *word <= now) {
                    let wanted = urgency.told(told);
                    due = Some(due.map_or(wanted, |due: Instant| due.min(wanted)));
                }
                if due.is_some_and(|due| due <= now) {
                    urgency.asks(now);
                    let is_news = now >= made + BEHIND;
                    let again = urgency.answered(is_news, now);
                    due = again.map(|wait| now + wait);
                    if is_news {
                        break;
                    }
                }
                now += Duration::from_millis(50);
            }
            assert!(now - made <= BEHIND + 2 * GAP, "{:?}", now - made);
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
                let again = urgency.answered(false, now);
                due = now + again.expect("it told something since");
            }
            now += Duration::from_millis(60);
            due = due.min(urgency.told(now));
        }
        let gaps: Vec<_> = asked.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(gaps.iter().all(|gap| *gap <= LONGEST_GAP + GAP), "{gaps:?}");
        // Once in a second while there is patience, and then seldom.
        let late = asked.iter().filter(|asked| **asked > begun + 2 * PATIENCE);
        assert!((6..=9).contains(&late.count()), "{gaps:?}");
        assert!(asked.len() <= 22, "{gaps:?}");
        // Something came of it.
        urgency.asks(now);
        urgency.answered(true, now);
        assert_eq!(urgency.told(now), now + GAP);
    }
}
