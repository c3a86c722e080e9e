//! The streams of which this process has stored every object since there was none. What others have stored says nothing to who has not met it, and is not asked for: several
//! processes fill a store, and each may end in the middle. A stream is known by its epoch: one that somebody else has taken over meanwhile is none of these. Pure, and of a
//! bounded size.

use std::collections::{BTreeMap, HashMap};

use crate::form::namespace_id::ids_of;

/// Streams that are remembered, some 24 bytes each: ten thousand clusters of some 25 types. Then it begins anew: what was met stays met, and which streams there still are
/// nobody says.
const MOST: usize = 1 << 18;

/// Such streams.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// The clusters of each type, and the epoch of the stream of each.
    clusters: HashMap<i32, BTreeMap<i64, i64>>,
    count: usize,
}

impl Begun {
    /// A stream has no object yet.
    pub(super) fn begins(&mut self, resource: i32, cluster: i64, epoch: i64) {
        if self.count == MOST && !self.has(resource, cluster) {
            *self = Self::default();
        }
        let clusters = self.clusters.entry(resource).or_default();
        if clusters.insert(cluster, epoch).is_none() {
            self.count += 1;
        }
    }

    /// This process opens a stream once more, which had this epoch before.
    pub(super) fn goes_on(&mut self, resource: i32, cluster: i64, former: i64, epoch: i64) {
        let clusters = self.clusters.get_mut(&resource);
        let known = clusters.and_then(|clusters| clusters.get_mut(&cluster));
        if let Some(known) = known.filter(|known| **known == former) {
            *known = epoch;
        }
    }

    pub(super) fn has(&self, resource: i32, cluster: i64) -> bool {
        let clusters = self.clusters.get(&resource);
        clusters.is_some_and(|clusters| clusters.contains_key(&cluster))
    }

    /// Those of a type, by cluster.
    pub(super) fn of_type(&self, resource: i32) -> impl Iterator<Item = (i64, i32)> {
        let clusters = self.clusters.get(&resource).into_iter().flatten();
        clusters.map(move |(cluster, _)| (*cluster, resource))
    }

    /// Forgets those of a type that have another epoch now, or are not there any more.
    pub(super) fn keep(&mut self, resource: i32, epochs: &HashMap<i64, i64>) {
        if let Some(clusters) = self.clusters.get_mut(&resource) {
            self.count -= clusters.len();
            clusters.retain(|cluster, epoch| epochs.get(cluster) == Some(epoch));
            self.count += clusters.len();
        }
    }

    /// The namespace ids of those of a type, in as few ranges as they are in.
    pub(super) fn ranges(&self, resource: i32) -> Vec<(i64, i64)> {
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        let clusters = self.clusters.get(&resource).into_iter().flatten();
        for (&cluster, _) in clusters {
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
            begun.begins(1, cluster, 1);
        }
        let range = |first, last| (ids_of(first).0, ids_of(last).1);
        assert_eq!(begun.ranges(1), [range(3, 5), range(7, 7), range(9, 9)]);
        assert_eq!(begun.ranges(2), []);
        assert_eq!(begun.count, 5);
        assert!(begun.has(1, 9) && !begun.has(2, 9) && !begun.has(1, 8));
    }

    #[test]
    fn one_that_somebody_else_took_over_is_forgotten() {
        let mut begun = Begun::default();
        for cluster in 1..=4 {
            begun.begins(1, cluster, 10);
        }
        begun.begins(2, 1, 10);
        begun.goes_on(1, 2, 10, 20);
        begun.goes_on(1, 3, 19, 20);
        let epochs = HashMap::from([(1, 10), (2, 20), (3, 20)]);
        begun.keep(1, &epochs);
        let kept = Vec::from_iter((1..=4).filter(|cluster| begun.has(1, *cluster)));
        assert_eq!((&kept[..], begun.count), (&[1, 2][..], 3));
        begun.keep(3, &epochs);
        assert_eq!(begun.count, 3);
    }
}
