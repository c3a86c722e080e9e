//! Whether a database that failed is asked again yet: not at each call, but now and then, by one, at growing distances. Pure: the time and the
//! chance are passed in.

use std::time::Duration;

use armadex_backoff::Backoff;
use tokio::time::Instant;

/// After the first failure: a connection that broke is made anew at once.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// So long at most is refused what would succeed again.
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// While it worked so lately, there are connections.
pub(super) const JUST: Duration = Duration::from_secs(10);
/// What fails again this soon is the same trouble, which is not told anew.
const TOLD_FOR: Duration = Duration::from_secs(600);

/// What is known of a database that may be failing.
#[derive(Debug, Default)]
pub(super) struct Gate {
    trouble: Option<Trouble>,
    /// When it last worked.
    worked: Option<Instant>,
    told: Option<Instant>,
    /// The trouble that there is was told.
    is_told: bool,
    /// Whoever comes now is told by the database itself that it is closed.
    is_closed: bool,
}

/// It failed when it was last asked.
#[derive(Debug)]
struct Trouble {
    since: Instant,
    /// When it is asked again.
    next: Instant,
    backoff: Backoff,
    /// Somebody asks it now.
    is_tried: bool,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// It is made.
    Go,
    /// It is made, and says whether the trouble is over.
    Try,
    /// It is not made.
    Refused,
}

impl Gate {
    /// A call comes.
    pub(super) fn enter(&mut self, now: Instant) -> Entry {
        match &mut self.trouble {
            _ if self.is_closed => Entry::Go,
            None => Entry::Go,
            Some(trouble) if trouble.is_tried || now < trouble.next => Entry::Refused,
            Some(trouble) => {
                trouble.is_tried = true;
                Entry::Try
            }
        }
    }

    /// Somebody asks who has nothing to do there: whoever does may come for a while first.
    pub(super) fn enter_late(&mut self, now: Instant) -> Entry {
        match &self.trouble {
            Some(trouble) if now < trouble.next + 2 * LAST_PAUSE => Entry::Refused,
            _ => self.enter(now),
        }
    }

    /// The database failed, as a call found out that had come in like this; `chance` is from 0 to 1. Whether that is worth a line in the log.
    pub(super) fn failed(&mut self, entry: Entry, now: Instant, chance: f64) -> bool {
        // What was under way when the trouble began says nothing new of it.
        let is_known = self.trouble.is_some() && entry != Entry::Try;
        if self.is_closed || is_known {
            return false;
        }
        let before = self.trouble.take();
        let is_new = before.is_none();
        let (since, mut backoff) = match before {
            Some(trouble) => (trouble.since, trouble.backoff),
            None => (now, Backoff::new(FIRST_PAUSE, LAST_PAUSE)),
        };
        self.trouble = Some(Trouble {
            since,
            next: now + backoff.next(chance),
            backoff,
            is_tried: false,
        });
        let is_told_of = self.told.is_some_and(|told| now < told + TOLD_FOR);
        if !is_new || is_told_of {
            return false;
        }
        (self.told, self.is_told) = (Some(now), true);
        true
    }

    /// The database worked. For how long it had not, if that it does is worth a line in the log.
    pub(super) fn worked(&mut self, now: Instant) -> Option<Duration> {
        self.worked = Some(now);
        let trouble = self.trouble.take()?;
        std::mem::take(&mut self.is_told).then(|| now - trouble.since)
    }

    /// Whether it worked a moment ago.
    pub(super) fn has_just_worked(&self, now: Instant) -> bool {
        self.worked.is_some_and(|worked| now - worked < JUST)
    }

    /// A call that was to say whether the trouble is over ended without saying so.
    pub(super) fn undecided(&mut self) {
        if let Some(trouble) = &mut self.trouble {
            trouble.is_tried = false;
        }
    }

    /// The same of a call that was made for nothing else. The next one comes no sooner than after one that failed: what the database refuses it refuses each time, and whoever
    /// has something to do there is kept from it meanwhile.
    pub(super) fn put_off(&mut self, now: Instant, chance: f64) {
        if let Some(trouble) = &mut self.trouble {
            trouble.next = now + trouble.backoff.next(chance);
            trouble.is_tried = false;
        }
    }

