//! A cluster in line for its turn to say what it serves: it is counted, and where that takes long its status says so. Others before it may hang for
//! a minute each, and nothing else would tell why nothing happens.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::told::board::Board;
use crate::told::metrics::ClusterMetrics;

/// Before the status says so: nearly all turns come sooner, and each word is a write.
pub(super) const UNTOLD: Duration = Duration::from_secs(60);

/// Where it is told of one cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct InLine {
    pub(crate) metrics: Arc<ClusterMetrics>,
    pub(crate) board: Arc<Board>,
}

impl InLine {
    /// The turn, when it comes. What is left of the time that is `untold` goes on in the next line: who stands in three of them one after the other is told of
    /// as whoever stands in one.
    pub(super) async fn until<T>(&self, untold: &mut Duration, turn: impl Future<Output = T>) -> T {
        let mut turn = pin!(turn);
        let mut place = Place::taken(self);
        let begun = Instant::now();
        let in_time = timeout(*untold, &mut turn).await;
        *untold = untold.saturating_sub(begun.elapsed());
        match in_time {
            Ok(turn) => turn,
            Err(_) => {
                place.tells(true);
                turn.await
            }
        }
    }
}

/// A place in line, which is left with its turn, or when nobody asks any more.
struct Place<'l> {
    of: &'l InLine,
    is_told: bool,
}

impl<'l> Place<'l> {
    fn taken(of: &'l InLine) -> Self {
        of.metrics.waiting_discoveries.add(1);
        Self { of, is_told: false }
    }

    fn tells(&mut self, is_told: bool) {
        self.is_told = is_told;
        self.of.board.update(|facts| facts.in_line = is_told);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.of.metrics.waiting_discoveries.subtract(1);
        if self.is_told {
            self.tells(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_counted_and_after_a_minute_told_of_until_the_turn_comes() {
        let line = InLine::default();
        let shown = || {
            (
                line.metrics.waiting_discoveries.get(),
                line.board.facts().in_line,
            )
        };
        let mut untold = UNTOLD;
        assert_eq!(line.until(&mut untold, ready("at once")).await, "at once");
        assert_eq!(shown(), (0, false));
        let turn = async {
            tokio::time::sleep(UNTOLD - Duration::from_secs(1)).await;
            assert_eq!(shown(), (1, false));
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(shown(), (1, true));
            "late"
        };
        assert_eq!(line.until(&mut untold, turn).await, "late");
        assert_eq!(shown(), (0, false));
    }

    #[tokio::test(start_paused = true)]
    async fn the_minute_is_that_of_all_lines_together() {
        let line = InLine::default();
        let is_told = || line.board.facts().in_line;
        let most_of_it = async || {
            tokio::time::sleep(UNTOLD - Duration::from_secs(1)).await;
            is_told()
        };
        let mut untold = UNTOLD;
        assert!(!line.until(&mut untold, most_of_it()).await);
        assert!(line.until(&mut untold, most_of_it()).await);
        let a_moment = async {
            tokio::task::yield_now().await;
            is_told()
        };
        assert!(line.until(&mut untold, a_moment).await, "at once");
        assert!(!is_told());
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_does_not_wait_any_more() {
        let line = InLine::default();
        let gone = timeout(2 * UNTOLD, line.until(&mut UNTOLD.clone(), pending::<()>())).await;
        assert!(gone.is_err());
        assert_eq!(line.metrics.waiting_discoveries.get(), 0);
        assert!(!line.board.facts().in_line);
    }
}
