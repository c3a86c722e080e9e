//! Dictionaries that a store trains on what it has: the same on each database.

#[path = "fixture/each_database.rs"]
mod each_database;
#[path = "fixture/home.rs"]
mod home;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use armadex_model::{Query, ResourceType};
use armadex_storage::Sink as _;
use armadex_storage::conformance::fixture::{name, resource, words};
use armadex_storage::conformance::{Fixture, ObjectBuilder, Writer, object};
use armadex_storage_sql::{Options, SqlStore, Training};
use each_database::on_each_database;
use home::Home;

on_each_database! {
    what_there_is_much_of_is_packed_with_what_was_learnt_from_it,
    nothing_is_learnt_from_secrets,
    what_was_learnt_goes_with_the_last_of_its_type,
    a_store_has_no_more_dictionaries_than_it_may,
    dictionaries_are_seen_to_where_no_step_of_a_purge_is_the_last,
    where_one_was_trained_the_next_is_at_once,
    one_process_trains_and_others_leave_it_to_that_one,
}

const OBJECTS: usize = 300;

fn options() -> Options {
    Options {
        // Each version goes as soon as it is superseded.
        watch_window: Duration::ZERO,
        training: Training {
            least: OBJECTS as u32,
            most: 1,
            samples: OBJECTS,
            period: Duration::ZERO,
        },
        ..Options::default()
    }
}

fn widgets() -> ResourceType {
    resource("example.com", "widgets", "Widget", true)
}

