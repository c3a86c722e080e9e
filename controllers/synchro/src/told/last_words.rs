//! The last statuses of a process: all its clusters end at the same moment, and nobody is left to try again later what was refused.

use std::time::Duration;

use armadex_backoff::Backoff;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{sleep, timeout};

/// Statuses that are written at the same time, each over a connection of its own: a thousand at 4 ms are over in seconds, and are no
/// thousand handshakes.
const PARALLEL: usize = 16;
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LAST_RETRY: Duration = Duration::from_secs(2);
/// A cluster that another synchro takes over has one of its own soon.
const WITHIN: Duration = Duration::from_secs(30);

/// Turns to say a last word.
#[derive(Debug)]
pub(crate) struct LastWords {
    words: Semaphore,
    events: Semaphore,
}

/// Who has a last word.
pub(crate) trait Speaker {
    /// Says it; whether it was said, or need not be.
    async fn say(&mut self) -> bool;
}

impl Default for LastWords {
    fn default() -> Self {
        Self {
            words: Semaphore::new(PARALLEL),
            events: Semaphore::new(PARALLEL),
        }
    }
}

impl LastWords {
    /// Has it said until it is. Whether that was in time.
    pub(crate) async fn of(&self, speaker: &mut impl Speaker) -> bool {
        let said = async {
            let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
            loop {
                // `Err` only if the semaphore was closed, which it never is.
                let turn = self.words.acquire().await.ok();
                let is_said = speaker.say().await;
                drop(turn);
                if is_said {
                    return;
                }
                sleep(backoff.next(rand::random())).await;
            }
        };
        timeout(WITHIN, said).await.is_ok()
    }

    /// A turn to tell the last Events. They have their own: no word waits for those that nobody answers.
    pub(crate) async fn event_turn(&self) -> Option<SemaphorePermit<'_>> {
        self.events.acquire().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use tokio::time::Instant;

    use super::*;

    #[derive(Default)]
    struct Busy {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    /// Refused as often.
    struct Refused<'a>(&'a Busy, usize);

    impl Speaker for Refused<'_> {
        async fn say(&mut self) -> bool {
            let Busy { now, most } = self.0;
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            sleep(Duration::from_millis(20)).await;
            now.fetch_sub(1, Ordering::Relaxed);
            let is_said = self.1 == 0;
            self.1 = self.1.saturating_sub(1);
            is_said
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_clusters_take_turns_and_say_it_again() {
        let (words, busy, begun) = (LastWords::default(), Busy::default(), Instant::now());
        let said = (0..1000).map(async |_| words.of(&mut Refused(&busy, 1)).await);
        let said = futures::future::join_all(said).await;
        assert!(said.iter().all(|said| *said));
        assert_eq!(busy.most.into_inner(), PARALLEL);
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn no_word_waits_for_events_and_those_take_turns() {
        let words = LastWords::default();
        let turns: Vec<_> = (0..2 * PARALLEL)
            .filter_map(|_| words.event_turn().now_or_never())
            .collect();
        assert_eq!(turns.len(), PARALLEL);
        let busy = Busy::default();
        let said = words.of(&mut Refused(&busy, 0)).now_or_never();
        assert!(
            said.is_none() && busy.now.into_inner() == 1,
            "it is being said"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_not_said_for_ever() {
        let (words, busy) = (LastWords::default(), Busy::default());
        assert!(!words.of(&mut Refused(&busy, usize::MAX)).await);
    }
}
