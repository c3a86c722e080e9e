//! The streams of which this process has stored every object since there was none. What others have stored says nothing to who has not met it, and is not asked for: several
//! processes fill a store, and each may end in the middle. Pure, and of a bounded size.

use std::collections::{BTreeSet, HashMap};

use crate::form::namespace_id::ids_of;

/// Streams that are remembered, some 16 bytes each: ten thousand clusters of some 25 types. Of others no label is counted.
const MOST: usize = 1 << 18;

/// Such streams.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// The clusters of each type.
    clusters: HashMap<i32, BTreeSet<i64>>,
    count: usize,
}

impl Begun {
    /// A stream has no object yet.
    pub(super) fn begins(&mut self, resource: i32, cluster: i64) {
        if self.count < MOST && self.clusters.entry(resource).or_default().insert(cluster) {
            self.count += 1;
        }
    }

    pub(super) fn has(&self, resource: i32, cluster: i64) -> bool {
        let clusters = self.clusters.get(&resource);
        clusters.is_some_and(|clusters| clusters.contains(&cluster))
    }

    /// The namespace ids of those of a type, in as few ranges as they are in.
    pub(super) fn ranges(&self, resource: i32) -> Vec<(i64, i64)> {
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for &cluster in self.clusters.get(&resource).into_iter().flatten() {
            let (first, end) = ids_of(cluster);
            match ranges.last_mut() {
                Some(last) if last.1 == first => last.1 = end,
                _ => ranges.push((first, end)),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_that_follow_each_other_are_one_range() {
        let mut begun = Begun::default();
        for cluster in [7, 3, 4, 5, 9, 4] {
            begun.begins(1, cluster);
        }
        let range = |first, last| (ids_of(first).0, ids_of(last).1);
        assert_eq!(begun.ranges(1), [range(3, 5), range(7, 7), range(9, 9)]);
        assert_eq!(begun.ranges(2), []);
        assert_eq!(begun.count, 5);
        assert!(begun.has(1, 9) && !begun.has(2, 9) && !begun.has(1, 8));
    }
}
