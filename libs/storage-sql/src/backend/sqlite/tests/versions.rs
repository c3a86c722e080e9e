//! Versions that are past: kept for the watch window, and no longer.

use super::*;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Revisions of all versions, oldest first.
async fn versions(store: &SqlStore) -> Vec<i64> {
    let mut transaction = store
        .database
        .read(Lane::Short)
        .await
        .expect("a transaction");
    let statement = crate::sql::object::log(0, i64::MAX, 1000);
    let log = rows(&mut *transaction, statement, crate::sql::object::decode_log).await;
    log.expect("a log").iter().map(|row| row.rev).collect()
}

async fn open_with(place: &Home, watch_window: Duration) -> Arc<SqlStore> {
    let options = Options {
        watch_window,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options).await;
    Arc::new(store.expect("a store"))
}

/// As if the periodic work had been done for so long since its last step.
const AN_HOUR_PASSES: &str = "UPDATE lease SET clock = clock + 3600000";
const A_MINUTE_PASSES: &str = "UPDATE lease SET clock = clock + 60000";

#[tokio::test]
async fn superseded_versions_and_tombstones_are_kept_for_the_window_and_no_longer() {
    let place = Home::new();
    let store = open_with(&place, HOUR).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    for version in ["1", "2", "3"] {
        fixture
            .put(&pods, [object("ns", "a").version(version)])
            .await;
    }
    fixture.purge(10).await;
    place.run(A_MINUTE_PASSES).await;
    fixture.delete(&pods, "ns", &["a"]).await;
    fixture.put(&pods, [object("ns", "b")]).await;
    fixture.purge(10).await;
    assert_eq!(versions(&store).await, [1, 2, 3, 4, 5]);
    place.run(AN_HOUR_PASSES).await;
    // Both notes are an hour old; one step walks two revisions.
    store.purge(2, Duration::ZERO).await.expect("a step");
    assert_eq!(versions(&store).await, [2, 3, 4, 5]);
    fixture.purge(2).await;
    assert_eq!(versions(&store).await, [5]);
    fixture.assert_sound().await;
    store.shutdown().await;
}

#[tokio::test]
async fn what_was_written_after_a_note_is_kept_with_what_it_superseded() {
    let place = Home::new();
    let store = open_with(&place, HOUR).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    for version in ["1", "2"] {
        let pod = object("ns", "a").version(version);
        fixture.put(&pods, [pod]).await;
    }
    fixture.purge(10).await;
    place.run(AN_HOUR_PASSES).await;
    fixture.put(&pods, [object("ns", "a").version("3")]).await;
    fixture.purge(10).await;
    assert_eq!(versions(&store).await, [2, 3]);
    // A head that does not move is noted once.
    for _ in 0..3 {
        place.run(A_MINUTE_PASSES).await;
        fixture.purge(10).await;
    }
    place.run(AN_HOUR_PASSES).await;
    fixture.purge(10).await;
    assert_eq!(versions(&store).await, [3]);
    store.shutdown().await;
}

/// However many versions an object has had, a step that takes it away is a small one; nothing of it is left in the end.
#[tokio::test]
async fn what_a_closed_stream_had_goes_with_the_window() {
    let place = Home::new();
    let store = open_with(&place, HOUR).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "old")]).await;
    fixture.purge(10).await;
    place.run(AN_HOUR_PASSES).await;
    fixture.purge(10).await;
    for version in ["7", "8"] {
        let pod = object("ns", "new").version(version);
        fixture.put(&pods, [pod]).await;
    }
    let closed = fixture.sink.close(pods.cluster, "", pods.stream.resource);
    closed.await.expect("closed");
    assert_eq!(fixture.purge(10).await, 2);
    // The old one's at once, since nobody finds it in the log any more; of the new one there is no body. The last says that the stream was closed.
    assert_eq!(versions(&store).await, [2, 3, 4]);
    let mut transaction = store.database.read(Lane::Short).await.expect("a reader");
    let bodies = crate::sql::select::bodies(Dialect::Sqlite, &[3]);
    let bodies = rows(&mut *transaction, bodies, |row| row.blob(2)).await;
    assert_eq!(bodies.expect("a body"), [Vec::<u8>::new()]);
    transaction.rollback().await.expect("ended");
    place.run(AN_HOUR_PASSES).await;
    fixture.purge(10).await;
    assert!(versions(&store).await.is_empty());
    fixture.assert_sound().await;
    store.shutdown().await;
}

#[tokio::test]
async fn namespaces_that_come_and_go_leave_nothing_once_the_window_is_over() {
    let place = Home::new();
    let store = open_with(&place, Options::default().watch_window).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    for round in 0..3 {
        let namespace = format!("ci-{round}");
        fixture.put(&pods, [object(&namespace, "p")]).await;
        fixture.delete(&pods, &namespace, &["p"]).await;
        place.run(A_MINUTE_PASSES).await;
        fixture.purge(10).await;
    }
    let kept = store.check().await.expect("a report");
    assert_eq!(
        (kept.namespaces, kept.faults),
        (3, vec![]),
        "the log names them"
    );
    place.run(AN_HOUR_PASSES).await;
    fixture.purge(10).await;
    let left = store.check().await.expect("a report");
    assert_eq!((left.namespaces, left.faults), (0, vec![]));
    assert!(versions(&store).await.is_empty());
    store.shutdown().await;
}

/// Versions that were kept for a longer window go as well once there is none.
#[tokio::test]
async fn lowering_the_window_to_nothing_leaves_no_version_behind() {
    let place = Home::new();
    for (life, window) in [HOUR, Duration::ZERO].into_iter().enumerate() {
        let store = open_with(&place, window).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("member1").await;
        for version in 0..4 {
            let version = (10 * life + version).to_string();
            let pod = object("ns", "a").version(&version);
            fixture.put(&pods, [pod]).await;
        }
        fixture.purge(2).await;
        if life == 1 {
            assert_eq!(versions(&store).await, [8]);
        }
        store.shutdown().await;
    }
}

/// A binary that counts no bytes was there before: the next steps count what is there, and it goes no later than it would have.
#[tokio::test]
async fn what_an_earlier_release_noted_is_counted_and_stays_as_old() {
    let place = Home::new();
    let store = open_with(&place, HOUR).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    let put = async |version: &str| {
        let pod = object("ns", "a").version(version);
        fixture.put(&pods, [pod]).await;
    };
    put("1").await;
    put("2").await;
    fixture.purge(10).await;
    let counted = store.past().expect("it counts").bytes;
    assert!(counted > 0);
    place.run(A_MINUTE_PASSES).await;
    for version in ["3", "4", "5"] {
        put(version).await;
    }
    fixture.purge(10).await;
    place.run("UPDATE milestone SET bytes = -1").await;
    fixture.assert_sound().await;
    fixture.purge(1).await;
    let past = store.past().expect("it counts");
    assert_eq!(past.bytes, 4 * counted);
    assert!(past.age >= Duration::from_secs(60), "{past:?}");
    fixture.assert_sound().await;
    store.shutdown().await;
}
