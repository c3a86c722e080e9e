//! What this process asked for in transactions whose commits were not answered: each may be under way, and land behind whatever is looked at. What depends on it is held before it
//! is looked at.

use std::collections::BTreeSet;

use armadex_model::ClusterName;

/// Clusters of which something may be under way.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    /// Of whose health or labels something was said.
    said: BTreeSet<i64>,
    /// Of which streams were opened.
    opened: BTreeSet<i64>,
    /// That were to join.
    joining: BTreeSet<ClusterName>,
}

impl Unanswered {
    /// A commit with that was not answered.
    pub(crate) fn note<'a>(
        &mut self,
        said: impl Iterator<Item = i64>,
        opened: impl Iterator<Item = i64>,
        joining: impl Iterator<Item = &'a ClusterName>,
    ) {
        self.said.extend(said);
        self.opened.extend(opened);
        self.joining.extend(joining.cloned());
    }

    /// A commit was answered that waited for whatever was under way of these.
    pub(crate) fn settle<'a>(
        &mut self,
        said: impl Iterator<Item = i64>,
        opened: impl Iterator<Item = i64>,
        leaving: impl Iterator<Item = &'a ClusterName>,
    ) {
        for cluster in said {
            self.said.remove(&cluster);
        }
        for cluster in opened {
            self.opened.remove(&cluster);
        }
        for name in leaving {
            self.joining.remove(name);
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

    /// Whether a cluster of this name may be about to join.
    pub(crate) fn may_join(&self, name: &ClusterName) -> bool {
        self.joining.contains(name)
    }
}
