//! Turns at a steady pace over the whole process, first come, first served.
//!
//! What a thousand clusters write to the control plane at the same time it has to take at the same time, beside everything else that it
//! serves. Whoever waits for a turn has more to tell when it comes, so waiting saves writes.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Gives turns.
#[derive(Debug)]
pub(crate) struct Pace {
    period: Duration,
    /// When the next turn may be; locked by whoever waits for it, the others stand behind.
    next: Mutex<Instant>,
}

impl Pace {
    /// One turn in each `period`; the first at once.
    pub(crate) fn new(period: Duration) -> Self {
        Self {
            period,
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits for the next turn. Who goes away while waiting takes none.
    pub(crate) async fn turn(&self) {
        let mut next = self.next.lock().await;
        sleep_until(*next).await;
        *next = Instant::now() + self.period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_a_period_apart_and_none_is_saved_up() {
        let (begun, period) = (Instant::now(), Duration::from_millis(20));
        let pace = Pace::new(period);
        pace.turn().await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "the first is at once");
        pace.turn().await;
        pace.turn().await;
        assert_eq!(begun.elapsed(), 2 * period);
        tokio::time::advance(10 * period).await;
        let later = Instant::now();
        pace.turn().await;
        assert_eq!(later.elapsed(), Duration::ZERO);
        pace.turn().await;
        assert_eq!(later.elapsed(), period, "a quiet time gives one turn");
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_while_waiting_takes_no_turn() {
        let (begun, period) = (Instant::now(), Duration::from_secs(10));
        let pace = Pace::new(period);
        pace.turn().await;
        let gone = tokio::time::timeout(Duration::from_secs(1), pace.turn()).await;
        assert!(gone.is_err());
        pace.turn().await;
        assert_eq!(begun.elapsed(), period);
    }
}
