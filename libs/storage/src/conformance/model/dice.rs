//! What is drawn by lot, from a seed that a failed run tells.

use std::collections::BTreeSet;

use armadex_model::NameFilter;
use rand::Rng;
use rand::rngs::StdRng;

pub(super) struct Dice(pub(super) StdRng);

impl Dice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.random_range(0..bound)
    }

    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub(super) fn subset(&mut self, values: &[&str]) -> BTreeSet<String> {
        (0..self.below(4))
            .map(|_| self.pick(values).to_owned())
            .collect()
    }

    pub(super) fn filter(&mut self, values: &[&str]) -> NameFilter {
        match self.below(5) {
            0 => NameFilter::In(self.subset(values)),
            1 => NameFilter::NotIn(self.subset(values)),
            _ => NameFilter::Any,
        }
    }
}

/// Where a run that failed is asked for again.
pub(super) const SEED: &str = "ARMADEX_TEST_SEED";

pub(super) fn seed() -> u64 {
    let asked = std::env::var(SEED).ok();
    asked.map_or_else(rand::random, |seed| seed.parse().expect("a number"))
}
