//! Servers give the room of what is removed to what comes next: clusters that come and go, and objects that are changed over and over, take no more after many
//! rounds than after a few.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use armadex_databases::{Engine, Server, Setup};
use armadex_storage::conformance::fixture::name;
use armadex_storage::conformance::{Fixture, Writer, object};
use armadex_storage::{Change, Sink as _};
use armadex_storage_sql::{Location, Options, SqlStore, open_with};
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, PgConnection};

/// Of each cluster.
const OBJECTS: usize = 2_500;
/// How often each is written.
const VERSIONS: usize = 2;
/// After half of them there is room for what comes and what goes at once. If none were used again it would be half of what there is in the end.
const ROUNDS: usize = 10;
/// What a table of some rows may take more or less of.
const SLACK: i64 = 1 << 20;
/// Of each object: values that eight objects of a version share, and none of another version.
const LABELS: usize = 10;
/// What has rows of what there is, and none when that has gone with its past.
const OF_OBJECTS: [&str; 5] = ["obj", "ver", "post", "counter", "ns"];
/// Longer than a server takes to clean up, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_does_not_grow_with_what_comes_and_goes() {
    let settings = vec![("autovacuum_naptime".to_owned(), "1s".to_owned())];
    let setup = Setup {
        settings,
        ..Setup::default()
    };
    come_and_go(Engine::Postgres, &setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_does_not_grow_with_what_comes_and_goes() {
    come_and_go(Engine::Mysql, &Setup::default()).await;
}

async fn come_and_go(engine: Engine, setup: &Setup) {
    let server = Server::for_test(engine, setup).expect("no trouble");
    let Some(server) = server else { return };
    let url = server.create("fleet").expect("a database");
    let location: Location = url.parse().expect("a location");
    let options = Options {
        watch_window: Duration::ZERO,
        // All labels stay posted.
        label_sample: 0,
        ..Options::default()
    };
    let store = Arc::new(open_with(&location, &options).await.expect("a store"));
    let mut sizes = BTreeMap::new();
    for round in 0..ROUNDS {
        one_comes_and_goes(&store, &format!("cluster-{round}")).await;
        for table in OF_OBJECTS {
            let rows = format!("SELECT COUNT(*) FROM {table}");
            assert_eq!(
                number(engine, &url, &rows).await,
                0,
                "{table}, round {round}"
            );
        }
        is_cleaned_up(engine, &url).await;
        for (table, bytes) in sizes_of_tables(engine, &url).await {
            sizes.entry(table).or_insert_with(Vec::new).push(bytes);
        }
    }
    let most = |sizes: &[i64]| sizes.iter().copied().max().expect("a size");
    for (table, sizes) in sizes {
        let (first, then) = sizes.split_at(ROUNDS / 2);
        assert!(
            most(then) < most(first) * 3 / 2 + SLACK,
            "{table}: {sizes:?}"
        );
    }
    let report = store.check().await.expect("a report");
    assert_eq!((report.objects, report.faults), (0, Vec::new()));
    store.shutdown().await;
}

/// What it had is removed, its past as well.
async fn one_comes_and_goes(store: &Arc<SqlStore>, cluster: &str) {
    let fixture = Fixture::of(store);
    let pods = fixture.pods_of(cluster).await;
    for version in 0..VERSIONS {
        put(store, &pods, version).await;
        purge(store).await;
    }
    let left = store.leave(&name(cluster), "incarnation-1").await;
    left.expect("left");
    purge(store).await;
}

async fn put(store: &SqlStore, pods: &Writer, version: usize) {
    let pod = |number: usize| {
        let pod = object(&format!("ns-{}", number % 5), &format!("pod-{number}"));
        let words: Vec<String> = (0..40)
            .map(|_| format!("{:016x}", rand::random::<u64>()))
            .collect();
        let body = format!(r#""name":"pod-{number}"}},"spec":"{}"}}"#, words.concat());
        let value = format!("{}-{version}", number / 8);
        let pod = (0..LABELS).fold(pod, |pod, label| pod.label(&format!("l-{label}"), &value));
        let pod = pod.version(&(version + 1).to_string());
        Change::Put(pod.body(&*body).build())
    };
    let changes = Vec::from_iter((0..OBJECTS).map(pod));
    for part in changes.chunks(500) {
        let written = store.write(pods.batch(part.to_vec(), None)).await;
        written.expect("written");
    }
}

async fn purge(store: &SqlStore) {
    let purged = async || store.purge(1_000, Duration::ZERO).await.expect("a step");
    while !purged().await.finished {}
}

/// Until the server has taken back what can be: a PostgreSQL leaves so much of a table where it is.
async fn is_cleaned_up(engine: Engine, url: &str) {
    let waiting = match engine {
        Engine::Postgres => "SELECT COUNT(*) FROM pg_stat_user_tables WHERE n_dead_tup > 20000",
        Engine::Mysql => {
            "SELECT COUNT(*) FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len' AND COUNT > 100"
        }
    };
    let end = Instant::now() + LIMIT;
    while number(engine, url, waiting).await > 0 {
        assert!(Instant::now() < end, "{engine:?} does not clean up");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// With their indexes.
async fn sizes_of_tables(engine: Engine, url: &str) -> Vec<(String, i64)> {
    let found = match engine {
        Engine::Postgres => {
            let mut connection = PgConnection::connect(url).await.expect("a connection");
            let taken =
                "SELECT relname::TEXT, pg_total_relation_size(relid) FROM pg_stat_user_tables";
            sqlx::query_as(taken).fetch_all(&mut connection).await
        }
        Engine::Mysql => {
            let mut connection = MySqlConnection::connect(url).await.expect("a connection");
            let taken = "SELECT CONVERT(NAME USING utf8mb4), CAST(FILE_SIZE AS SIGNED) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE 'fleet/%'";
            sqlx::query_as(taken).fetch_all(&mut connection).await
        }
    };
    found.expect("tables")
}

async fn number(engine: Engine, url: &str, sql: &str) -> i64 {
    let sql = AssertSqlSafe(sql);
    let found = match engine {
        Engine::Postgres => {
            let mut connection = PgConnection::connect(url).await.expect("a connection");
            sqlx::query_scalar(sql).fetch_one(&mut connection).await
        }
        Engine::Mysql => {
            let mut connection = MySqlConnection::connect(url).await.expect("a connection");
            sqlx::query_scalar(sql).fetch_one(&mut connection).await
        }
    };
    found.expect("a number")
}
