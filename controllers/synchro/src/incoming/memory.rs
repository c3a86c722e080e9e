//! What one cluster may hold of the memory that all share, whichever connection its streams have.

use std::sync::Arc;

use crate::incoming::budget::Share;
use crate::incoming::unfinished::OfCluster;

/// The memory of one cluster.
#[derive(Debug)]
pub(crate) struct ClusterMemory {
    /// On the way to the store.
    pub(crate) budget: Share,
    /// Of what has not come in as a whole.
    pub(crate) unfinished: Arc<OfCluster>,
}

#[cfg(test)]
impl ClusterMemory {
    /// 1 MiB, which nobody else takes of.
    pub(crate) fn of_nobody_else() -> Arc<Self> {
        use crate::incoming::budget::Budget;
        use crate::incoming::unfinished::Unfinished;

        const BYTES: usize = 1 << 20;
        Arc::new(Self {
            budget: Budget::new(BYTES).share(),
            unfinished: Arc::new(Unfinished::new(BYTES)).of_cluster(),
        })
    }
}
