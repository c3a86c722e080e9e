//! A server that is paused, killed, stopped, made read-only and without room on its disk under a store: what is asked is refused at once once that is known, what is written is there exactly once in
//! the end, and nobody has to do anything but wait.

#[path = "fixture/pods.rs"]
mod pods;

use std::sync::Arc;
use std::time::{Duration, Instant};

use armadex_databases::{Disk, Engine, Server, Setup, administer};
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, Writer};
use armadex_storage::{Search as _, StoreError};
use armadex_storage_sql::SqlStore;

use pods::{OBJECTS, location, open_pods, write};

/// Longer than a server takes to go on, on a busy machine, and than the store takes to try it again.
const LIMIT: Duration = Duration::from_secs(60);
/// Nothing that waits for a server takes less.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Ten of these are more than the quarter of a second after which a database is tried again first.
const BETWEEN: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_in_trouble_is_refused_at_once_and_loses_nothing() {
    outages(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_in_trouble_is_refused_at_once_and_loses_nothing() {
    outages(Engine::Mysql).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_that_takes_no_writes_says_so_and_goes_on_answering() {
    // One at a time: it takes no transaction with others.
    let read_only = |is: &str| {
        [
            format!("ALTER SYSTEM SET default_transaction_read_only = {is}"),
            "SELECT pg_reload_conf()".to_owned(),
        ]
    };
    let orders = [read_only("on"), read_only("off")];
    takes_no_writes(Engine::Postgres, orders, "read-only transaction").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_that_takes_no_writes_says_so_and_goes_on_answering() {
    let read_only = |is: u8| {
        let order = format!("SET GLOBAL read_only = {is}");
        [order, "SELECT 1".to_owned()]
    };
    let orders = [read_only(1), read_only(0)];
    takes_no_writes(Engine::Mysql, orders, "--read-only").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_whose_disk_is_full_says_so_and_goes_on_when_there_is_room() {
    let Some(server) = on_a_disk(Engine::Postgres, "disk") else {
        return;
    };
    let folder = server.folder().join("disk");
    for order in [
        format!("CREATE TABLESPACE disk LOCATION '{}'", folder.display()),
        "CREATE DATABASE fleet TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' TABLESPACE disk"
            .to_owned(),
        "CREATE TABLE ballast (of TEXT) TABLESPACE disk".to_owned(),
        "ALTER TABLE ballast ALTER of SET STORAGE EXTERNAL".to_owned(),
    ] {
        administer(server.address(), &order).expect("done");
    }
    let ballast = Ballast {
        more: "INSERT INTO ballast SELECT repeat('x', 1000000) FROM generate_series(1, 4)",
        none: "DROP TABLE ballast",
    };
    becomes_full(&server, &ballast, "No space left on device").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_whose_disk_is_full_says_so_and_goes_on_when_there_is_room() {
    // A database is a folder.
    let Some(server) = on_a_disk(Engine::Mysql, "data/fleet") else {
        return;
    };
    for order in [
        "ALTER DATABASE fleet CHARACTER SET utf8mb4",
        "CREATE TABLE fleet.ballast (of VARBINARY(4000)) ENGINE InnoDB",
    ] {
        administer(server.address(), order).expect("done");
    }
    let ballast = Ballast {
        more: "INSERT INTO fleet.ballast SELECT REPEAT('x', 4000) FROM fleet.seq_1_to_1000",
        none: "DROP TABLE fleet.ballast",
    };
    becomes_full(&server, &ballast, "is full").await;
}

fn on_a_disk(engine: Engine, folder: &'static str) -> Option<Server> {
    let setup = Setup {
        disk: Some(Disk { folder, mib: 48 }),
        ..Setup::default()
    };
    Server::for_test(engine, &setup).expect("no trouble")
}

/// What somebody fills a disk with, some megabytes at a time.
struct Ballast {
    more: &'static str,
    none: &'static str,
}

/// Somebody fills the disk, and takes away again what they filled it with.
async fn becomes_full(server: &Server, ballast: &Ballast, words: &str) {
    let store = open(&server.address().database("fleet")).await;
    let writer = open_pods(&store).await;
    write(&store, &writer, 1).await.expect("it works");
    let more = || administer(server.address(), ballast.more);
    let refused = (0..50).find_map(|_| more().err());
    let refused = refused.expect("a disk has an end");
    assert!(format!("{refused:#}").contains(words), "{refused:#}");
    let last = takes_none(&store, &writer, words).await;
    administer(server.address(), ballast.none).expect("dropped");
    goes_on(&store, &writer, last + 1).await;
    store.shutdown().await;
}

/// As an administrator does it for an hour, or a provider when a disk is full.
async fn takes_no_writes(engine: Engine, [begin, end]: [[String; 2]; 2], words: &str) {
    let server = Server::for_test(engine, &Setup::default()).expect("no trouble");
    let Some(server) = server else { return };
    let store = open(&url_of_a_user(&server)).await;
    let writer = open_pods(&store).await;
    write(&store, &writer, 1).await.expect("it works");
    let order = |orders: &[String; 2]| {
        for order in orders {
            administer(server.address(), order).expect("done");
        }
    };

    order(&begin);
    let last = takes_none(&store, &writer, words).await;
    order(&end);
    goes_on(&store, &writer, last + 1).await;
    store.shutdown().await;
}

/// Until a write is refused in these words, and everything can be read, as whoever measures it is told; the last batch that was tried.
async fn takes_none(store: &Arc<SqlStore>, writer: &Writer, words: &str) -> u64 {
    // Each with other objects than the last: one that changes nothing is refused by nobody, and the server takes its time to follow the order.
    let mut batch = 1;
    wait_for("a write is refused", async || {
        batch += 1;
        match write(store, writer, batch).await {
            Ok(()) => false,
            Err(error) => {
                assert!(error.is_transient(), "{error}");
                told(&error).contains(words)
            }
        }
    })
    .await;
    let listed = Fixture::of(store).list(&all_pods(), 500).await;
    assert_eq!(listed.len(), OBJECTS, "nobody writes, and all can read");
    let known = store.availability();
    assert!(known.reads && !known.writes, "{known:?}");
    batch
}

/// Until it is told that it can be written to, though nobody has anything to write, and then this batch is, of which nothing is missing.
async fn goes_on(store: &Arc<SqlStore>, writer: &Writer, batch: u64) {
    wait_for("it is tried", async || store.availability().writes).await;
    wait_for("it is written", async || {
        write(store, writer, batch).await.is_ok()
    })
    .await;
    let report = store.check().await.expect("a report");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(report.objects, OBJECTS as u64);
}

/// An error with what it comes from.
fn told(error: &StoreError) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        words.push_str(": ");
        words.push_str(&error.to_string());
        source = error.source();
    }
    words
}

/// Of one who may do everything in this database and nothing beside: an administrator writes to a MariaDB whose `read_only` is set.
fn url_of_a_user(server: &Server) -> String {
    let url = server.create("fleet").expect("a database");
    let address = server.address();
    if address.engine() == Engine::Postgres {
        return url;
    }
    let grant = "CREATE USER 'user'@'%' IDENTIFIED BY 'word'; GRANT ALL ON fleet.* TO 'user'@'%'";
    administer(address, grant).expect("a user");
    format!(
        "mysql://user:word@{}:{}/fleet",
        address.host(),
        address.port()
    )
}

async fn outages(engine: Engine) {
    // One that forgets what it acknowledged is another one to a store, which ends.
    let setup = Setup {
        durable: true,
        ..Setup::default()
    };
    let server = Server::for_test(engine, &setup).expect("no trouble");
    let Some(mut server) = server else { return };
    let url = server.create("fleet").expect("a database");
    let store = open(&format!("{url}?connect_timeout=2s&statement_timeout=2s")).await;
    let writer = open_pods(&store).await;
    write(&store, &writer, 1).await.expect("it works");

    let pause: Order = |server| server.pause().expect("paused");
    let resume: Order = |server| server.resume().expect("resumed");
    let crash: Order = |server| server.crash().expect("killed");
    let stop: Order = |server| server.stop().expect("stopped");
    let start: Order = |server| server.start_again().expect("started");
    through(&store, &writer, &mut server, (pause, resume, 2)).await;
    through(&store, &writer, &mut server, (crash, start, 3)).await;
    through(&store, &writer, &mut server, (stop, start, 4)).await;

    let known = store.availability();
    assert!(known.reads && known.writes, "{known:?}");
    assert!((3..=12).contains(&known.outages), "{known:?}");
    let report = store.check().await.expect("a report");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(report.objects, OBJECTS as u64);
    store.shutdown().await;
}

type Order = fn(&mut Server);

/// One outage, in which a batch is written until it is stored.
async fn through(
    store: &Arc<SqlStore>,
    writer: &Writer,
    server: &mut Server,
    (outage, end, batch): (Order, Order, u64),
) {
    outage(server);
    wait_for("searches are refused at once", async || {
        is_refused_at_once(store).await
    })
    .await;
    // From the first on all are, also those that come when it is tried again.
    for number in 1..=10 {
        tokio::time::sleep(BETWEEN).await;
        assert!(is_refused_at_once(store).await, "search {number}");
    }
    let error = write(store, writer, batch).await.expect_err("an outage");
    assert!(error.is_transient() && error.is_told(), "{error}");
    end(server);
    wait_for("searches are answered", async || {
        store.catalog().await.is_ok()
    })
    .await;
    wait_for("it is written", async || {
        match write(store, writer, batch).await {
            Ok(()) => true,
            Err(error) => {
                assert!(error.is_transient(), "{error}");
                false
            }
        }
    })
    .await;
    let fixture = Fixture::of(store);
    let listed = fixture.list(&all_pods(), 500).await;
    assert_eq!(listed.len(), OBJECTS, "after batch {batch}");
}

/// Whether a search is refused in less time than anything takes that waits for the server.
async fn is_refused_at_once(store: &SqlStore) -> bool {
    let begun = Instant::now();
    let error = store.catalog().await.expect_err("there is an outage");
    assert!(error.is_transient(), "{error}");
    error.is_told() && begun.elapsed() < AT_ONCE
}

async fn wait_for(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so().await {
        assert!(Instant::now() < end, "{what}: not within {LIMIT:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn open(url: &str) -> Arc<SqlStore> {
    let store = armadex_storage_sql::open(&location(url)).await;
    Arc::new(store.expect("a store"))
}
