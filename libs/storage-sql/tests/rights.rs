//! A store whose schema belongs to somebody else: who works with it may read rows and change them, and nothing more.

use std::sync::Arc;
use std::time::Duration;

use armadex_databases::{Engine, Server, Setup, administer};
use armadex_model::Query;
use armadex_model::label::Requirement;
use armadex_storage::conformance::fixture::{all_pods, live, name, words};
use armadex_storage::conformance::{Fixture, ObjectBuilder, Writer, object};
use armadex_storage::{Change, Health, Search as _, Sink as _};
use armadex_storage_sql::{Location, Mended, Options, SqlStore, Training, migrate, open_as_it_is};
use sqlx::{Connection as _, MySqlConnection, PgConnection};

const OBJECTS: usize = 300;
/// What the manual says that they need.
const RIGHTS: &str = "SELECT, INSERT, UPDATE, DELETE";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_change_rows_alone_does_all_work_on_a_postgresql() {
    works(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_change_rows_alone_does_all_work_on_a_mariadb() {
    works(Engine::Mysql).await;
}

async fn works(engine: Engine) {
    let server = Server::for_test(engine, &Setup::default()).expect("no trouble");
    let Some(server) = server else { return };
    let owned = server.create("fleet").expect("a database");
    let location = |url: &str| -> Location { url.parse().expect("a location") };
    migrate(&location(&owned)).await.expect("its owner may");
    let url = url_of_a_worker(&server, &owned).await;
    let options = Options {
        // What is superseded is past with the next step.
        watch_window: Duration::ZERO,
        training: Training {
            least: OBJECTS as u32,
            most: 1,
            samples: OBJECTS,
            period: Duration::ZERO,
        },
        ..Options::default()
    };
    let store = open_as_it_is(&location(&url), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    let writer = fixture.pods_of("member1").await;
    put(&store, &writer, "1").await;
    is_searched(&store).await;
    lives(&store, &writer).await;
    while !store
        .purge(100, Duration::ZERO)
        .await
        .expect("a step")
        .finished
    {}
    put(&store, &writer, "2").await;
    fixture.delete(&writer, "ns-0", &["pod-0"]).await;
    fixture.purge(100).await;
    let stats = store.stats().await.expect("stats");
    assert_eq!(stats.dictionaries.len(), 1, "one was trained");
    let report = store.check().await.expect("a report");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(report.objects, OBJECTS as u64 - 1);
    assert_eq!(store.mend().await.expect("looked at"), Mended::default());

    let left = store.leave(&name("member1"), "incarnation-1").await;
    left.expect("left");
    assert_eq!(fixture.purge(100).await, OBJECTS as u64 - 1);
    store.shutdown().await;
}

/// One whom nobody can take for an owner.
async fn url_of_a_worker(server: &Server, owned: &str) -> String {
    let address = server.address();
    let (made, granted) = match address.engine() {
        Engine::Postgres => (
            "CREATE ROLE worker LOGIN PASSWORD 'word'".to_owned(),
            format!("GRANT {RIGHTS} ON ALL TABLES IN SCHEMA public TO worker"),
        ),
        Engine::Mysql => (
            "CREATE USER worker@'127.0.0.1' IDENTIFIED BY 'word'".to_owned(),
            format!("GRANT {RIGHTS} ON fleet.* TO worker@'127.0.0.1'"),
        ),
    };
    administer(address, &made).expect("a user");
    run(address.engine(), owned, granted)
        .await
        .expect("granted");
    let (host, port) = (address.host(), address.port());
    let scheme = owned.split_once("://").expect("a URL").0;
    let url = format!("{scheme}://worker:word@{host}:{port}/fleet");
    for sql in [
        "CREATE TABLE own (id INT)",
        "ALTER TABLE obj ADD COLUMN own INT",
    ] {
        let refused = run(address.engine(), &url, sql.to_owned()).await;
        assert!(refused.is_err(), "{sql} was not refused");
    }
    url
}

async fn run(engine: Engine, url: &str, sql: String) -> Result<(), sqlx::Error> {
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
    match engine {
        Engine::Postgres => {
            let mut connection = PgConnection::connect(url).await?;
            sql.execute(&mut connection).await.map(drop)
        }
        Engine::Mysql => {
            let mut connection = MySqlConnection::connect(url).await?;
            sql.execute(&mut connection).await.map(drop)
        }
    }
}

/// Words that no dictionary knows and each object has, in an order of its own.
fn pod(number: usize, version: &str) -> ObjectBuilder {
    let words = words(number, 60);
    let body = format!(r#""name":"pod-{number}"}},"spec":"{words}"}}"#);
    object(&format!("ns-{}", number % 3), &format!("pod-{number}"))
        .uid(&format!("uid-{number}"))
        .version(version)
        .label("app", ["web", "db"][number % 2])
        .body(body)
}

async fn put(store: &SqlStore, writer: &Writer, version: &str) {
    let changes = (0..OBJECTS).map(|number| Change::Put(pod(number, version).build()));
    let written = store.write(writer.batch(Vec::from_iter(changes), Some(live(version))));
    written.await.expect("written");
}

async fn is_searched(store: &Arc<SqlStore>) {
    let fixture = Fixture::of(store);
    assert_eq!(fixture.list(&all_pods(), 500).await.len(), OBJECTS);
    let web = Query {
        labels: vec![Requirement::is_in("app", ["web"])],
        ..all_pods()
    };
    assert_eq!(fixture.count(&web).await, OBJECTS as u64 / 2);
    store.catalog().await.expect("a catalogue");
}

/// Whatever else a synchro says.
async fn lives(store: &SqlStore, writer: &Writer) {
    let tenure = store.begin("worker/x").await.expect("begun");
    let is_kept = store.keep_alive("worker/x", tenure).await;
    assert!(is_kept.expect("noted"));
    let health = Health {
        healthy: true,
        reason: "Ready".into(),
    };
    let noted = store.set_health(writer.cluster, "", &health, None).await;
    noted.expect("noted");
    store.streams(writer.cluster).await.expect("streams");
    store.clusters().await.expect("clusters");
}
