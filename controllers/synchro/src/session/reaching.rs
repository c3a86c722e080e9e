//! Members that are reached for at the same time: a fleet that starts does not open all its connections at once.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Members that are asked their first questions at the same time. Each takes a handshake and four answers; a thousand at once would have
/// each of them wait for all others, until they are given up one and all.
const PARALLEL: usize = 16;
/// A member that answers is through by then. Who takes longer goes on without a permit: those that hang keep nobody waiting, and sixteen
/// new ones begin in each half second whatever the others do.
const PATIENCE: Duration = Duration::from_millis(500);

/// Permits to ask a member its first questions.
#[derive(Debug)]
pub(crate) struct Reaching(Semaphore);

impl Default for Reaching {
    fn default() -> Self {
        Self(Semaphore::new(PARALLEL))
    }
}

impl Reaching {
    /// Asks when there is a permit.
    pub(crate) async fn ask<T>(&self, answer: impl Future<Output = T>) -> T {
        // `Err` only if the semaphore was closed, which it never is.
        let permit = self.0.acquire().await.ok();
        let mut answer = std::pin::pin!(answer);
        if let Ok(answer) = timeout(PATIENCE, &mut answer).await {
            return answer;
        }
        drop(permit);
        answer.await
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::StreamExt as _;
    use futures::stream::FuturesUnordered;

    use super::*;

    #[tokio::test]
    async fn so_many_are_asked_at_the_same_time() {
        let reaching = Reaching::default();
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let question = async || {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::Relaxed);
        };
        let asked = (0..100).map(|_| reaching.ask(question()));
        let answered = FuturesUnordered::from_iter(asked).count().await;
        assert_eq!((answered, most.into_inner()), (100, PARALLEL));
    }

    #[tokio::test(start_paused = true)]
    async fn who_hangs_keeps_nobody_waiting() {
        let reaching = Reaching::default();
        let hang = (0..3 * PARALLEL).map(|_| reaching.ask(pending::<()>()));
        let mut hanging = FuturesUnordered::from_iter(hang);
        let healthy = reaching.ask(async { "it answers" });
        tokio::select! {
            _ = hanging.next() => panic!("they hang"),
            answer = timeout(4 * PATIENCE, healthy) => assert_eq!(answer, Ok("it answers")),
        }
    }
}
