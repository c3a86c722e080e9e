//! Stores that an earlier release left, opened by this one: SQLite at versions 4 to 7 and 9 to 11 of its schema, PostgreSQL and MariaDB at versions 1 to 8.
//!
//! `former/*.sql` are what a binary of then left after `armadex_storage::conformance::model::former::fill` on an empty store, opened with a
//! `label_sample` of 4, and `former/unposted/*.sql` after `former::unposted::fill_one_by_one` and a purge, with one of 8. `former/tenures/*.sql` and
//! `former/streams/*.sql` are the same of the two versions after these, when the owner's second tenure had begun; `former/types/*.sql` and
//! `former/own_fields/*.sql` (none of SQLite, whose version 8 was made in other words) of the next two and `former/past/*.sql` of the one after these, with what [`events_are_told_apart_as_before`] and [`what_left_comes_back`] say. `former/dictionaries/*.sql` are these last ones after a binary of
//! the next version had migrated them, purged what had left, stored what [`widgets_are_read_by_their_dictionary`] says, trained a dictionary on it, and stored a quarter of it once more. `former/filled/*.sql` are
//! of that version as the first ones are of theirs. `former/history/*.sql` are those of `former/past` after `armadex migrate` of the version after it, `former/history/filled/*.sql` of that version as the first ones are of theirs, and `former/history/kept/*.sql`
//! the same of a store whose pods had a history from the beginning, once a purge had found its watch window of a second over. What is kept is all of `sqlite3 FILE .dump`, `pg_dump --inserts --no-owner --no-privileges --no-comments`, and of MariaDB `SHOW CREATE TABLE` and the rows of each table. They
//! are never made anew: what a later release writes is no earlier one's.

#[path = "fixture/audited.rs"]
mod audited;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use armadex_databases::{Database, Engine};
use armadex_model::Query;
use armadex_model::label::Requirement;
use armadex_storage::conformance::Fixture;
use armadex_storage::conformance::fixture::{live, resource, words};
use armadex_storage::conformance::model::former::a_store_of_an_earlier_release_is_answered_as_before;
use armadex_storage::conformance::model::former::unposted::labels_that_are_not_posted_are_found_as_before;
use armadex_storage::{Health, Sink as _, Tenure};
use armadex_storage_sql::{
    CopyError, Location, Options, Pace, SchemaStanding, SqlStore, copy, open_as_it_is, open_with,
    renew, schema_standing,
};
use audited::audited;
use sqlx::{Connection, Executor};

/// What a release left, and what is asked of it.
#[derive(Clone, Copy, Debug)]
enum Left {
    All,
    Unposted,
    /// The same, and two tenures.
    Tenures,
    /// The same, and events, a type that is closed, one that nobody has any more, a cluster that is ill and one that has left.
    Types,
    /// The same without what had left, and widgets, some of which a dictionary packs that was trained on them.
    Dictionaries,
    /// The same, of which nothing is kept that was superseded.
    Pruned,
    /// What the first ones have, of which nothing is kept that was superseded but the history of one type.
    History,
}

impl Left {
    /// What it has rows in beside the tables that all have.
    fn tables(self) -> &'static [&'static str] {
        match self {
            Self::All => &["health", "ver"],
            Self::Unposted => &["unposted", "milestone"],
            Self::Tenures => &["unposted", "milestone", "tenure"],
            Self::Types => &["unposted", "milestone", "tenure", "health"],
            Self::Dictionaries | Self::Pruned => {
                &["unposted", "milestone", "tenure", "health", "dict"]
            }
            Self::History => &["health", "ver", "history", "milestone", "gone"],
        }
    }
}

