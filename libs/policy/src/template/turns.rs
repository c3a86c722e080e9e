//! How many renderings may hold much at the same time. Lifecycles are rendered beside each other, and each may come to what one rendering
//! may take; most take next to nothing, and wait for nobody.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What a rendering takes before it needs a turn, in bytes.
pub(super) const FREE: usize = 1024 * 1024;

/// Renderings that hold more than that at the same time. Sixteen lifecycles beside each other hold 80 MiB at the worst so, and not 256: four times
/// what one may take, and a mebibyte for each of the others. They take nothing but processors, of which few have more.
pub(super) const TURNS: usize = 4;

/// The turns that are left.
#[derive(Debug)]
pub(super) struct Turns {
    left: Mutex<usize>,
    given_back: Condvar,
}

impl Turns {
    pub(super) fn of(count: usize) -> Arc<Self> {
        Arc::new(Self {
            left: Mutex::new(count),
            given_back: Condvar::new(),
        })
    }

    /// Waits for one. Who has one waits for nothing else, so each comes to its end.
    pub(super) fn take(self: &Arc<Self>) -> Turn {
        let left = self.given_back.wait_while(self.lock(), |left| *left == 0);
        *left.unwrap_or_else(PoisonError::into_inner) -= 1;
        Turn(Arc::clone(self))
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_have_a_turn_than_there_are_and_each_comes_to_one() {
        let turns = Turns::of(2);
        let (inside, most, done) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let turn = turns.take();
                    most.fetch_max(1 + inside.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                    drop(turn);
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
        assert_eq!((done.into_inner(), *turns.lock()), (16, 2));
    }
}
