//! Lines of the log that callers could have written by the thousand: takes no text, says whether one may be written now.
//!
//! The first is written at once. What comes within ten seconds of it is counted, and the next one says how many were left out.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Nobody misses trouble that lasts, and a day of it is 8,640 lines.
const PAUSE: Duration = Duration::from_secs(10);

/// Of a path that a caller chose, so much is written: a path to any object of a cluster is shorter, and one may have 64 KiB.
const LONGEST: usize = 512;

/// One kind of line.
pub(crate) struct Seldom(Mutex<State>);

struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl Seldom {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(State {
            last: None,
            left_out: 0,
        }))
    }

    /// If a line may be written now: how many were left out since the last one.
    pub(crate) fn turn(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| last.elapsed() < PAUSE) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(Instant::now());
        Some(std::mem::take(&mut state.left_out))
    }
}

/// A path as it is written to the log.
pub(crate) fn logged(path: &str) -> &str {
    &path[..path.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_line_is_written_and_the_next_one_counts_what_was_left_out() {
        let seldom = Seldom::new();
        for (seconds, turn) in [
            (0, Some(0)),
            (0, None),
            (9, None),
            (1, Some(2)),
            (9, None),
            (100, Some(1)),
        ] {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            assert_eq!(seldom.turn(), turn);
        }
    }

    #[test]
    fn a_long_path_is_cut_between_characters() {
        assert_eq!(logged("/apis"), "/apis");
        let long = format!("/{}", "ä".repeat(60 << 10));
        assert_eq!(logged(&long), format!("/{}", "ä".repeat(255)));
    }
}
