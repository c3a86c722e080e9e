//! The space of what was purged, by the size of the file.

use super::*;

/// Less than that of what was filled in: 4 MiB that are spared, less than 4 MiB that are no step, and what an empty store has.
const LEFT: u64 = 9 << 20;

fn bytes(place: &Home) -> u64 {
    std::fs::metadata(place.path()).expect("a file").len()
}

/// Some 17 MB, of which hardly anything packs.
async fn fill(store: &Arc<SqlStore>) -> Writer {
    let fixture = fixture_of(store);
    let pods = fixture.pods_of("member1").await;
    for batch in 0..40 {
        let objects = (0..100).map(|n| {
            let noise: String = (0..512)
                .map(|_| format!("{:016x}", rand::random::<u64>()))
                .collect();
            object("ns", &format!("p-{batch}-{n}")).body(format!(r#","data":"{noise}"}}"#))
        });
        fixture.put(&pods, objects).await;
    }
    pods
}

async fn purge_all(store: &Arc<SqlStore>, pods: &Writer) {
    let closed = store.close(pods.cluster, "", pods.stream.resource);
    closed.await.expect("closed");
    let fixture = fixture_of(store);
    assert_eq!(fixture.purge(2000).await, 4000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_purged_leaves_the_file_smaller() {
    let place = Home::new();
    let options = Options {
        watch_window: Duration::ZERO,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options).await;
    let store = Arc::new(store.expect("a store"));
    let pods = fill(&store).await;
    purge_all(&store, &pods).await;
    // Whatever the log still has is copied back.
    store.shutdown().await;
    let left = bytes(&place);
    assert!(left < LEFT, "{left} bytes are left");
}

/// Files of former releases stay as large as they were; they can be written anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_made_without_it_is_written_anew_on_demand() {
    let place = Home::new();
    let made = writer_options(&place.path(), &Options::default()).create_if_missing(true);
    let made = made.pragma("auto_vacuum", "NONE").connect().await;
    made.expect("a file").close().await.expect("closed");
    let options = Options {
        watch_window: Duration::ZERO,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options).await;
    let store = Arc::new(store.expect("a store"));
    let pods = fill(&store).await;
    purge_all(&store, &pods).await;
    let head = store.head().await.expect("a head");
    store.shutdown().await;
    assert!(bytes(&place) > 10 << 20);
    compact(&place.path(), &options).await.expect("compacted");
    assert!(bytes(&place) < 1 << 20);
    let store = open_store(&place).await;
    assert_eq!(store.head().await.expect("a head"), head);
    let pods = fill(&store).await;
    purge_all(&store, &pods).await;
    place.run("UPDATE lease SET clock = clock + 3600000").await;
    fixture_of(&store).purge(2000).await;
    store.shutdown().await;
    assert!(bytes(&place) < LEFT, "{}", bytes(&place));
}
