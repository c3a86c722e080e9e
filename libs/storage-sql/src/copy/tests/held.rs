//! Somebody writes in the very moment in which a copy begins or ends, and has not committed.

use armadex_databases::Engine;

use super::*;
use crate::backend::several::place::wait_until_a_row_is_waited_for;
use crate::backend::{SharedDatabase, Transaction};
use crate::sql::head;

/// A transaction that took a revision, and holds the head until it ends.
async fn who_writes(database: &SharedDatabase) -> Box<dyn Transaction> {
    let mut transaction = database.write().await.expect("a transaction");
    let taken = transaction.execute(head::advance(1)).await;
    assert_eq!(taken.expect("taken"), 1);
    transaction
}

async fn commit_when_waited_for(
    engine: Engine,
    database: &SharedDatabase,
    late: Box<dyn Transaction>,
) {
    wait_until_a_row_is_waited_for(engine, database).await;
    late.commit().await.expect("committed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_written_to_a_store_while_its_copy_ends_is_waited_for_and_found() {
    for engine in [Engine::Postgres, Engine::Mysql] {
        let (Some(from), to) = (Home::of(Some(engine)), Home::in_a_file()) else {
            continue;
        };
        fill_a_little(&from).await;
        let source = Source::open(&from.location).await.expect("a source");
        let target = Target::open(&to.location).await.expect("a target");
        let progress = begun(&source, &target).await;
        let elsewhere = from.database().await;
        let late = who_writes(&elsewhere).await;
        let (is_retired, ()) = tokio::join!(
            source.retire(&progress),
            commit_when_waited_for(engine, &elsewhere, late)
        );
        assert!(!is_retired.expect("an answer"), "{engine:?}");
        elsewhere.close().await;
        source.close().await;
        target.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_written_to_an_empty_store_while_a_copy_begins_is_waited_for_and_found() {
    for engine in [Engine::Postgres, Engine::Mysql] {
        let (from, Some(to)) = (Home::in_a_file(), Home::of(Some(engine))) else {
            continue;
        };
        fill_a_little(&from).await;
        let source = Source::open(&from.location).await.expect("a source");
        let target = Target::open(&to.location).await.expect("a target");
        let (standing, key) = source.standing().await.expect("a standing");
        let elsewhere = to.database().await;
        let late = who_writes(&elsewhere).await;
        let (begun, ()) = tokio::join!(
            target.begin(standing, &key),
            commit_when_waited_for(engine, &elsewhere, late)
        );
        let refused = begun.expect_err("it is in use");
        assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused}");
        elsewhere.close().await;
        source.close().await;
        target.close().await;
    }
}

/// Who began to write before the copy did holds no row that the copy waits for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_has_written_to_a_table_that_a_copy_comes_to_ends_it() {
    for to in Home::kinds() {
        let (from, Some(to)) = (Home::in_a_file(), Home::of(to)) else {
            continue;
        };
        fill_a_little(&from).await;
        let source = Source::open(&from.location).await.expect("a source");
        let target = Target::open(&to.location).await.expect("a target");
        begun(&source, &target).await;
        source.close().await;
        target.close().await;
        to.run("INSERT INTO tenure (owner, number) VALUES ('stranger', 7)")
            .await;
        let refused = copied(&from, &to).await.expect_err("it is in use");
        assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused}");
    }
}
