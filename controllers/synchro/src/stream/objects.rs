//! How many objects a cluster may have in the store, all its types together: how many a member has is for the member to say.
//!
//! What streams write is counted as they write it. That is an estimate (a type that is closed is not counted off), and who would go by it looks at the store
//! first: see [`super::writer`].

use std::sync::atomic::{AtomicU64, Ordering};

use armadex_storage::Written;

/// A tenth more than there may be.
const BEYOND: u64 = 10;

/// The objects of one cluster.
#[derive(Debug)]
pub(crate) struct ClusterObjects {
    most: u64,
    stored: AtomicU64,
}

impl ClusterObjects {
    /// None yet, of so many; 0: of any number.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most: if most == 0 { u64::MAX } else { most },
            stored: AtomicU64::new(0),
        }
    }

    /// So many may be there.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The store was seen to have so many.
    pub(crate) fn are(&self, stored: u64) {
        self.stored.store(stored, Ordering::Relaxed);
    }

    /// This came of a batch.
    pub(crate) fn wrote(&self, written: Written) {
        let Written { added, deleted, .. } = written;
        let count = |stored: u64| Some(stored.saturating_add(added).saturating_sub(deleted));
        // `Err` only if the function says so, which it never does.
        let _ = self
            .stored
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
    }

    /// Whether there is room for no more, as far as is known.
    pub(crate) fn fill_it(&self) -> bool {
        self.stored.load(Ordering::Relaxed) >= self.most
    }

    /// Whether there are so many more than there may be that nothing is written any more that may add some: each stream that finds the cluster full has
    /// written a batch by then, and tries again by and by.
    pub(crate) fn overflow_it(&self) -> bool {
        let beyond = self.most.saturating_add(self.most / BEYOND);
        self.stored.load(Ordering::Relaxed) > beyond
    }
}

/// What the store has of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) all: u64,
    /// Those of the type that is asked about.
    pub(crate) own: u64,
}

impl Stored {
    /// What there is when the type has so many.
    pub(crate) fn with(self, own: u64) -> u64 {
        self.all.saturating_sub(self.own).saturating_add(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(added: u64, deleted: u64) -> Written {
        Written {
            added,
            deleted,
            changed: 3,
            unchanged: 4,
        }
    }

    #[test]
    fn what_comes_and_goes_is_counted() {
        let objects = ClusterObjects::new(10);
        objects.are(7);
        objects.wrote(written(2, 0));
        assert!(!objects.fill_it());
        objects.wrote(written(4, 2));
        assert!(objects.fill_it());
        assert!(!objects.overflow_it(), "11 of 10 are a tenth more");
        objects.wrote(written(1, 0));
        assert!(objects.overflow_it());
        objects.wrote(written(0, 50));
        objects.wrote(written(9, 0));
        assert!(!objects.fill_it(), "there are never fewer than none");
    }

    #[test]
    fn whatever_a_member_says_is_added() {
        let stored = Stored { all: 10, own: 4 };
        assert_eq!(
            [0, 5, u64::MAX].map(|own| stored.with(own)),
            [6, 11, u64::MAX]
        );
    }

    #[test]
    fn without_a_limit_any_number_has_room() {
        let objects = ClusterObjects::new(0);
        objects.are(u64::MAX - 1);
        assert!(!objects.fill_it() && !objects.overflow_it());
    }
}
