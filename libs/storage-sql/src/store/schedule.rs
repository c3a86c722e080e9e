//! When a dictionary is trained, and for which type: what one process knows of it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::form::dictionaries::type_of;
use crate::options::Training;

/// A type is looked at again when it has so many times the objects.
const GROWN: i64 = 4;

/// What this process knows of when to train.
#[derive(Debug)]
pub(crate) struct Schedule {
    when: Training,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: Option<Instant>,
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
            state.next = Some(now + self.when.period);
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
    fn it_is_looked_once_in_a_period_and_at_once_where_something_was_found() {
        let schedule = Schedule::new(Training::default());
        let now = Instant::now();
        assert!(schedule.is_due(now));
        assert!(!schedule.is_due(now));
        assert!(schedule.is_due(now + Training::default().period));
        schedule.choose(&[(1, 1000)], &[]).expect("chosen");
        assert!(schedule.is_due(now));
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
