//! What this process asked for in transactions whose commits were not answered: each may be under way, and land behind whatever is looked at. What depends on it is held before it
//! is looked at.

use std::collections::BTreeSet;

/// Clusters of which something may be under way, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    /// Of whose health or labels something was said.
    said: BTreeSet<i64>,
    /// Of which streams were opened.
    opened: BTreeSet<i64>,
}

impl Unanswered {
    /// A commit with that was not answered.
    pub(crate) fn note(
        &mut self,
        said: impl Iterator<Item = i64>,
        opened: impl Iterator<Item = i64>,
    ) {
        self.said.extend(said);
        self.opened.extend(opened);
    }

    /// A commit was answered that waited for whatever was under way of these.
    pub(crate) fn settle(
        &mut self,
        said: impl Iterator<Item = i64>,
        opened: impl Iterator<Item = i64>,
    ) {
        for cluster in said {
            self.said.remove(&cluster);
        }
        for cluster in opened {
            self.opened.remove(&cluster);
        }
    }

    /// Whether what was said of a cluster before may be under way.
    pub(crate) fn may_say(&self, cluster: i64) -> bool {
        self.said.contains(&cluster)
    }

    /// Whether a stream of a cluster may be about to be opened.
    pub(crate) fn may_open(&self, cluster: i64) -> bool {
        self.opened.contains(&cluster)
    }
}
