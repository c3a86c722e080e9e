//! When a member was last heard of: who sends need not be asked whether it is there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The time of the last bytes, for all bodies of a member.
#[derive(Debug)]
pub(crate) struct Heard {
    since: Instant,
    /// Milliseconds since then, and one; 0 while there is nothing to go by.
    at: AtomicU64,
}

impl Default for Heard {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            at: AtomicU64::new(0),
        }
    }
}

impl Heard {
    /// Something came.
    pub(crate) fn note(&self) {
        self.at.store(self.now(), Ordering::Relaxed);
    }

    /// Something broke: what came before proves nothing any more.
    pub(crate) fn forget(&self) {
        self.at.store(0, Ordering::Relaxed);
    }

    pub(crate) fn within(&self, time: Duration) -> bool {
        let at = self.at.load(Ordering::Relaxed);
        at != 0 && u128::from(self.now().saturating_sub(at)) <= time.as_millis()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_heard_holds_for_a_time_and_until_something_breaks() {
        let time = Duration::from_secs(5);
        let heard = Heard::default();
        assert!(!heard.within(time), "nothing came yet");
        heard.note();
        assert!(heard.within(time));
        tokio::time::advance(time).await;
        assert!(heard.within(time));
        tokio::time::advance(Duration::from_millis(2)).await;
        assert!(!heard.within(time));
        heard.note();
        heard.forget();
        assert!(!heard.within(time));
    }
}
