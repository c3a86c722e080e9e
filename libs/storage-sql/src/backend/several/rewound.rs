//! A server that lost what it had acknowledged, as a replica does that takes over and is behind.

use std::sync::Arc;
use std::time::Duration;

use armadex_storage::conformance::fixture::{RULES, live};
use armadex_storage::conformance::{object, resource};
use armadex_storage::{Change, Head, Search as _, Sink as _, StoreError};
use tokio::time::timeout;

use super::place::{Home, PATIENCE, Place, execute, fixture_of};
use crate::sql::statement::Statement;
use crate::store::SqlStore;
use crate::write::work::Work;

async fn run(store: &SqlStore, sql: &'static str) {
    let touched = execute(store, Statement::fixed("test.loss", sql, [])).await;
    assert!(touched > 0, "{sql}");
}

/// One revision for each.
async fn five_revisions(store: &Arc<SqlStore>) {
    let fixture = fixture_of(store);
    let pods = fixture.pods_of("m").await;
    for number in 0..5 {
        let pod = object("ns", &format!("p-{number}"));
        fixture.put(&pods, [pod]).await;
    }
}

/// Takes the database back below all that use it.
async fn rewind(place: &Home) {
    let bystander = place.store().await;
    for loss in [
        "DELETE FROM ver WHERE rev > 2",
        "DELETE FROM obj WHERE rev > 2",
        "UPDATE head SET rev = 2 WHERE id = 1",
    ] {
        run(&bystander, loss).await;
    }
}

/// Nothing of what the process knows is true of the database any more: it says so, and must not live on.
async fn assert_ends<T: std::fmt::Debug>(store: &SqlStore, refused: Result<T, StoreError>) {
    assert!(
        matches!(refused, Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    timeout(PATIENCE, store.ended()).await.expect("an end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_finds_the_head_of_a_server_behind_its_commits_changes_the_incarnation_and_ends()
 {
    for place in Home::on_each_server() {
        let store = place.store().await;
        five_revisions(&store).await;
        let before = store.head().await.expect("a head");
        rewind(&place).await;
        let name = "n".parse().expect("a name");
        let refused = store.join(&name, "incarnation", "").await;
        assert_ends(&store, refused).await;
        let again = place.store().await;
        let after = again.head().await.expect("a head");
        assert_eq!((before.revision, after.revision), (5, 2));
        assert_ne!(before.incarnation, after.incarnation);
        again.join(&name, "incarnation", "").await.expect("joined");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_finds_the_head_of_a_server_behind_what_it_read_changes_the_incarnation_and_ends()
 {
    for place in Home::on_each_server() {
        let (store, elsewhere) = (place.store().await, place.store().await);
        five_revisions(&elsewhere).await;
        let before = store.head().await.expect("a head");
        rewind(&place).await;
        let refused = store.head().await;
        assert_ends(&store, refused).await;
        let after = place.store().await.head().await.expect("a head");
        assert_eq!((before.revision, after.revision), (5, 2));
        assert_ne!(before.incarnation, after.incarnation);
        // The one that had written finds the incarnation changed, and leaves it as it is.
        let name = "n".parse().expect("a name");
        let refused = elsewhere.join(&name, "incarnation", "").await;
        assert_ends(&elsewhere, refused).await;
        assert_eq!(place.store().await.head().await.expect("a head"), after);
    }
}

/// What a transaction began with has been seen, also where it had nothing to write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_worked_on_what_others_wrote_and_finds_it_lost_ends() {
    for place in Home::on_each_server() {
        let (store, elsewhere) = (place.store().await, place.store().await);
        five_revisions(&elsewhere).await;
        let step = Work::Purge(10, Duration::ZERO);
        store.order(step).await.expect("nothing to do");
        rewind(&place).await;
        assert_ends(&store, store.head().await).await;
        store.shutdown().await;
        elsewhere.shutdown().await;
    }
}

/// Takes back the last change of the catalogue, and what took it, which took no revision; gives the head as it was.
async fn lose_a_change(place: &Place, losses: &[&'static str]) -> Head {
    let bystander = place.store().await;
    let before = bystander.head().await.expect("a head");
    for loss in losses {
        run(&bystander, loss).await;
    }
    run(
        &bystander,
        "UPDATE head SET catalog = catalog - 1 WHERE id = 1",
    )
    .await;
    before
}

/// Its numbers are handed out again: whoever goes on to write to the stream that was lost would write to one of another type.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_whose_first_opening_of_a_stream_was_lost_changes_the_incarnation_and_ends() {
    for place in Place::of_each_kind() {
        let store = place.store().await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "p")]).await;
        let services = resource("", "services", "Service", true);
        fixture.writer("m", &services).await;
        let losses = [
            "DELETE FROM stream WHERE type = 2",
            "DELETE FROM type WHERE id = 2",
            "UPDATE allocation SET next = next - 1 WHERE name IN ('epoch', 'type')",
        ];
        let before = lose_a_change(&place, &losses).await;
        let nodes = resource("", "nodes", "Node", false);
        let refused = store.open(pods.cluster, "", &nodes, RULES).await;
        assert_ends(&store, refused).await;
        let after = place.store().await.head().await.expect("a head");
        assert_eq!(before.revision, after.revision);
        assert_ne!(before.incarnation, after.incarnation);
    }
}

/// The next cluster takes the count of the one that was lost, and whoever knows that one would never look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_whose_last_cluster_was_lost_changes_the_incarnation_and_ends() {
    for place in Place::of_each_kind() {
        let (store, elsewhere) = (place.store().await, place.store().await);
        let [lost, found] = ["lost", "found"].map(|name| name.parse().expect("a name"));
        elsewhere.join(&lost, "uid", "").await.expect("joined");
        let known = store.catalog().await.expect("a catalogue");
        assert!(known.clusters.contains_key(&lost));
        let losses = ["DELETE FROM cluster WHERE name = 'lost'"];
        let before = lose_a_change(&place, &losses).await;
        let refused = store.catalog().await.map(drop);
        assert_ends(&store, refused).await;
        // The one that had it join finds the incarnation changed.
        let refused = elsewhere.join(&found, "uid", "").await;
        assert_ends(&elsewhere, refused).await;
        let anew = place.store().await;
        let after = anew.head().await.expect("a head");
        assert_eq!(before.revision, after.revision);
        assert_ne!(before.incarnation, after.incarnation);
        anew.join(&found, "uid", "").await.expect("joined");
        let shown = anew.catalog().await.expect("a catalogue");
        assert!(shown.clusters.keys().eq([&found]));
    }
}

/// The head does not tell: another writer has led it past what the first one remembers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_lost_a_batch_is_noticed_although_another_writer_went_on() {
    for place in Home::on_each_server() {
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
