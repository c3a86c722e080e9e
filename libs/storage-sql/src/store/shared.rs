//! A reading that is made once for all who ask at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use armadex_storage::StoreError;
use tokio::sync::Mutex;

use crate::backend::error::told;

/// Whoever asks is given what a reading found that began after they asked: their own, or that of another who waited as well. So there is one reading at a time and one
/// connection for it, however many ask, and nobody waits for more than two.
#[derive(Debug)]
pub(super) struct Shared<T> {
    /// How many readings have begun.
    begun: AtomicU64,
    /// The last one that has ended. Held while one is made.
    last: Mutex<Option<Ended<T>>>,
}

#[derive(Debug)]
struct Ended<T> {
    number: u64,
    found: Result<T, StoreError>,
}

impl<T: Clone> Shared<T> {
    pub(super) fn new() -> Self {
        Self {
            begun: AtomicU64::new(0),
            last: Mutex::new(None),
        }
    }

    /// What there is, as of a moment after this was called. A reading whose caller goes away is made anew by the next who waits.
    pub(super) async fn read(
        &self,
        reading: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let before = self.begun.load(Ordering::SeqCst);
        let mut last = self.last.lock().await;
        if let Some(ended) = last.as_ref().filter(|ended| ended.number > before) {
            return ended.found.as_ref().map(T::clone).map_err(told);
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let found = reading.await;
        let answer = found.as_ref().map(T::clone).map_err(told);
        *last = Some(Ended { number, found });
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::join_all;
    use futures::{FutureExt as _, poll};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::backend::error::{broken, closed};

    /// Readings are numbered; each waits until it is let go.
    #[derive(Default)]
    struct Numbers {
        begun: AtomicU64,
    }

    impl Numbers {
        async fn next(&self, let_go: &Semaphore) -> Result<u64, StoreError> {
            let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
            let_go.acquire().await.map_err(|_| closed())?.forget();
            Ok(number)
        }
    }

    #[tokio::test]
    async fn who_asks_while_one_is_made_is_given_the_next_and_all_of_them_the_same() {
        let (shared, numbers, let_go) = (Shared::new(), Numbers::default(), Semaphore::new(0));
        let ask = || shared.read(numbers.next(&let_go));
        let mut first = std::pin::pin!(ask());
        assert!(poll!(&mut first).is_pending());
        let mut later = std::pin::pin!(join_all((0..100).map(|_| ask())));
        assert!(poll!(&mut later).is_pending());
        let_go.add_permits(2);
        // What was read before they asked is nothing to them.
        assert_eq!(first.await.unwrap(), 1);
        let later = later.await.into_iter().map(Result::unwrap);
        assert!(later.eq(std::iter::repeat_n(2, 100)));
        let_go.add_permits(1);
        assert_eq!(ask().await.unwrap(), 3, "nobody asked with them");
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
        assert_eq!(waits.now_or_never().expect("its turn").unwrap(), 2);
    }

    #[tokio::test]
    async fn who_waits_together_fails_together() {
        let shared = Arc::new(Shared::<u64>::new());
        let let_go = Arc::new(Semaphore::new(0));
        let fails = || {
            let let_go = Arc::clone(&let_go);
            async move {
                let_go.acquire().await.map_err(|_| closed())?.forget();
                Err(broken("no"))
            }
        };
        let mut first = std::pin::pin!(shared.read(fails()));
        assert!(poll!(&mut first).is_pending());
        let mut later = std::pin::pin!(join_all((0..3).map(|_| shared.read(fails()))));
        assert!(poll!(&mut later).is_pending());
        let_go.add_permits(2);
        assert!(first.await.is_err());
        for failed in later.now_or_never().expect("two readings") {
            assert!(matches!(failed, Err(StoreError::Broken { .. })));
        }
    }
}
