//! When a dictionary is trained, and for which type: what one process knows of it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::form::dictionaries::type_of;
use crate::options::Training;

/// A type is looked at again when it has so many times the objects.
const GROWN: i64 = 4;
/// Until the second look, and the first after one that found something: a fleet that comes brings a thousand objects of each type within seconds, and what was
/// written before a dictionary was trained stays as it is.
const FIRST: Duration = Duration::from_secs(15);
/// Each look that finds nothing doubles the pause.
const LONGER: u32 = 2;

/// What this process knows of when to train.
#[derive(Debug)]
pub(crate) struct Schedule {
    when: Training,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: Option<Instant>,
    /// How long after it the one after that is, unless something is found.
    pause: Duration,
    /// How many objects a type had when it was looked at last, whatever came of it.
    tried: HashMap<i32, i64>,
}

impl Schedule {
    pub(crate) fn new(when: Training) -> Self {
        Self {
            when,
            state: Mutex::default(),
        }
    }

    /// Of types with so many objects.
    pub(crate) fn least(&self) -> i64 {
        self.when.least.into()
    }

    /// So many there may be.
    pub(crate) fn most(&self) -> usize {
        self.when.most
    }

    /// So many objects are looked at.
    pub(crate) fn samples(&self) -> usize {
        self.when.samples
    }

    /// Whether it is time to look; then it is not for a while.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        if self.when.least == 0 {
            return false;
        }
        let mut state = self.state();
        let is_due = state.next.is_none_or(|next| now >= next);
        if is_due {
            let pause = state.pause.max(FIRST).min(self.when.period);
            state.next = Some(now + pause);
            state.pause = pause * LONGER;
        }
        is_due
    }

    /// The first of these types that has grown enough since it was looked at, and since its last dictionary was trained; it is looked at now.
    pub(crate) fn choose(
        &self,
        sizes: &[(i32, i64)],
        trained: &[(i64, i64)],
    ) -> Option<(i32, i64)> {
        let mut state = self.state();
        let known = |resource| {
            let trained = trained.iter();
            let of_type = trained.filter(move |(number, _)| type_of(*number) == Some(resource));
            of_type.map(|(_, objects)| *objects).max().unwrap_or(0)
        };
        let chosen = sizes.iter().copied().find(|&(resource, objects)| {
            let tried = state.tried.get(&resource).copied().unwrap_or(0);
            objects >= GROWN.saturating_mul(tried.max(known(resource)))
        });
        if let Some((resource, objects)) = chosen {
            state.tried.insert(resource, objects);
            // There may be more of them.
            state.next = None;
            state.pause = Duration::ZERO;
        }
        chosen
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_looked_at_when_it_has_grown_four_times() {
        let schedule = Schedule::new(Training::default());
        let sizes = |second| [(1, 9000), (2, second)];
        let trained = [(16 + 16, 2000), (16 + 17, 4000)];
        assert_eq!(schedule.choose(&sizes(1000), &trained), Some((2, 1000)));
        assert_eq!(schedule.choose(&sizes(3999), &trained), None);
        assert_eq!(schedule.choose(&sizes(4000), &trained), Some((2, 4000)));
        assert_eq!(schedule.choose(&[(1, 16_000)], &trained), Some((1, 16_000)));
        assert_eq!(schedule.choose(&[(1, 16_000)], &trained), None);
    }

    #[test]
    fn the_more_seldom_it_is_looked_the_longer_nothing_is_found() {
        let schedule = Schedule::new(Training::default());
        let begun = Instant::now();
        let mut looks = (0..3600)
            .filter(|second| schedule.is_due(begun + Duration::from_secs(*second)))
            .collect::<Vec<u64>>();
        assert_eq!(looks.split_off(7), [1545, 2145, 2745, 3345]);
        assert_eq!(looks, [0, 15, 45, 105, 225, 465, 945]);
        let now = begun + Duration::from_secs(3600);
        schedule.choose(&[(1, 1000)], &[]).expect("chosen");
        assert!(schedule.is_due(now), "there may be more");
        assert!(schedule.is_due(now + FIRST));
    }

    #[test]
    fn it_is_never_looked_where_none_is_wanted() {
        let none = Training {
            least: 0,
            ..Training::default()
        };
        assert!(!Schedule::new(none).is_due(Instant::now()));
    }
}
