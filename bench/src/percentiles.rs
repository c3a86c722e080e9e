//! How long most of many things took, and almost all, and the one that took longest.

use std::time::Duration;

use serde::Serialize;

/// In milliseconds.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: usize,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) worst: f64,
}

impl Percentiles {
    /// Those of the nearest rank.
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent| {
            let time = nearest_rank(&times, percent).unwrap_or_default();
            time.as_secs_f64() * 1000.0
        };
        Self {
            count: times.len(),
            p50: at(50),
            p99: at(99),
            worst: at(100),
        }
    }
}

/// The least of what is in order that so many percent of it do not exceed; nothing of nothing.
pub(crate) fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        let found = Percentiles::of(times);
        assert_eq!((found.p50, found.p99, found.worst), (100.0, 198.0, 200.0));
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
    }
}
