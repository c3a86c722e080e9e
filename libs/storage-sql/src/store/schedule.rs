//! When a dictionary is trained, and for which type: what one process knows of it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::form::dictionaries::{numbers_of, type_of};
use crate::options::Training;

/// A type is looked at again when it has so many times the objects.
const GROWN: i64 = 4;
/// Until the second look, and the second after one that found something: a fleet that comes brings a thousand objects of each type within seconds, and what was
/// written before a dictionary was trained stays as it is.
const FIRST: Duration = Duration::from_secs(15);
/// Each look that finds nothing doubles the pause.
const LONGER: u32 = 2;
/// While types are left to be tried it is this at most: each takes a part of a second of a processor and two thousand objects read, and most are tried in vain.
const BETWEEN_TRIES: Duration = Duration::from_secs(60);
/// Each failure halves twice what a type counts as: a million objects are tried before a thousand five times in vain, and then after.
const HALVED: u32 = 2;

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
    /// What the last look found and nobody has come to yet: types and how many objects they have.
    waiting: VecDeque<(i32, i64)>,
    /// When that was.
    found_at: Option<Instant>,
    /// What was chosen since it was due last.
    chosen: Option<i32>,
    /// How many tries of a type failed since one did not.
    failures: HashMap<i32, u32>,
}

impl State {
    fn failures_of(&self, resource: i32) -> u32 {
        self.failures.get(&resource).copied().unwrap_or(0)
    }

    /// Types of the least rank come first: the largest by what they count as, and of those that count as nothing any more the ones that failed least often.
    fn rank(&self, (resource, objects): (i32, i64)) -> (Reverse<i64>, u32) {
        let failures = self.failures_of(resource);
        let counted = objects.checked_shr(failures.saturating_mul(HALVED));
        (Reverse(counted.unwrap_or(0)), failures)
    }

    /// Forgets those that need no try.
    fn retain_worth(&mut self, trained: &[(i64, i64)]) {
        let tried = &self.tried;
        self.waiting.retain(|&(resource, objects)| {
            let tried = tried.get(&resource).copied().unwrap_or(0);
            is_worth_a_try(tried, trained, (resource, objects))
        });
    }
}

