//! Answers that are larger than those of usual members: read by so many at a time, for each is held as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// What all answers of a member have together where it has some three hundred types beside those of Kubernetes.
const USUAL_BYTES: usize = 1 << 20;

/// Turns to read more than a usual member says of what it serves. Whoever shares them waits in the middle of its answers; what has come of them by then is
/// within what is usual.
#[derive(Clone, Debug)]
pub struct LargeAnswers(Arc<Semaphore>);

impl LargeAnswers {
    /// So many at the same time.
    #[must_use]
    pub fn new(parallel: usize) -> Self {
        Self(Arc::new(Semaphore::new(parallel)))
    }
}

/// The turn of one whose answers were large, for as long as they are held, in whatever form.
#[derive(Debug)]
pub struct LargeTurn(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

/// What is read of one member.
#[derive(Debug)]
pub(crate) struct Holding<'a> {
    large: &'a LargeAnswers,
    bytes: AtomicUsize,
    turn: OnceCell<LargeTurn>,
}

impl<'a> Holding<'a> {
    pub(crate) fn new(large: &'a LargeAnswers) -> Self {
        Self {
            large,
            bytes: AtomicUsize::new(0),
            turn: OnceCell::new(),
        }
    }

    /// So many more bytes are held from now on: in a turn, if that is more than is usual.
    pub(crate) async fn hold(&self, bytes: usize) {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= USUAL_BYTES {
            return;
        }
        let turn = || async {
            let permit = Arc::clone(&self.large.0).acquire_owned().await;
            permit.map(LargeTurn)
        };
        // `Err` only if the semaphore was closed, which it never is.
        let _ = self.turn.get_or_try_init(turn).await;
    }

    /// The turn, if one was taken.
    pub(crate) fn into_turn(self) -> Option<LargeTurn> {
        self.turn.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn who_holds_more_than_is_usual_waits_for_who_does() {
        let large = LargeAnswers::new(1);
        let [one, other, usual] = [(); 3].map(|()| Holding::new(&large));
        let hold = |holding: &Holding<'_>, bytes| holding.hold(bytes).now_or_never().is_some();
        assert!(hold(&one, USUAL_BYTES) && hold(&one, 1) && hold(&one, 5 * USUAL_BYTES));
        assert!(hold(&other, USUAL_BYTES));
        assert!(!hold(&other, 1), "one at a time");
        assert!(hold(&usual, USUAL_BYTES), "what is usual waits for nobody");
        let turn = one.into_turn();
        assert!(turn.is_some() && !hold(&other, 1), "it is held still");
        drop(turn);
        assert!(hold(&other, 1));
        assert!(usual.into_turn().is_none());
    }
}
