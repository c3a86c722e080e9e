//! Connections with a server: what is asked for and not there costs none, nor does what is refused; and how often a read goes the way there and back.

use armadex_databases::{Address, Engine, administer};
use armadex_model::{ClusterName, ObjectKey};
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{object, resource};
use armadex_storage::{Search as _, Sink as _};
use futures::future::join_all;
use sqlx::{Connection, Executor, MySqlConnection, PgConnection};
use tokio::task::spawn_blocking;

use super::place::{Home, fixture_of, open};
use super::proxy::Proxy;
use crate::backend::error::is_collision;
use crate::backend::{Lane, head_row, row};
use crate::options::Options;
use crate::sql::statement::Statement;
use crate::store::SqlStore;

/// By what the server knows the connection that a short read gets.
async fn number(store: &SqlStore, engine: Engine) -> i64 {
    let text = match engine {
        Engine::Postgres => "SELECT CAST(pg_backend_pid() AS BIGINT)",
        Engine::Mysql => "SELECT CAST(CONNECTION_ID() AS SIGNED)",
    };
    let mut transaction = store.database.read(Lane::Short).await.expect("a read");
    let statement = Statement::fixed("test.connection", text, []);
    let found = row(&mut *transaction, statement, |row| row.int(0)).await;
    transaction.rollback().await.expect("ended");
    found.expect("an answer").expect("a row")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_costs_no_connection() {
    for place in Home::on_each_server() {
        let engine = place.database.server().engine();
        let store = place.store().await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let before = number(&store, engine).await;
        let pod = resource("", "pods", "Pod", true).gvr;
        let name = |name| ClusterName::new(name).expect("a name");
        let (there, elsewhere) = (name("m"), name("n"));
        let key = ObjectKey::new("ns", "b");
        for cluster in [&there, &elsewhere] {
            let found = store.get(cluster, &pod, &key).await.expect("an answer");
            assert!(found.is_none());
            let shown = store.has_namespace(cluster, "none").await;
            assert!(!shown.expect("an answer"));
        }
        let position = store.position(&elsewhere, &pod).await;
        assert!(position.expect("an answer").is_none());
        assert_eq!(number(&store, engine).await, before);
        store.shutdown().await;
    }
}

/// However much is asked at the same time: as many as `--store-connections` says, and on MySQL one more for a check.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_opens_no_more_connections_than_it_was_told() {
    for place in Home::on_each_server() {
        for told in [4, 13] {
            let options = Options::default().with_connections(told);
            let store = place.store_with(&options).await;
            let fixture = fixture_of(&store);
            let pods = fixture.pods_of("m").await;
            fixture.put(&pods, [object("ns", "a")]).await;
            let (cluster, query) = (ClusterName::new("m").expect("a name"), all_pods());
            let gvr = resource("", "pods", "Pod", true).gvr;
            let key = ObjectKey::new("ns", "a");
            let searches = join_all((0..40).map(|_| fixture.list(&query, 10)));
            let counts = join_all((0..40).map(|_| store.count(&query)));
            let gets = join_all((0..40).map(|_| store.get(&cluster, &gvr, &key)));
            let sweeps = (0..40).map(|_| store.keys(pods.cluster, pods.stream.resource, None, 1));
            let writes = (0..10).map(|n| [object("ns", &format!("b-{n}"))]);
            let writes = join_all(writes.map(|one| fixture.put(&pods, one)));
            let checks = join_all((0..3).map(|_| store.check()));
            tokio::join!(searches, counts, gets, join_all(sweeps), writes, checks);
            // None that works is closed while another one is wanted.
            let open = open_to(place.database.server(), place.database.name()).await;
            let most = match place.database.server().engine() {
                Engine::Postgres => told,
                Engine::Mysql => told + 1,
            };
            assert!((told - 1..=most).contains(&open), "{open} of {told}");
            store.shutdown().await;
        }
    }
}

