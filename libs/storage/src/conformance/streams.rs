//! One stream of one cluster, as its writer sees it: what a store says of it while nothing is searched. A double of the write side, which has
//! nothing to be searched, promises this much, too.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use armadex_model::ObjectKey;

use super::fixture::{ObjectBuilder, RULES, Writer, live, name, object, resource};
use crate::{
    Batch, Change, MemberPosition, Phase, Rules, Sink, StoreError, StoredVersion, Written,
};

/// The write side of an empty store, with whatever must live as long.
pub type Writes = (Arc<dyn Sink>, Box<dyn Any + Send + Sync>);

/// By which a later release makes objects.
const NEWER: Rules = Rules::of_all(RULES.form + 1);

async fn opened_by(sink: &dyn Sink, rules: Rules) -> Writer {
    let cluster = sink.join(&name("member1"), "incarnation-1", "").await;
    let (cluster, pods) = (cluster.expect("joined"), resource("", "pods", "Pod", true));
    let stream = sink.open(cluster, "", &pods, rules).await;
    let stream = stream.expect("opened");
    Writer { cluster, stream }
}

async fn opened(sink: &dyn Sink) -> Writer {
    opened_by(sink, RULES).await
}

async fn stands(sink: &dyn Sink) -> Option<MemberPosition> {
    opened(sink).await.stream.position
}

fn listing(version: &str) -> MemberPosition {
    MemberPosition {
        phase: Phase::Listing,
        ..live(version)
    }
}

async fn write(sink: &dyn Sink, batch: Batch) -> Written {
    sink.write(batch).await.expect("written")
}

/// What is new, what changed, what goes, what is as it was, and how long the bodies are that are stored.
pub async fn what_a_batch_did_is_counted(sink: &dyn Sink) {
    let pods = opened(sink).await;
    let (a, mut b) = (object("ns", "a"), object("ns", "b"));
    let put = |objects: [&ObjectBuilder; 2]| {
        let changes = objects.map(|object| Change::Put(object.clone().build()));
        write(sink, pods.batch(changes, None))
    };
    let length = |object: &ObjectBuilder| object.clone().build().body.len() as i64;
    let written = put([&a, &b]).await;
    assert_eq!((written.added, written.unchanged), (2, 0), "{written:?}");
    assert_eq!(written.bytes, length(&a) + length(&b));
    let short = std::mem::replace(
        &mut b,
        object("ns", "b").version("101").body("b".repeat(99)),
    );
    let written = put([&a, &b]).await;
    assert_eq!((written.changed, written.unchanged), (1, 1), "{written:?}");
    assert_eq!(written.bytes, 99 - length(&short));
    let versions = sink.versions(pods.cluster, pods.stream.resource, None, 10);
    let versions = versions.await.expect("versions");
    let stored = Vec::from_iter(versions.iter().map(|row| row.bytes as i64));
    assert_eq!(stored, [length(&a), length(&b)]);
    let written = put([&a.clone().uid("another"), &b]).await;
    let replaced = Written {
        added: 1,
        deleted: 1,
        unchanged: 1,
        bytes: length(&a.clone().uid("another")) - length(&a),
        ..Written::default()
    };
    assert_eq!(written, replaced);
    let delete = ["a", "never-there"].map(|name| Change::Delete(ObjectKey::new("ns", name)));
    let written = write(sink, pods.batch(delete, None)).await;
    assert_eq!((written.deleted, written.unchanged), (1, 1), "{written:?}");
    assert_eq!(written.bytes, -length(&a.clone().uid("another")));
    let again = opened(sink).await;
    assert_eq!(again.stream.objects, 1, "b alone is left");
}

