use super::*;
use crate::form::term::TermHasher;

const PODS: i32 = 3;
const KEY: i64 = 7;
const ENOUGH: u32 = 1000;

/// A value as the store numbers it.
fn value(number: u64) -> i64 {
    TermHasher::new([7; 16]).term(&armadex_model::Term::Owner {
        uid: number.to_string(),
    })
}

fn keys() -> LabelKeys {
    LabelKeys::new(ENOUGH)
}

/// Notes objects, each of its own cluster and value.
fn note(
    keys: &mut LabelKeys,
    count: u64,
    cluster: impl Fn(u64) -> i64,
    named: impl Fn(u64) -> u64,
) {
    for object in 0..count {
        let label = Label {
            key: KEY,
            value: value(named(object)),
        };
        keys.note(PODS, cluster(object), &[label]);
    }
}

#[test]
fn values_of_their_own_in_several_clusters_are_learnt_from_one_sample() {
    let mut keys = keys();
    let cluster = |object| i64::from(object % 2 == 0);
    note(&mut keys, 999, cluster, |object| object);
    assert_eq!(keys.decide(), []);
    note(&mut keys, 1, cluster, |_| 1_000_000);
    assert_eq!(keys.decide(), [(PODS, KEY)]);
    assert!(keys.unposted(PODS).contains_key(&KEY));
    assert!(keys.unposted(4).is_empty());
}

#[test]
fn what_repeats_in_each_cluster_is_never_learnt() {
    let mut keys = keys();
    // The second cluster has what the first has.
    note(
        &mut keys,
        20_000,
        |object| i64::from(object % 2 == 0),
        |object| object / 2,
    );
    assert_eq!(keys.decide(), []);
}

#[test]
fn one_cluster_has_to_show_it_for_longer() {
    let mut keys = keys();
    note(&mut keys, 15_999, |_| 1, |object| object);
    assert_eq!(keys.decide(), []);
    note(&mut keys, 1, |_| 1, |_| 1_000_000);
    assert_eq!(keys.decide(), [(PODS, KEY)]);
}

#[test]
fn a_sample_that_repeats_begins_the_count_anew() {
    let mut keys = keys();
    note(&mut keys, 15_000, |_| 1, |object| object);
    note(&mut keys, 1000, |_| 1, |object| object % 10);
    note(&mut keys, 15_000, |_| 1, |object| object);
    assert_eq!(keys.decide(), []);
}

#[test]
fn what_was_not_stored_is_due_again() {
    let mut keys = keys();
    note(
        &mut keys,
        1000,
        |object| i64::from(object % 2 == 0),
        |object| object,
    );
    let decided = keys.decide();
    keys.undo(decided);
    assert!(keys.unposted(PODS).is_empty());
    assert_eq!(keys.decide(), [(PODS, KEY)]);
}

#[test]
fn many_keys_take_no_more_memory_and_the_common_ones_stay() {
    let mut keys = keys();
    let label = |key| [Label { key, value: 1 }];
    for _ in 0..3 {
        keys.note(PODS, 1, &label(KEY));
    }
    for key in 1000..10_000 {
        keys.note(PODS, 1, &label(key));
    }
    assert!(keys.samples.len() <= MOST_SAMPLES);
    assert!(keys.samples.contains_key(&(PODS, KEY)));
}

#[test]
fn few_keys_of_a_type_go_unposted() {
    let mut keys = LabelKeys::new(1);
    for key in 0..200 {
        keys.note(PODS, 1, &[Label { key, value: 1 }]);
        keys.note(PODS, 2, &[Label { key, value: 2 }]);
        keys.decide();
    }
    assert_eq!(keys.unposted(PODS).len(), 64);
}

#[test]
fn the_revision_of_a_decision_is_that_of_the_transaction_that_wrote_it() {
    let mut keys = keys();
    note(
        &mut keys,
        1000,
        |object| i64::from(object % 2 == 0),
        |object| object,
    );
    keys.decide();
    assert_eq!(keys.unposted(PODS)[&KEY], i64::MAX);
    keys.settle(40);
    keys.settle(50);
    assert_eq!(keys.unposted(PODS)[&KEY], 40);
    assert_eq!(keys.anew(), [(PODS, KEY)]);
    keys.settle(60);
    assert_eq!(keys.unposted(PODS)[&KEY], 60);
}