    /// The database is closed in order.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Whether nothing is known to be wrong.
    pub(super) fn is_well(&self) -> bool {
        self.trouble.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_a_database_fails_one_call_is_made_now_and_then() {
        let (mut gate, mut now) = (Gate::default(), Instant::now());
        assert_eq!(gate.enter(now), Entry::Go);
        assert!(gate.failed(Entry::Go, now, 1.0), "that is news");
        for _ in 0..8 {
            let under_way = gate.failed(Entry::Go, now, 1.0);
            assert!(!under_way, "what began before says nothing new");
        }
        assert_eq!(gate.enter(now), Entry::Refused);
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let begun = now;
            while gate.enter(now) == Entry::Refused {
                now += Duration::from_millis(50);
            }
            assert_eq!(gate.enter(now), Entry::Refused, "one tries");
            pauses.push((now - begun).as_millis());
            assert!(!gate.failed(Entry::Try, now, 1.0), "that is no news");
        }
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 5000]);
        assert!(!gate.is_well());
        assert!(gate.worked(now).is_some_and(|took| took.as_secs() == 12));
        assert!(gate.is_well() && gate.enter(now) == Entry::Go);
        assert_eq!(gate.worked(now), None);
    }

    #[test]
    fn chance_halves_a_pause_at_most() {
        for (chance, pause) in [(0.0, 125), (0.5, 188), (1.0, 250), (7.0, 250)] {
            let (mut gate, now) = (Gate::default(), Instant::now());
            gate.failed(Entry::Go, now, chance);
            let just_before = now + Duration::from_millis(pause - 1);
            assert_eq!(gate.enter(just_before), Entry::Refused, "{chance}");
            assert_eq!(
                gate.enter(just_before + Duration::from_millis(1)),
                Entry::Try
            );
        }
    }

    #[test]
    fn what_comes_back_is_told_once_in_ten_minutes() {
        let (mut gate, mut now) = (Gate::default(), Instant::now());
        assert!(gate.failed(Entry::Go, now, 0.0));
        assert!(gate.worked(now).is_some());
        now += TOLD_FOR / 2;
        assert!(!gate.failed(Entry::Go, now, 0.0));
        assert!(gate.worked(now).is_none(), "nor is its end");
        now += TOLD_FOR / 2;
        assert!(gate.failed(Entry::Go, now, 0.0));
        assert!(gate.worked(now).is_some());
    }

    #[test]
    fn what_worked_a_moment_ago_is_known_for_that_moment() {
        let (mut gate, now) = (Gate::default(), Instant::now());
        assert!(!gate.has_just_worked(now), "it was never asked");
        assert_eq!(gate.worked(now), None);
        gate.failed(Entry::Go, now, 0.0);
        assert!(gate.has_just_worked(now + JUST / 2));
        assert!(!gate.has_just_worked(now + JUST));
    }

    #[test]
    fn a_try_that_ends_without_an_answer_is_made_anew() {
        let (mut gate, now) = (Gate::default(), Instant::now());
        gate.failed(Entry::Go, now, 0.0);
        let later = now + FIRST_PAUSE;
        assert_eq!(gate.enter(later), Entry::Try);
        gate.undecided();
        assert_eq!(gate.enter(later), Entry::Try);
    }

    #[test]
    fn who_only_tries_and_gets_no_answer_tries_after_a_pause() {
        let (mut gate, now) = (Gate::default(), Instant::now());
        gate.failed(Entry::Go, now, 1.0);
        let mut later = now + FIRST_PAUSE;
        for pause in [2 * FIRST_PAUSE, 4 * FIRST_PAUSE] {
            assert_eq!(gate.enter(later), Entry::Try);
            gate.put_off(later, 1.0);
            let just_before = later + pause - Duration::from_millis(1);
            assert_eq!(gate.enter(just_before), Entry::Refused);
            later += pause;
        }
        assert_eq!(gate.enter_late(later), Entry::Refused);
        assert_eq!(gate.enter_late(later + 2 * LAST_PAUSE), Entry::Try);
    }
}
