//! An upgrade beside processes that are running: they must not go on with a schema that they do not know.

use armadex_storage::conformance::fixture::name;
use armadex_storage::{Search as _, Sink as _, StoreError};
use tokio::time::timeout;

use super::place::{PATIENCE, Place, execute};
use crate::sql::statement::Statement;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_whose_store_is_migrated_past_it_ends() {
    for place in Place::of_each_kind() {
        let newer = place.store().await;
        let (writer, reader) = (place.store().await, place.store().await);
        let serves = Statement::fixed("test.serves", "UPDATE head SET serves = 99", []);
        execute(&newer, serves).await;
        is_told(writer.join(&name("member1"), "incarnation", "").await);
        is_told(reader.head().await);
        for store in [writer, reader] {
            let ended = timeout(PATIENCE, store.ended()).await;
            ended.expect("an end");
            store.shutdown().await;
        }
        newer.shutdown().await;
    }
}

/// Whoever meets it is told what to do.
#[track_caller]
fn is_told<T: std::fmt::Debug>(refused: Result<T, StoreError>) {
    let refused = refused.expect_err("it serves others");
    assert!(matches!(refused, StoreError::Broken { .. }), "{refused:?}");
    let said = refused.to_string();
    let words = ["version 99", "newer binary"];
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}
