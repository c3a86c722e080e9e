//! Writing: what a batch changes, what it leaves alone, who may write.

use armadex_model::label::Requirement;
use armadex_model::{ObjectKey, Query};
use futures::future::{join, join_all};

use super::fixture::{Fixture, RULES, all_pods, live, name, object, resource};
use crate::{Change, Health, MemberPosition, Phase, Rules, StoreError, StoredVersion, Written};

/// What is stored is what is served.
pub async fn a_body_comes_back_byte_for_byte(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let long = format!(
        r#""name":"long"}},"data":"{}"}}"#,
        "lorem ipsum ".repeat(5000)
    );
    let noise: Vec<u8> = (0..9000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let objects = [
        object("ns", "plain"),
        object("ns", "long").body(long.as_bytes()),
        object("ns", "noise").body(noise.clone()),
        object("ns", "empty").body(""),
    ];
    let bodies: Vec<_> = objects.clone().map(|object| object.build().body).to_vec();
    fixture.put(&pods, objects).await;
    for (key, body) in ["plain", "long", "noise", "empty"].into_iter().zip(bodies) {
        let gvr = super::fixture::pods();
        let key = ObjectKey::new("ns", key);
        let found = fixture
            .search
            .get(&name("member1"), &gvr, &key)
            .await
            .expect("read");
        let found = found.expect("stored");
        assert_eq!(found.body, body, "{key}");
        assert_eq!(found.key, key);
        assert_eq!(
            (found.resource_version.as_str(), found.created),
            ("100", 1_700_000_000)
        );
    }
}

/// A deletion removes the row; another one finds nothing.
pub async fn a_deleted_object_is_gone(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture
        .put(
            &pods,
            [object("ns", "a").label("app", "web"), object("ns", "b")],
        )
        .await;
    let written = fixture.delete(&pods, "ns", &["a", "never-there"]).await;
    assert_eq!(
        written,
        Written {
            deleted: 1,
            unchanged: 1,
            bytes: written.bytes,
            ..Written::default()
        }
    );
    assert_eq!(fixture.list(&all_pods(), 10).await, ["member1/ns/b"]);
    assert_eq!(fixture.count(&all_pods()).await, 1);
    let key = ObjectKey::new("ns", "a");
    let found = fixture
        .search
        .get(&name("member1"), &super::fixture::pods(), &key)
        .await;
    assert!(found.expect("read").is_none());
}

/// Never merged: what belonged to the former object is gone.
pub async fn a_new_uid_under_an_old_key_is_a_delete_and_an_add(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a").uid("first")]).await;
    let before = fixture.search.head().await.expect("head").revision;
    let written = fixture.put(&pods, [object("ns", "a").uid("second")]).await;
    assert_eq!(
        written,
        Written {
            added: 1,
            deleted: 1,
            bytes: written.bytes,
            ..Written::default()
        }
    );
    assert_eq!(
        fixture.search.head().await.expect("head").revision,
        before + 2
    );
    assert_eq!(fixture.count(&all_pods()).await, 1);
}

/// A bookmark moves the stream and nothing else.
pub async fn a_position_moves_without_changes(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    assert_eq!(pods.stream.position, None);
    let before = fixture.search.head().await.expect("head");
    let listing = MemberPosition {
        phase: Phase::Listing,
        ..live("5")
    };
    for position in [listing, live("7")] {
        let batch = pods.batch([], Some(position.clone()));
        let written = fixture.sink.write(batch).await.expect("written");
        assert_eq!(written, Written::default());
        let states = fixture.sink.streams(pods.cluster).await.expect("streams");
        assert_eq!(states[0].position, Some(position));
    }
    assert_eq!(fixture.search.head().await.expect("head"), before);
    let again = fixture.pods_of("member1").await;
    assert_eq!(again.stream.position, Some(live("7")));
}

/// Readers are told how far a type has come in its member.
pub async fn a_position_is_told_as_long_as_its_type_is_shown(fixture: &Fixture) {
    let (cluster, gvr) = (name("member1"), super::fixture::pods());
    let told = async || {
        let told = fixture.search.position(&cluster, &gvr).await;
        told.expect("an answer")
    };
    assert_eq!(told().await, None, "nobody has joined");
    let pods = fixture.pods_of("member1").await;
    assert_eq!(told().await, None, "nothing was written");
    let batch = pods.batch([], Some(live("7")));
    fixture.sink.write(batch).await.expect("written");
    assert_eq!(told().await, Some(live("7")));
    let closed = fixture
        .sink
        .close(pods.cluster, "", pods.stream.resource)
        .await;
    closed.expect("closed");
    assert_eq!(told().await, None, "it is hidden");
}

/// Objects with the uid and version that are stored are left alone.
pub async fn a_replay_writes_nothing(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let objects = || (0..40).map(|n| object("ns", &format!("pod-{n}")).label("app", "web"));
    let written = fixture.put(&pods, objects()).await;
    assert_eq!(
        written,
        Written {
            added: 40,
            bytes: written.bytes,
            ..Written::default()
        }
    );
    let before = fixture.search.head().await.expect("head");
    let written = fixture.put(&pods, objects()).await;
    assert_eq!(
        written,
        Written {
            unchanged: 40,
            ..Written::default()
        }
    );
    assert_eq!(fixture.search.head().await.expect("head"), before);
    let written = fixture
        .put(&pods, objects().map(|object| object.version("101")))
        .await;
    assert_eq!(
        written,
        Written {
            changed: 40,
            bytes: written.bytes,
            ..Written::default()
        }
    );
}

/// Whoever opens a stream owns it; the former writer stops.
pub async fn a_stream_that_was_taken_over_is_fenced(fixture: &Fixture) {
    let former = fixture.pods_of("member1").await;
    fixture.put(&former, [object("ns", "a")]).await;
    let present = fixture.pods_of("member1").await;
    assert!(present.stream.epoch > former.stream.epoch);
    let refused = fixture
        .write(&former, [Change::Put(object("ns", "b").build())])
        .await;
    assert!(
        matches!(refused, Err(StoreError::Fenced { .. })),
        "{refused:?}"
    );
    let refused = fixture.sink.write(former.batch([], Some(live("9")))).await;
    assert!(
        matches!(refused, Err(StoreError::Fenced { .. })),
        "{refused:?}"
    );
    fixture.put(&present, [object("ns", "c")]).await;
    assert_eq!(
        fixture.list(&all_pods(), 10).await,
        ["member1/ns/a", "member1/ns/c"]
    );
}

/// What was answered is there, whatever takes its stream away next.
pub async fn a_batch_that_was_answered_outlives_its_stream(fixture: &Fixture) {
    let closed = fixture.pods_of("member1").await;
    fixture.put(&closed, [object("ns", "a")]).await;
    let (cluster, resource) = (closed.cluster, closed.stream.resource);
    let done = fixture.sink.close(cluster, "", resource).await;
    done.expect("closed");
    let taken_over = fixture.pods_of("member1").await;
    fixture.put(&taken_over, [object("ns", "b")]).await;
    let left = fixture.pods_of("member1").await;
    fixture.put(&left, [object("ns", "c")]).await;
    let done = fixture.sink.leave(&name("member1"), "incarnation-1").await;
    done.expect("left");
    fixture.pods_of("member1").await;
    let all = ["member1/ns/a", "member1/ns/b", "member1/ns/c"];
    assert_eq!(fixture.list(&all_pods(), 10).await, all);
}

/// A cluster that left takes no more rows, not even by a stream of the same name that is opened later. Its writer can tell that from
/// another writer: the one has to join again, the other must not.
pub async fn a_writer_of_a_cluster_that_left_is_told_so(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let left = fixture.sink.leave(&name("member1"), "incarnation-1").await;
    left.expect("left");
    let health = Health {
        healthy: true,
        reason: String::new(),
    };
    let stream = resource("", "pods", "Pod", true);
    let put = || [Change::Put(object("ns", "a").build())];
    let refused = [
        fixture.write(&pods, put()).await.map(drop),
        fixture
            .sink
            .open(pods.cluster, "", &stream, RULES)
            .await
            .map(drop),
        fixture
            .sink
            .set_health(pods.cluster, "", &health, None)
            .await,
    ];
    for refused in refused {
        assert!(
            matches!(refused, Err(StoreError::Left { .. })),
            "{refused:?}"
        );
    }
    let again = fixture.pods_of("member1").await;
    let refused = fixture.write(&pods, put()).await;
    assert!(
        matches!(refused, Err(StoreError::Fenced { .. })),
        "{refused:?}"
    );
    fixture.put(&again, [object("ns", "a")]).await;
    let member1 = name("member1");
    let new = fixture.sink.join(&member1, "incarnation-2", "").await;
    new.expect("joined");
    fixture.purge(100).await;
    let refused = fixture.write(&again, put()).await;
    assert!(
        matches!(refused, Err(StoreError::Left { .. })),
        "{refused:?}"
    );
}

/// The error names the object, and nothing of the batch is stored.
pub async fn an_object_that_is_too_large_is_rejected_by_name(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let huge = object("ns", "huge").body(vec![b'x'; 17 << 20]);
    let changes = [object("ns", "small"), huge].map(|object| Change::Put(object.build()));
    let refused = fixture.write(&pods, changes).await;
    match refused {
        Err(StoreError::Rejected { key, .. }) => assert_eq!(key, ObjectKey::new("ns", "huge")),
        other => panic!("expected a rejection, got {other:?}"),
    }
    assert_eq!(fixture.count(&all_pods()).await, 0);
}

/// A relist compares with these; whatever the order, each key comes once.
pub async fn keys_are_listed_page_by_page(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let other = fixture.pods_of("member2").await;
    fixture.put(&other, [object("b", "elsewhere")]).await;
    let sizes = [("a", 5), ("b", 1), ("c", 9), ("d", 1), ("e", 1), ("f", 3)];
    let names = sizes.iter().flat_map(|(ns, n)| (0..*n).map(|n| (*ns, n)));
    fixture
        .put(&pods, names.map(|(ns, n)| object(ns, &format!("pod-{n}"))))
        .await;
    for limit in [1, 4, 6, 19] {
        let mut keys: Vec<ObjectKey> = Vec::new();
        loop {
            let stream = (pods.cluster, pods.stream.resource);
            let page = fixture.sink.keys(stream.0, stream.1, keys.last(), limit);
            let page = page.await.expect("keys");
            // Whoever sweeps takes a short page for the end.
            let last = page.len() < limit as usize;
            keys.extend(page);
            if last {
                break;
            }
        }
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!((keys.len(), sorted.len()), (20, 20), "{limit} at a time");
    }
}

/// In the order and to the same end as keys are, so that whoever compares sees every object once.
pub async fn versions_are_listed_page_by_page(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let other = fixture.pods_of("member2").await;
    fixture.put(&other, [object("b", "elsewhere")]).await;
    let sizes = [("a", 5), ("b", 1), ("c", 9), ("d", 1), ("e", 1), ("f", 3)];
    let names = sizes.iter().flat_map(|(ns, n)| (0..*n).map(|n| (*ns, n)));
    let objects = names.map(|(ns, n)| {
        // Opaque by contract, a number by custom.
        let version = if n == 4 { "v4".into() } else { n.to_string() };
        object(ns, &format!("pod-{n}")).version(&version)
    });
    let objects = Vec::from_iter(objects);
    fixture.put(&pods, objects.clone()).await;
    let (cluster, resource) = (pods.cluster, pods.stream.resource);
    let keys = fixture.sink.keys(cluster, resource, None, 100).await;
    let wanted = keys.expect("keys").into_iter().map(|key| {
        let object = objects.iter().map(|object| object.clone().build());
        let object = object.into_iter().find(|object| object.key == key);
        let object = object.expect("one that was put");
        StoredVersion {
            key,
            uid: object.uid,
            resource_version: object.resource_version,
            bytes: object.body.len() as u64,
        }
    });
    let wanted = Vec::from_iter(wanted);
    for limit in [1, 4, 6, 19, 20, 50] {
        let mut found: Vec<StoredVersion> = Vec::new();
        loop {
            let after = found.last().map(|row| &row.key);
            let page = fixture.sink.versions(cluster, resource, after, limit);
            let page = page.await.expect("versions");
            // Whoever compares takes a short page for the end.
            let last = page.len() < limit as usize;
            found.extend(page);
            if last {
                break;
            }
        }
        assert_eq!(found, wanted, "{limit} at a time");
    }
}

/// They may come into one transaction, in either order.
pub async fn two_batches_of_one_stream_at_once_see_each_other(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let mut there = 0;
    for round in 0..50 {
        let version = (100 + round).to_string();
        let put = object("ns", "a").version(&version).label("app", &version);
        let key = put.clone().build().key;
        let put = fixture.write(&pods, [Change::Put(put.build())]);
        let delete = fixture.write(&pods, [Change::Delete(key)]);
        let (put, delete) = match round % 2 {
            0 => join(put, delete).await,
            _ => {
                let (delete, put) = join(delete, put).await;
                (put, delete)
            }
        };
        let (put, delete) = (put.expect("written"), delete.expect("written"));
        there = there + put.added - delete.deleted;
        assert_eq!(fixture.count(&all_pods()).await, there, "round {round}");
        assert_eq!(fixture.list(&all_pods(), 10).await.len() as u64, there);
        fixture.assert_sound().await;
    }
}

/// Batches of many streams are grouped; each keeps its own result.
pub async fn many_writers_at_once_lose_nothing(fixture: &Fixture) {
    let mut writers = Vec::new();
    for n in 0..6 {
        writers.push(fixture.pods_of(&format!("member{n}")).await);
    }
    let stale = fixture.pods_of("member0").await;
    writers[0] = fixture.pods_of("member0").await;
    let mut tasks = Vec::new();
    for writer in writers {
        for round in 0..5 {
            let objects =
                (0..20).map(|n| Change::Put(object("ns", &format!("p{round}-{n}")).build()));
            let (sink, batch) = (fixture.sink.clone(), writer.batch(objects, None));
            tasks.push(async move { sink.write(batch).await.map(|written| written.added) });
        }
    }
    let refused = fixture.write(&stale, [Change::Put(object("ns", "stale").build())]);
    let (done, refused) = join(join_all(tasks), refused).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })));
    for added in done {
        assert_eq!(added.expect("written"), 20);
    }
    assert_eq!(fixture.count(&all_pods()).await, 600);
}

