//! The space of what was purged, by the size of the file.

use armadex_storage::conformance::fixture::all_pods;
use tokio::time::{Instant, sleep};

use super::*;
use crate::backend::SharedDatabase;

/// Longer than the store takes to try it again, on a busy machine,
const PATIENCE: Duration = Duration::from_secs(60);
/// and between two looks.
const PAUSE: Duration = Duration::from_millis(20);

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
    let before = bytes(&place);
    assert!(before > 10 << 20);
    let compacted = compact(&place.path(), &options).await.expect("compacted");
    let after = Some(bytes(&place));
    assert_eq!(compacted, Compacted { before, after });
    assert!(after < Some(1 << 20));
    let store = open_store(&place).await;
    assert_eq!(store.head().await.expect("a head"), head);
    let pods = fill(&store).await;
    purge_all(&store, &pods).await;
    place.run("UPDATE lease SET clock = clock + 3600000").await;
    fixture_of(&store).purge(2000).await;
    store.shutdown().await;
    assert!(bytes(&place) < LEFT, "{}", bytes(&place));
}

/// Whoever reads it keeps the former file where it is, and that is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_somebody_reads_is_not_said_to_be_smaller() {
    let place = Home::new();
    let database = place.database().await.expect("a database");
    let options = Options {
        busy_timeout: Duration::ZERO,
        ..Options::default()
    };
    let mut reading = database.read(Lane::Search).await.expect("a transaction");
    head_row::read(&mut *reading).await.expect("a head");
    let before = bytes(&place);
    let compacted = compact(&place.path(), &options).await.expect("compacted");
    let after = None;
    assert_eq!(compacted, Compacted { before, after });

    reading.rollback().await.expect("ended");
    let compacted = compact(&place.path(), &options).await.expect("compacted");
    assert_eq!(compacted.after, Some(bytes(&place)));
    database.close().await;
}

/// How many pages the file may have: no more than it has where that is less, as on a disk without room.
async fn limit(database: &SqliteDatabase, pages: &'static str) {
    let mut transaction = database.write().await.expect("a transaction");
    let limit = Statement::fixed("test.limit", pages, []);
    transaction.execute(limit).await.expect("limited");
    transaction.rollback().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_without_room_is_read_and_takes_the_same_batch_once_there_is_some() {
    let place = Home::new();
    let database = Arc::new(place.database().await.expect("a database"));
    let shared = Arc::clone(&database) as SharedDatabase;
    let store = SqlStore::start(shared, &Options::default()).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "small")]).await;
    let noise: String = (0..16 << 10)
        .map(|_| format!("{:016x}", rand::random::<u64>()))
        .collect();
    let large = object("ns", "large").body(format!(r#","data":"{noise}"}}"#));
    let write = || fixture.write(&pods, [Change::Put(large.clone().build())]);

    limit(&database, "PRAGMA max_page_count = 1").await;
    let refused = write().await.expect_err("there is no room");
    assert!(refused.is_transient() && refused.is_told(), "{refused}");
    let known = store.availability();
    assert!(known.reads && !known.writes, "{known:?}");
    assert_eq!(fixture.list(&all_pods(), 10).await, ["m/ns/small"]);
    fixture.assert_sound().await;

    limit(&database, "PRAGMA max_page_count = 1000000").await;
    let end = Instant::now() + PATIENCE;
    let written = loop {
        match write().await {
            Err(err) if err.is_transient() && Instant::now() < end => sleep(PAUSE).await,
            done => break done.expect("there is room"),
        }
    };
    assert_eq!(written.added, 1);
    let listed = fixture.list(&all_pods(), 10).await;
    assert_eq!(listed, ["m/ns/large", "m/ns/small"]);
    fixture.assert_sound().await;
    store.shutdown().await;
}