/// Whoever opens a stream owns it, until it is closed.
pub async fn who_lost_a_stream_writes_nothing(sink: &dyn Sink) {
    let former = opened(sink).await;
    let present = opened(sink).await;
    assert!(present.stream.epoch > former.stream.epoch);
    let put = || [Change::Put(object("ns", "a").build())];
    let refused = sink.write(former.batch(put(), Some(live("5")))).await;
    let is_fenced = matches!(refused, Err(StoreError::Fenced { .. }));
    assert!(is_fenced, "{refused:?}");
    let (cluster, pods) = (present.cluster, present.stream.resource);
    sink.close(cluster, "", pods).await.expect("closed");
    let refused = sink.write(present.batch(put(), Some(live("5")))).await;
    let is_fenced = matches!(refused, Err(StoreError::Fenced { .. }));
    assert!(is_fenced, "{refused:?}");
    let keys = sink.keys(cluster, pods, None, 10).await.expect("keys");
    assert_eq!(keys, []);
    assert_eq!(stands(sink).await, None);
}

/// A batch that has none leaves it where it was.
pub async fn a_position_is_told_to_whoever_opens_the_stream_next(sink: &dyn Sink) {
    assert_eq!(stands(sink).await, None);
    for position in [listing("5"), live("7"), live("9")].map(Some) {
        let pods = opened(sink).await;
        write(sink, pods.batch([], position.clone())).await;
        let put = Change::Put(object("ns", "a").build());
        write(sink, pods.batch([put], None)).await;
        assert_eq!(stands(sink).await, position);
        let states = sink.streams(pods.cluster).await.expect("streams");
        assert_eq!(states.len(), 1);
        assert_eq!(
            (states[0].position.clone(), states[0].objects),
            (position, 1)
        );
    }
}

/// Who finds no position knows that there are no rows, and compares with none.
pub async fn a_stream_with_rows_has_a_position(sink: &dyn Sink) {
    let pods = opened(sink).await;
    let put = Change::Put(object("ns", "a").build());
    write(sink, pods.batch([put], None)).await;
    let phase = |position: Option<MemberPosition>| position.map(|position| position.phase);
    assert_eq!(phase(stands(sink).await), Some(Phase::Listing));
}

/// Its rows are no longer told of, and its position is no more.
pub async fn a_type_that_was_closed_is_listed_by_whoever_opens_it_next(sink: &dyn Sink) {
    let pods = opened(sink).await;
    let put = Change::Put(object("ns", "a").build());
    write(sink, pods.batch([put], Some(live("5")))).await;
    let (cluster, resource) = (pods.cluster, pods.stream.resource);
    sink.close(cluster, "", resource).await.expect("closed");
    assert_eq!(sink.streams(cluster).await.expect("streams"), []);
    let phase = stands(sink).await.map(|position| position.phase);
    assert_eq!(phase, Some(Phase::Listing), "its rows are there");
    let again = opened(sink).await.stream.resource;
    sink.close(cluster, "", again).await.expect("closed");
    let mut objects = 0;
    loop {
        let purged = sink.purge(10, Duration::ZERO).await.expect("purged");
        objects += purged.objects;
        if purged.finished {
            break;
        }
    }
    assert_eq!((objects, stands(sink).await), (1, None));
}

/// Each once, in one order, and a short page is the last.
pub async fn keys_and_versions_come_in_pages(sink: &dyn Sink) {
    let pods = opened(sink).await;
    let names = [("a", 5), ("b", 1), ("c", 4)];
    let names = names.iter().flat_map(|(ns, n)| (0..*n).map(|n| (*ns, n)));
    let put = names.map(|(ns, n)| {
        let one = object(ns, &format!("pod-{n}")).version(&n.to_string());
        Change::Put(one.build())
    });
    write(sink, pods.batch(put, None)).await;
    let (cluster, resource) = (pods.cluster, pods.stream.resource);
    for limit in [1, 4, 5, 10, 11] {
        let (mut keys, mut versions) = (Vec::new(), Vec::<StoredVersion>::new());
        loop {
            let page = sink.keys(cluster, resource, keys.last(), limit);
            let page = page.await.expect("keys");
            let after = versions.last().map(|row| &row.key);
            let rows = sink.versions(cluster, resource, after, limit);
            versions.extend(rows.await.expect("versions"));
            let is_last = page.len() < limit as usize;
            keys.extend(page);
            if is_last {
                break;
            }
        }
        let of_versions: Vec<_> = versions.iter().map(|row| row.key.clone()).collect();
        assert_eq!(keys, of_versions, "{limit} at a time");
        for StoredVersion {
            key,
            uid,
            resource_version,
            bytes: _,
        } in &versions
        {
            assert_eq!(key.name, format!("pod-{resource_version}"));
            assert_eq!(*uid, format!("uid-of-{}-{}", key.namespace, key.name));
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 10, "{limit} at a time");
    }
}

