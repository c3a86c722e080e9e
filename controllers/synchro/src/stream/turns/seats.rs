//! Turns, and those who wait for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long the bytes of one page are waited for with a turn while others wait: 500 objects of 4 KB come over 4 Mbit/s in that time.
pub(super) const QUOTA: Duration = Duration::from_secs(4);

/// Turns that are given in the order in which they are asked for.
#[derive(Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    /// Those who wait for one.
    wanted: AtomicUsize,
}

impl Seats {
    pub(super) fn new(turns: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(turns)),
            wanted: AtomicUsize::new(0),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    /// One that nobody wants. Another stays free for whoever comes next.
    pub(super) fn spare(&self) -> Option<OwnedSemaphorePermit> {
        if self.is_wanted() || self.free.available_permits() < 2 {
            return None;
        }
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// One, if there is one now and nobody waits.
    pub(super) fn turn_now(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// `None` only if the semaphore was closed, which none is.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        let _wants = Wants::one_of(&self.wanted);
        Arc::clone(&self.free).acquire_owned().await.ok()
    }
}

/// Somebody who waits for a turn, until dropped.
struct Wants<'a>(&'a AtomicUsize);

impl<'a> Wants<'a> {
    fn one_of(wanted: &'a AtomicUsize) -> Self {
        wanted.fetch_add(1, Ordering::Relaxed);
        Self(wanted)
    }
}

impl Drop for Wants<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
