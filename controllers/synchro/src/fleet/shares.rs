//! Which of the replicas of a shard looks after a cluster: rendezvous hashing by the cluster's name, with weights. Pure.
//!
//! Each replica draws a number for the cluster, and the highest has it. So all who know the same replicas agree without a word, one that comes takes
//! its share from all others and one that goes leaves its own to them, and nothing moves between those who stay.

use std::collections::BTreeMap;

use armadex_model::rules::digest;

/// The replica that has a cluster; `None` where there is none. Takes the weight of each by its number: twice the weight is twice the clusters.
pub(crate) fn holder_of(cluster: &str, weights: &BTreeMap<u32, u32>) -> Option<u32> {
    let seed = digest(cluster);
    let drawn = weights.iter().map(|(replica, weight)| {
        let score = f64::from(*weight) / -draw(seed, *replica).ln();
        (score, *replica)
    });
    let highest = drawn.max_by(|(one, _), (other, _)| one.total_cmp(other));
    highest.map(|(_, replica)| replica)
}

/// Whether a replica may have clusters after a change that it did not have before.
pub(crate) fn may_gain(
    replica: u32,
    before: &BTreeMap<u32, u32>,
    after: &BTreeMap<u32, u32>,
) -> bool {
    let Some(own) = before.get(&replica) else {
        return after.contains_key(&replica);
    };
    let weighs_more = after.get(&replica).is_some_and(|after| after > own);
    let mut others = before.iter().filter(|(other, _)| **other != replica);
    weighs_more || others.any(|(other, before)| after.get(other).is_none_or(|after| after < before))
}

/// What a replica draws for a cluster, between 0 and 1, neither included. The same in all releases, or replicas of two would not agree: `SplitMix64`.
fn draw(seed: u64, replica: u32) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = seed.wrapping_add(STEP.wrapping_mul(u64::from(replica) + 1));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // Half of its bits: of as many clusters as there are no two replicas draw the same.
    let kept = u32::try_from(mixed >> 32).expect("32 bits");
    (f64::from(kept) + 0.5) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Clusters of one fleet.
    const CLUSTERS: usize = 4000;

    fn names(prefix: &str) -> Vec<String> {
        (0..CLUSTERS)
            .map(|number| format!("{prefix}{number}"))
            .collect()
    }

    fn holders(names: &[String], weights: &BTreeMap<u32, u32>) -> Vec<u32> {
        let holder = |name: &String| holder_of(name, weights).expect("a replica");
        names.iter().map(holder).collect()
    }

    /// Five times what chance makes of so many of all clusters.
    fn is_about(count: usize, share: f64) -> bool {
        let all = CLUSTERS as f64;
        let deviation = (all * share * (1.0 - share)).sqrt();
        (count as f64 - all * share).abs() <= 5.0 * deviation + 1.0
    }

    fn share_of(replica: u32, weights: &BTreeMap<u32, u32>) -> f64 {
        f64::from(weights[&replica]) / f64::from(weights.values().sum::<u32>())
    }

    fn replicas() -> impl Strategy<Value = BTreeMap<u32, u32>> {
        proptest::collection::btree_map(0..50_u32, 50..=200_u32, 2..9)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn who_comes_takes_a_fair_share_and_nothing_moves_between_others(
            prefix in "[a-z]{0,12}-?",
            all in replicas(),
            which in any::<prop::sample::Index>(),
        ) {
            let names = names(&prefix);
            let comes = *which.get(&Vec::from_iter(all.keys().copied()));
            let mut before = all.clone();
            before.remove(&comes);
            let (before, after) = (holders(&names, &before), holders(&names, &all));
            let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
            let (to, count) = moved.fold((true, 0), |(to, count), (_, after)| {
                (to && *after == comes, count + 1)
            });
            // Read the other way round: who goes leaves its own to the others, and nothing else moves.
            prop_assert!(to, "something moved between others");
            prop_assert!(is_about(count, share_of(comes, &all)), "{count} of {all:?}");
        }

        #[test]
        fn clusters_are_as_many_as_the_weight_is(prefix in "[a-z]{0,12}-?", all in replicas()) {
            let holders = holders(&names(&prefix), &all);
            for replica in all.keys() {
                let count = holders.iter().filter(|holder| *holder == replica).count();
                prop_assert!(is_about(count, share_of(*replica, &all)), "{replica}: {count} of {all:?}");
            }
        }

        #[test]
        fn who_weighs_more_keeps_what_it_has(
            all in replicas(),
            which in any::<prop::sample::Index>(),
            more in 1..100_u32,
        ) {
            let names = names("m");
            let heavier = *which.get(&Vec::from_iter(all.keys().copied()));
            let mut after = all.clone();
            *after.get_mut(&heavier).expect("one of them") += more;
            let (before, after) = (holders(&names, &all), holders(&names, &after));
            for (before, after) in before.iter().zip(&after) {
                prop_assert!(before == after || *after == heavier);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn who_may_gain_nothing_has_nothing_that_it_did_not_have(
            before in replicas(),
            change in replicas(),
            goes in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            let names = names("m");
            let mut after = before.clone();
            after.extend(&change);
            if let Some(goes) = goes {
                after.remove(goes.get(&Vec::from_iter(before.keys().copied())));
            }
            let holders_of = [&before, &after].map(|weights| holders(&names, weights));
            let [had, has] = &holders_of;
            for replica in before.keys().chain(after.keys()) {
                let has_gained = had.iter().zip(has).any(|(had, has)| had != replica && has == replica);
                prop_assert!(!has_gained || may_gain(*replica, &before, &after), "{replica}");
            }
        }
    }

    #[test]
    fn who_only_loses_gains_nothing() {
        let two = BTreeMap::from([(0, 100), (1, 90)]);
        let check = |after: &[(u32, u32)], expected: [bool; 2]| {
            let after = after.iter().copied().collect();
            let may = [0, 1].map(|replica| may_gain(replica, &two, &after));
            assert_eq!(may, expected, "{after:?}");
        };
        check(&[(0, 100), (1, 90), (2, 100)], [false, false]);
        check(&[(0, 100)], [true, false]);
        check(&[(0, 90), (1, 90)], [false, true]);
        check(&[(0, 100), (1, 100)], [false, true]);
        check(&[(0, 100), (2, 100)], [true, false]);
        assert!(may_gain(0, &BTreeMap::new(), &two), "who comes");
    }

    #[test]
    fn who_has_a_cluster_is_the_same_in_all_releases() {
        let three = BTreeMap::from([(0, 100), (1, 100), (2, 100)]);
        let holders = ["", "m", "member1", "member2", "member3", "production-eu"]
            .map(|cluster| holder_of(cluster, &three));
        assert_eq!(holders, [0, 0, 2, 1, 1, 1].map(Some));
        assert_eq!(holder_of("m", &BTreeMap::new()), None);
        assert_eq!(holder_of("m", &BTreeMap::from([(7, 50)])), Some(7));
    }
}
