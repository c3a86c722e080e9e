//! Numbers that sort as names do.
//!
//! A cluster is a slot of 2^37 namespace ids, a namespace one id in its cluster's slot. Both are handed out so that, as long as there is
//! room between neighbours, a greater name has a greater number; the numbers are the page order. Where a gap is used up the order
//! stays total, it is only no longer alphabetical.

use std::ops::Range;

/// Bits of a namespace id that belong to the namespace.
const NAMESPACE_BITS: u32 = 37;
/// 2^26 slots use the positive 63 bits of an id up; the last is left out, so that every slot has an end.
const CLUSTER_SLOTS: Range<i64> = 0..(1 << (63 - NAMESPACE_BITS)) - 1;
/// Room for 2,048 clusters on each side of the first, and 14 halvings between any two.
const CLUSTER_STRIDE: i64 = 1 << 14;
/// Room for 524,288 namespaces on each side of the first, and 17 halvings between any two.
const NAMESPACE_STRIDE: i64 = 1 << 17;

/// A number for a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Between its neighbours. Once something lies out of order this may be taken: then ask for any free one.
    InOrder(i64),
    /// The gap between its neighbours is used up: ask for any free one.
    NoGap,
}

/// The namespace ids of a slot.
pub(crate) fn slot_range(slot: i64) -> Range<i64> {
    slot << NAMESPACE_BITS..(slot + 1) << NAMESPACE_BITS
}

/// A slot for a cluster whose name lies between those of two slots.
pub(crate) fn cluster_slot(previous: Option<i64>, next: Option<i64>) -> Place {
    between(previous, next, &CLUSTER_SLOTS, CLUSTER_STRIDE)
}

/// Any free slot; `taken` is sorted.
pub(crate) fn any_cluster_slot(taken: &[i64]) -> Option<i64> {
    anywhere(taken, &CLUSTER_SLOTS)
}

/// An id for a namespace whose name lies between those of two ids of the same slot.
pub(crate) fn namespace_id(slot: i64, previous: Option<i64>, next: Option<i64>) -> Place {
    between(previous, next, &slot_range(slot), NAMESPACE_STRIDE)
}

/// Any free id of a slot; `taken` is sorted.
pub(crate) fn any_namespace_id(slot: i64, taken: &[i64]) -> Option<i64> {
    anywhere(taken, &slot_range(slot))
}

/// One stride beyond an end, the middle between two neighbours, the middle of everything for the first.
fn between(previous: Option<i64>, next: Option<i64>, space: &Range<i64>, stride: i64) -> Place {
    let low = previous.unwrap_or(space.start - 1);
    let high = next.unwrap_or(space.end);
    let gap = high.saturating_sub(low);
    if gap < 2 {
        return Place::NoGap;
    }
    Place::InOrder(match (previous, next) {
        (Some(_), None) => low + stride.min(gap / 2),
        (None, Some(_)) => high - stride.min(gap / 2),
        _ => low + gap / 2,
    })
}

/// The middle of the widest gap.
fn anywhere(taken: &[i64], space: &Range<i64>) -> Option<i64> {
    let lows = std::iter::once(space.start - 1).chain(taken.iter().copied());
    let highs = taken.iter().copied().chain(std::iter::once(space.end));
    let (gap, low) = lows
        .zip(highs)
        .map(|(low, high)| (high - low, low))
        .max_by_key(|&(gap, _)| gap)?;
    (gap >= 2).then_some(low + gap / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Hands a number to each name in turn, as a store does, and counts those out of order.
    fn allocate(names: &[u32], space: Range<i64>, stride: i64) -> (BTreeMap<u32, i64>, usize) {
        let mut given = BTreeMap::new();
        let mut disordered = 0;
        for &name in names {
            let previous = given.range(..name).next_back().map(|(_, &n)| n);
            let next = given.range(name + 1..).next().map(|(_, &n)| n);
            let number = match between(previous, next, &space, stride) {
                Place::InOrder(number) if !given.values().any(|&n| n == number) => number,
                _ => {
                    disordered += 1;
                    let mut taken: Vec<i64> = given.values().copied().collect();
                    taken.sort_unstable();
                    anywhere(&taken, &space).expect("room")
                }
            };
            assert!(space.contains(&number));
            given.entry(name).or_insert(number);
        }
        (given, disordered)
    }

    fn distinct(given: &BTreeMap<u32, i64>) -> bool {
        let mut numbers: Vec<i64> = given.values().copied().collect();
        numbers.sort_unstable();
        numbers.windows(2).all(|pair| pair[0] < pair[1])
    }

    proptest! {
        #[test]
        fn numbers_are_distinct_and_in_order_until_a_gap_is_used_up(
            names in proptest::collection::btree_set(any::<u32>(), 0..60)
                .prop_map(|names| names.into_iter().collect::<Vec<_>>())
                .prop_shuffle(),
            small in any::<bool>(),
        ) {
            let (space, stride) = if small { (0..64, 4) } else { (CLUSTER_SLOTS, CLUSTER_STRIDE) };
            let (given, disordered) = allocate(&names, space, stride);
            prop_assert!(distinct(&given));
            let sorted = given.values().collect::<Vec<_>>().windows(2).all(|p| p[0] < p[1]);
            prop_assert!(sorted || disordered > 0);
        }
    }

    #[test]
    fn names_that_come_in_order_keep_their_order() {
        let ascending: Vec<u32> = (0..2000).collect();
        let descending: Vec<u32> = (0..2000).rev().collect();
        for names in [ascending, descending] {
            assert_eq!(allocate(&names, CLUSTER_SLOTS, CLUSTER_STRIDE).1, 0);
        }
    }

    #[test]
    fn a_slot_is_used_to_its_last_id() {
        let names: Vec<u32> = (0..8).collect();
        let (given, _) = allocate(&names, 0..8, 4);
        assert!(distinct(&given));
        assert_eq!(anywhere(&[0, 1, 2, 3, 4, 5, 6, 7], &(0..8)), None);
    }

    #[test]
    fn no_slot_leaves_the_ids() {
        let last = slot_range(CLUSTER_SLOTS.end - 1);
        assert_eq!(last.end.checked_add(1 << NAMESPACE_BITS), None);
        assert_eq!(last.end - last.start, 1 << NAMESPACE_BITS);
    }
}
