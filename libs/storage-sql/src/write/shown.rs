//! Rows that come and go in lists without being written: those of a cluster that leaves or returns, of a type that is closed, opened again or told
//! anew. Lists of one revision are alike, so each of these takes a revision. The log says which rows are meant; it is pruned like a tombstone.

use std::collections::BTreeSet;

use crate::form::namespace_id::ids_of;
use crate::sql::object::{Operation, VersionRow};

/// The number of no type: all that a cluster has is meant.
pub(crate) const EVERY_TYPE: i32 = 0;

/// The number of no object.
const NO_OBJECT: i64 = 0;

/// Clusters and types of which a transaction shows other rows than before.
#[derive(Debug, Default)]
pub(crate) struct Shown(BTreeSet<(i64, i32)>);

impl Shown {
    /// All rows of a cluster are shown, or hidden.
    pub(crate) fn cluster(&mut self, cluster: i64) {
        self.0.insert((cluster, EVERY_TYPE));
    }

    /// The rows of a stream are shown, hidden, or served as another kind.
    pub(crate) fn stream(&mut self, cluster: i64, resource: i32) {
        self.0.insert((cluster, resource));
    }

    /// How many revisions that takes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What the log says of it.
    pub(crate) fn versions<'a>(
        &'a self,
        revisions: impl Iterator<Item = i64>,
    ) -> impl Iterator<Item = VersionRow<'a>> {
        self.0
            .iter()
            .zip(revisions)
            .map(|(&(cluster, resource), rev)| version((cluster, resource), rev))
    }
}

fn version<'a>((cluster, resource): (i64, i32), rev: i64) -> VersionRow<'a> {
    VersionRow {
        rev,
        prev_rev: 0,
        object: NO_OBJECT,
        operation: Operation::Delete,
        resource,
        nsid: ids_of(cluster).0,
        name: "",
        dictionary: 0,
        terms: Vec::new(),
        body: &[],
    }
}
