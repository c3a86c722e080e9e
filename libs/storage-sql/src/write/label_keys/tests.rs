use std::ops::Range;

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
    objects: Range<u64>,
    cluster: impl Fn(u64) -> i64,
    named: impl Fn(u64) -> u64,
) {
    for object in objects {
        let label = Label {
            key: KEY,
            value: value(named(object)),
        };
        keys.begins(PODS, cluster(object), 1);
        keys.note(PODS, cluster(object), &[label]);
    }
}

fn two_clusters(object: u64) -> i64 {
    i64::from(object.is_multiple_of(2))
}

/// Decides for all that is due, with as many objects stored.
fn decide(keys: &mut LabelKeys, stored: u64) -> Vec<TypeKey> {
    let due = Vec::from_iter(std::iter::from_fn(|| keys.take_due()));
    let decided = due.into_iter().filter_map(|key| keys.take(key, stored));
    decided.collect()
}

/// What is learnt of objects whose values are given by their number.
#[track_caller]
fn check(objects: u64, cluster: impl Fn(u64) -> i64, named: impl Fn(u64) -> u64, is_learnt: bool) {
    let mut keys = keys();
    note(&mut keys, 0..objects, cluster, named);
    assert_eq!(!keys.due.is_empty(), is_learnt);
}

#[test]
fn values_of_their_own_in_several_clusters_are_learnt_once_there_are_enough() {
    check(999, two_clusters, |object| object, false);
    check(1000, two_clusters, |object| object, true);
    // Most are of one cluster, and not too many.
    check(
        1000,
        |object| i64::from(object.is_multiple_of(3)),
        |object| object,
        true,
    );
}

#[test]
fn one_cluster_has_to_show_it_for_longer_whichever_it_is() {
    check(15_999, |_| 1, |object| object, false);
    check(16_000, |_| 1, |object| object, true);
    check(
        15_999,
        |object| if object == 0 { 1 } else { 2 },
        |object| object,
        false,
    );
    check(
        15_999,
        |object| i64::from(object.is_multiple_of(10)),
        |object| object,
        false,
    );
}

#[test]
fn what_repeats_is_not_learnt_however_far_apart() {
    // In turns, one after the other, and with apps that 20 of 1,000 clusters have, whose objects come cluster by cluster.
    check(40_000, two_clusters, |object| object / 2, false);
    for size in [1000, 5000, 10_000] {
        let cluster = |object| i64::try_from(object / size).expect("few");
        check(64_000, cluster, |object| object % size, false);
    }
    let cluster = |object| i64::try_from(object / 1000).expect("few");
    check(
        1_000_000,
        cluster,
        |object| object % 1000 + object / 20_000 % 50 * 1000,
        false,
    );
}

#[test]
fn nine_of_ten_values_have_to_be_different() {
    let often = |times: u64| {
        move |object: u64| {
            if object.is_multiple_of(times) {
                0
            } else {
                object
            }
        }
    };
    check(64_000, two_clusters, often(20), true);
    // Two of three objects have one value, and those that are followed never came back.
    check(64_000, two_clusters, often(3), false);
    check(
        64_000,
        two_clusters,
        |object| object / 2 + object % 2 * 500_000,
        true,
    );
    check(
        64_000,
        two_clusters,
        |object| {
            if object % 5 < 2 {
                object / 5
            } else {
                object + 500_000
            }
        },
        false,
    );
}

#[test]
fn what_is_stored_has_to_have_been_met() {
    let mut keys = keys();
    note(&mut keys, 0..1000, two_clusters, |object| object);
    assert_eq!(decide(&mut keys, 1200), []);
    note(&mut keys, 1000..1999, two_clusters, |object| object);
    assert_eq!(decide(&mut keys, 1200), []);
    note(&mut keys, 1999..2000, two_clusters, |object| object);
    // Nine of ten do.
    assert_eq!(decide(&mut keys, 2200), [(PODS, KEY)]);
    assert!(keys.unposted(PODS).contains_key(&KEY));
    assert!(keys.unposted(4).is_empty());
    keys.note_committed(Some((PODS, KEY)));
    assert!(keys.samples.is_empty());
}

/// Who begins in the middle does not know what the others are.
#[test]
fn what_a_stream_has_that_others_began_is_not_counted() {
    let mut keys = keys();
    keys.begins(PODS, 1, 1);
    keys.begins(4, 2, 1);
    for object in 0..10 {
        let label = Label {
            key: KEY,
            value: value(object),
        };
        keys.note(PODS, two_clusters(object), &[label]);
    }
    assert_eq!(keys.samples[&(PODS, KEY)].objects(), 5);
    keys.forget(PODS, 2, &[KEY]);
    assert_eq!(keys.samples[&(PODS, KEY)].objects(), 5);
}

