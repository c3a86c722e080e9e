//! Which API servers of a member know lists that come as the beginning of a watch.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::lock::lock;

/// Which API servers of a member know such lists: those of Kubernetes may, and an aggregated one not. Asked by group, as that says whose a resource is.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Groups whose servers refused one.
    refused: Mutex<BTreeSet<String>>,
}

impl Known {
    /// Whether it did.
    pub(super) fn is_refused(&self, group: &str) -> bool {
        lock(&self.refused).contains(group)
    }

    /// It did.
    pub(super) fn refuses(&self, group: &str) {
        lock(&self.refused).insert(group.to_owned());
    }
}