/// What could not be stored may be stored by the next writer, who would not hear of it from a watch.
pub async fn a_stream_that_left_something_out_is_listed_by_whoever_opens_it_next(sink: &dyn Sink) {
    let pods = opened(sink).await;
    let put = || [Change::Put(object("ns", "a").build())];
    let mut batch = pods.batch(put(), Some(live("5")));
    batch.whole = false;
    write(sink, batch).await;
    let again = opened(sink).await;
    assert_eq!(again.stream.position, Some(listing("5")));
    let written = write(sink, again.batch(put(), Some(live("5")))).await;
    assert_eq!(written.unchanged, 1, "the rows are of the same rules");
    assert_eq!(stands(sink).await, Some(live("5")));
}

/// A release that indexes or prunes otherwise writes what did not change in the member, once.
pub async fn a_stream_of_other_rules_is_listed_and_stored_once_more(sink: &dyn Sink) {
    let put = || [Change::Put(object("ns", "a").build())];
    let pods = opened(sink).await;
    write(sink, pods.batch(put(), Some(live("5")))).await;
    let again = opened_by(sink, NEWER).await;
    assert_eq!(again.stream.position, Some(listing("5")));
    let batch = || Batch {
        rules: NEWER,
        ..again.batch(put(), Some(live("6")))
    };
    assert_eq!(write(sink, batch()).await.changed, 1);
    assert_eq!(write(sink, batch()).await.unchanged, 1);
    let position = opened_by(sink, NEWER).await.stream.position;
    assert_eq!(position, Some(live("6")));
}

/// Which objects are kept may change, and how they are stored not: what stays is no change.
pub async fn a_stream_that_keeps_others_is_listed_and_what_stays_is_not_stored_once_more(
    sink: &dyn Sink,
) {
    let put = || [Change::Put(object("ns", "a").build())];
    let pods = opened(sink).await;
    write(sink, pods.batch(put(), Some(live("5")))).await;
    let rules = Rules {
        stream: RULES.stream + 1,
        ..RULES
    };
    let again = opened_by(sink, rules).await;
    assert_eq!(again.stream.position, Some(listing("5")));
    let batch = again.batch(put(), Some(live("5")));
    let written = write(sink, Batch { rules, ..batch }).await;
    assert_eq!((written.changed, written.unchanged), (0, 1));
    let position = opened_by(sink, rules).await.stream.position;
    assert_eq!(position, Some(live("5")));
}

/// A quiet stream: its list by other rules has nothing to change and ends where the last one ended.
pub async fn a_list_by_other_rules_that_finds_nothing_new_is_not_made_again(sink: &dyn Sink) {
    let pods = opened(sink).await;
    write(sink, pods.batch([], Some(live("5")))).await;
    let again = opened_by(sink, NEWER).await;
    assert_eq!(again.stream.position, Some(listing("5")));
    let batch = again.batch([], Some(live("5")));
    let rules = NEWER;
    write(sink, Batch { rules, ..batch }).await;
    let position = opened_by(sink, NEWER).await.stream.position;
    assert_eq!(position, Some(live("5")));
}
