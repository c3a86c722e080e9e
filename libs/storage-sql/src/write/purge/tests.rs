//! Damaged sums of what has left: a purge comes to its end all the same, and nothing that is shown goes. What others commit meanwhile.

use std::sync::Arc;
use std::time::Duration;

use armadex_databases::{Database, Engine};
use armadex_storage::conformance::fixture::{all_pods, name};
use armadex_storage::conformance::{Fixture, object, resource};
use armadex_storage::{Sink as _, StoreError};
use async_trait::async_trait;

use super::sweep_namespaces;
use crate::backend::{Connection, Lane, RowSink, head_row, row};
use crate::sql::dialect::Dialect;
use crate::sql::head;
use crate::sql::statement::Statement;
use crate::{Location, Options, SqlStore, open_with};

/// Of the first cluster, which leaves, and of the second type, which the other one has no more.
const DAMAGES: [&str; 10] = [
    "UPDATE ns SET types = types + 7 WHERE cluster = 1",
    "UPDATE ns SET types = 0 WHERE cluster = 1",
    "DELETE FROM ns WHERE cluster = 1",
    "UPDATE stream SET objects = objects + 7 WHERE cluster = 1 OR type = 2",
    "UPDATE stream SET objects = objects - 1 WHERE cluster = 1 OR type = 2",
    "UPDATE stream SET objects = 0 WHERE cluster = 1 OR type = 2",
    "UPDATE counter SET n = n + 5 WHERE cluster = 1 OR type = 2",
    "UPDATE counter SET n = 1 WHERE cluster = 1 OR type = 2",
    "DELETE FROM counter WHERE cluster = 1",
    "DELETE FROM counter WHERE type = 2",
];

/// More steps than there are rows.
const ENOUGH: usize = 100;

async fn run(store: &SqlStore, sql: &'static str) {
    let mut transaction = store.database.write().await.expect("a transaction");
    let done = transaction.execute(Statement::fixed("damage", sql, []));
    assert!(done.await.expect("damaged") > 0, "{sql}");
    transaction.commit().await.expect("committed");
}

async fn purge(store: &SqlStore, limit: u32, damage: &str) {
    for _ in 0..ENOUGH {
        let purged = store.purge(limit, Duration::ZERO).await;
        if purged
            .unwrap_or_else(|err| panic!("{damage}: {err}"))
            .finished
        {
            return;
        }
    }
    panic!("{damage}: there is no end to it");
}

async fn objects(store: &SqlStore) -> Option<i64> {
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let counted = Statement::fixed("test.objects", "SELECT COUNT(*) FROM obj", []);
    let counted = row(&mut *reader, counted, |row| row.int(0)).await;
    reader.rollback().await.expect("ended");
    counted.expect("an answer")
}

async fn check_purged(location: &Location, damage: &'static str, limit: u32) {
    let options = Options {
        watch_window: Duration::ZERO,
        ..Options::default()
    };
    let store = Arc::new(open_with(location, &options).await.expect("a store"));
    let fixture = Fixture::of(&store);
    let labelled = |namespace, name| object(namespace, name).label("name", name);
    let leaves = fixture.pods_of("leaves").await;
    let pods = [("a", "p"), ("a", "q"), ("b", "r")];
    fixture
        .put(&leaves, pods.map(|(a, b)| labelled(a, b)))
        .await;
    let stays = fixture.pods_of("stays").await;
    fixture.put(&stays, [labelled("a", "p")]).await;
    let maps = resource("", "configmaps", "ConfigMap", true);
    let maps = fixture.writer("stays", &maps).await;
    let both = [("a", "m"), ("b", "n"), ("b", "o")];
    fixture.put(&maps, both.map(|(a, b)| labelled(a, b))).await;
    run(&store, damage).await;
    store
        .leave(&name("leaves"), "incarnation-1")
        .await
        .expect("left");
    store
        .close(maps.cluster, "", maps.stream.resource)
        .await
        .expect("closed");
    purge(&store, limit, damage).await;
    assert_eq!(fixture.list(&all_pods(), 10).await, ["stays/a/p"]);
    // Where counters were lost something may be left, which nobody is shown.
    store.mend().await.expect("mended");
    purge(&store, limit, damage).await;
    assert_eq!(
        store.check().await.expect("a report").faults,
        [""; 0],
        "{damage}"
    );
    assert_eq!(objects(&store).await, Some(1), "{damage}");
    assert_eq!(fixture.list(&all_pods(), 10).await, ["stays/a/p"]);
    store.shutdown().await;
}

