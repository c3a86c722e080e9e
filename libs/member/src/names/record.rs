//! How lookups of names went, and whom a name waits with the next time. Pure: times are passed in.
//!
//! A name that is not found costs nothing; one whose name server is silent costs a thread for ten seconds and more. A server that is
//! silent now and then is no better than one that always is, so a name that took long is not believed for a while, whatever it does; and a
//! name that was never asked for is not believed either until it has been found for as long.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// A lookup that took longer took long. A name server that is well and far away answers within half of it.
pub(super) const LONG: Duration = Duration::from_secs(1);
/// A hundred names that are silent as soon as they are believed hold two threads then, each ten seconds in twenty minutes.
pub(super) const PROBATION: Duration = Duration::from_secs(600);
/// Names that are remembered: those of a fleet. If there are more, those are new again that were looked up longest ago, a part of all at a time:
/// who has them is found by looking at all.
const REMEMBERED: usize = 10_000;
const FORGOTTEN: usize = REMEMBERED / 8;

/// Names that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It has been found for a while, and never took long.
    Proven,
    /// Nobody knows.
    New,
    /// It took long a while ago.
    Slow,
}

/// What is known of names.
#[derive(Debug, Default)]
pub(super) struct Record(HashMap<String, Known>);

#[derive(Clone, Copy, Debug)]
struct Known {
    past: Past,
    /// When it was looked up last.
    asked: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Past {
    /// It was found first then, and took long never since.
    FoundSince(Instant),
    /// It took long then.
    LongAt(Instant),
}

impl Past {
    fn class(self, now: Instant) -> Class {
        match self {
            Self::FoundSince(then) if now - then >= PROBATION => Class::Proven,
            Self::LongAt(then) if now - then < PROBATION => Class::Slow,
            Self::FoundSince(_) | Self::LongAt(_) => Class::New,
        }
    }
}

impl Record {
    pub(super) fn class_of(&self, name: &str, now: Instant) -> Class {
        let known = self.0.get(name);
        known.map_or(Class::New, |known| known.past.class(now))
    }

    /// A lookup that was begun then is over now.
    pub(super) fn looked_up(&mut self, name: &str, found: bool, begun: Instant, now: Instant) {
        let known = self.0.get(name).map(|known| known.past);
        let past = match known {
            _ if now - begun > LONG => Past::LongAt(now),
            Some(known @ Past::FoundSince(_)) => known,
            Some(known) if known.class(now) == Class::Slow => known,
            _ if found => Past::FoundSince(now),
            _ => return,
        };
        if known.is_none() && self.0.len() >= REMEMBERED {
            self.make_room();
        }
        let known = Known { past, asked: now };
        self.0.insert(name.to_owned(), known);
    }

    fn make_room(&mut self) {
        let mut asked: Vec<Instant> = self.0.values().map(|known| known.asked).collect();
        let (_, last, _) = asked.select_nth_unstable(FORGOTTEN - 1);
        let last = *last;
        self.0.retain(|_, known| known.asked > last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(3);
    const HANGS: Duration = Duration::from_secs(10);

    /// Names at some time.
    struct World {
        record: Record,
        now: Instant,
    }

    impl World {
        fn new() -> Self {
            Self {
                record: Record::default(),
                now: Instant::now(),
            }
        }

        fn looks(&mut self, name: &str, found: bool, took: Duration) -> Class {
            let begun = self.now;
            self.now += took;
            self.record.looked_up(name, found, begun, self.now);
            self.record.class_of(name, self.now)
        }

        fn after(&mut self, time: Duration, name: &str) -> Class {
            self.now += time;
            self.record.class_of(name, self.now)
        }
    }

    #[test]
    fn a_name_is_proven_when_it_has_been_found_for_a_while() {
        let mut world = World::new();
        assert_eq!(world.after(SHORT, "a"), Class::New);
        assert_eq!(world.looks("a", true, SHORT), Class::New);
        assert_eq!(world.after(PROBATION, "a"), Class::Proven);
        // That it is not found costs nothing.
        assert_eq!(world.looks("a", false, SHORT), Class::Proven);
        assert_eq!(world.looks("b", false, SHORT), Class::New);
        assert_eq!(world.after(PROBATION, "b"), Class::New);
    }

    #[test]
    fn a_name_that_took_long_is_not_believed_for_a_while_whatever_it_does() {
        let mut world = World::new();
        world.looks("a", true, SHORT);
        world.after(PROBATION, "a");
        for found in [true, false] {
            assert_eq!(world.looks("a", found, HANGS), Class::Slow);
            assert_eq!(world.looks("a", true, SHORT), Class::Slow);
            assert_eq!(world.after(PROBATION, "a"), Class::New);
            assert_eq!(world.looks("a", true, SHORT), Class::New);
            assert_eq!(world.after(PROBATION / 2, "a"), Class::New);
            assert_eq!(world.after(PROBATION / 2, "a"), Class::Proven);
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_names_that_are_looked_up_stay() {
        let mut world = World::new();
        world.looks("proven", true, SHORT);
        world.after(PROBATION, "proven");
        for number in 0..3 * REMEMBERED {
            world.looks(&format!("name-{number}"), true, SHORT);
            if number % 1000 == 0 {
                world.looks("proven", true, SHORT);
            }
        }
        assert!(world.record.0.len() <= REMEMBERED);
        assert_eq!(world.after(SHORT, "proven"), Class::Proven);
    }

    #[test]
    fn names_that_nobody_has_any_more_are_in_nobodys_way() {
        let mut world = World::new();
        for number in 0..REMEMBERED {
            world.looks(&format!("gone-{number}"), true, SHORT);
        }
        world.after(PROBATION, "all of them are proven");
        assert_eq!(world.looks("slow", true, HANGS), Class::Slow);
        assert_eq!(world.looks("new", true, SHORT), Class::New);
        assert_eq!(world.after(SHORT, "slow"), Class::Slow);
        assert_eq!(world.after(PROBATION, "new"), Class::Proven);
    }
}
