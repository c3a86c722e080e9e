//! Pauses between tries, each longer than the one before. Pure: the chance is passed in.

use std::time::Duration;

/// The pauses of one who tries again and again.
#[derive(Debug)]
pub(super) struct Pauses {
    next: Duration,
    last: Duration,
}

impl Pauses {
    /// The first at most `first`, and none longer than `last`.
    pub(super) fn new(first: Duration, last: Duration) -> Self {
        Self { next: first, last }
    }

    /// Twice as long each time, and half of it by `chance`, which is from 0 to 1: several who try do not come back together.
    pub(super) fn next(&mut self, chance: f64) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.last);
        pause.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_meets_others_again_and_again_leaves_them_time() {
        let mut pauses = Pauses::new(Duration::from_millis(20), Duration::from_secs(10));
        let longest: Vec<_> = (0..12).map(|_| pauses.next(1.0).as_millis()).collect();
        assert_eq!(longest[..4], [20, 40, 80, 160]);
        assert_eq!(longest[10..], [10_000, 10_000]);
        assert_eq!(pauses.next(0.0), Duration::from_secs(5));
        assert_eq!(pauses.next(7.0), Duration::from_secs(10));
    }
}
