//! Sets of object ids as sorted lists, and their algebra.

/// How much longer one side must be before searching it beats walking both.
const SEARCH_RATIO: usize = 16;

/// A strictly increasing list of object ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet(Vec<i64>);

impl IdSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// For lists that are known to increase.
    pub(crate) fn from_increasing(ids: Vec<i64>) -> Self {
        debug_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        Self(ids)
    }

    /// The ids in order.
    #[must_use]
    pub fn as_slice(&self) -> &[i64] {
        &self.0
    }

    /// How many ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `id` is in the set.
    #[must_use]
    pub fn contains(&self, id: i64) -> bool {
        self.0.binary_search(&id).is_ok()
    }

    /// The least id.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        self.0.first().copied()
    }

    /// The greatest id.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.0.last().copied()
    }

    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        if a.last() < b.first() || b.is_empty() {
            return Self([a.as_slice(), b.as_slice()].concat());
        }
        let mut out = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            let (x, y) = (a[i], b[j]);
            out.push(x.min(y));
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        out.extend_from_slice(&a[i..]);
        out.extend_from_slice(&b[j..]);
        Self(out)
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (short, long) = if self.len() <= other.len() {
            (self, other)
        } else {
            (other, self)
        };
        short.retain(long, true)
    }

    /// What is in this one and not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.retain(other, false)
    }

    /// The ids whose presence in `other` is `wanted`.
    fn retain(&self, other: &Self, wanted: bool) -> Self {
        let mut rest = other.0.as_slice();
        let search = other.len() / SEARCH_RATIO > self.len();
        let keep = |&&id: &&i64| {
            let skip = if search {
                rest.partition_point(|&o| o < id)
            } else {
                rest.iter().take_while(|&&o| o < id).count()
            };
            rest = &rest[skip..];
            (rest.first() == Some(&id)) == wanted
        };
        Self(self.0.iter().filter(keep).copied().collect())
    }
}

impl FromIterator<i64> for IdSet {
    /// Takes ids in any order; repeated ones count once.
    fn from_iter<I: IntoIterator<Item = i64>>(ids: I) -> Self {
        let mut ids: Vec<i64> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sets() -> impl Strategy<Value = BTreeSet<i64>> {
        prop_oneof![
            proptest::collection::btree_set(0..200_i64, 0..20),
            proptest::collection::btree_set(0..2000_i64, 0..600),
        ]
    }

    fn collect<'a>(ids: impl Iterator<Item = &'a i64>) -> IdSet {
        ids.copied().collect()
    }

    proptest! {
        #[test]
        fn the_algebra_is_that_of_sets(a in sets(), b in sets()) {
            let (x, y) = (collect(a.iter()), collect(b.iter()));
            prop_assert_eq!(x.union(&y), collect(a.union(&b)));
            prop_assert_eq!(x.intersection(&y), collect(a.intersection(&b)));
            prop_assert_eq!(x.difference(&y), collect(a.difference(&b)));
            prop_assert!((0..200).all(|id| x.contains(id) == a.contains(&id)));
        }
    }
}
