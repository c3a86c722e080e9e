//! A writer that is killed in the middle of its work: what it was told is stored is there, and the store is sound.

#[path = "fixture/audited.rs"]
mod audited;
#[path = "fixture/home.rs"]
mod home;

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};

use armadex_databases::Engine;
use armadex_model::label::Requirement;
use armadex_model::{Query, ResourceType};
use armadex_storage::conformance::fixture::{all_pods, live, name};
use armadex_storage::conformance::{RULES, Writer, object, resource};
use armadex_storage::{Change, Sink as _};
use armadex_storage_sql::{Options, SqlStore, open_with};
use audited::audited;
use home::Home;

/// Where the child process writes; without it the child's part does nothing.
const STORE: &str = "ARMADEX_TEST_KILLED_WRITER";
/// How often it is killed.
const LIVES: u64 = 6;
/// Objects of each batch; every second batch deletes half of them again.
const OBJECTS: usize = 20;

/// What is killed: writes batch after batch, and says which are stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "it is how the parent is told")]
async fn writes_until_it_is_killed() {
    let Ok(url) = std::env::var(STORE) else {
        return;
    };
    let location = url.parse().expect("a location");
    let store = open_with(&location, &Options::default()).await;
    let store = store.expect("a store");
    let writer = open_pods(&store).await;
    for batch in stored(&writer) + 1.. {
        let position = live(&batch.to_string());
        let changes = changes(batch);
        let written = store.write(writer.batch(changes, Some(position))).await;
        written.expect("written");
        println!("stored {batch}");
        std::io::stdout().flush().expect("told");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_is_killed_loses_nothing_that_it_acknowledged() {
    is_killed(Home::in_a_file()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_is_killed_loses_nothing_that_a_postgresql_acknowledged() {
    if let Some(home) = Home::on(Engine::Postgres) {
        is_killed(home).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_is_killed_loses_nothing_that_a_mariadb_acknowledged() {
    if let Some(home) = Home::on(Engine::Mysql) {
        is_killed(home).await;
    }
}

async fn is_killed(home: Home) {
    let mut incarnation = None;
    for life in 1..=LIVES {
        let acknowledged = kill_after(&home.url, life * 7);
        let store = home.open_with(Options::default()).await;
        let fixture = audited(&store);
        fixture.assert_sound().await;
        let batch = stored(&open_pods(&store).await);
        assert!(
            batch == acknowledged || batch == acknowledged + 1,
            "{acknowledged} was acknowledged, {batch} is stored"
        );
        assert_eq!(fixture.list(&all_pods(), 500).await, expected(batch));
        let labelled = Query {
            labels: vec![Requirement::is_in("batch", [batch.to_string()])],
            ..all_pods()
        };
        assert_eq!(fixture.list(&labelled, 500).await, expected(batch));
        let head = fixture.search.head().await.expect("a head");
        // A process that was killed is no reason to send every client away.
        let first = incarnation.get_or_insert_with(|| head.incarnation.clone());
        assert_eq!(*first, head.incarnation);
        store.shutdown().await;
    }
}

/// Starts a writer and kills it once it has told of so many batches; the last one that it told of.
fn kill_after(url: &str, batches: u64) -> u64 {
    let mut writer = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "--nocapture", "writes_until_it_is_killed"])
        .env(STORE, url)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a writer");
    let told = BufReader::new(writer.stdout.take().expect("piped"));
    let told = told.lines().map_while(Result::ok);
    let mut stored = told.filter_map(|line| line.split_once("stored ")?.1.parse::<u64>().ok());
    let told = stored.by_ref().take(usize::try_from(batches).expect("few"));
    let told = told.last().expect("it writes");
    writer.kill().expect("killed");
    writer.wait().expect("gone");
    // What it told before the signal came.
    stored.last().unwrap_or(told)
}

/// Every object is written anew; after an even batch half of them are gone.
fn changes(batch: u64) -> Vec<Change> {
    let change = |n: usize| {
        let put = object(&format!("ns{}", n % 3), &format!("pod-{n:02}"));
        let put = put.version(&batch.to_string());
        let put = put.label("batch", &batch.to_string()).build();
        match n.is_multiple_of(2) || !batch.is_multiple_of(2) {
            true => Change::Put(put),
            false => Change::Delete(put.key),
        }
    };
    (0..OBJECTS).map(change).collect()
}

fn expected(batch: u64) -> Vec<String> {
    let put = changes(batch)
        .into_iter()
        .filter_map(|change| match change {
            Change::Put(object) => Some(object.key),
            Change::Delete(_) => None,
        });
    let mut paths: Vec<String> = put
        .map(|key| format!("member1/{}/{}", key.namespace, key.name))
        .collect();
    paths.sort();
    paths
}

/// The batch that the stream stands at.
fn stored(writer: &Writer) -> u64 {
    writer.stream.position.as_ref().map_or(0, |position| {
        position.resource_version.parse().expect("a number")
    })
}

async fn open_pods(store: &SqlStore) -> Writer {
    let pods: ResourceType = resource("", "pods", "Pod", true);
    let cluster = store.join(&name("member1"), "incarnation-1", "").await;
    let cluster = cluster.expect("joined");
    let stream = store.open(cluster, "", &pods, RULES).await.expect("opened");
    Writer { cluster, stream }
}
