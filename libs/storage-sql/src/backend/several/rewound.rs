//! A server that lost what it had acknowledged, as a replica does that takes over and is behind.

use armadex_storage::conformance::fixture::live;
use armadex_storage::conformance::object;
use armadex_storage::{Change, Search as _, StoreError};

use super::place::{Place, fixture_of};
use crate::sql::statement::Statement;
use crate::store::SqlStore;

async fn run(store: &SqlStore, sql: &'static str) {
    let mut transaction = store.database.write().await.expect("a transaction");
    let statement = Statement::fixed("test.loss", sql, []);
    let touched = transaction.execute(statement).await.expect("done");
    assert_eq!(touched, 1, "{sql}");
    transaction.commit().await.expect("committed");
}

/// The head does not tell: another writer has led it past what the first one remembers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_lost_a_batch_is_noticed_although_another_writer_went_on() {
    for place in Place::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let (loser, bystander) = (fixture_of(&one), fixture_of(&other));
        let pods = loser.pods_of("m").await;
        let put = |name: &str, version| {
            let change = Change::Put(object("ns", name).build());
            pods.batch([change], Some(live(version)))
        };
        loser.sink.write(put("a", "1")).await.expect("written");
        loser.sink.write(put("b", "2")).await.expect("written");
        let before = other.head().await.expect("a head");
        // What the second batch had done to its stream is lost.
        run(&other, "UPDATE stream SET rv = '1', objects = 1").await;
        let others = bystander.pods_of("n").await;
        let many = (0..9).map(|number| object("ns", &format!("p-{number}")));
        bystander.put(&others, many).await;
        let refused = loser.sink.write(put("c", "3")).await;
        assert!(
            matches!(refused, Err(StoreError::Gone { .. })),
            "{refused:?}"
        );
        one.ended().await;
        let after = other.head().await;
        assert!(
            after.map_or(true, |after| after.incarnation != before.incarnation),
            "positions of the lost past are worth nothing"
        );
        // The other one begins anew as well.
        let refused = bystander
            .write(&others, [Change::Put(object("ns", "q").build())])
            .await;
        assert!(
            matches!(refused, Err(StoreError::Gone { .. })),
            "{refused:?}"
        );
        let anew = place.store().await;
        let fixture = fixture_of(&anew);
        let pods = fixture.pods_of("m").await;
        let position = pods
            .stream
            .position
            .as_ref()
            .map(|at| at.resource_version.as_str());
        assert_eq!(position, Some("1"), "it goes on from there");
    }
}
