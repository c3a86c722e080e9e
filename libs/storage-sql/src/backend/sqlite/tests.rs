//! What is SQLite's own: the file, its schema, and how it runs each statement.

mod catalogue;
mod incarnation;
mod lanes;
mod lease;
mod mend;
mod space;
mod stats;
mod unposted;
mod versions;
mod writer;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use armadex_storage::conformance::fixture::ObjectBuilder;
use armadex_storage::conformance::{Fixture, RULES, Writer, object, resource};
use armadex_storage::{Change, Search, Sink, StoreError};

use super::*;
use crate::backend::several::moments;
use crate::backend::{Connection, rows, schema};
use crate::sql::samples::samples;
use crate::sql::statement::{Param, Statement};
use crate::store::SqlStore;

struct Home {
    directory: tempfile::TempDir,
}

impl Home {
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

    /// As a binary leaves it that knows a later version, which serves those that know this one.
    async fn migrate_to_99(&self, serves: &'static str) {
        self.run(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             SELECT 99, 'later', TRUE, checksum, 0 FROM _sqlx_migrations LIMIT 1",
        )
        .await;
        self.run("ALTER TABLE head ADD COLUMN later INTEGER NOT NULL DEFAULT 0")
            .await;
        self.run(serves).await;
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

/// Makes every transaction fail that stores an object of this name.
const REFUSE: &str = "CREATE TRIGGER refuse BEFORE INSERT ON ver WHEN NEW.name = 'refused' \
     BEGIN SELECT RAISE(ABORT, 'refused'); END";

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
    let place = Home::new();
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
    let place = Home::new();
    let database = place.database().await.expect("a database");
    for entry in std::fs::read_dir(place.directory.path()).expect("a directory") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
    database.close().await;
}

/// As a backup is that was copied back with `cp`.
#[tokio::test]
async fn files_that_everybody_may_read_are_found_and_used() {
    let place = Home::new();
    place.database().await.expect("a database").close().await;
    let folder = place.directory.path();
    let files = || {
        let entries = std::fs::read_dir(folder).expect("a directory");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let path = folder.join("store.db");
    assert!(files().any(|file| file == path));
    assert_eq!(private::open_to_everybody(&path).len(), 0, "its owner's");
    let set = |mode| {
        for file in files() {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(file, mode).expect("set");
        }
    };
    set(0o660);
    assert_eq!(private::open_to_everybody(&path).len(), 0, "a group's");
    set(0o644);
    let mut expected = Vec::from_iter(files());
    expected.sort();
    assert_eq!(private::open_to_everybody(&path), expected);
    place.database().await.expect("a database").close().await;
}

const SERVES_99: &str = "UPDATE head SET serves = 99";
const SERVES_ALL: &str = "UPDATE head SET serves = 8";

/// Whoever meets it is told what to do.
#[track_caller]
fn assert_outdated<T: std::fmt::Debug>(refused: Result<T, StoreError>) {
    match refused {
        Err(StoreError::Broken { reason }) => {
            let words = ["version 99", "newer binary"];
            assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test]
async fn a_file_that_serves_newer_binaries_only_is_refused_in_clear_words() {
    let place = Home::new();
    place.migrate_to_99(SERVES_99).await;
    let refused = SqlStore::sqlite(&place.path(), &Options::default()).await;
    assert_outdated(refused.map(|_| ()));
    let standing = look(&place.path()).await.expect("a schema");
    assert_outdated(standing.check_served());
}

#[tokio::test]
async fn a_file_of_a_newer_binary_that_serves_this_one_is_read_and_written() {
    let place = Home::new();
    place.migrate_to_99(SERVES_ALL).await;
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    assert_eq!(store.head().await.expect("a head").revision, 1);
    store.shutdown().await;
    let standing = look(&place.path()).await.expect("a schema");
    assert_eq!((standing.version, standing.newest), (Some(99), 12));
    assert!(standing.pending.is_empty());
    standing.check_served().expect("it serves this binary");
}

#[tokio::test]
async fn looking_at_a_schema_says_what_is_missing_and_makes_nothing() {
    let place = Home::new();
    let names = |standing: &schema::SchemaStanding| {
        let pending = standing.pending.iter().map(|pending| pending.name);
        pending.collect::<Vec<_>>()
    };
    let standing = look(&place.path()).await.expect("no schema");
    assert_eq!(standing.version, None);
    assert_eq!(
        names(&standing),
        [
            "store",
            "leaving",
            "owners",
            "upkeep",
            "tenures",
            "streams",
            "types",
            "own_fields",
            "past",
            "dictionaries",
            "history",
            "cluster_labels"
        ]
    );
    assert!(!place.path().exists());
    place
        .run("DELETE FROM _sqlx_migrations WHERE version = 12")
        .await;
    let before = std::fs::read(place.path()).expect("a file");
    let standing = look(&place.path()).await.expect("a schema");
    assert_eq!(
        (standing.version, names(&standing)),
        (Some(11), vec!["cluster_labels"])
    );
    assert_eq!(std::fs::read(place.path()).expect("a file"), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_broken_and_a_directory_is_out_of_reach() {
    let place = Home::new();
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
    let place = Home::new();
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
    let place = Home::new();
    let database = place.database().await.expect("a database");
    let mut transaction = database.read(Lane::Short).await.expect("a transaction");
    let refused = transaction.execute(crate::sql::head::advance(1)).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn a_store_survives_being_closed_and_is_unavailable_afterwards() {
    let place = Home::new();
    let options = Options::default();
    let member = armadex_model::ClusterName::new("member1").expect("a name");
    let store = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    let cluster = store
        .join(&member, "incarnation", "")
        .await
        .expect("joined");
    let head = store.head().await.expect("a head");
    store.shutdown().await;
    for refused in [
        store.join(&member, "incarnation", "").await.map(|_| ()),
        store.head().await.map(|_| ()),
    ] {
        assert!(refused.is_err_and(|err| err.is_transient()));
    }
    let store = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    assert_eq!(store.head().await.expect("a head"), head);
    assert_eq!(
        store
            .join(&member, "incarnation", "")
            .await
            .expect("joined"),
        cluster
    );
    store.shutdown().await;
}

#[tokio::test]
async fn another_process_that_writes_is_noticed() {
    let place = Home::new();
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
    writer
        .join(&member, "incarnation", "")
        .await
        .expect("joined");
    assert_eq!(reader.catalog().await.expect("a catalog").clusters.len(), 1);
}

#[tokio::test]
async fn a_busy_file_is_unavailable_until_it_is_free() {
    let place = Home::new();
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
    let refused = store.join(&member, "incarnation", "").await;
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
    let joined = async {
        // A store that could not be written to is tried again a moment later.
        while let Err(refused) = store.join(&member, "incarnation", "").await {
            assert!(refused.is_transient(), "{refused}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let joined = tokio::time::timeout(Duration::from_secs(20), joined);
    joined.await.expect("joined");
}

/// Each kind of damage, and what is said of it.
const DAMAGES: &[(&str, &str)] = &[
    (
        "UPDATE counter SET n = n + 1",
        "3 objects, and the counter says 4",
    ),
    (
        "DELETE FROM post WHERE term = (SELECT MIN(term) FROM post)",
        "terms, and the blocks have",
    ),
    (
        "UPDATE post SET term = term + 1 WHERE term = (SELECT MIN(term) FROM post)",
        "terms, and the blocks have",
    ),
    ("UPDATE post SET ids = x'ffff'", "type 1 in namespace id"),
    (
        "UPDATE obj SET form = form + (1 << 30) WHERE id = 1",
        "the form of object 1",
    ),
    (
        "UPDATE ver SET terms = x'00' WHERE rev = 1",
        "the terms of object 1 are damaged",
    ),
    (
        "UPDATE ver SET terms = terms || x'01000000' WHERE rev = 1",
        "object 1 has terms that its type would post",
    ),
    (
        "UPDATE ver SET body = substr(body, 2) WHERE rev = 1",
        "the body of object 1 is damaged",
    ),
    (
        "UPDATE ver SET dict = 77 WHERE rev = 1",
        "dictionary 77 is not known",
    ),
    (
        "UPDATE obj SET size = size + 1 WHERE id = 1",
        "bytes instead of",
    ),
    ("DELETE FROM ver WHERE rev = 1", "1 objects have no version"),
    (
        "UPDATE ver SET rev = 1000 WHERE rev = 1",
        "the log has 2 versions for 3 revisions",
    ),
    (
        "UPDATE ver SET rev = 1000 WHERE rev = 1",
        "1 versions are beyond the head",
    ),
    (
        "UPDATE head SET pruned = 3, history = 3; UPDATE ver SET rev = 0 WHERE rev = 1",
        "1 objects have no version",
    ),
    (
        "UPDATE head SET pruned = 3, history = 3; INSERT INTO ver SELECT 0, 0, obj, op, type, nsid, name, dict, terms, body FROM ver LIMIT 1",
        "4 versions are past the log, and 3 of them are known",
    ),
    (
        "UPDATE stream SET objects = 7",
        "3 objects, and the stream says 7",
    ),
    ("DELETE FROM stream", "objects without a stream"),
    (
        "UPDATE ns SET types = 7",
        "1 types have objects, and it says 7",
    ),
    ("DELETE FROM ns", "stands for nothing"),
];

#[tokio::test]
async fn damage_is_found_by_a_check_and_named() {
    for (damage, said) in DAMAGES {
        let place = Home::new();
        let store = open_store(&place).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("member1").await;
        let labelled = |name| object("ns", name).label("name", name);
        fixture.put(&pods, ["a", "b", "c"].map(labelled)).await;
        fixture.assert_sound().await;
        place.run(damage).await;
        let faults = faults(Arc::clone(&store)).await;
        let is_named = faults.iter().any(|fault| fault.contains(*said));
        assert!(is_named, "{damage}: {faults:#?}");
    }
}

/// Both sides of a store, for cases that are written with those of the behaviour suite.
fn fixture_of(store: &Arc<SqlStore>) -> Fixture {
    let audited = Arc::clone(store);
    Fixture::of(store).audited(move || faults(Arc::clone(&audited)))
}

async fn faults(store: Arc<SqlStore>) -> Vec<String> {
    store.check().await.expect("a report").faults
}

async fn open_store(place: &Home) -> Arc<SqlStore> {
    let store = SqlStore::sqlite(&place.path(), &Options::default()).await;
    Arc::new(store.expect("a store"))
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
async fn what_takes_a_moment_never_waits_behind_searches_or_sweeps() {
    let place = Home::new();
    let store = open_store(&place).await;
    moments::wait_for_nobody(&store, &fixture_of(&store), [Options::default().readers, 1]).await;
}

fn pods_type() -> armadex_model::GroupVersionResource {
    resource("", "pods", "Pod", true).gvr
}

/// Readers that overlap never leave the log unread, so it would grow for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_emptied_although_somebody_always_reads() {
    let place = Home::new();
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

#[tokio::test]
async fn a_file_that_is_written_anew_is_not_held_in_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, options) = (directory.path().join("store.db"), Options::default());
    migrate_file(&path, &options).await.expect("a file");
    let (in_a_file, in_memory) = (1, 2);
    for (options, place) in [
        (compact_options(&path, &options), in_a_file),
        (writer_options(&path, &options), in_memory),
    ] {
        let mut connection = options.connect().await.expect("a connection");
        let set = sqlx::query_scalar("PRAGMA temp_store").fetch_one(&mut connection);
        let set: i64 = set.await.expect("an answer");
        assert_eq!(set, place);
    }
}
