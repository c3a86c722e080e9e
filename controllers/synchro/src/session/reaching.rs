//! Members that are reached for at the same time: a fleet that starts does not open all its connections at once.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Members that are asked their first questions at the same time. Each takes a handshake and four answers; a thousand at once would have
/// each of them wait for all others, until they are given up one and all.
const PARALLEL: usize = 16;
/// Beside them, of those that hung when they were asked last: a fleet may have hundreds that accept a connection and say nothing, and
/// nobody who answers waits behind them.
const PARALLEL_SILENT: usize = 4;
/// Those of the first line that such a one may have while nobody stands in it: it may be well again, and would wait for hundreds that are not. The
/// others are there for whoever comes next.
const PARALLEL_IDLE: usize = PARALLEL / 2;
/// A member that answers is through by then. Who takes longer goes on without a permit: those that hang keep nobody waiting, and sixteen
/// new ones begin in each half second whatever the others do (eight in the first).
const PATIENCE: Duration = Duration::from_millis(500);

/// Permits to ask a member its first questions.
#[derive(Debug)]
pub(crate) struct Reaching {
    line: Semaphore,
    idle: Semaphore,
    silent: Semaphore,
}

impl Default for Reaching {
    fn default() -> Self {
        Self {
            line: Semaphore::new(PARALLEL),
            idle: Semaphore::new(PARALLEL_IDLE),
            silent: Semaphore::new(PARALLEL_SILENT),
        }
    }
}

/// What came of the questions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked<T> {
    pub(crate) answer: T,
    /// Longer than one that answers takes. It may have waited for others meanwhile.
    pub(crate) took_long: bool,
}

impl Reaching {
    /// Asks when there is a permit: of those for members that hung when they were asked last, if it did and the others are not idle.
    pub(crate) async fn ask<T>(&self, hung: bool, answer: impl Future<Output = T>) -> Asked<T> {
        let permits = match hung {
            true => self.after_silence().await,
            // `Err` only if the semaphore was closed, which none ever is.
            false => [self.line.acquire().await.ok(), None],
        };
        let mut answer = std::pin::pin!(answer);
        if let Ok(answer) = timeout(PATIENCE, &mut answer).await {
            return Asked {
                answer,
                took_long: false,
            };
        }
        drop(permits);
        Asked {
            answer: answer.await,
            took_long: true,
        }
    }

    /// All that a member which hung may have.
    #[cfg(test)]
    pub(crate) fn all_after_silence(&self) -> [SemaphorePermit<'_>; 2] {
        let all = |line: &'_ Semaphore| u32::try_from(line.available_permits()).expect("few");
        [&self.idle, &self.silent].map(|line| line.try_acquire_many(all(line)).expect("permits"))
    }

    /// Whether nobody has a permit of the first line.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.line.available_permits() == PARALLEL
    }

    /// The permits of a member that hung.
    async fn after_silence(&self) -> [Option<SemaphorePermit<'_>>; 2] {
        if let (Ok(idle), Ok(line)) = (self.idle.try_acquire(), self.line.try_acquire()) {
            return [Some(idle), Some(line)];
        }
        [self.silent.acquire().await.ok(), None]
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
        let asked = (0..100).map(|_| reaching.ask(false, question()));
        let answered = FuturesUnordered::from_iter(asked).count().await;
        assert_eq!((answered, most.into_inner()), (100, PARALLEL));
    }

    #[tokio::test(start_paused = true)]
    async fn who_hangs_keeps_nobody_waiting() {
        let reaching = Reaching::default();
        let hang = (0..3 * PARALLEL).map(|_| reaching.ask(false, pending::<()>()));
        let mut hanging = FuturesUnordered::from_iter(hang);
        let healthy = reaching.ask(false, async { "it answers" });
        tokio::select! {
            _ = hanging.next() => panic!("they hang"),
            asked = timeout(4 * PATIENCE, healthy) => {
                let asked = asked.expect("in time");
                assert_eq!((asked.answer, asked.took_long), ("it answers", false));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_hung_before_keeps_nobody_waiting_at_all() {
        let reaching = Reaching::default();
        let hang = (0..100).map(|_| reaching.ask(true, pending::<()>()));
        let mut hanging = FuturesUnordered::from_iter(hang);
        let healthy = reaching.ask(false, async { "it answers" });
        tokio::select! {
            biased;
            _ = hanging.next() => panic!("they hang"),
            asked = healthy => assert_eq!(asked.answer, "it answers"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_answers_again_does_not_wait_behind_those_that_hang_while_the_line_is_idle() {
        let reaching = Reaching::default();
        let hang = (0..1000).map(|_| reaching.ask(true, pending::<()>()));
        let mut hanging = FuturesUnordered::from_iter(hang);
        let begun = timeout(PATIENCE + PATIENCE / 2, hanging.next()).await;
        assert!(begun.is_err(), "they hang");
        let well = reaching.ask(true, async { "it answers" });
        tokio::select! {
            biased;
            asked = timeout(PATIENCE, well) => assert!(asked.is_ok_and(|asked| !asked.took_long)),
            _ = hanging.next() => panic!("they hang"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_hang_never_have_more_than_half_of_the_line() {
        let reaching = Reaching::default();
        let hang = (0..100).map(|_| reaching.ask(true, pending::<()>()));
        let mut hanging = FuturesUnordered::from_iter(hang);
        let begun = timeout(PATIENCE / 2, hanging.next()).await;
        assert!(begun.is_err(), "they hang");
        assert_eq!(reaching.line.available_permits(), PARALLEL / 2);
        assert_eq!(reaching.silent.available_permits(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_known_who_takes_longer_than_those_that_answer() {
        let reaching = Reaching::default();
        let late = async { tokio::time::sleep(2 * PATIENCE).await };
        assert!(reaching.ask(false, late).await.took_long);
    }
}
