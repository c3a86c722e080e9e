//! Short reads of the store: what there is, one object, whether a namespace is there.
//!
//! A client that resets its request drops all that works on it. A read that is dropped takes its connection with a database on a server along, and what
//! opens another one could be broken off the same way: a stranger would keep the store busy with greetings. So each is a task that goes on to its end, in
//! a turn of whoever asked, which lasts as long: what nobody waits for any more is theirs.

use std::sync::Arc;

use armadex_storage::{Search, StoreError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::searches::in_turn;
use crate::turns::{Asker, TurnSizes, Turns};

/// More than a store has connections for what takes a moment, so that none lies idle between two; and few enough that who waits for one is served within
/// some of them. Who asks waits in line, which the requests in flight bound.
const SIZES: TurnSizes = TurnSizes {
    at_once: 16,
    at_once_per_asker: 4,
    in_line: usize::MAX,
    in_line_per_asker: usize::MAX,
};

/// A store, and whose short read of it is next.
pub(super) struct ShortReads {
    store: Arc<dyn Search>,
    turns: Arc<Turns>,
    tasks: TaskTracker,
    /// Breaks reads off when the server stops.
    ending: CancellationToken,
}

impl ShortReads {
    pub(super) fn new(
        store: Arc<dyn Search>,
        tasks: TaskTracker,
        ending: CancellationToken,
    ) -> Self {
        Self {
            store,
            turns: Turns::new(SIZES),
            tasks,
            ending,
        }
    }

    /// Waits for a turn and reads, in a task of its own.
    pub(super) async fn read<T, F>(
        &self,
        asker: &Asker,
        read: impl FnOnce(Arc<dyn Search>) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let read = read(Arc::clone(&self.store));
        in_turn(&self.turns, asker, (&self.tasks, &self.ending), read).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use crate::testing::{Contents, Gate, Watched};

    use super::*;

    async fn store() -> (Arc<Watched>, ShortReads, TaskTracker) {
        let store = Contents::new().store().await;
        let tasks = TaskTracker::new();
        let shared = Arc::clone(&store) as Arc<dyn Search>;
        let reads = ShortReads::new(shared, tasks.clone(), CancellationToken::new());
        (store, reads, tasks)
    }

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_is_done_all_the_same_in_its_askers_turn() {
        let (store, reads, tasks) = store().await;
        let (alice, bob) = (Asker::user("alice"), Asker::user("bob"));
        store.gate.send_replace(Gate::Shut);
        for begun in 1..=SIZES.at_once_per_asker {
            let mut asked = Box::pin(reads.read(&alice, |store| async move { store.head().await }));
            while store.gate.receiver_count() < begun {
                assert!(futures::poll!(&mut asked).is_pending());
                tokio::task::yield_now().await;
            }
        }
        assert!(reads.turns.now(&alice).is_none(), "she has all of hers");
        assert!(reads.turns.now(&bob).is_some());
        store.gate.send_replace(Gate::Open);
        tasks.close();
        tasks.wait().await;
        assert_eq!(store.heads.load(Ordering::Relaxed), SIZES.at_once_per_asker);
        assert!(reads.turns.now(&alice).is_some());
    }

    #[tokio::test]
    async fn a_read_is_broken_off_when_the_server_stops() {
        let (store, reads, tasks) = store().await;
        store.gate.send_replace(Gate::Shut);
        let alice = Asker::user("alice");
        let stop = async {
            while store.gate.receiver_count() == 0 {
                tokio::task::yield_now().await;
            }
            reads.ending.cancel();
            tasks.close();
            tasks.wait().await;
        };
        let asked = reads.read(&alice, |store| async move { store.head().await });
        let (read, ()) = tokio::join!(asked, stop);
        assert!(read.is_err_and(|error| error.is_transient()));
        assert_eq!(store.heads.load(Ordering::Relaxed), 0);
    }
}