async fn on(engine: Engine) {
    for damage in DAMAGES {
        let Some(database) = Database::for_test(engine).expect("a server") else {
            return;
        };
        let location = database.patient_url().parse().expect("a location");
        check_purged(&location, damage, 100).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_damaged_sum_of_what_left_stops_a_purge_on_postgresql() {
    on(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_damaged_sum_of_what_left_stops_a_purge_on_mariadb() {
    on(Engine::Mysql).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_damaged_sum_of_what_left_stops_a_purge_on_sqlite() {
    for (damage, limit) in DAMAGES
        .into_iter()
        .flat_map(|damage| [(damage, 100), (damage, 1)])
    {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let location = Location::Sqlite(directory.path().join("store.db"));
        check_purged(&location, damage, limit).await;
    }
}

/// A connection beside which somebody else does something once that statement has been answered.
struct Meanwhile<'a> {
    connection: &'a mut dyn Connection,
    after: &'static str,
    does: Statement,
}

impl Meanwhile<'_> {
    async fn is_done(&mut self, name: &'static str) -> Result<(), StoreError> {
        if name == self.after {
            self.connection.execute(self.does.clone()).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Connection for Meanwhile<'_> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let name = statement.name;
        let touched = self.connection.execute(statement).await?;
        self.is_done(name).await?;
        Ok(touched)
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let name = statement.name;
        self.connection.fetch(statement, each).await?;
        self.is_done(name).await
    }
}

/// A store with a namespace that had one object.
async fn with_an_empty_namespace(directory: &tempfile::TempDir) -> Arc<SqlStore> {
    let location = Location::Sqlite(directory.path().join("store.db"));
    let options = Options {
        watch_window: Duration::ZERO,
        ..Options::default()
    };
    let store = Arc::new(open_with(&location, &options).await.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("a", "p")]).await;
    fixture.delete(&pods, "a", &["p"]).await;
    store
}

/// The versions of its last object are of a later revision than the one that was read before its row was held.
#[tokio::test]
async fn a_namespace_that_was_emptied_while_it_was_looked_for_is_noted_at_the_later_revision() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = with_an_empty_namespace(&directory).await;
    let mut transaction = store.database.write().await.expect("a transaction");
    let before = head_row::read(&mut *transaction).await.expect("a head");
    let mut connection = Meanwhile {
        connection: &mut *transaction,
        after: "ns.note_empty",
        does: head::advance(5),
    };
    let swept = sweep_namespaces(&mut connection, &mut None, 10).await;
    assert!(swept.expect("swept"), "nothing is left to note");
    let noted = Statement::fixed("test.noted", "SELECT emptied FROM ns", []);
    let noted = row(&mut *transaction, noted, |row| row.int(0)).await;
    assert_eq!(noted.expect("an answer"), Some(before.revision + 5));
    transaction.rollback().await.expect("ended");
    store.shutdown().await;
}

/// Something was written there and taken away again, of which the log tells, or who prunes found that a history needs it: it stays, and the step is done again.
#[tokio::test]
async fn a_namespace_that_came_to_be_named_while_it_was_looked_for_stays() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = with_an_empty_namespace(&directory).await;
    for (meanwhile, goes) in [
        ("UPDATE ns SET types = 1, emptied = 0", false),
        ("UPDATE ns SET types = 1", false),
        ("UPDATE ns SET emptied = 0", false),
        ("UPDATE ns SET emptied = 1000", false),
        ("UPDATE ns SET kept = 1000", false),
        ("UPDATE ns SET kept = 0", true),
    ] {
        let mut transaction = store.database.write().await.expect("a transaction");
        for pruned in ["UPDATE head SET pruned = rev", "UPDATE ns SET emptied = 1"] {
            let done = Statement::fixed("test.pruned", pruned, []);
            assert_eq!(transaction.execute(done).await.expect("done"), 1);
        }
        let mut connection = Meanwhile {
            connection: &mut *transaction,
            after: "ns.empty_since",
            does: Statement::fixed("test.meanwhile", meanwhile, []),
        };
        let swept = sweep_namespaces(&mut connection, &mut None, 10).await;
        assert_eq!(swept.is_ok(), goes, "{meanwhile}");
        let there = Statement::fixed("test.there", "SELECT COUNT(*) FROM ns", []);
        let there = row(&mut *transaction, there, |row| row.int(0)).await;
        assert_eq!(there.expect("an answer") == Some(0), goes, "{meanwhile}");
        transaction.rollback().await.expect("ended");
    }
    store.shutdown().await;
}
