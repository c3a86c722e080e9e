//! A file that was copied, rewound or lost what it had.

use super::*;

/// One revision for each round.
async fn some_revisions(store: &Arc<SqlStore>, rounds: std::ops::Range<usize>) {
    let fixture = fixture_of(store);
    let pods = fixture.pods_of("member1").await;
    for round in rounds {
        let pod = object("ns", &format!("pod-{round}"));
        fixture.put(&pods, [pod]).await;
    }
}

/// Copies the database, its log included, as an operator's `cp` does.
fn copy(from: &Place, to: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let name = format!("store.db{ending}");
        let file = from.directory.path().join(&name);
        if file.exists() {
            std::fs::copy(file, to.join(&name)).expect("copied");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_copied_back_is_another_incarnation() {
    let (place, backup) = (Place::new(), Place::new());
    let store = open_store(&place).await;
    some_revisions(&store, 0..3).await;
    copy(&place, backup.directory.path());
    some_revisions(&store, 3..6).await;
    let before = store.head().await.expect("a head");
    store.shutdown().await;
    std::fs::remove_file(place.path()).expect("removed");
    copy(&backup, place.directory.path());
    let store = open_store(&place).await;
    let after = store.head().await.expect("a head");
    assert_eq!((before.revision, after.revision), (6, 3));
    assert_ne!(before.incarnation, after.incarnation);
    store.shutdown().await;
    let again = open_store(&place).await;
    assert_eq!(again.head().await.expect("a head"), after);
    again.shutdown().await;
}

#[tokio::test]
async fn a_file_that_comes_without_its_mark_is_another_incarnation() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let store = open_store(&place).await;
    some_revisions(&store, 0..1).await;
    let before = store.head().await.expect("a head");
    store.shutdown().await;
    copy(&place, elsewhere.directory.path());
    let store = open_store(&elsewhere).await;
    let after = store.head().await.expect("a head");
    assert_eq!(after.revision, before.revision);
    assert_ne!(after.incarnation, before.incarnation);
    store.shutdown().await;
}

/// A process that is killed has written no last word; its file and mark stay as they are.
#[tokio::test]
async fn a_store_that_was_not_closed_keeps_its_incarnation() {
    let (place, after_kill) = (Place::new(), Place::new());
    let store = open_store(&place).await;
    some_revisions(&store, 0..4).await;
    let before = store.head().await.expect("a head");
    copy(&place, after_kill.directory.path());
    let mark = |place: &Place| place.directory.path().join("store.db-mark");
    std::fs::copy(mark(&place), mark(&after_kill)).expect("copied");
    let survivor = open_store(&after_kill).await;
    assert_eq!(survivor.head().await.expect("a head"), before);
    survivor.shutdown().await;
    store.shutdown().await;
}

/// Takes a database back below a running process, as one that is restored or promoted under it would be.
async fn rewind(place: &Place) {
    place.run("DELETE FROM ver WHERE rev > 2").await;
    place.run("DELETE FROM obj WHERE rev > 2").await;
    place.run("UPDATE head SET rev = 2 WHERE id = 1").await;
}

#[tokio::test]
async fn a_writer_that_finds_the_head_behind_its_commits_changes_the_incarnation() {
    let place = Place::new();
    let store = open_store(&place).await;
    some_revisions(&store, 0..5).await;
    let before = store.head().await.expect("a head");
    rewind(&place).await;
    // Revisions up to the lost ones are handed out twice; nobody may take them for the same.
    store.seen_nothing();
    some_revisions(&store, 5..6).await;
    let after = store.head().await.expect("a head");
    assert_ne!(before.incarnation, after.incarnation);
    store.shutdown().await;
}

#[tokio::test]
async fn a_reader_that_finds_the_head_behind_what_it_read_changes_the_incarnation() {
    let place = Place::new();
    let store = open_store(&place).await;
    some_revisions(&store, 0..5).await;
    let before = store.head().await.expect("a head");
    rewind(&place).await;
    let refused = store.head().await;
    assert!(
        matches!(refused, Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    let after = store.head().await.expect("a head");
    assert_eq!(after.revision, 2);
    assert_ne!(before.incarnation, after.incarnation);
    store.shutdown().await;
}

#[tokio::test]
async fn a_store_that_is_closed_does_not_speak_for_another_that_writes() {
    let place = Place::new();
    let (idle, busy) = (open_store(&place).await, open_store(&place).await);
    some_revisions(&busy, 0..3).await;
    idle.shutdown().await;
    let mark = std::fs::read_to_string(place.directory.path().join("store.db-mark"));
    assert!(mark.expect("a mark").trim_end().ends_with("open"));
    busy.shutdown().await;
    let mark = std::fs::read_to_string(place.directory.path().join("store.db-mark"));
    assert!(mark.expect("a mark").trim_end().ends_with("closed"));
}
