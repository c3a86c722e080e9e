//! A file that was copied, rewound or lost what it had.

use armadex_model::ClusterName;
use armadex_storage::Head;

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
fn copy(from: &Home, to: &Path) {
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
    let (place, backup) = (Home::new(), Home::new());
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
    let (place, elsewhere) = (Home::new(), Home::new());
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_open_a_copy_at_once_agree_what_it_is() {
    let place = Home::new();
    let store = open_store(&place).await;
    some_revisions(&store, 0..1).await;
    store.shutdown().await;
    std::fs::remove_file(place.directory.path().join("store.db-mark")).expect("a mark");
    let stores = tokio::join!(
        open_store(&place),
        open_store(&place),
        open_store(&place),
        open_store(&place)
    );
    let stores = [stores.0, stores.1, stores.2, stores.3];
    for (number, store) in stores.iter().enumerate() {
        let name = format!("member{number}").parse().expect("a name");
        let joined = store.join(&name, "incarnation", "").await;
        joined.expect("it works on what there is");
    }
    for store in stores {
        store.shutdown().await;
    }
}

/// What was only read has lost nothing when the machine goes down; of what was written the last commits may be lost.
#[tokio::test]
async fn a_file_that_was_only_read_when_the_machine_went_down_keeps_its_incarnation() {
    for writes in [false, true] {
        let place = Home::new();
        let store = open_store(&place).await;
        some_revisions(&store, 0..3).await;
        store.shutdown().await;
        let store = open_store(&place).await;
        let before = store.head().await.expect("a head");
        if writes {
            some_revisions(&store, 3..4).await;
        }
        let mark = place.directory.path().join("store.db-mark");
        let text = std::fs::read_to_string(&mark).expect("a mark");
        std::fs::write(&mark, of_another_life(&text)).expect("written");
        let again = open_store(&place).await;
        let after = again.head().await.expect("a head");
        let is_same = after.incarnation == before.incarnation;
        assert_eq!(is_same, !writes);
        again.shutdown().await;
        store.shutdown().await;
    }
}

/// A mark that was written before the machine was started anew: its fifth word names the life of the machine.
fn of_another_life(mark: &str) -> String {
    let words: Vec<&str> = mark.split(' ').collect();
    mark.replacen(words[4], &"0".repeat(words[4].len()), 1)
}

/// A process that is killed has written no last word; its file and mark stay as they are.
#[tokio::test]
async fn a_store_that_was_not_closed_keeps_its_incarnation() {
    let place = Home::new();
    let store = open_store(&place).await;
    some_revisions(&store, 0..4).await;
    let before = store.head().await.expect("a head");
    let survivor = open_store(&place).await;
    assert_eq!(survivor.head().await.expect("a head"), before);
    survivor.shutdown().await;
    store.shutdown().await;
}

/// A backup of the whole directory: the mark says what the file says, and both are of the past.
#[tokio::test]
async fn a_file_that_is_copied_together_with_its_mark_is_another_incarnation() {
    let (place, elsewhere) = (Home::new(), Home::new());
    let store = open_store(&place).await;
    some_revisions(&store, 0..4).await;
    store.shutdown().await;
    let before = head_of(&place).await;
    copy(&place, elsewhere.directory.path());
    let mark = |place: &Home| place.directory.path().join("store.db-mark");
    std::fs::copy(mark(&place), mark(&elsewhere)).expect("copied");
    let after = head_of(&elsewhere).await;
    assert_eq!(after.revision, before.revision);
    assert_ne!(after.incarnation, before.incarnation);
    assert_eq!(head_of(&place).await, before);
    assert_eq!(head_of(&elsewhere).await, after);
}

/// The same, written over the files that it was made of, which stay the files that they are.
#[tokio::test]
async fn a_file_that_is_copied_over_itself_together_with_its_mark_is_another_incarnation() {
    let (place, backup) = (Home::new(), Home::new());
    let store = open_store(&place).await;
    some_revisions(&store, 0..3).await;
    store.shutdown().await;
    let before = head_of(&place).await;
    copy(&place, backup.directory.path());
    let mark = place.directory.path().join("store.db-mark");
    let marked = std::fs::read_to_string(&mark).expect("a mark");
    let store = open_store(&place).await;
    some_revisions(&store, 3..6).await;
    store.shutdown().await;
    copy(&backup, place.directory.path());
    std::fs::write(&mark, of_an_hour_ago(&marked)).expect("copied");
    let after = head_of(&place).await;
    assert_eq!(after.revision, before.revision);
    assert_ne!(after.incarnation, before.incarnation);
    assert_eq!(head_of(&place).await, after);
}

/// A mark that was written an hour before it was: its fourth word says when.
fn of_an_hour_ago(mark: &str) -> String {
    let words: Vec<&str> = mark.split(' ').collect();
    let written: i64 = words[3].parse().expect("seconds");
    let earlier = format!("{:020}", written - 3600);
    mark.replacen(words[3], &earlier, 1)
}

async fn head_of(place: &Home) -> Head {
    let store = open_store(place).await;
    let head = store.head().await.expect("a head");
    store.shutdown().await;
    head
}

/// Takes a database back below a running process, as one that is restored or promoted under it would be.
async fn rewind(place: &Home) {
    place.run("DELETE FROM ver WHERE rev > 2").await;
    place.run("DELETE FROM obj WHERE rev > 2").await;
    place.run("UPDATE head SET rev = 2 WHERE id = 1").await;
}

/// Nothing of what the process knows is true of the database any more: it says so, and must not live on.
async fn assert_ends<T: std::fmt::Debug>(store: &SqlStore, refused: Result<T, StoreError>) {
    assert!(
        matches!(refused, Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    tokio::time::timeout(Duration::from_secs(20), store.ended())
        .await
        .expect("an end");
}

#[tokio::test]
async fn a_writer_that_finds_the_head_behind_its_commits_changes_the_incarnation_and_ends() {
    let place = Home::new();
    let store = open_store(&place).await;
    some_revisions(&store, 0..5).await;
    let before = store.head().await.expect("a head");
    rewind(&place).await;
    // Revisions up to the lost ones are handed out twice; nobody may take them for the same.
    let name = "member2".parse().expect("a name");
    let refused = store.join(&name, "incarnation", "").await;
    assert_ends(&store, refused).await;
    let after = store.head().await.expect("a head");
    assert_eq!(after.revision, 2);
    assert_ne!(before.incarnation, after.incarnation);
    store.shutdown().await;
    let again = open_store(&place).await;
    assert_eq!(again.head().await.expect("a head"), after);
    again.join(&name, "incarnation", "").await.expect("joined");
}

#[tokio::test]
async fn a_reader_that_finds_the_head_behind_what_it_read_changes_the_incarnation_and_ends() {
    let place = Home::new();
    let (store, elsewhere) = (open_store(&place).await, open_store(&place).await);
    some_revisions(&elsewhere, 0..5).await;
    let before = store.head().await.expect("a head");
    rewind(&place).await;
    let refused = store.head().await;
    assert_ends(&store, refused).await;
    let after = store.head().await.expect("a head");
    assert_eq!(after.revision, 2);
    assert_ne!(before.incarnation, after.incarnation);
    // The one that had written finds the incarnation changed.
    let name = "member2".parse().expect("a name");
    let refused = elsewhere.join(&name, "incarnation", "").await;
    assert_ends(&elsewhere, refused).await;
    assert_eq!(elsewhere.head().await.expect("a head"), after);
}

/// Its counts may have caught up with those of the past that was lost.
#[tokio::test]
async fn a_reader_forgets_the_catalogue_of_another_incarnation() {
    let place = Home::new();
    let (reader, writer) = (open_store(&place).await, open_store(&place).await);
    some_revisions(&writer, 0..5).await;
    let lost = "lost".parse().expect("a name");
    writer.join(&lost, "incarnation", "").await.expect("joined");
    assert_eq!(reader.catalog().await.expect("a catalog").clusters.len(), 2);
    rewind(&place).await;
    place.run("DELETE FROM cluster WHERE name = 'lost'").await;
    place
        .run("UPDATE head SET catalog = catalog - 1 WHERE id = 1")
        .await;
    assert!(writer.join(&lost, "incarnation", "").await.is_err());
    writer.shutdown().await;
    let again = open_store(&place).await;
    some_revisions(&again, 5..12).await;
    for name in ["new-1", "new-2"] {
        let name = name.parse().expect("a name");
        again.join(&name, "incarnation", "").await.expect("joined");
    }
    let catalog = reader.catalog().await.expect("a catalog");
    let shown: Vec<&str> = catalog.clusters.keys().map(ClusterName::as_str).collect();
    assert_eq!(shown, ["member1", "new-1", "new-2"]);
}

/// What has replaced what was lost has the same count. Who only reads cannot tell a replica that is late from one that lost something.
#[tokio::test]
async fn a_replica_that_lost_a_cluster_is_refused_until_it_has_as_many_changes_and_shows_what_there_is()
 {
    let place = Home::new();
    let store = open_store(&place).await;
    let database = Arc::new(place.database().await.expect("a database"));
    let replica = SqlStore::follow(database, &Options::default()).await;
    let replica = replica.expect("a replica");
    let join = async |store: &SqlStore, name: &str| {
        let name = name.parse().expect("a name");
        store.join(&name, "incarnation", "").await.expect("joined");
    };
    join(&store, "lost").await;
    assert_eq!(replica.catalog().await.expect("it").clusters.len(), 1);
    place.run("DELETE FROM cluster WHERE name = 'lost'").await;
    place
        .run("UPDATE head SET catalog = catalog - 1 WHERE id = 1")
        .await;
    let refused = replica.catalog().await.map(drop).expect_err("it is behind");
    assert!(refused.is_transient(), "{refused}");
    join(&*open_store(&place).await, "found").await;
    let catalog = replica.catalog().await.expect("a catalogue");
    let shown: Vec<&str> = catalog.clusters.keys().map(ClusterName::as_str).collect();
    assert_eq!(shown, ["found"]);
    replica.shutdown().await;
    store.shutdown().await;
}

#[tokio::test]
async fn a_store_that_is_closed_does_not_speak_for_another_that_writes() {
    let place = Home::new();
    let (idle, busy) = (open_store(&place).await, open_store(&place).await);
    some_revisions(&busy, 0..3).await;
    idle.shutdown().await;
    let mark = std::fs::read_to_string(place.directory.path().join("store.db-mark"));
    assert!(mark.expect("a mark").trim_end().ends_with("open"));
    busy.shutdown().await;
    let mark = std::fs::read_to_string(place.directory.path().join("store.db-mark"));
    assert!(mark.expect("a mark").trim_end().ends_with("closed"));
}

#[test]
fn a_file_that_is_gone_is_told_of_once_and_refused_each_time() {
    let place = Home::new();
    std::fs::write(place.path(), "").expect("written");
    let file = OpenFile::of(&place.path()).expect("a file");
    file.check(&place.path()).expect("it is there");
    assert!(!file.told.is_completed());
    std::fs::remove_file(place.path()).expect("removed");
    for _ in 0..2 {
        let refused = file.check(&place.path());
        refused.expect_err("it is gone");
        assert!(file.told.is_completed());
    }
}

/// Whoever has the file open sees the one that was there, for ever, and nobody sees what is written to it.
#[tokio::test]
async fn a_file_that_is_replaced_or_removed_in_use_ends_those_who_use_it() {
    for replaces in [true, false] {
        let (place, backup) = (Home::new(), Home::new());
        let store = open_store(&place).await;
        some_revisions(&store, 0..3).await;
        store.shutdown().await;
        copy(&place, backup.directory.path());
        let (reads, writes) = (open_store(&place).await, open_store(&place).await);
        some_revisions(&writes, 3..4).await;
        let before = reads.head().await.expect("a head");
        for ending in ["", "-wal", "-shm", "-mark"] {
            let name = place.directory.path().join(format!("store.db{ending}"));
            std::fs::remove_file(name).expect("removed");
        }
        if replaces {
            copy(&backup, place.directory.path());
        }
        let word = if replaces { "replaced" } else { "removed" };
        let is_told =
            |err: &StoreError| matches!(err, StoreError::Gone { reason } if reason.contains(word));
        let refused = reads.head().await.expect_err("it is another file");
        assert!(is_told(&refused), "{refused}");
        let name = ClusterName::new("member2").expect("a name");
        let refused = writes.join(&name, "incarnation", "").await;
        let refused = refused.expect_err("it is another file");
        assert!(is_told(&refused), "{refused}");
        reads.ended().await;
        writes.ended().await;
        reads.shutdown().await;
        writes.shutdown().await;
        let after = head_of(&place).await;
        assert_eq!(after.revision, if replaces { 3 } else { 0 });
        assert_ne!(after.incarnation, before.incarnation);
    }
}

/// What the other commits afterwards is not on the disk, and its mark does not say so either.
#[tokio::test]
async fn a_store_that_is_idle_is_not_said_to_be_closed_by_one_that_comes_and_goes() {
    let place = Home::new();
    let store = open_store(&place).await;
    some_revisions(&store, 0..1).await;
    let is_closed = || {
        let mark = place.directory.path().join("store.db-mark");
        let text = std::fs::read_to_string(mark).expect("a mark");
        text.trim_end().ends_with("closed")
    };
    let looks = open_store(&place).await;
    looks.head().await.expect("a head");
    looks.shutdown().await;
    assert!(!is_closed());
    store.shutdown().await;
    assert!(is_closed());
}

/// Programs that use one file are stopped in any order, and the machine is restarted afterwards.
#[tokio::test]
async fn who_closes_a_store_last_speaks_for_who_wrote_to_it_last() {
    let place = Home::new();
    let (reads, writes) = (open_store(&place).await, open_store(&place).await);
    some_revisions(&writes, 0..3).await;
    writes.shutdown().await;
    reads.shutdown().await;
    let mark = std::fs::read_to_string(place.directory.path().join("store.db-mark"));
    assert!(mark.expect("a mark").trim_end().ends_with("closed"));
}

/// It has found the file closed in order, which is not so any more when its first transaction begins.
#[tokio::test]
async fn who_writes_to_a_file_that_another_has_written_to_since_leaves_the_mark_as_it_is() {
    let place = Home::new();
    let store = open_store(&place).await;
    some_revisions(&store, 0..3).await;
    store.shutdown().await;
    let mark = || std::fs::read_to_string(place.directory.path().join("store.db-mark"));
    let words = || -> Vec<String> {
        let text = mark().expect("a mark");
        text.split_whitespace().map(str::to_owned).collect()
    };
    for (rounds, is_rewound) in [(3..6, false), (6..9, true)] {
        let (writes, purges) = (open_store(&place).await, open_store(&place).await);
        assert_eq!(words().last().map(String::as_str), Some("closed"));
        let before = writes.head().await.expect("a head");
        some_revisions(&writes, rounds).await;
        if is_rewound {
            rewind(&place).await;
            let name = "member2".parse().expect("a name");
            let refused = writes.join(&name, "incarnation", "").await;
            assert_ends(&writes, refused).await;
        }
        let left = words();
        let after = writes.head().await.expect("a head");
        assert_eq!(left[0] != before.incarnation, is_rewound);
        assert_eq!(left[1].parse(), Ok(after.revision));
        // A transaction that takes no revision, or one that is refused.
        let purged = purges.purge(10, Duration::ZERO).await;
        assert_eq!(purged.is_err(), is_rewound);
        assert_eq!(words(), left);
        writes.shutdown().await;
        purges.shutdown().await;
        assert_eq!(head_of(&place).await, after);
    }
}

/// How often this process has the file at this path open.
fn times_open(path: &Path) -> usize {
    let own = std::fs::read_dir("/proc/self/fd").expect("what is open");
    let links = own.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link == path).count()
}

#[tokio::test]
async fn a_file_that_is_replaced_while_it_is_opened_is_not_taken_for_the_one_that_is_open() {
    let (place, backup) = (Home::new(), Home::new());
    let store = open_store(&place).await;
    some_revisions(&store, 0..3).await;
    store.shutdown().await;
    copy(&place, backup.directory.path());
    // Another process writes, and whoever opens the file waits.
    let database = place.database().await.expect("a database");
    let mut busy = database.write().await.expect("a transaction");
    busy.execute(Statement::fixed("test", "UPDATE head SET id = id", []))
        .await
        .expect("held");
    let (before, path) = (times_open(&place.path()), place.path());
    let opening = tokio::spawn(async move {
        let opened = SqliteDatabase::open(&path, &Options::default()).await;
        opened.map(|_| ())
    });
    while times_open(&place.path()) == before {
        assert!(!opening.is_finished(), "it waits");
        tokio::task::yield_now().await;
    }
    std::fs::rename(backup.path(), place.path()).expect("replaced");
    busy.rollback().await.expect("ended");
    let refused = opening.await.expect("no panic").expect_err("another file");
    assert!(matches!(refused, StoreError::Gone { .. }), "{refused}");
    database.close().await;
}