/// Words that no dictionary knows and each object has, in an order of its own.
fn body(number: usize) -> Vec<u8> {
    format!(r#""name":"w-{number}"}},"spec":"{}"}}"#, words(number, 60)).into_bytes()
}

fn widget(number: usize, version: &str) -> ObjectBuilder {
    let namespace = ["a", "b", "c"][number % 3];
    object(namespace, &format!("w-{number:03}"))
        .uid(&format!("uid-{number}"))
        .version(version)
        .body(body(number))
}

async fn put(fixture: &Fixture, writer: &Writer, numbers: Range<usize>, version: &str) {
    let objects = numbers.map(|number| widget(number, version));
    fixture.put(writer, objects).await;
}

/// Packed bytes of all that there is.
async fn stored(store: &SqlStore) -> u64 {
    let stats = store.stats().await.expect("stats");
    let objects = stats.shares.iter().map(|share| share.stored_bytes);
    objects.sum()
}

/// Every object has the body that it was stored with.
async fn assert_read(store: &Arc<SqlStore>, of: &ResourceType) {
    let rows = Fixture::of(store)
        .rows(&Query::all(of.gvr.clone()), 100)
        .await;
    assert_eq!(rows.len(), OBJECTS);
    for row in rows {
        let number = row.key.name.trim_start_matches("w-").parse().expect("it");
        assert_eq!(row.body, body(number), "{}", row.key.name);
    }
}

async fn what_there_is_much_of_is_packed_with_what_was_learnt_from_it(home: Home) {
    let store = home.open_with(options()).await;
    let (writes, reads) = (
        home.open_with(options()).await,
        home.open_with(options()).await,
    );
    let fixture = Fixture::of(&store);
    let one = fixture.writer("one", &widgets()).await;
    put(&fixture, &one, 0..OBJECTS, "1").await;
    let others = Fixture::of(&writes);
    let other = others.writer("other", &widgets()).await;
    assert_read(&reads, &widgets()).await;
    let before = stored(&store).await;
    fixture.purge(100).await;
    assert_eq!(stored(&store).await, before, "nothing is written anew");

    // Whoever trained it packs with it at once, and the other writer when it has looked.
    put(&fixture, &one, 0..OBJECTS / 2, "2").await;
    others.purge(100).await;
    fixture.purge(100).await;
    let half = stored(&store).await;
    assert!(half < before * 3 / 4, "{half} of {before} bytes");
    assert_read(&reads, &widgets()).await;
    fixture.purge(100).await;
    put(&others, &other, 0..OBJECTS, "1").await;
    let both = stored(&store).await;
    assert!(
        both - half < before / 2,
        "{both} after {half} of {before} bytes"
    );

    // One that begins later packs with it from the first object on.
    store.shutdown().await;
    let next = home.open_with(options()).await;
    let fixture = Fixture::of(&next);
    let third = fixture.writer("third", &widgets()).await;
    put(&fixture, &third, 0..OBJECTS, "1").await;
    let all = stored(&next).await;
    assert!(
        all - both < before / 2,
        "{all} after {both} of {before} bytes"
    );
    for store in [writes, reads, next] {
        store.shutdown().await;
    }
}

async fn nothing_is_learnt_from_secrets(home: Home) {
    let store = home.open_with(options()).await;
    let fixture = Fixture::of(&store);
    let secrets = resource("", "secrets", "Secret", true);
    let writer = fixture.writer("one", &secrets).await;
    put(&fixture, &writer, 0..OBJECTS, "1").await;
    let before = stored(&store).await;
    for version in ["2", "3"] {
        fixture.purge(100).await;
        put(&fixture, &writer, 0..OBJECTS, version).await;
    }
    fixture.purge(100).await;
    let after = stored(&store).await;
    assert!(after > before * 9 / 10, "{after} of {before} bytes");
    assert_read(&store, &secrets).await;
    store.shutdown().await;
}

async fn what_was_learnt_goes_with_the_last_of_its_type(home: Home) {
    let store = home.open_with(options()).await;
    let fixture = Fixture::of(&store);
    let one = fixture.writer("one", &widgets()).await;
    put(&fixture, &one, 0..OBJECTS, "1").await;
    fixture.purge(100).await;
    put(&fixture, &one, 0..OBJECTS, "2").await;
    let learnt = stored(&store).await;
    let stats = store.stats().await.expect("stats");
    let [dictionary] = &stats.dictionaries[..] else {
        panic!("{stats:?}")
    };
    assert_eq!(dictionary.resource, "widgets");
    assert_eq!(dictionary.objects, OBJECTS as u64);
    assert!(dictionary.bytes > 1000, "{dictionary:?}");
    assert_eq!(stats.shares[0].trained, OBJECTS as u64);
    let closed = store.close(one.cluster, "", one.stream.resource).await;
    closed.expect("closed");
    // Noted as unused by one step, and dropped by another.
    for _ in 0..3 {
        fixture.purge(100).await;
    }
    let stats = store.stats().await.expect("stats");
    assert_eq!(stats.dictionaries, []);
    let again = fixture.writer("one", &widgets()).await;
    assert_ne!(again.stream.resource, one.stream.resource);
    put(&fixture, &again, 0..OBJECTS, "3").await;
    let anew = stored(&store).await;
    assert!(anew > learnt * 3 / 2, "{anew} after {learnt} bytes");
    assert_read(&store, &widgets()).await;
    store.shutdown().await;
}

async fn a_store_has_no_more_dictionaries_than_it_may(home: Home) {
    let store = home.open_with(options()).await;
    let fixture = Fixture::of(&store);
    let gadgets = resource("example.com", "gadgets", "Gadget", true);
    for of in [widgets(), gadgets] {
        let writer = fixture.writer("one", &of).await;
        put(&fixture, &writer, 0..OBJECTS, "1").await;
        fixture.purge(100).await;
    }
    let stats = store.stats().await.expect("stats");
    let of = stats.dictionaries.iter().map(|one| &one.resource[..]);
    assert_eq!(Vec::from_iter(of), ["widgets"]);
    store.shutdown().await;
}

async fn dictionaries_are_seen_to_where_no_step_of_a_purge_is_the_last(home: Home) {
    let store = home.open_with(options()).await;
    let fixture = Fixture::of(&store);
    let one = fixture.writer("one", &widgets()).await;
    put(&fixture, &one, 0..OBJECTS, "1").await;
    let left = store.leave(&name("one"), "incarnation-1").await;
    left.expect("left");
    let other = fixture.writer("other", &widgets()).await;
    put(&fixture, &other, 0..OBJECTS, "1").await;
    let purged = store.purge(1, Duration::ZERO).await.expect("purged");
    assert!(!purged.finished);
    let stats = store.stats().await.expect("stats");
    assert_eq!(stats.dictionaries.len(), 1);
    store.shutdown().await;
}

async fn where_one_was_trained_the_next_is_at_once(home: Home) {
    let training = Training {
        most: 2,
        period: Duration::from_secs(600),
        ..options().training
    };
    let store = home
        .open_with(Options {
            training,
            ..options()
        })
        .await;
    let fixture = Fixture::of(&store);
    let gadgets = resource("example.com", "gadgets", "Gadget", true);
    for of in [widgets(), gadgets] {
        let writer = fixture.writer("one", &of).await;
        put(&fixture, &writer, 0..OBJECTS, "1").await;
    }
    for trained in [1, 2] {
        store.purge(100, Duration::ZERO).await.expect("purged");
        let stats = store.stats().await.expect("stats");
        assert_eq!(stats.dictionaries.len(), trained);
    }
    store.shutdown().await;
}

/// Each would read thousands of objects, and all but one for nothing.
async fn one_process_trains_and_others_leave_it_to_that_one(home: Home) {
    let (holder, other) = (
        home.open_with(options()).await,
        home.open_with(options()).await,
    );
    let trained = async || {
        let stats = other.stats().await.expect("stats");
        stats.dictionaries.len()
    };
    // Whoever comes first does the periodic work.
    holder.purge(100, Duration::ZERO).await.expect("purged");
    let fixture = Fixture::of(&other);
    let writer = fixture.writer("one", &widgets()).await;
    put(&fixture, &writer, 0..OBJECTS, "1").await;
    for _ in 0..2 {
        other.purge(100, Duration::ZERO).await.expect("left to it");
        assert_eq!(trained().await, 0);
    }
    holder.purge(100, Duration::ZERO).await.expect("purged");
    assert_eq!(trained().await, 1);
    for store in [holder, other] {
        store.shutdown().await;
    }
}