/// A version of the schema, and a dump of it.
type Former = (i64, &'static str, Left);

const SQLITE: [Former; 12] = [
    (4, include_str!("former/sqlite.sql"), Left::All),
    (
        4,
        include_str!("former/unposted/sqlite.sql"),
        Left::Unposted,
    ),
    (5, include_str!("former/tenures/sqlite.sql"), Left::Tenures),
    (6, include_str!("former/streams/sqlite.sql"), Left::Tenures),
    (7, include_str!("former/types/sqlite.sql"), Left::Types),
    (9, include_str!("former/past/sqlite.sql"), Left::Types),
    (
        10,
        include_str!("former/dictionaries/sqlite.sql"),
        Left::Dictionaries,
    ),
    (
        10,
        include_str!("former/dictionaries/sqlite.sql"),
        Left::Pruned,
    ),
    (10, include_str!("former/filled/sqlite.sql"), Left::All),
    (11, include_str!("former/history/sqlite.sql"), Left::Types),
    (
        11,
        include_str!("former/history/filled/sqlite.sql"),
        Left::All,
    ),
    (
        11,
        include_str!("former/history/kept/sqlite.sql"),
        Left::History,
    ),
];
const POSTGRES: [Former; 13] = [
    (1, include_str!("former/postgres.sql"), Left::All),
    (
        1,
        include_str!("former/unposted/postgres.sql"),
        Left::Unposted,
    ),
    (
        2,
        include_str!("former/tenures/postgres.sql"),
        Left::Tenures,
    ),
    (
        3,
        include_str!("former/streams/postgres.sql"),
        Left::Tenures,
    ),
    (4, include_str!("former/types/postgres.sql"), Left::Types),
    (
        5,
        include_str!("former/own_fields/postgres.sql"),
        Left::Types,
    ),
    (6, include_str!("former/past/postgres.sql"), Left::Types),
    (
        7,
        include_str!("former/dictionaries/postgres.sql"),
        Left::Dictionaries,
    ),
    (
        7,
        include_str!("former/dictionaries/postgres.sql"),
        Left::Pruned,
    ),
    (7, include_str!("former/filled/postgres.sql"), Left::All),
    (8, include_str!("former/history/postgres.sql"), Left::Types),
    (
        8,
        include_str!("former/history/filled/postgres.sql"),
        Left::All,
    ),
    (
        8,
        include_str!("former/history/kept/postgres.sql"),
        Left::History,
    ),
];
const MYSQL: [Former; 13] = [
    (1, include_str!("former/mysql.sql"), Left::All),
    (1, include_str!("former/unposted/mysql.sql"), Left::Unposted),
    (2, include_str!("former/tenures/mysql.sql"), Left::Tenures),
    (3, include_str!("former/streams/mysql.sql"), Left::Tenures),
    (4, include_str!("former/types/mysql.sql"), Left::Types),
    (5, include_str!("former/own_fields/mysql.sql"), Left::Types),
    (6, include_str!("former/past/mysql.sql"), Left::Types),
    (
        7,
        include_str!("former/dictionaries/mysql.sql"),
        Left::Dictionaries,
    ),
    (
        7,
        include_str!("former/dictionaries/mysql.sql"),
        Left::Pruned,
    ),
    (7, include_str!("former/filled/mysql.sql"), Left::All),
    (8, include_str!("former/history/mysql.sql"), Left::Types),
    (
        8,
        include_str!("former/history/filled/mysql.sql"),
        Left::All,
    ),
    (
        8,
        include_str!("former/history/kept/mysql.sql"),
        Left::History,
    ),
];

/// As a store is once its watch window is over.
const PRUNES: &str = "DELETE FROM ver WHERE rev NOT IN (SELECT rev FROM obj); DELETE FROM milestone; UPDATE head SET pruned = rev;";

/// What is not opened here need not open where it matters.
#[test]
fn each_version_but_the_newest_has_a_dump() {
    // Versions of which none was kept while they were the newest.
    let kept: [(&str, &[Former], &[i64]); 3] = [
        ("sqlite", &SQLITE, &[1, 2, 3, 8]),
        ("postgres", &POSTGRES, &[]),
        ("mysql", &MYSQL, &[]),
    ];
    for (folder, dumps, without) in kept {
        let dumped = dumps.iter().map(|(version, ..)| *version);
        let dumped: BTreeSet<i64> = dumped.chain(without.iter().copied()).collect();
        let newest = i64::try_from(migrations(folder)).expect("a few");
        let former: BTreeSet<i64> = (1..newest).collect();
        assert_eq!(
            dumped, former,
            "{folder}: what the last release leaves is to be kept in tests/former"
        );
        let is_asked =
            |(version, _, left): &Former| *version == newest - 1 && matches!(left, Left::All);
        assert!(
            dumps.iter().any(is_asked),
            "{folder}: nothing that `fill` left by the last release is kept in tests/former"
        );
    }
}

fn migrations(folder: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let files = std::fs::read_dir(root.join(folder)).expect("migrations");
    files.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_at_versions_4_to_11() {
    for (version, dump, left) in SQLITE {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("store.db");
        let url = format!("sqlite://{}?mode=rwc", path.display());
        // What a dump says nothing of.
        let made = "PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;";
        put_back::<sqlx::SqliteConnection>(&url, &[made, dump]).await;
        let url = format!("sqlite://{}", path.display());
        if let Left::Pruned = left {
            put_back::<sqlx::SqliteConnection>(&url, &[PRUNES]).await;
        }
        is_answered_as_before(&url, version, left).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_at_versions_1_to_8() {
    for (version, dump, left) in POSTGRES {
        let Some(database) = Database::for_test(Engine::Postgres).expect("a server") else {
            return;
        };
        put_back::<sqlx::PgConnection>(&database.url(), &[dump]).await;
        if let Left::Pruned = left {
            put_back::<sqlx::PgConnection>(&database.url(), &[PRUNES]).await;
        }
        is_answered_as_before(&database.url(), version, left).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mysql_at_versions_1_to_8() {
    for (version, dump, left) in MYSQL {
        let Some(database) = Database::for_test(Engine::Mysql).expect("a server") else {
            return;
        };
        put_back::<sqlx::MySqlConnection>(&database.url(), &[dump]).await;
        if let Left::Pruned = left {
            put_back::<sqlx::MySqlConnection>(&database.url(), &[PRUNES]).await;
        }
        is_answered_as_before(&database.url(), version, left).await;
    }
}

/// What has no row in a dump is not held by it.
#[test]
fn each_table_has_rows_of_then() {
    const TABLES: [&str; 11] = [
        "allocation",
        "cluster",
        "counter",
        "head",
        "lease",
        "meta",
        "ns",
        "obj",
        "post",
        "stream",
        "type",
    ];
    let of = |dump: &str, table: &str| {
        let spelled = ["{}", "`{}`", "public.{}"].map(|spelling| spelling.replace("{}", table));
        let begins = spelled.map(|table| format!("INSERT INTO {table} VALUES"));
        dump.lines()
            .filter(|line| begins.iter().any(|begin| line.starts_with(begin)))
            .count()
    };
    for (version, dump, left) in SQLITE.into_iter().chain(POSTGRES).chain(MYSQL) {
        for table in TABLES.iter().chain(left.tables()) {
            assert!(of(dump, table) > 0, "{version}: {table}");
        }
    }
}

async fn put_back<C: Connection>(url: &str, texts: &[&'static str])
where
    for<'c> &'c mut C: Executor<'c>,
{
    let mut connection = C::connect(url).await.expect("a connection");
    for text in texts {
        let done = connection.execute(sqlx::raw_sql(*text)).await;
        done.expect("statements of then");
    }
    connection.close().await.expect("closed");
}

/// Two processes that start at once: one migrates, and the other finds that done.
async fn is_answered_as_before(url: &str, version: i64, left: Left) {
    let location: Location = url.parse().expect("a location");
    let before = schema_standing(&location).await.expect("a schema");
    assert_eq!(before.version, Some(version));
    stays_as_it_is(&location, &before).await;
    let options = Options::default();
    let (store, other) = tokio::join!(
        open_with(&location, &options),
        open_with(&location, &options)
    );
    other.expect("the other process").shutdown().await;
    let store = Arc::new(store.expect("the store"));
    let after = schema_standing(&location).await.expect("a schema");
    assert_eq!(after.version, Some(after.newest));
    let fixture = audited(&store);
    match left {
        Left::History => {
            has_the_history_of_then(&store).await;
            a_store_of_an_earlier_release_is_answered_as_before(&fixture).await;
        }
        Left::All => a_store_of_an_earlier_release_is_answered_as_before(&fixture).await,
        Left::Unposted => labels_that_are_not_posted_are_found_as_before(&fixture).await,
        Left::Tenures => {
            labels_that_are_not_posted_are_found_as_before(&fixture).await;
            the_next_tenure_comes_after_those_of_then(&store).await;
        }
        Left::Types => {
            events_are_told_apart_as_before(&fixture).await;
            what_left_comes_back(&fixture).await;
            labels_that_are_not_posted_are_found_as_before(&fixture).await;
            the_next_tenure_comes_after_those_of_then(&store).await;
        }
        Left::Dictionaries | Left::Pruned => {
            events_are_told_apart_as_before(&fixture).await;
            widgets_are_read_by_their_dictionary(&fixture).await;
            labels_that_are_not_posted_are_found_as_before(&fixture).await;
            the_next_tenure_comes_after_those_of_then(&store).await;
        }
    }
    // What earlier releases noted of the past had no bytes; they are counted by now.
    let stats = store.stats().await.expect("stats");
    let has_history = matches!(left, Left::History);
    let kept = if has_history { KEPT } else { 0 };
    assert_eq!(stats.history < stats.pruned, has_history, "{stats:?}");
    assert!(stats.pruned > 0 || !matches!(left, Left::Pruned));
    let past = stats.shares.iter().map(|share| share.past_bytes);
    assert_eq!(stats.past.bytes + kept, past.sum::<u64>());
}

/// Bytes of what a history had then, long after the watch window.
const KEPT: u64 = 14_752;

/// Of pods, all that was superseded, of which this process was told nothing.
async fn has_the_history_of_then(store: &SqlStore) {
    let stats = store.stats().await.expect("stats");
    let [share] = &stats.histories[..] else {
        panic!("{stats:?}")
    };
    assert_eq!((share.resource.as_str(), share.since), ("pods", 0));
    assert_eq!((stats.pruned, stats.history), (412, 0));
    assert_eq!((stats.past.bytes, stats.kept.bytes), (0, KEPT));
}

/// Whoever only looks after the store leaves it to those who work with it, and a copy that is not made leaves nothing.
async fn stays_as_it_is(location: &Location, before: &SchemaStanding) {
    let bytes = bytes_of(location);
    let opened = open_as_it_is(location, &Options::default()).await;
    for refused in [opened.map(drop), renew(location).await.map(drop)] {
        let refused = refused.expect_err("refused").to_string();
        assert!(refused.contains("`armadex migrate` first"), "{refused}");
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let to = directory.path().join("to.db");
    let copied = copy(
        location,
        &Location::Sqlite(to.clone()),
        &Pace::default(),
        &mut |_| {},
    )
    .await;
    let refused = copied.expect_err("refused");
    assert!(matches!(refused, CopyError::Behind { .. }), "{refused}");
    assert!(!to.exists());
    let after = schema_standing(location).await.expect("a schema");
    assert_eq!(after, *before);
    assert!(bytes_of(location) == bytes, "the file was written");
}

/// All of it, where it is a file.
fn bytes_of(location: &Location) -> Vec<u8> {
    match location {
        Location::Sqlite(path) => std::fs::read(path).expect("a file"),
        Location::Server(_) => vec![],
    }
}

/// The process of then still has the second, and learns that it is over.
async fn the_next_tenure_comes_after_those_of_then(store: &SqlStore) {
    let lasts = store.keep_alive("owner", Tenure(2)).await;
    assert!(lasts.expect("told"));
    assert_eq!(store.begin("owner").await.expect("begun"), Tenure(3));
    let lasts = store.keep_alive("owner", Tenure(2)).await;
    assert!(!lasts.expect("told"));
}

/// Three events, told apart by what each is about, whether that was indexed then or not.
async fn events_are_told_apart_as_before(fixture: &Fixture) {
    fixture.assert_sound().await;
    let events = resource("", "events", "Event", true);
    let all = Query::all(events.gvr.clone());
    assert_eq!(
        fixture.list(&all, 2).await,
        ["alpha/ns/e-0", "alpha/ns/e-1", "alpha/ns/e-2"]
    );
    for number in 0..3 {
        let about = Requirement::is_in("involvedObject.uid", [format!("uid-{number}")]);
        let query = Query {
            fields: vec![about],
            ..all.clone()
        };
        let expected = [format!("alpha/ns/e-{number}")];
        assert_eq!(fixture.list(&query, 2).await, expected);
    }
    let writer = fixture.writer("alpha", &events).await;
    assert_eq!(writer.stream.position, Some(live("4711")));
    fixture.assert_sound().await;
}

/// A node of a type that is closed, in a cluster that is ill; a ConfigMap in one that has left.
async fn what_left_comes_back(fixture: &Fixture) {
    let nodes = resource("", "nodes", "Node", false);
    let maps = resource("", "configmaps", "ConfigMap", true);
    let all = [&nodes, &maps].map(|kind| Query::all(kind.gvr.clone()));
    for hidden in &all {
        assert!(fixture.list(hidden, 2).await.is_empty());
    }
    let catalog = fixture.search.catalog().await.expect("a catalogue");
    let health = catalog.clusters.values().map(|entry| entry.health.clone());
    let ill = Health {
        healthy: false,
        reason: "refused".to_owned(),
    };
    assert_eq!(Vec::from_iter(health), [None, Some(ill)]);
    fixture.writer("beta", &nodes).await;
    assert_eq!(fixture.list(&all[0], 2).await, ["beta//node-1"]);
    fixture.writer("gamma", &maps).await;
    assert_eq!(fixture.list(&all[1], 2).await, ["gamma/ns/m"]);
    fixture.assert_sound().await;
}

/// Each has the body that it was stored with, and the cluster's other types are as they were.
async fn widgets_are_read_by_their_dictionary(fixture: &Fixture) {
    let widgets = resource("example.com", "widgets", "Widget", true);
    let found = fixture.rows(&Query::all(widgets.gvr.clone()), 100).await;
    assert_eq!(found.len(), 300);
    for (number, row) in found.iter().enumerate() {
        assert_eq!(row.key.name, format!("w-{number:03}"));
        let version = if number < 75 { "2" } else { "1" };
        assert_eq!(row.resource_version, version);
        assert_eq!(row.body, widget(number), "{number}");
    }
    let writer = fixture.writer("alpha", &widgets).await;
    fixture.delete(&writer, "ns", &["w-000"]).await;
}

fn widget(number: usize) -> Vec<u8> {
    format!(r#""name":"w-{number}"}},"spec":"{}"}}"#, words(number, 20)).into_bytes()
}
