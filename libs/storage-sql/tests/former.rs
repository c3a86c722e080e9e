//! Stores that an earlier release left, opened by this one: SQLite at version 4 of its schema, PostgreSQL and MariaDB at version 1.
//!
//! `former/*.sql` are what a binary of then left after `armadex_storage::conformance::model::former::fill` on an empty store, opened with a `label_sample` of 4, and
//! `former/unposted/*.sql` after `former::unposted::fill_one_by_one` and a purge, with one of 8: all of
//! `sqlite3 FILE .dump`, `pg_dump --inserts --no-owner --no-privileges --no-comments`, and of MariaDB `SHOW CREATE TABLE` and the rows of each table. They are
//! never made anew: what a later release writes is no earlier one's.

use std::sync::Arc;

use armadex_databases::{Database, Engine};
use armadex_storage::conformance::Fixture;
use armadex_storage::conformance::model::former::a_store_of_an_earlier_release_is_answered_as_before;
use armadex_storage::conformance::model::former::unposted::labels_that_are_not_posted_are_found_as_before;
use armadex_storage_sql::{Location, Options, SqlStore, open_with, schema_standing};
use sqlx::{Connection, Executor};

/// What a release left, and what is asked of it.
#[derive(Clone, Copy, Debug)]
enum Left {
    All,
    Unposted,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_at_version_4() {
    for (dump, left) in [
        (include_str!("former/sqlite.sql"), Left::All),
        (include_str!("former/unposted/sqlite.sql"), Left::Unposted),
    ] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("store.db");
        let url = format!("sqlite://{}?mode=rwc", path.display());
        // What a dump says nothing of.
        let made = "PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;";
        put_back::<sqlx::SqliteConnection>(&url, &[made, dump]).await;
        is_answered_as_before(&format!("sqlite://{}", path.display()), 4, left).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_at_version_1() {
    for (dump, left) in [
        (include_str!("former/postgres.sql"), Left::All),
        (include_str!("former/unposted/postgres.sql"), Left::Unposted),
    ] {
        let Some(database) = Database::for_test(Engine::Postgres).expect("a server") else {
            return;
        };
        put_back::<sqlx::PgConnection>(&database.url(), &[dump]).await;
        is_answered_as_before(&database.url(), 1, left).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mysql_at_version_1() {
    for (dump, left) in [
        (include_str!("former/mysql.sql"), Left::All),
        (include_str!("former/unposted/mysql.sql"), Left::Unposted),
    ] {
        let Some(database) = Database::for_test(Engine::Mysql).expect("a server") else {
            return;
        };
        put_back::<sqlx::MySqlConnection>(&database.url(), &[dump]).await;
        is_answered_as_before(&database.url(), 1, left).await;
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
    for (dump, more) in [
        (include_str!("former/sqlite.sql"), ["health", "ver"]),
        (include_str!("former/postgres.sql"), ["health", "ver"]),
        (include_str!("former/mysql.sql"), ["health", "ver"]),
        (
            include_str!("former/unposted/sqlite.sql"),
            ["unposted", "milestone"],
        ),
        (
            include_str!("former/unposted/postgres.sql"),
            ["unposted", "milestone"],
        ),
        (
            include_str!("former/unposted/mysql.sql"),
            ["unposted", "milestone"],
        ),
    ] {
        for table in TABLES.into_iter().chain(more) {
            assert!(of(dump, table) > 0, "{table}");
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
    let options = Options::default();
    let (store, other) = tokio::join!(
        open_with(&location, &options),
        open_with(&location, &options)
    );
    other.expect("the other process").shutdown().await;
    let store = Arc::new(store.expect("the store"));
    let after = schema_standing(&location).await.expect("a schema");
    assert_eq!(after.version, Some(after.newest));
    let audited = Arc::clone(&store);
    let fixture = Fixture::of(&store).audited(move || faults(Arc::clone(&audited)));
    match left {
        Left::All => a_store_of_an_earlier_release_is_answered_as_before(&fixture).await,
        Left::Unposted => labels_that_are_not_posted_are_found_as_before(&fixture).await,
    }
    // What earlier releases noted of the past had no bytes; they are counted by now.
    let stats = store.stats().await.expect("stats");
    let past = stats.shares.iter().map(|share| share.past_bytes);
    assert_eq!(stats.past.bytes, past.sum::<u64>());
}

async fn faults(store: Arc<SqlStore>) -> Vec<String> {
    store.check().await.expect("a report").faults
}
