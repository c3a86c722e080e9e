//! What there is to mend, and what a step of it came to.

use std::collections::BTreeSet;
use std::fmt;

use crate::form::namespace_id::cluster_of;
use crate::form::term::TermHasher;

/// What is to be made anew.
pub(crate) enum Mending {
    /// Dictionaries with which nothing can be unpacked any more. Who still packs with one of them, from memory, begins anew.
    Dictionaries(Vec<i64>),
    /// The index and the counter of a type in a namespace.
    Place(PlaceMending),
    /// How many types a namespace has.
    Namespace(i64),
    /// How many objects a stream has; one that is missing is made, closed.
    Stream { cluster: i64, resource: i32 },
    /// What is noted of the log: the periodic work counts it anew.
    Notes,
    /// What types say of their histories: they are whole from where the log begins.
    Histories,
    /// The log: it begins anew, with nothing in it.
    Log,
    /// What was in a log that has begun anew.
    Orphans(Orphans),
}

/// What a step came to.
pub(crate) struct Step {
    /// How many objects had to be removed.
    pub(crate) removed: u64,
    /// What is left to do.
    pub(crate) next: Option<Mending>,
}

impl Step {
    pub(super) const LAST: Self = Self {
        removed: 0,
        next: None,
    };

    pub(super) fn before(next: Mending) -> Self {
        Self {
            removed: 0,
            next: Some(next),
        }
    }
}

/// Nothing of the key that terms are hashed with.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut step = f.debug_struct("Step");
        step.field("removed", &self.removed).finish_non_exhaustive()
    }
}

/// A type in a namespace that is to be made anew.
pub(crate) struct PlaceMending {
    pub(crate) resource: i32,
    pub(crate) nsid: i64,
    /// What the namespace is called by its counters, where it has no row of its own.
    pub(crate) lost_name: Option<String>,
    /// Terms by which there are blocks.
    pub(crate) terms: BTreeSet<i64>,
    /// Revisions of objects whose bodies cannot be unpacked.
    pub(crate) unreadable: BTreeSet<i64>,
    pub(crate) hasher: TermHasher,
}

impl PlaceMending {
    pub(super) fn key(&self) -> (i32, i64) {
        (self.resource, self.nsid)
    }

    pub(super) fn cluster(&self) -> i64 {
        cluster_of(self.nsid)
    }
}

/// Versions of a log that has begun anew, which no object has.
pub(crate) struct Orphans {
    /// Those up to this revision are gone.
    pub(super) after: i64,
    /// Where the log has begun anew.
    pub(super) until: i64,
    /// As far as the new log was read.
    pub(super) read: i64,
    /// Of the former versions those that were superseded since: they are kept for the watch window, as any.
    pub(super) superseded: BTreeSet<i64>,
}
