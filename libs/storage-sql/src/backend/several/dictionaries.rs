//! A server that lost a dictionary: of what is packed with it nobody could tell any more what it is.

use armadex_storage::conformance::fixture::{ObjectBuilder, Writer, all_pods};
use armadex_storage::conformance::object;
use armadex_storage::{Change, StoreError};
use tokio::time::timeout;

use super::place::{PATIENCE, Place, execute, fixture_of};
use crate::backend::{Lane, row};
use crate::form::dictionaries::numbers_of;
use crate::sql::dictionary;
use crate::sql::statement::Statement;
use crate::store::SqlStore;

/// Loses the only dictionary that there is.
async fn lose(store: &SqlStore) {
    let loss = Statement::fixed("test.loss", "DELETE FROM dict", []);
    assert_eq!(execute(store, loss).await, 1);
}

/// The first dictionary of the type of this stream, trained on objects that all have this word.
async fn learn(store: &SqlStore, writer: &Writer, word: &str) {
    let samples: Vec<String> = (0..500).map(|number| body(word, number)).collect();
    let bytes = zstd::dict::from_samples(&samples, 4096).expect("a dictionary");
    let numbers = numbers_of(writer.stream.resource.0).expect("they fit");
    let learnt = dictionary::insert(*numbers.start(), 500, &bytes);
    assert_eq!(execute(store, learnt).await, 1);
}

fn body(word: &str, number: u64) -> String {
    let own = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let spec = format!("{word}-is-in-each-and-in-nothing-that-is-built-in/{own:016x}");
    format!(r#""name":"p"}},"spec":"{spec}/{own:x}-{word}-{word}"}}"#)
}

fn pod(name: &str, word: &str) -> ObjectBuilder {
    object("ns", name).body(body(word, 1000))
}

/// How many objects are packed with what was trained.
async fn packed(store: &SqlStore) -> i64 {
    let select = "SELECT COUNT(*) FROM obj o JOIN ver v ON v.rev = o.rev WHERE v.dict > 15";
    let statement = Statement::fixed("test.packed", select, []);
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let count = row(&mut *reader, statement, |row| row.int(0)).await;
    count.expect("counted").expect("a row")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_packed_with_a_dictionary_that_is_not_there() {
    for again in [None, Some("another")] {
        for place in Place::of_each_kind() {
            let (one, other) = (place.store().await, place.store().await);
            let (loser, bystander) = (fixture_of(&one), fixture_of(&other));
            let pods = bystander.pods_of("m").await;
            learn(&other, &pods, "word").await;
            let own = loser.pods_of("n").await;
            loser.put(&own, [pod("a", "word")]).await;
            assert_eq!(packed(&other).await, 1);

            lose(&other).await;
            if let Some(word) = again {
                learn(&other, &pods, word).await;
            }
            let put = [Change::Put(pod("b", "word").build())];
            let refused = loser.write(&own, put).await;
            assert!(
                matches!(refused, Err(StoreError::Gone { .. })),
                "{again:?}: {refused:?}"
            );
            timeout(PATIENCE, one.ended()).await.expect("an end");
            assert_eq!(packed(&other).await, 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_knew_a_dictionary_that_was_lost_reads_what_is_packed_with_its_successor() {
    for place in Place::of_each_kind() {
        let knows = place.store().await;
        let reader = fixture_of(&knows);
        let pods = reader.pods_of("m").await;
        for (name, word) in [("a", "word"), ("b", "another")] {
            learn(&knows, &pods, word).await;
            // It follows the dictionaries when it opens its first stream of the type.
            let store = place.store().await;
            let writer = fixture_of(&store);
            let own = writer.pods_of("n").await;
            writer.put(&own, [pod(name, word)]).await;
            assert_eq!(packed(&knows).await, 1);
            let rows = reader.rows(&all_pods(), 10).await;
            let [found] = rows.as_slice() else {
                panic!("{rows:?}");
            };
            assert_eq!(found.body, body(word, 1000).as_bytes());

            writer.delete(&own, "ns", &[name]).await;
            lose(&knows).await;
        }
    }
}
