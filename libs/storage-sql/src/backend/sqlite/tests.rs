//! What is SQLite's own: the file, its schema, and how it runs each statement.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use armadex_storage::conformance::{Fixture, RULES, object, resource};
use armadex_storage::{Change, Search, Sink, StoreError};

use tokio::sync::mpsc;

use super::*;
use crate::backend::{Connection, rows};
use crate::catalog::Delta;
use crate::sql::samples::samples;
use crate::sql::statement::{Param, Statement};
use crate::store::SqlStore;

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("store.db")
    }

    async fn database(&self) -> Result<SqliteDatabase, StoreError> {
        SqliteDatabase::open(&self.path(), &Options::default()).await
    }

    async fn run(&self, sql: &'static str) {
        let database = self.database().await.expect("a database");
        let mut transaction = database.write().await.expect("a transaction");
        let statement = Statement {
            name: "test",
            sql: sql.into(),
            params: vec![],
        };
        transaction.execute(statement).await.expect("executed");
        transaction.commit().await.expect("committed");
        database.close().await;
    }
}

/// How SQLite runs a statement, a line for each step.
async fn explain(connection: &mut dyn Connection, statement: &Statement) -> String {
    let Statement { name, sql, params } = statement.clone();
    let sql = format!("EXPLAIN QUERY PLAN {sql}").into();
    let steps = rows(connection, Statement { name, sql, params }, |row| {
        row.text(3)
    })
    .await;
    format!(
        "{name}\n  {}",
        steps.expect("a sound statement").join("\n  ")
    )
}

#[tokio::test]
async fn every_statement_is_run_along_the_index_that_is_meant() {
    let place = Place::new();
    let database = place.database().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let mut plans = Vec::new();
    for statement in samples(Dialect::Sqlite) {
        plans.push(explain(&mut *transaction, &statement).await);
    }
    insta::assert_snapshot!(plans.join("\n"));
}

#[tokio::test]
async fn only_the_owner_may_read_the_file_and_its_log() {
    let place = Place::new();
    let database = place.database().await.expect("a database");
    for entry in std::fs::read_dir(place.directory.path()).expect("a directory") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
    database.close().await;
}