/// Each effect has one revision, and rows carry that of their last change.
pub async fn revisions_have_no_gaps(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let start = fixture.search.head().await.expect("head").revision;
    fixture
        .put(&pods, (0..10).map(|n| object("ns", &format!("pod-{n}"))))
        .await;
    fixture
        .put(&pods, [object("ns", "pod-3").version("101")])
        .await;
    fixture.delete(&pods, "ns", &["pod-4"]).await;
    fixture
        .put(&pods, [object("ns", "pod-5").version("102")])
        .await;
    assert_eq!(
        fixture.search.head().await.expect("head").revision,
        start + 13
    );
    let rows = fixture.rows(&all_pods(), 100).await;
    let mut revisions: Vec<i64> = rows.iter().map(|row| row.revision - start).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, [1, 2, 3, 7, 8, 9, 10, 11, 13]);
}

/// A release that indexes or prunes otherwise: the stream is listed again, and what it brings is written although nothing changed in
/// the member; until then the rows are served as they are.
pub async fn other_rules_write_what_did_not_change(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let plain = object("ns", "a");
    let changes = [Change::Put(plain.clone().build())];
    let batch = pods.batch(changes, Some(live("5")));
    fixture.sink.write(batch).await.expect("written");
    assert_eq!(
        fixture.pods_of("member1").await.stream.position,
        Some(live("5"))
    );
    let newer = Rules::of_all(RULES.form + 1);
    let kind = resource("", "pods", "Pod", true);
    let open = async || {
        fixture
            .sink
            .open(pods.cluster, "", &kind, newer)
            .await
            .expect("opened")
    };
    let listing = MemberPosition {
        phase: Phase::Listing,
        ..live("5")
    };
    let stream = open().await;
    assert_eq!(stream.position, Some(listing.clone()));
    assert_eq!(fixture.list(&all_pods(), 10).await, ["member1/ns/a"]);
    // A list that is cut off in the middle begins anew.
    let stream = open().await;
    assert_eq!(stream.position, Some(listing));
    let again = super::fixture::Writer { stream, ..pods };
    let indexed = plain.label("app", "web").build();
    let mut batch = again.batch([Change::Put(indexed.clone())], Some(live("6")));
    batch.rules = newer;
    let written = fixture.sink.write(batch.clone()).await.expect("written");
    assert_eq!(written.changed, 1);
    let labelled = Query {
        labels: vec![Requirement::is_in("app", ["web"])],
        ..all_pods()
    };
    assert_eq!(fixture.list(&labelled, 10).await, ["member1/ns/a"]);
    let written = fixture.sink.write(batch).await.expect("written");
    assert_eq!(written.unchanged, 1);
    assert_eq!(open().await.position, Some(live("6")));
    fixture.assert_sound().await;
}