/// Whether a type has grown enough, and has a number left for one more.
fn is_worth_a_try(tried: i64, trained: &[(i64, i64)], (resource, objects): (i32, i64)) -> bool {
    let of_type = trained
        .iter()
        .filter(|(number, _)| type_of(*number) == Some(resource));
    let known = of_type.clone().map(|(_, objects)| *objects).max();
    let last = of_type.map(|(number, _)| *number).max();
    let has_number = numbers_of(resource).is_some_and(|numbers| last < Some(*numbers.end()));
    has_number && objects >= GROWN.saturating_mul(tried.max(known.unwrap_or(0)))
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
            state.chosen = None;
            let pause = state.pause.max(FIRST).min(self.when.period);
            state.next = Some(now + pause);
            state.pause = pause * LONGER;
        }
        is_due
    }

    /// These types have so many objects. The largest come first, and each failure makes a type count as a quarter as large: it keeps no other from being tried
    /// for long, and is not left for all others either.
    pub(crate) fn found(&self, now: Instant, mut sizes: Vec<(i32, i64)>) {
        let mut state = self.state();
        sizes.sort_by_key(|size| state.rank(*size));
        state.waiting = sizes.into();
        state.found_at = Some(now);
    }

    /// The next type that has grown enough since it was looked at, and since its last dictionary was trained; it is looked at now. `None` as well where what
    /// was found is too old to go by: a large type may have come.
    pub(crate) fn choose(&self, now: Instant, trained: &[(i64, i64)]) -> Option<(i32, i64)> {
        let mut state = self.state();
        if state
            .found_at
            .is_some_and(|at| now.duration_since(at) > self.when.period)
        {
            state.waiting.clear();
        }
        state.retain_worth(trained);
        let (resource, objects) = state.waiting.pop_front()?;
        state.tried.insert(resource, objects);
        state.chosen = Some(resource);
        let soon = now + BETWEEN_TRIES;
        state.next = Some(state.next.map_or(soon, |next| next.min(soon)));
        Some((resource, objects))
    }

    /// A dictionary was trained, here or by another process: there may be more of them.
    pub(crate) fn succeeded(&self) {
        let mut state = self.state();
        state.next = None;
        state.pause = Duration::ZERO;
        state.waiting.clear();
    }

    /// Forgets all types but these: those that are dropped have numbers that no others get.
    pub(crate) fn retain(&self, there: &HashSet<i64>) {
        let mut state = self.state();
        let is_there = |resource: &i32| there.contains(&i64::from(*resource));
        state.tried.retain(|resource, _| is_there(resource));
        state.failures.retain(|resource, _| is_there(resource));
    }

    /// Whether anything is known of a type.
    #[cfg(test)]
    pub(crate) fn knows(&self, resource: i32) -> bool {
        let state = self.state();
        state.tried.contains_key(&resource) || state.failures.contains_key(&resource)
    }

    /// What was chosen, if anything was, was tried, whatever came of it: it counts as large as it is.
    pub(crate) fn went_well(&self) {
        let mut state = self.state();
        if let Some(chosen) = state.chosen.take() {
            state.failures.remove(&chosen);
        }
    }

    /// Nothing can be said of what was chosen, if anything was: it is tried again, and counts as smaller. Others do not wait longer for that, but where there are
    /// none that did not fail, nothing is looked at sooner than if nothing was found.
    pub(crate) fn failed(&self, now: Instant) {
        let mut state = self.state();
        let Some(chosen) = state.chosen.take() else {
            return;
        };
        state.tried.remove(&chosen);
        *state.failures.entry(chosen).or_default() += 1;
        let mut waiting = state.waiting.iter();
        if waiting.all(|(resource, _)| state.failures_of(*resource) > 0) {
            state.next = Some(now + state.pause.min(self.when.period));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;

    #[test]
    fn a_type_is_looked_at_when_it_has_grown_four_times() {
        let schedule = Schedule::new(Training::default());
        let trained = [(16 + 16, 2000), (16 + 17, 4000)];
        let now = Instant::now();
        let choose = |first, second| {
            schedule.found(now, vec![(1, first), (2, second)]);
            schedule.choose(now, &trained)
        };
        assert_eq!(choose(9000, 1000), Some((2, 1000)));
        assert_eq!(choose(9000, 3999), None);
        assert_eq!(choose(9000, 4000), Some((2, 4000)));
        assert_eq!(choose(16_000, 0), Some((1, 16_000)));
        assert_eq!(choose(16_000, 0), None);
    }

    #[test]
    fn what_one_look_found_is_tried_one_after_the_other() {
        let schedule = Schedule::new(Training::default());
        let (now, of_all) = (Instant::now(), vec![(1, 9000), (2, 5000), (3, 1000)]);
        schedule.found(now, of_all);
        let last_of_first = *numbers_of(1).expect("they fit").end();
        let trained = [(last_of_first, 1000)];
        let chosen: Vec<_> =
            std::iter::from_fn(|| schedule.choose(now, &trained).map(|(id, _)| id)).collect();
        assert_eq!(chosen, [2, 3], "the first has as many as it may have");
    }

    fn looks(schedule: &Schedule, begun: Instant, seconds: u64) -> Vec<u64> {
        let due = |second: &u64| schedule.is_due(begun + Duration::from_secs(*second));
        (0..seconds).filter(due).collect()
    }

    #[test]
    fn the_more_seldom_it_is_looked_the_longer_nothing_is_found() {
        let schedule = Schedule::new(Training::default());
        let begun = Instant::now();
        let mut looks = looks(&schedule, begun, 3600);
        assert_eq!(looks.split_off(7), [1545, 2145, 2745, 3345]);
        assert_eq!(looks, [0, 15, 45, 105, 225, 465, 945]);
        let now = begun + Duration::from_secs(3600);
        schedule.succeeded();
        assert!(schedule.is_due(now), "there may be more");
        assert!(schedule.is_due(now + FIRST));
    }

    #[test]
    fn what_is_tried_in_vain_is_tried_once_a_minute_at_most() {
        let schedule = Schedule::new(Training::default());
        let begun = Instant::now();
        schedule.found(begun, (1..=200).map(|id| (id, 1000)).collect());
        let tries = (0..600).filter(|second| {
            let now = begun + Duration::from_secs(*second);
            schedule.is_due(now) && schedule.choose(now, &[]).is_some()
        });
        let tries: Vec<u64> = tries.collect();
        assert_eq!(tries[..5], [0, 15, 45, 105, 165]);
        assert!(tries.len() < 14, "{tries:?}");
    }

    #[test]
    fn a_large_type_does_not_wait_for_all_that_were_found_before_it_came() {
        let schedule = Schedule::new(Training::default());
        let (begun, period) = (Instant::now(), schedule.when.period);
        schedule.found(begun, (1..=200).map(|id| (id, 1000)).collect());
        assert!(schedule.choose(begun + period, &[]).is_some());
        let later = begun + period + Duration::from_secs(1);
        assert_eq!(schedule.choose(later, &[]), None, "it is looked again");
        schedule.found(later, vec![(201, 1_000_000), (2, 1000)]);
        assert_eq!(schedule.choose(later, &[]), Some((201, 1_000_000)));
        schedule.succeeded();
        assert_eq!(schedule.choose(later, &[]), None, "so it is after each");
    }

    /// In which minutes each of so many types is tried within twelve hours of steps that are half a minute apart, where these of them fail each time.
    fn tries(types: i32, failing: RangeInclusive<i32>) -> HashMap<i32, Vec<u64>> {
        let schedule = Schedule::new(Training::default());
        let begun = Instant::now();
        let mut tries = HashMap::<i32, Vec<u64>>::new();
        for step in 0..1440 {
            // What takes a moment is never over to the second.
            let now = begun + Duration::from_millis(step * 30_001);
            if !schedule.is_due(now) {
                continue;
            }
            let chosen = schedule.choose(now, &[]).or_else(|| {
                schedule.found(now, (1..=types).map(|id| (id, 1000)).collect());
                schedule.choose(now, &[])
            });
            let Some((id, _)) = chosen else { continue };
            tries.entry(id).or_default().push(step / 2);
            if failing.contains(&id) {
                schedule.failed(now);
            }
        }
        tries
    }

    #[test]
    fn what_fails_keeps_no_other_from_being_tried_nor_makes_it_wait() {
        let tries = tries(50, 1..=10);
        let (failed, others): (Vec<_>, Vec<_>) = tries.into_iter().partition(|(id, _)| *id <= 10);
        assert!(others.iter().all(|(_, minutes)| minutes.len() == 1));
        let last = others.iter().map(|(_, minutes)| minutes[0]).max();
        assert_eq!((others.len(), last), (40, Some(48)), "one a minute");
        // Then each of them in its turn.
        assert_eq!(failed.len(), 10);
        for (id, minutes) in failed {
            assert!((7..9).contains(&minutes.len()), "{id}: {minutes:?}");
            assert!(minutes[1] > 48, "{id}: {minutes:?}");
        }
    }

    #[test]
    fn what_fails_is_tried_more_and_more_seldom_where_there_is_nothing_else() {
        let mut tries = tries(1, 1..=1);
        let mut minutes = tries.remove(&1).expect("tried");
        let often = minutes.split_off(7);
        assert_eq!(minutes, [0, 0, 1, 3, 7, 15, 25]);
        assert!(
            often.windows(2).all(|pair| pair[1] - pair[0] == 10),
            "{often:?}"
        );
        assert_eq!(often[0], 35);
    }

    #[test]
    fn each_failure_makes_a_type_count_as_a_quarter_as_large_until_a_try_does_not_fail() {
        let schedule = Schedule::new(Training::default());
        let now = Instant::now();
        let sizes = [(1, 1_000_000), (2, 200_000), (3, 1000)];
        let choose = |sizes: &[(i32, i64)]| {
            schedule.found(now, sizes.to_vec());
            schedule.choose(now, &[]).map(|(id, _)| id)
        };
        let mut order = vec![];
        for _ in 0..10 {
            order.extend(choose(&sizes));
            schedule.failed(now);
        }
        // Of 1,000,000, 250,000, 62,500, 15,625, 3,906 and 976; of 200,000, 50,000, 12,500, 3,125 and 781.
        assert_eq!(order, [1, 1, 2, 1, 2, 1, 2, 1, 2, 3]);
        assert_eq!(choose(&sizes), Some(1));
        schedule.went_well();
        let grown = [(1, 4_000_000), (2, 200_000), (3, 1000)];
        assert_eq!(choose(&[(4, 3_000_000), grown[0]]), Some(1));
        schedule.failed(now);
        assert_eq!(choose(&[(4, 1_100_000), grown[0]]), Some(4), "once more");
    }

    #[test]
    fn of_those_that_fail_each_time_the_largest_keeps_none_from_its_turn() {
        let schedule = Schedule::new(Training::default());
        let now = Instant::now();
        let mut order = vec![];
        for _ in 0..200 {
            schedule.found(now, vec![(1, i64::MAX), (2, 1000)]);
            order.extend(schedule.choose(now, &[]).map(|(id, _)| id));
            schedule.failed(now);
        }
        let of_last = order[100..].iter().filter(|id| **id == 2);
        assert_eq!(of_last.count(), 50, "{order:?}");
    }

    #[test]
    fn what_fails_is_not_tried_more_often_for_others_that_were_tried_in_vain() {
        let schedule = Schedule::new(Training::default());
        let now = Instant::now();
        assert!(schedule.is_due(now));
        schedule.found(now, vec![(2, 1000)]);
        assert!(schedule.choose(now, &[]).is_some());
        schedule.went_well();
        let later = now + schedule.when.period;
        assert!(schedule.is_due(later));
        schedule.state().pause = schedule.when.period;
        schedule.found(later, vec![(1, 1_000_000), (2, 1000)]);
        assert_eq!(schedule.choose(later, &[]), Some((1, 1_000_000)));
        schedule.failed(later);
        assert!(!schedule.is_due(later + 2 * BETWEEN_TRIES));
    }

    #[test]
    fn nothing_is_taken_back_where_nothing_was_chosen() {
        let schedule = Schedule::new(Training::default());
        let begun = Instant::now();
        assert!(schedule.is_due(begun));
        schedule.found(begun, vec![(1, 1000)]);
        assert!(schedule.choose(begun, &[]).is_some());
        let later = begun + schedule.when.period;
        assert!(schedule.is_due(later));
        schedule.failed(later);
        schedule.found(later, vec![(1, 1000)]);
        assert_eq!(schedule.choose(later, &[]), None);
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