/// How many connections a server has to this database, as its administrator sees it.
async fn open_to(server: &Address, database: &str) -> u32 {
    let (server, of) = (server.clone(), format!("'{database}'"));
    let text = match server.engine() {
        Engine::Postgres => format!("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = {of}"),
        Engine::Mysql => {
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE db = {of}")
        }
    };
    let said = spawn_blocking(move || administer(&server, &text)).await;
    let said = said.expect("no panic").expect("an answer");
    said.trim().parse().expect("a number")
}

/// What is said to a server once its statements are known: whoever is far away waits for an answer to each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_says_little_to_its_server() {
    for place in Home::on_each_server() {
        let proxy = Proxy::to(place.database.server()).await;
        let store = open(&place.prepared_url_by(proxy.port())).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let (cluster, pod) = (
            ClusterName::new("m").expect("a name"),
            resource("", "pods", "Pod", true).gvr,
        );
        let key = ObjectKey::new("ns", "a");
        let said = || proxy.messages();
        for is_warm in [false, true] {
            let before = said();
            store.catalog().await.expect("a catalogue");
            let catalog = said() - before;
            let found = store.get(&cluster, &pod, &key).await;
            assert!(found.expect("an answer").is_some());
            let get = said() - before - catalog;
            // The beginning with the head, the row, its body, the end.
            assert!(!is_warm || (catalog, get) == (2, 4), "{catalog}, {get}");
        }
        // Who made a reading ends it while the next one is made: over another connection, which costs a greeting once.
        let read = || store.database.read(Lane::Short);
        for begun in join_all([read(), read()]).await {
            let ended = begun.expect("a transaction").rollback().await;
            ended.expect("ended");
        }
        let before = said();
        for catalog in join_all((0..32).map(|_| store.catalog())).await {
            catalog.expect("a catalogue");
        }
        // The one that was asked for first and one for all who came meanwhile; a few more on a machine that lets some of them wait for long.
        let catalogs = said() - before;
        assert!(catalogs < 32, "{catalogs} for 32 that would say two each");
        store.shutdown().await;
    }
}

/// The head that comes with a beginning is that of its snapshot, whatever is committed afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reading_begins_with_the_head_of_its_snapshot() {
    for place in Home::on_each_server() {
        let store = place.store().await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        let begun = head_row::begin(&*store.database, Lane::Search).await;
        let (mut transaction, head) = begun.expect("a read");
        fixture.put(&pods, [object("ns", "a")]).await;
        let seen = head_row::read(&mut *transaction).await.expect("a head");
        transaction.rollback().await.expect("ended");
        assert_eq!(head, seen);
        assert!(store.head().await.expect("a head").revision > head.revision);
        store.shutdown().await;
    }
}

/// Whoever locks the head for long is in the way of each who reads, and of nobody else's connection: the database answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_is_locked_is_no_outage() {
    for place in Home::on_each_server() {
        match place.database.server().engine() {
            Engine::Postgres => {
                let lock = "BEGIN; LOCK TABLE head IN ACCESS EXCLUSIVE MODE";
                while_locked_is_no_outage::<PgConnection>(&place, lock, "ROLLBACK").await;
            }
            Engine::Mysql => {
                let lock = "LOCK TABLES head WRITE";
                while_locked_is_no_outage::<MySqlConnection>(&place, lock, "UNLOCK TABLES").await;
            }
        }
    }
}

/// MySQL prepares no statement that locks a table, as ours are, so it is sent as a text.
async fn while_locked_is_no_outage<C: Connection>(
    place: &Home,
    lock: &'static str,
    unlock: &'static str,
) where
    for<'c> &'c mut C: Executor<'c>,
{
    let store = open(&format!("{}&lock_timeout=1s", place.database.patient_url())).await;
    let locking = C::connect(&place.database.url()).await;
    let mut locking = locking.expect("a connection");
    let locked = locking.execute(sqlx::raw_sql(lock)).await;
    locked.expect("locked");
    let refused = store.head().await.expect_err("it is locked");
    assert!(is_collision(&refused), "{refused:?}");
    assert_eq!(store.availability().outages, 0);
    let unlocked = locking.execute(sqlx::raw_sql(unlock)).await;
    unlocked.expect("unlocked");
    store.head().await.expect("a head");
    store.shutdown().await;
}
