//! How many objects a cluster may have in the store, all its types together: how many a member has is for the member to say.
//!
//! What streams write is counted as they write it. That is an estimate (a type that is closed is not counted off), and who would go by it looks at the store
//! first: see [`super::writer`].

use std::sync::atomic::{AtomicU64, Ordering};

use armadex_storage::Written;

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
}

/// What the store has of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) all: u64,
    /// Those of the type that is asked about.
    pub(crate) own: u64,
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
        objects.wrote(written(3, 2));
        assert!(objects.fill_it());
        objects.wrote(written(0, 50));
        objects.wrote(written(9, 0));
        assert!(!objects.fill_it(), "there are never fewer than none");
    }

    #[test]
    fn without_a_limit_any_number_has_room() {
        let objects = ClusterObjects::new(0);
        objects.are(u64::MAX - 1);
        assert!(!objects.fill_it());
    }
}