#[tokio::test]
async fn a_file_of_a_newer_binary_is_refused_in_clear_words() {
    let place = Place::new();
    place
        .run(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             SELECT 99, 'later', TRUE, checksum, 0 FROM _sqlx_migrations LIMIT 1",
        )
        .await;
    let refused = SqlStore::sqlite(&place.path(), &Options::default()).await;
    match refused.map(|_| ()) {
        Err(StoreError::Broken { reason }) => {
            assert!(
                reason.contains("99") && reason.contains("newer binary"),
                "{reason}"
            );
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_broken_and_a_directory_is_out_of_reach() {
    let place = Place::new();
    std::fs::write(
        place.path(),
        b"certainly not a database, but long enough to be one".repeat(40),
    )
    .expect("a file");
    let refused = place.database().await.map(|_| ());
    assert!(
        matches!(refused, Err(StoreError::Broken { .. })),
        "{refused:?}"
    );
    let missing = place.directory.path().join("no/such/directory/store.db");
    let refused = SqliteDatabase::open(&missing, &Options::default())
        .await
        .map(|_| ());
    assert!(
        matches!(refused, Err(StoreError::Unavailable { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn two_processes_that_start_at_once_make_one_schema() {
    let place = Place::new();
    let (first, second) = tokio::join!(place.database(), place.database());
    let (first, second) = (first.expect("a database"), second.expect("a database"));
    let mut heads = Vec::new();
    for database in [&first, &second] {
        let mut transaction = database.read(Lane::Short).await.expect("a transaction");
        let statement = crate::sql::head::select();
        let found = rows(&mut *transaction, statement, crate::sql::head::decode).await;
        heads.push(found.expect("a head"));
    }
    assert_eq!(heads[0], heads[1]);
    assert_eq!(heads[0].len(), 1);
}

#[test]
fn waiting_for_a_busy_store_is_over_or_an_error_before_it_is_a_warning() {
    let options = pool_options(1);
    assert!(options.get_acquire_slow_threshold() >= options.get_acquire_timeout());
}

#[tokio::test]
async fn readers_cannot_write() {
    let place = Place::new();
    let database = place.database().await.expect("a database");
    let mut transaction = database.read(Lane::Short).await.expect("a transaction");
    let refused = transaction.execute(crate::sql::head::advance(1)).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn a_store_survives_being_closed_and_is_unavailable_afterwards() {
    let place = Place::new();
    let options = Options::default();
    let member = armadex_model::ClusterName::new("member1").expect("a name");
    let store = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    let cluster = store.join(&member, "incarnation").await.expect("joined");
    let head = store.head().await.expect("a head");
    store.shutdown().await;
    for refused in [
        store.join(&member, "incarnation").await.map(|_| ()),
        store.head().await.map(|_| ()),
    ] {
        assert!(refused.is_err_and(|err| err.is_transient()));
    }
    let store = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    assert_eq!(store.head().await.expect("a head"), head);
    assert_eq!(
        store.join(&member, "incarnation").await.expect("joined"),
        cluster
    );
    store.shutdown().await;
}

#[tokio::test]
async fn another_process_that_writes_is_noticed() {
    let place = Place::new();
    let options = Options::default();
    let member = armadex_model::ClusterName::new("member1").expect("a name");
    let reader = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    let writer = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    assert!(
        reader
            .catalog()
            .await
            .expect("a catalog")
            .clusters
            .is_empty()
    );
    writer.join(&member, "incarnation").await.expect("joined");
    assert_eq!(reader.catalog().await.expect("a catalog").clusters.len(), 1);
}

/// A transaction that failed gives back the numbers that it took, so nobody may go on using them.
#[tokio::test]
async fn numbers_that_a_failed_transaction_took_are_not_handed_out_twice() {
    let place = Place::new();
    place
        .run(
            "CREATE TRIGGER refuse BEFORE INSERT ON ver WHEN NEW.name = 'refused' \
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .await;
    let (one, other) = (open_store(&place).await, open_store(&place).await);
    let fixture = fixture_of(&one);
    let pods = fixture.pods_of("member1").await;
    let refused = [Change::Put(object("ns", "refused").build())];
    let refused = fixture.write(&pods, refused).await;
    assert!(refused.is_err_and(|err| !err.is_transient()));
    fixture.put(&pods, [object("ns", "a")]).await;
    let elsewhere = fixture_of(&other);
    let nodes = resource("", "nodes", "Node", false);
    let nodes = elsewhere.writer("member1", &nodes).await;
    let several = ["b", "c", "d"].map(|name| object("", name));
    elsewhere.put(&nodes, several).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_busy_file_is_unavailable_until_it_is_free() {
    let place = Place::new();
    let options = Options {
        busy_timeout: Duration::from_millis(20),
        ..Options::default()
    };
    let member = armadex_model::ClusterName::new("member1").expect("a name");
    let store = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    let other = place.database().await.expect("a database");
    let holder = other.write().await.expect("a transaction");
    let refused = store.join(&member, "incarnation").await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable { .. })),
        "{refused:?}"
    );
    assert!(
        store
            .catalog()
            .await
            .expect("reads go on")
            .clusters
            .is_empty()
    );
    holder.rollback().await.expect("rolled back");
    store.join(&member, "incarnation").await.expect("joined");
}

#[tokio::test]
async fn damage_is_found_by_a_check_and_named() {
    let place = Place::new();
    place
        .run("INSERT INTO counter (type, cluster, namespace, nsid, n) VALUES (1, 0, 'x', 5, 3)")
        .await;
    let store = SqlStore::sqlite(&place.path(), &Options::default())
        .await
        .expect("a store");
    let report = store.check().await.expect("a report");
    assert_eq!(
        report.faults,
        ["type 1 in namespace id 5: 0 objects, and the counter says 3"]
    );
}

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

#[tokio::test]
async fn superseded_versions_and_tombstones_are_kept_as_long_as_asked_and_no_longer() {
    let place = Place::new();
    let options = Options {
        retention: 2,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    let store = Arc::new(store);
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    for version in ["1", "2", "3"] {
        let put = Change::Put(object("ns", "a").version(version).build());
        fixture.write(&pods, [put]).await.expect("written");
    }
    fixture.delete(&pods, "ns", &["a"]).await;
    assert_eq!(versions(&store).await, [1, 2, 3, 4]);
    fixture.purge(1).await;
    assert_eq!(versions(&store).await, [2, 3, 4]);
    fixture
        .put(&pods, [object("ns", "b"), object("ns", "c").version("7")])
        .await;
    fixture.put(&pods, [object("ns", "c").version("8")]).await;
    fixture.purge(10).await;
    assert_eq!(versions(&store).await, [5, 6, 7]);
    fixture
        .sink
        .close(pods.cluster, pods.stream.resource)
        .await
        .expect("closed");
    assert_eq!(fixture.purge(1).await, 2);
    assert!(versions(&store).await.is_empty());
    store.shutdown().await;
}

/// Both sides of a store, for cases that are written with those of the behaviour suite.
fn fixture_of(store: &Arc<SqlStore>) -> Fixture {
    Fixture {
        sink: Arc::clone(store) as _,
        search: Arc::clone(store) as _,
        audit: Box::new(|| Box::pin(async { vec![] })),
        tiny: false,
        guard: Box::new(()),
    }
}

/// One revision for each round.
async fn some_revisions(store: &Arc<SqlStore>, rounds: std::ops::Range<usize>) {
    let fixture = fixture_of(store);
    let pods = fixture.pods_of("member1").await;
    for round in rounds {
        let pod = object("ns", &format!("pod-{round}"));
        fixture.put(&pods, [pod]).await;
    }
}

async fn open_store(place: &Place) -> Arc<SqlStore> {
    let store = SqlStore::sqlite(&place.path(), &Options::default()).await;
    Arc::new(store.expect("a store"))
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

/// Versions that were kept under a longer retention go as well once it is none.
#[tokio::test]
async fn lowering_retention_to_nothing_leaves_no_version_behind() {
    let place = Place::new();
    for retention in [100, 0] {
        let options = Options {
            retention,
            ..Options::default()
        };
        let store = SqlStore::sqlite(&place.path(), &options).await;
        let store = Arc::new(store.expect("a store"));
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("member1").await;
        for version in 0..4 {
            let version = format!("{}", retention * 10 + version);
            let pod = object("ns", "a").version(&version);
            fixture.put(&pods, [pod]).await;
        }
        while !store.purge(2).await.expect("purged").finished {}
        if retention == 0 {
            assert_eq!(versions(&store).await, [8]);
        }
        store.shutdown().await;
    }
}

/// One stream more is one row more to learn, whatever is there already.
#[tokio::test]
async fn a_reader_learns_of_a_stream_by_one_row() {
    let place = Place::new();
    let store = open_store(&place).await;
    let pods = resource("", "pods", "Pod", true);
    for number in 0..20 {
        let name = format!("member{number}").parse().expect("a name");
        let cluster = store.join(&name, "incarnation").await.expect("joined");
        store.open(cluster, &pods, RULES).await.expect("opened");
    }
    let catalog_version = async || {
        let mut transaction = store
            .database
            .read(Lane::Short)
            .await
            .expect("a transaction");
        let head = rows(
            &mut *transaction,
            crate::sql::head::select(),
            crate::sql::head::decode,
        )
        .await;
        head.expect("a head")[0].catalog
    };
    let known = catalog_version().await;
    let name = "member7".parse().expect("a name");
    let cluster = store.join(&name, "incarnation").await.expect("joined");
    store.open(cluster, &pods, RULES).await.expect("opened");
    assert_eq!(
        catalog_version().await,
        known,
        "nothing that a reader knows has changed"
    );
    let nodes = resource("", "nodes", "Node", false);
    store.open(cluster, &nodes, RULES).await.expect("opened");
    let mut transaction = store
        .database
        .read(Lane::Short)
        .await
        .expect("a transaction");
    let delta = Delta::read(&mut *transaction, known, known + 1)
        .await
        .expect("read");
    let Delta {
        clusters,
        health,
        types,
        streams,
        ..
    } = &delta;
    assert_eq!(
        (clusters.len(), health.len(), types.len(), streams.len()),
        (0, 0, 1, 1)
    );
}

/// Nobody asked between a cluster's leaving and the end of its purge.
#[tokio::test]
async fn what_was_purged_unseen_is_gone_from_the_catalogue() {
    let place = Place::new();
    let store = open_store(&place).await;
    let kinds = [("pods", "Pod"), ("secrets", "Secret")];
    for name in ["member1", "member2"] {
        let name = name.parse().expect("a name");
        let cluster = store.join(&name, "incarnation").await.expect("joined");
        for (plural, kind) in kinds {
            let kind = resource("", plural, kind, true);
            store.open(cluster, &kind, RULES).await.expect("opened");
        }
    }
    let before = store.catalog().await.expect("a catalog");
    assert_eq!((before.clusters.len(), before.types.len()), (2, 2));
    let (first, second) = (
        "member1".parse().expect("a name"),
        "member2".parse().expect("a name"),
    );
    store.leave(&first, "incarnation").await.expect("left");
    let cluster = store.join(&second, "incarnation").await.expect("joined");
    let streams = store.streams(cluster).await.expect("streams");
    store.close(cluster, streams[0].id).await.expect("closed");
    while !store.purge(10).await.expect("purged").finished {}
    let after = store.catalog().await.expect("a catalog");
    assert_eq!((after.clusters.len(), after.types.len()), (1, 1));
    store.shutdown().await;
}

#[tokio::test]
async fn a_reader_that_has_heard_of_a_departure_reads_nothing_anew_when_it_is_purged() {
    let place = Place::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    for name in ["member1", "member2"] {
        let pods = fixture.pods_of(name).await;
        fixture.put(&pods, [object("ns", "a")]).await;
    }
    let gone = "member1".parse().expect("a name");
    store.leave(&gone, "incarnation-1").await.expect("left");
    let before = store.catalog().await.expect("a catalog");
    fixture.purge(10).await;
    let after = store.catalog().await.expect("a catalog");
    assert!(Arc::ptr_eq(&before, &after));
    let mut transaction = store.database.read(Lane::Short).await.expect("a reader");
    let head = row(&mut *transaction, head::select(), head::decode).await;
    let head = head.expect("an answer").expect("a head");
    assert_eq!(head.floor, 0);
    transaction.rollback().await.expect("ended");
    store.shutdown().await;
}

#[tokio::test]
async fn many_empty_streams_do_not_keep_the_purge_from_what_lies_behind_them() {
    let place = Place::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let unused = fixture.pods_of("member1").await;
    for number in 0..40 {
        let kind = resource("example.com", &format!("kind{number}s"), "Kind", true);
        let stream = store
            .open(unused.cluster, &kind, RULES)
            .await
            .expect("opened");
        store
            .close(unused.cluster, stream.resource)
            .await
            .expect("closed");
    }
    let leaving = fixture.pods_of("member2").await;
    fixture
        .put(&leaving, (0..5).map(|n| object("ns", &format!("p-{n}"))))
        .await;
    let name = "member2".parse().expect("a name");
    store.leave(&name, "incarnation-1").await.expect("left");
    assert_eq!(fixture.purge(100).await, 5);
    assert!(store.check().await.expect("a report").faults.is_empty());
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

/// A database whose writer panics.
struct Faulty(SqliteDatabase);

#[async_trait]
impl Database for Faulty {
    fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.0.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        panic!("the test says so")
    }

    fn note_committed(&self, _: &str, _: i64) {}

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {
        self.0.close().await;
    }
}

#[tokio::test]
async fn a_writer_that_panics_is_told_to_whoever_waits_for_its_end() {
    let place = Place::new();
    let database = Faulty(place.database().await.expect("a database"));
    let store = SqlStore::start(Arc::new(database), &Options::default()).await;
    let store = store.expect("a store");
    let member = armadex_model::ClusterName::new("member1").expect("a name");
    let refused = store.join(&member, "incarnation").await;
    assert!(refused.is_err_and(|err| err.is_transient()));
    tokio::time::timeout(Duration::from_secs(20), store.ended())
        .await
        .expect("an end");
    store.shutdown().await;
}

/// Notes when its writer rests.
struct Resting(SqliteDatabase, mpsc::UnboundedSender<()>);

#[async_trait]
impl Database for Resting {
    fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.0.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.0.write().await
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.0.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {
        self.0.catch_up().await;
    }

    async fn rest(&self) {
        self.0.rest().await;
        let _ = self.1.send(());
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

#[tokio::test]
async fn a_writer_rests_once_after_its_work_and_works_again() {
    let place = Place::new();
    let (rests, mut resting) = mpsc::unbounded_channel();
    let database = Resting(place.database().await.expect("a database"), rests);
    let options = Options {
        rest: Duration::from_millis(20),
        ..Options::default()
    };
    let store = SqlStore::start(Arc::new(database), &options).await;
    let store = store.expect("a store");
    for name in ["member1", "member2"] {
        assert!(resting.try_recv().is_err(), "it has nothing to rest from");
        let name = armadex_model::ClusterName::new(name).expect("a name");
        store.join(&name, "incarnation").await.expect("joined");
        resting.recv().await.expect("a rest");
    }
    store.shutdown().await;
}

#[test]
fn parameters_of_every_kind_are_shown() {
    let shown = [
        Param::NoText,
        Param::Int(1),
        Param::from("a"),
        Param::Blob(vec![0; 3]),
    ];
    let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["null", "1", "\"a\"", "3 bytes"]);
}

#[tokio::test]
async fn what_takes_a_moment_never_waits_behind_searches() {
    let place = Place::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let mut searches = Vec::new();
    for _ in 0..Options::default().readers {
        let search = store.database.read(Lane::Search).await;
        searches.push(search.expect("a transaction"));
    }
    store.head().await.expect("a head");
    store.catalog().await.expect("a catalogue");
    let (cluster, key) = ("m".parse().expect("a name"), object("ns", "a").build().key);
    let found = store.get(&cluster, &pods_type(), &key).await;
    assert!(found.expect("an answer").is_some());
    let known = store.has_namespace(&cluster, "ns").await;
    assert!(known.expect("an answer"));
}

fn pods_type() -> armadex_model::GroupVersionResource {
    resource("", "pods", "Pod", true).gvr
}

#[tokio::test]
async fn health_that_stays_as_it_was_changes_no_catalogue() {
    let place = Place::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    let say = async |healthy: bool| {
        let health = armadex_storage::Health {
            healthy,
            reason: String::new(),
        };
        let said = store.set_health(pods.cluster, &health, Some("v1.34.0"));
        said.await.expect("noted");
        store.catalog().await.expect("a catalogue")
    };
    let well = say(true).await;
    assert!(Arc::ptr_eq(&well, &say(true).await));
    let ill = say(false).await;
    assert!(!Arc::ptr_eq(&well, &ill));
    assert!(Arc::ptr_eq(&well.types, &ill.types));
}

/// Readers that overlap never leave the log unread, so it would grow for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_emptied_although_somebody_always_reads() {
    let place = Place::new();
    let options = Options {
        most_log_bytes: 1 << 20,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    let done = std::sync::atomic::AtomicBool::new(false);
    let write = async {
        let mut longest = 0;
        for round in 0..60 {
            let version = (100 + round).to_string();
            let objects = (0..200).map(|n| object("ns", &format!("p-{n}")).version(&version));
            fixture.put(&pods, objects).await;
            longest = longest.max(log_bytes(&place.path()));
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        longest
    };
    let read = async || {
        let all = armadex_model::Query::all(pods_type());
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            assert_eq!(fixture.list(&all, 200).await.len(), 200);
        }
    };
    let objects = (0..200).map(|n| object("ns", &format!("p-{n}")));
    fixture.put(&pods, objects).await;
    let (longest, ..) = tokio::join!(write, read(), read(), read());
    assert!(longest < 4 << 20, "the log had {longest} bytes");
}
