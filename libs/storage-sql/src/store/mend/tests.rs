//! Damage that every database can be told to do, and that is mended on each.

mod steps;

use std::sync::Arc;
use std::time::Duration;

use armadex_databases::{Database, Engine};
use armadex_storage::conformance::{Fixture, object, resource};

use super::Mended;
use crate::backend::several::place::{patient, wait_until_a_row_is_waited_for};
use crate::backend::{Lane, row};
use crate::options::History;
use crate::sql::statement::Statement;
use crate::write::Portions;
use crate::write::mend::Mending;
use crate::write::work::Work;
use crate::{Location, Options, SqlStore, open_with};

const DAMAGES: [&str; 12] = [
    "UPDATE counter SET n = n + 1",
    "DELETE FROM post",
    "UPDATE stream SET objects = 7",
    "UPDATE ns SET types = 7",
    "DELETE FROM ns",
    "DELETE FROM stream",
    "DELETE FROM ver WHERE rev = 1",
    "UPDATE ver SET rev = 1000 WHERE rev = 1",
    "UPDATE obj SET form = form + 1073741824 WHERE rev = 1",
    "UPDATE milestone SET bytes = 0",
    "UPDATE ver SET dict = 77 WHERE rev = 1",
    "UPDATE obj SET size = size + 1 WHERE rev = 1",
];

async fn run(store: &SqlStore, sql: &'static str) {
    let mut transaction = store.database.write().await.expect("a transaction");
    let statement = Statement::fixed("damage", sql, []);
    transaction.execute(statement).await.expect("damaged");
    transaction.commit().await.expect("committed");
}

/// A store that removes next to nothing of a log in a step.
fn tiny() -> Options {
    Options {
        portions: Portions {
            orphans: 3,
            ids_in_block: 4,
            ..Portions::default()
        },
        ..Options::default()
    }
}

async fn check_mended(location: &Location, damage: &'static str) {
    let store = open_with(location, &tiny()).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("member1").await;
    let labelled = |name| object("ns", name).label("name", name);
    fixture.put(&pods, ["a", "b", "c"].map(labelled)).await;
    let nodes = resource("", "nodes", "Node", false);
    let nodes = fixture.writer("member1", &nodes).await;
    fixture
        .put(&nodes, [object("", "n").label("name", "n")])
        .await;
    fixture.put(&pods, [labelled("b").version("2")]).await;
    fixture.purge(10).await;
    run(&store, damage).await;
    let faults = async || store.check().await.expect("a report").faults;
    assert!(!faults().await.is_empty(), "{damage}");
    let mended = store.mend().await.expect("mended");
    // At most the one that was damaged itself.
    assert!(mended.removed <= 1, "{damage}: {mended:?}");
    assert_eq!(faults().await, [""; 0], "{damage}");
    let again = store.mend().await.expect("mended");
    assert_eq!(again, Mended::default(), "{damage}");
    store.shutdown().await;
}

async fn on(engine: Engine) {
    for damage in DAMAGES {
        let Some(database) = Database::for_test(engine).expect("a server") else {
            return;
        };
        let location = patient(&database);
        check_mended(&location, damage).await;
    }
}

/// Two processes of one store.
async fn two_stores(location: &Location, options: &Options) -> [Arc<SqlStore>; 2] {
    let open = async || {
        let store = open_with(location, options).await;
        Arc::new(store.expect("a store"))
    };
    [open().await, open().await]
}

/// What it notes is one note among those that are dropped, and would be wrong alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_dropped_when_the_step_that_adds_to_them_has_ended() {
    for engine in [Engine::Postgres, Engine::Mysql] {
        let Some(database) = Database::for_test(engine).expect("a server") else {
            continue;
        };
        let location = patient(&database);
        let stores = two_stores(&location, &Options::default()).await;
        let mut step = stores[0].database.write().await.expect("a transaction");
        for sql in [
            "UPDATE lease SET beat = beat + 1",
            "INSERT INTO milestone (rev, at, bytes) VALUES (7, 0, 9)",
        ] {
            let statement = Statement::fixed("step", sql, []);
            step.execute(statement).await.expect("noted");
        }
        let mends = Arc::clone(&stores[1]);
        let mending = tokio::spawn(async move { mends.order(Work::Mend(Mending::Notes)).await });
        wait_until_a_row_is_waited_for(engine, &stores[0].database).await;
        step.commit().await.expect("noted");
        mending.await.expect("no panic").expect("mended");
        let mut reader = stores[1]
            .database
            .read(Lane::Short)
            .await
            .expect("a reader");
        let left = Statement::fixed("left", "SELECT COUNT(*) FROM milestone", []);
        let left = row(&mut *reader, left, |row| row.int(0)).await;
        assert_eq!(left.expect("an answer"), Some(0), "{engine:?}");
        reader.rollback().await.expect("ended");
    }
}

/// What is removed as damaged leaves a tombstone in the log, which pruning is not to pass unseen: neither where the watch window ends nor where a history does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pruning_waits_for_what_is_made_anew_and_sees_it() {
    let kept = History {
        of: [(String::new(), "pods".to_owned())].into(),
        window: Duration::from_secs(100_000),
        bytes: 0,
    };
    let both = |engine| [(engine, None), (engine, Some(kept.clone()))];
    for (engine, history) in [Engine::Postgres, Engine::Mysql].into_iter().flat_map(both) {
        let Some(database) = Database::for_test(engine).expect("a server") else {
            continue;
        };
        let location = patient(&database);
        let options = Options {
            watch_window: Duration::from_secs(1000),
            history,
            ..Options::default()
        };
        let [store, mends] = two_stores(&location, &options).await;
        let fixture = Fixture::of(&store);
        let pods = fixture.pods_of("member1").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        fixture.purge(10).await;
        if options.history.is_some() {
            run(&store, "UPDATE lease SET clock = clock + 2000000").await;
            fixture.purge(10).await;
        }
        run(&store, "UPDATE lease SET clock = clock + 999999999").await;
        let mut mending = mends.database.write().await.expect("a transaction");
        for sql in [
            "UPDATE ver SET op = 3 WHERE rev = 1",
            "UPDATE head SET catalog = catalog + 1",
        ] {
            let statement = Statement::fixed("step", sql, []);
            mending.execute(statement).await.expect("mended");
        }
        let purges = Arc::clone(&store);
        let purging = tokio::spawn(async move { Fixture::of(&purges).purge(10).await });
        wait_until_a_row_is_waited_for(engine, &mends.database).await;
        mending.commit().await.expect("mended");
        purging.await.expect("purged");
        let mut reader = store.database.read(Lane::Short).await.expect("a reader");
        let left = Statement::fixed("left", "SELECT COUNT(*) FROM ver", []);
        let left = row(&mut *reader, left, |row| row.int(0)).await;
        assert_eq!(left.expect("an answer"), Some(0), "{engine:?}");
        reader.rollback().await.expect("ended");
        store.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_mended_on_postgresql() {
    on(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_mended_on_mariadb() {
    on(Engine::Mysql).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_mended_on_sqlite() {
    for damage in DAMAGES {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let location = Location::Sqlite(directory.path().join("store.db"));
        check_mended(&location, damage).await;
    }
}
