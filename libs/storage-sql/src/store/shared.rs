//! A reading that is made once for all who ask at the same time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use armadex_storage::StoreError;
use tokio::time::timeout;

use crate::backend::error::told;

/// Longer than a reading takes. One that takes longer may wait for an answer that never comes, which is to be nobody's trouble but its own.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whoever asks is given what a reading found that began after they asked: their own, or that of another who waited as well. So there is one reading at a time and one
/// connection for it, however many ask; and who is not given up by those before them waits for two.
#[derive(Debug)]
pub(super) struct Shared<T> {
    /// Where those stand who ask now.
    line: Mutex<Arc<Line<T>>>,
}

#[derive(Debug)]
struct Line<T> {
    /// How many readings have begun.
    begun: AtomicU64,
    /// The last one that has ended. Held while one is made.
    last: tokio::sync::Mutex<Option<Ended<T>>>,
}

#[derive(Debug)]
struct Ended<T> {
    number: u64,
    found: Result<T, StoreError>,
}

impl<T: Clone> Shared<T> {
    pub(super) fn new() -> Self {
        Self {
            line: Mutex::new(Arc::new(Line::new())),
        }
    }

    /// What there is, as of a moment after this was called; to who made the reading with what is left to be done, for which nobody else waits. A reading whose
    /// caller goes away is made anew by the next who waits; and whoever has waited for long begins a new line, in which all stand who come later.
    pub(super) async fn read<R>(
        &self,
        reading: impl Future<Output = Result<(T, R), StoreError>>,
    ) -> Result<(T, Option<R>), StoreError> {
        for _ in 0..2 {
            let line = Arc::clone(&*self.line());
            let before = line.begun.load(Ordering::SeqCst);
            if let Ok(last) = timeout(PATIENCE, line.last.lock()).await {
                return line.turn(last, before, reading).await;
            }
            self.leave(&line);
        }
        reading.await.map(|(found, rest)| (found, Some(rest)))
    }

    fn leave(&self, left: &Arc<Line<T>>) {
        let mut line = self.line();
        if Arc::ptr_eq(&line, left) {
            *line = Arc::new(Line::new());
        }
    }

    fn line(&self) -> MutexGuard<'_, Arc<Line<T>>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Line<T> {
    fn new() -> Self {
        Self {
            begun: AtomicU64::new(0),
            last: tokio::sync::Mutex::new(None),
        }
    }

    /// For who comes first by now, and has seen so many begin.
    async fn turn<R>(
        &self,
        mut last: tokio::sync::MutexGuard<'_, Option<Ended<T>>>,
        before: u64,
        reading: impl Future<Output = Result<(T, R), StoreError>>,
    ) -> Result<(T, Option<R>), StoreError> {
        if let Some(ended) = last.as_ref().filter(|ended| ended.number > before) {
            let found = ended.found.as_ref().map(T::clone).map_err(told);
            return found.map(|found| (found, None));
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let found = reading.await;
        let others = found.as_ref().map(|(found, _)| found.clone());
        *last = Some(Ended {
            number,
            found: others.map_err(told),
        });
        found.map(|(found, rest)| (found, Some(rest)))
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use futures::{FutureExt as _, poll};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::backend::error::{broken, closed, collided, is_collision};

    /// Readings are numbered; each waits until it is let go.
    #[derive(Default)]
    struct Numbers {
        begun: AtomicU64,
    }

    impl Numbers {
        async fn next(&self, let_go: &Semaphore) -> Result<(u64, ()), StoreError> {
            let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
            let_go.acquire().await.map_err(|_| closed())?.forget();
            Ok((number, ()))
        }
    }

    #[tokio::test]
    async fn who_asks_while_one_is_made_is_given_the_next_and_all_of_them_the_same() {
        let (shared, numbers, let_go) = (Shared::new(), Numbers::default(), Semaphore::new(0));
        let ask = || shared.read(numbers.next(&let_go));
        let mut first = std::pin::pin!(ask());
        assert!(poll!(&mut first).is_pending());
        let mut later = std::pin::pin!(join_all((0..9).map(|_| ask())));
        assert!(poll!(&mut later).is_pending());
        let_go.add_permits(2);
        // What was read before they asked is nothing to them.
        assert_eq!(first.await.unwrap(), (1, Some(())));
        let later = Vec::from_iter(later.await.into_iter().map(Result::unwrap));
        assert!(later.iter().all(|(number, _)| *number == 2));
        let rest = later.iter().filter(|(_, rest)| rest.is_some());
        assert_eq!(rest.count(), 1, "who made the reading ends it");
        let_go.add_permits(1);
        assert_eq!(ask().await.unwrap().0, 3, "nobody asked with them");
    }

    #[tokio::test]
    async fn what_its_caller_gives_up_is_read_by_the_next() {
        let (shared, numbers, let_go) = (Shared::new(), Numbers::default(), Semaphore::new(0));
        let mut gone = Box::pin(shared.read(numbers.next(&let_go)));
        assert!(poll!(&mut gone).is_pending());
        let mut waits = std::pin::pin!(shared.read(numbers.next(&let_go)));
        assert!(poll!(&mut waits).is_pending());
        drop(gone);
        let_go.add_permits(1);
        let found = waits.now_or_never().expect("its turn").unwrap();
        assert_eq!(found.0, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_waited_for_long_reads_beside_and_who_comes_later_does_not_wait() {
        let (shared, never) = (Shared::new(), Semaphore::new(0));
        let numbers = Numbers::default();
        let mut hangs = std::pin::pin!(shared.read(numbers.next(&never)));
        assert!(poll!(&mut hangs).is_pending());
        let let_go = Semaphore::new(1);
        let found = shared.read(numbers.next(&let_go)).await.unwrap();
        assert_eq!(found, (2, Some(())));
        let_go.add_permits(1);
        let later = shared.read(numbers.next(&let_go)).now_or_never();
        assert_eq!(later.expect("at once").unwrap().0, 3);
        assert!(poll!(&mut hangs).is_pending());
    }

    #[tokio::test]
    async fn who_waits_together_fails_together_and_who_read_in_his_own_words() {
        let (shared, let_go) = (Shared::<u64>::new(), Semaphore::new(0));
        let fails = |why: fn() -> StoreError| {
            let let_go = &let_go;
            async move {
                let_go.acquire().await.map_err(|_| closed())?.forget();
                Err::<(u64, ()), _>(why())
            }
        };
        let mut first = std::pin::pin!(shared.read(fails(|| collided("it came and went"))));
        assert!(poll!(&mut first).is_pending());
        let later = (0..3).map(|_| shared.read(fails(|| broken("no"))));
        let mut later = std::pin::pin!(join_all(later));
        assert!(poll!(&mut later).is_pending());
        let_go.add_permits(2);
        assert!(first.await.is_err_and(|err| is_collision(&err)));
        for failed in later.now_or_never().expect("two readings") {
            assert!(matches!(failed, Err(StoreError::Broken { .. })));
        }
    }
}
