//! Turns at a steady pace over the whole process, first come, first served.
//!
//! What a thousand clusters write to the control plane at the same time it has to take at the same time, beside everything else that it
//! serves. Whoever waits for a turn has more to tell when it comes, so waiting saves writes. Large ones are further apart, for each is read, merged and sent to
//! whoever watches, and of those that are not answered there are not many at a time.

use std::time::Duration;

use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

/// Turns that are taken at the same time: as many as last words, each over a connection of its own where answers take long.
pub(super) const PARALLEL: usize = 16;
/// What is written in a turn of the usual length: the status of a member of forty types.
const USUAL_BYTES: usize = 20 << 10;

/// Gives turns.
#[derive(Debug)]
pub(crate) struct Pace {
    period: Duration,
    /// One for each turn that is not over.
    under_way: Semaphore,
    /// When the next turn may be; locked by whoever waits for it, the others stand behind.
    next: Mutex<Instant>,
}

impl Pace {
    /// One turn in each `period`, where little is written in it; the first at once.
    pub(crate) fn new(period: Duration) -> Self {
        Self {
            period,
            under_way: Semaphore::new(PARALLEL),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits for the next turn, which lasts until it is dropped, to write so many bytes. Who goes away while waiting takes none.
    pub(crate) async fn turn(&self, bytes: usize) -> Turn<'_> {
        // `Err` only if the semaphore was closed, which it never is.
        let under_way = self.under_way.acquire().await.ok();
        let mut next = self.next.lock().await;
        sleep_until(*next).await;
        let usual = u32::try_from(bytes.div_ceil(USUAL_BYTES)).unwrap_or(u32::MAX);
        *next = Instant::now() + self.period.saturating_mul(usual.max(1));
        Turn(under_way)
    }
}

/// A turn.
#[derive(Debug)]
pub(crate) struct Turn<'a>(#[expect(dead_code, reason = "held")] Option<SemaphorePermit<'a>>);

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_a_period_apart_and_none_is_saved_up() {
        let (begun, period) = (Instant::now(), Duration::from_millis(20));
        let pace = Pace::new(period);
        pace.turn(1).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "the first is at once");
        pace.turn(1).await;
        pace.turn(1).await;
        assert_eq!(begun.elapsed(), 2 * period);
        tokio::time::advance(10 * period).await;
        let later = Instant::now();
        pace.turn(1).await;
        assert_eq!(later.elapsed(), Duration::ZERO);
        pace.turn(1).await;
        assert_eq!(later.elapsed(), period, "a quiet time gives one turn");
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_while_waiting_takes_no_turn() {
        let (begun, period) = (Instant::now(), Duration::from_secs(10));
        let pace = Pace::new(period);
        pace.turn(1).await;
        let gone = tokio::time::timeout(Duration::from_secs(1), pace.turn(1)).await;
        assert!(gone.is_err());
        pace.turn(1).await;
        assert_eq!(begun.elapsed(), period);
    }

    #[tokio::test(start_paused = true)]
    async fn who_writes_much_is_followed_later() {
        let (begun, period) = (Instant::now(), Duration::from_millis(20));
        let pace = Pace::new(period);
        pace.turn(10 * USUAL_BYTES).await;
        pace.turn(USUAL_BYTES).await;
        assert_eq!(begun.elapsed(), 10 * period);
        pace.turn(0).await;
        assert_eq!(begun.elapsed(), 11 * period);
    }

    #[tokio::test(start_paused = true)]
    async fn where_nobody_is_answered_not_many_ask() {
        let pace = Pace::new(Duration::ZERO);
        let mut turns = vec![];
        for _ in 0..PARALLEL {
            turns.push(pace.turn(1).await);
        }
        assert!(pace.turn(1).now_or_never().is_none());
        turns.pop();
        assert!(pace.turn(1).now_or_never().is_some());
    }
}