/// Somebody makes and deletes objects with a name of their own for a label that others use as it is meant.
#[test]
fn what_is_deleted_decides_nothing() {
    let mut keys = keys();
    note(&mut keys, 0..500, two_clusters, |object| object % 10);
    for round in 0..100 {
        let objects = 1000 + round * 100..1100 + round * 100;
        note(&mut keys, objects.clone(), two_clusters, |object| object);
        for object in objects {
            let mut posted = [KEY, value(object)];
            posted.sort_unstable();
            keys.forget(PODS, two_clusters(object), &posted);
        }
    }
    assert_eq!(keys.samples[&(PODS, KEY)].objects(), 500);
    assert!(keys.due.is_empty());
    // What comes to stay is looked at as before.
    let mut others = self::keys();
    note(&mut others, 0..1001, two_clusters, |object| object);
    assert_eq!(others.due.len(), 1);
}

/// It is asked at each doubling, and not each time that as many are there again.
#[test]
fn what_comes_and_goes_around_a_doubling_is_asked_once() {
    let mut keys = keys();
    note(&mut keys, 0..1000, two_clusters, |object| object);
    assert_eq!(decide(&mut keys, 5000), []);
    for object in 2000..2100 {
        let mut posted = [KEY, value(object - 1000)];
        posted.sort_unstable();
        keys.forget(PODS, two_clusters(object), &posted);
        note(&mut keys, object..object + 1, two_clusters, |object| object);
        assert_eq!(keys.take_due(), None);
    }
    note(&mut keys, 3000..4000, two_clusters, |object| object);
    assert_eq!(keys.take_due(), Some((PODS, KEY)));
}

/// It comes first, and brings three of four objects.
#[test]
fn a_cluster_of_very_many_objects_says_nothing_of_another() {
    let cluster = |object: u64| i64::from(object.is_multiple_of(4));
    let named = |object: u64| match object.is_multiple_of(4) {
        true => object / 4 % 10,
        false => 1000 + object,
    };
    for objects in [1000, 4000, 64_000] {
        check(objects, cluster, named, false);
    }
}

#[test]
fn what_was_not_stored_is_due_again() {
    let mut keys = keys();
    note(&mut keys, 0..1000, two_clusters, |object| object);
    let decided = decide(&mut keys, 1000);
    keys.undo(Some(decided[0]), true);
    assert!(keys.unposted(PODS).is_empty());
    // Whoever can't write what was decided decides nothing more meanwhile.
    assert_eq!(keys.take_due(), None);
    keys.undo(None, true);
    assert_eq!(keys.take_due(), None);
    keys.note_committed(None);
    assert_eq!(keys.take_due(), Some((PODS, KEY)));
    // It may be looked at in vain.
    note(&mut keys, 1000..2000, two_clusters, |object| object);
    assert_eq!(decide(&mut keys, 2000), [(PODS, KEY)]);
    // What is refused for good may be refused for that.
    keys.undo(Some((PODS, KEY)), false);
    keys.note_committed(None);
    assert_eq!(keys.take_due(), None);
}

/// Its number may be somebody else's by the time it is tried again.
#[test]
fn a_stream_that_was_not_opened_after_all_is_known_as_before() {
    let mut keys = keys();
    keys.begins(PODS, 1, 7);
    keys.reopens(PODS, 1, 7, 8);
    keys.undo(None, true);
    keys.reopens(PODS, 1, 7, 9);
    keys.note_committed(None);
    keys.begun.keep(PODS, &HashMap::from([(1, 9)]));
    assert!(keys.begun.has(PODS, 1));
}

#[test]
fn many_keys_take_no_more_memory_and_the_common_ones_stay() {
    let mut keys = keys();
    keys.begins(PODS, 1, 1);
    let label = |key| [Label { key, value: 1 }];
    for _ in 0..3 {
        keys.note(PODS, 1, &label(KEY));
    }
    for key in 1000..10_000 {
        keys.note(PODS, 1, &label(key));
        assert!(keys.samples.len() <= 2048);
    }
    assert!(keys.samples.contains_key(&(PODS, KEY)));
}

#[test]
fn nothing_is_learnt_where_that_is_switched_off() {
    let mut keys = LabelKeys::new(0);
    note(&mut keys, 0..1000, two_clusters, |object| object);
    assert!(keys.samples.is_empty() && keys.due.is_empty());
}

#[test]
fn few_keys_of_a_type_go_unposted_even_if_they_are_learnt_at_once() {
    let mut keys = LabelKeys::new(2);
    for cluster in 1..=4 {
        keys.begins(PODS, cluster, 1);
    }
    let labels = |value| Vec::from_iter((0..200).map(|key| Label { key, value }));
    keys.note(PODS, 1, &labels(1));
    keys.note(PODS, 2, &labels(2));
    assert_eq!(decide(&mut keys, 2).len(), 64);
    keys.note(PODS, 3, &labels(3));
    keys.note(PODS, 4, &labels(4));
    assert_eq!(decide(&mut keys, 4), []);
}

#[test]
fn the_revision_of_a_decision_is_that_of_the_transaction_that_wrote_it() {
    let mut keys = keys();
    note(&mut keys, 0..1000, two_clusters, |object| object);
    decide(&mut keys, 1000);
    assert_eq!(keys.unposted(PODS)[&KEY], i64::MAX);
    keys.settle(40);
    keys.settle(50);
    assert_eq!(keys.unposted(PODS)[&KEY], 40);
}
