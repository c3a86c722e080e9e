//! One limit to what all streams of a process hold in memory on the way to the store, and in it a share of each cluster: whose streams bring more
//! than the store takes wait for each other, and not with all others for what the rest has left.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

/// Permits are counted in KiB, because a semaphore counts in u32 at once.
const UNIT: usize = 1 << 10;
/// One cluster has a quarter at most: 12 of the 48 MiB that there are by default. That holds nobody up who is alone, for the three lists that are read
/// of a cluster at a time gather a batch of 2.5 MiB each.
const SHARES: usize = 4;

/// A number of bytes that all streams share.
#[derive(Debug)]
pub(crate) struct Budget {
    all: Pool,
}

/// What one cluster may have of it.
#[derive(Debug)]
pub(crate) struct Share {
    own: Pool,
    /// Of each cluster one waits for what all share: a stream that brings little stands behind one of each other cluster, not behind a thousand of one.
    line: Mutex<()>,
    all: Pool,
}

/// Bytes that one stream holds; given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Held(Option<Taken>);

/// Of the cluster's and of all, together from the first to the last.
#[derive(Debug)]
struct Taken {
    own: OwnedSemaphorePermit,
    all: OwnedSemaphorePermit,
}

#[derive(Clone, Debug)]
struct Pool {
    units: Arc<Semaphore>,
    total: u32,
}

impl Budget {
    /// A budget of `bytes`, at least one unit.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            all: Pool::new(units(bytes)),
        }
    }

    /// The share of one cluster.
    pub(crate) fn share(&self) -> Share {
        let all = self.all.total as usize * UNIT;
        Share {
            own: Pool::new(units(all / SHARES)),
            line: Mutex::default(),
            all: self.all.clone(),
        }
    }
}

impl Share {
    /// Adds `bytes` to what is held, if they are free now.
    pub(crate) fn try_add(&self, held: &mut Held, bytes: usize) -> bool {
        let Some(own) = self.own.try_take(bytes) else {
            return false;
        };
        let Some(all) = self.all.try_take(bytes) else {
            return false;
        };
        held.merge(Taken { own, all });
        true
    }

    /// Adds `bytes` to what is held, once they are free: first of the share, then of what all have. To be called by a stream that holds nothing, or
    /// two could wait for each other; more than there is counts as all there is, and more than a share as all of it.
    pub(crate) async fn add(&self, held: &mut Held, bytes: usize) {
        debug_assert!(held.0.is_none(), "who waits holds nothing");
        let Some(own) = self.own.take(bytes).await else {
            return;
        };
        let _line = self.line.lock().await;
        if let Some(all) = self.all.take(bytes).await {
            held.merge(Taken { own, all });
        }
    }
}

impl Pool {
    fn new(total: u32) -> Self {
        Self {
            units: Arc::new(Semaphore::new(total as usize)),
            total,
        }
    }

    fn wanted(&self, bytes: usize) -> u32 {
        units(bytes).min(self.total)
    }

    fn try_take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = Arc::clone(&self.units);
        units.try_acquire_many_owned(self.wanted(bytes)).ok()
    }

    /// `None` never comes: no semaphore is closed.
    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = Arc::clone(&self.units);
        units.acquire_many_owned(self.wanted(bytes)).await.ok()
    }
}

impl Held {
    /// How many.
    pub(crate) fn bytes(&self) -> usize {
        let taken = self.0.as_ref();
        taken.map_or(0, |taken| taken.all.num_permits() * UNIT)
    }

    fn merge(&mut self, more: Taken) {
        match &mut self.0 {
            Some(Taken { own, all }) => {
                own.merge(more.own);
                all.merge(more.all);
            }
            None => self.0 = Some(more),
        }
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT).max(1)).unwrap_or(u32::MAX >> 3)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const KIB: usize = UNIT;

    fn is_free(share: &Share, bytes: usize) -> bool {
        share.try_add(&mut Held::default(), bytes)
    }

    #[tokio::test]
    async fn what_is_held_is_not_free_until_it_is_dropped() {
        let budget = Budget::new(40 * KIB);
        let (one, other) = (budget.share(), budget.share());
        let mut held = Held::default();
        assert!(one.try_add(&mut held, 4 * KIB) && one.try_add(&mut held, 4 * KIB));
        assert_eq!(held.bytes(), 8 * KIB);
        assert!(!is_free(&one, 4 * KIB), "it has a quarter");
        assert!(is_free(&other, 4 * KIB));
        drop(held);
        assert!(is_free(&one, 4 * KIB));
        let mut all = Held::default();
        other.add(&mut all, 99 * KIB).await;
        assert!(!is_free(&one, 1), "a huge object takes all there is");
        drop(all);
        assert!(is_free(&one, 10 * KIB) && is_free(&other, 10 * KIB));
    }

    #[tokio::test]
    async fn streams_of_one_cluster_wait_for_each_other_and_hold_up_no_other() {
        let budget = Budget::new(400 * KIB);
        let (hostile, healthy) = (budget.share(), budget.share());
        let (mut first, mut waits) = (Held::default(), Held::default());
        hostile.add(&mut first, 100 * KIB).await;
        let mut waiting = hostile.add(&mut waits, 100 * KIB).boxed_local();
        assert!((&mut waiting).now_or_never().is_none());
        assert!(is_free(&healthy, 100 * KIB));
        drop(first);
        waiting.await;
        assert_eq!(waits.bytes(), 100 * KIB);
    }

    #[tokio::test]
    async fn where_all_is_taken_one_of_each_cluster_stands_in_the_line() {
        const STREAMS: usize = 9;
        let budget = Budget::new(100 * KIB);
        let (hostile, healthy) = (budget.share(), budget.share());
        let (mut most, mut rest) = (Held::default(), Held::default());
        budget.share().add(&mut most, 96 * KIB).await;
        budget.share().add(&mut rest, 4 * KIB).await;
        let mut held: Vec<_> = (0..STREAMS).map(|_| Held::default()).collect();
        let mut waiting: Vec<_> = held
            .iter_mut()
            .map(|held| hostile.add(held, 2 * KIB).boxed_local())
            .collect();
        for add in &mut waiting {
            assert!(add.now_or_never().is_none());
        }
        let mut held = Held::default();
        let mut last = healthy.add(&mut held, 2 * KIB).boxed_local();
        assert!((&mut last).now_or_never().is_none());
        drop(rest);
        assert!(
            (&mut last).now_or_never().is_some(),
            "it stands behind one of them"
        );
        drop((last, most));
        for add in waiting {
            add.await;
        }
    }
}
