//! Processes of one owner, of which a later one replaced the former: what that one, which was stopped meanwhile, still has in hand is not done when it goes on.

use std::sync::Arc;

use armadex_model::{ClusterLabels, ResourceType};
use armadex_storage::conformance::fixture::{RULES, live, name};
use armadex_storage::conformance::resource;
use armadex_storage::{Batch, ClusterId, Health, Sink as _, StoreError, Stream, Tenure};

use super::place::{Home, Place, execute, wait_until_somebody_waits};
use crate::backend::{Lane, head_row, row};
use crate::sql::head::HeadRow;
use crate::sql::owner;
use crate::sql::statement::Statement;
use crate::store::SqlStore;

const OWNER: &str = "control-plane/shard";

fn pods() -> ResourceType {
    resource("", "pods", "Pod", true)
}

/// A cluster with pods, and one that has nothing yet.
struct Known {
    full: ClusterId,
    pods: Stream,
}

/// A process that has begun, and looks after both.
async fn begin(store: &SqlStore) -> Known {
    store.begin(OWNER).await.expect("begun");
    let mut joined = vec![];
    for cluster in ["full", "empty"] {
        let cluster = store.join(&name(cluster), "1", OWNER).await;
        joined.push(cluster.expect("joined"));
    }
    let opened = store.open(joined[0], OWNER, &pods(), RULES).await;
    Known {
        full: joined[0],
        pods: opened.expect("opened"),
    }
}

/// What came of everything that whoever looks after these may ask.
async fn ask(store: &SqlStore, known: &Known) -> Vec<(&'static str, Result<(), StoreError>)> {
    let Known { full, pods } = known;
    let services = resource("", "services", "Service", true);
    let health = Health {
        healthy: false,
        reason: "NotReachable".to_owned(),
    };
    let (labels, _) = ClusterLabels::of([("env", "late")]);
    vec![
        (
            "tell of health",
            store.set_health(*full, OWNER, &health, None).await,
        ),
        ("label", store.set_labels(*full, OWNER, &labels).await),
        (
            "open",
            store.open(*full, OWNER, &services, RULES).await.map(drop),
        ),
        (
            "open again",
            store
                .open(*full, OWNER, &self::pods(), RULES)
                .await
                .map(drop),
        ),
        ("close", store.close(*full, OWNER, pods.resource).await),
        (
            "adopt",
            store.adopt(&name("empty"), "1", "member").await.map(drop),
        ),
        ("join", store.join(&name("new"), "1", OWNER).await.map(drop)),
        (
            "join anew",
            store.join(&name("full"), "2", OWNER).await.map(drop),
        ),
        ("leave", store.leave(&name("empty"), "1").await),
    ]
}

fn is_taken_over<T>(done: &Result<T, StoreError>) -> bool {
    matches!(done, Err(StoreError::TakenOver { .. }))
}

async fn head(store: &SqlStore) -> HeadRow {
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let head = head_row::read(&mut *reader).await.expect("a head");
    reader.rollback().await.expect("ended");
    head
}

/// It was stopped before its writer took them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_what_who_was_replaced_still_asks_nothing_is_done() {
    for place in Place::of_each_kind() {
        let (former, latter) = (place.store().await, place.store().await);
        let late = begin(&former).await;
        let known = begin(&latter).await;
        let before = head(&latter).await;
        for (what, done) in ask(&former, &late).await {
            assert!(is_taken_over(&done), "{what}: {done:?}");
        }
        assert_eq!(head(&latter).await, before);
        // Its stream is still its own.
        let batch = Batch {
            cluster: known.full,
            resource: known.pods.resource,
            epoch: known.pods.epoch,
            rules: RULES,
            whole: true,
            changes: vec![],
            position: Some(live("7")),
        };
        latter.write(batch).await.expect("written");
        for (what, done) in ask(&latter, &known).await {
            assert!(done.is_ok(), "{what}: {done:?}");
        }
    }
}

/// The row stands for whatever the other one has not committed yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_opens_a_stream_while_another_replaces_it_waits_and_is_refused() {
    for place in Home::on_each_server() {
        let (former, other) = (place.store().await, place.store().await);
        let late = begin(&former).await;
        let mut begins = other.database.write().await.expect("a transaction");
        let next = begins.execute(owner::begin_next(OWNER)).await;
        assert_eq!(next.expect("begun"), 1);
        let opening = tokio::spawn(async move {
            let services = resource("", "services", "Service", true);
            former.open(late.full, OWNER, &services, RULES).await
        });
        wait_until_somebody_waits(&place, &other).await;
        begins.commit().await.expect("begun");
        let done = opening.await.expect("no panic");
        assert!(is_taken_over(&done), "{done:?}");
        let streams = other.streams(late.full).await.expect("streams");
        let names = Vec::from_iter(streams.iter().map(|stream| &stream.resource.gvr.resource));
        assert_eq!(names, ["pods"]);
    }
}

/// A process that lost the Lease and has it again: what it asked for before stays refused, what it asks for from then on is its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_replaced_and_begins_again_is_the_one_that_is_not() {
    for place in Place::of_each_kind() {
        let (one, other) = (place.store().await, place.store().await);
        begin(&one).await;
        let late = begin(&other).await;
        let again = begin(&one).await;
        for (what, done) in ask(&other, &late).await {
            assert!(is_taken_over(&done), "{what}: {done:?}");
        }
        for (what, done) in ask(&one, &again).await {
            assert!(done.is_ok(), "{what}: {done:?}");
        }
    }
}

/// A replica that lost its place to another process and found one elsewhere: what is asked without saying as whom is asked as the owner that it is by now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_replaced_and_goes_on_as_another_owner_asks_as_that_one() {
    for place in Place::of_each_kind() {
        let (one, other) = (place.store().await, place.store().await);
        begin(&one).await;
        begin(&other).await;
        let late = one.leave(&name("empty"), "1").await;
        assert!(is_taken_over(&late), "{late:?}");
        one.begin("control-plane/shard/1").await.expect("begun");
        let own = one.join(&name("own"), "1", "control-plane/shard/1").await;
        own.expect("joined");
        one.leave(&name("own"), "1").await.expect("left");
        let late = one.join(&name("full"), "1", OWNER).await;
        assert!(is_taken_over(&late), "{late:?}");
    }
}

/// A backup knows of former tenures, or of none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_not_replaced_goes_on_with_a_store_that_was_restored() {
    for place in Place::of_each_kind() {
        let store = place.store().await;
        for _ in 0..2 {
            store.begin(OWNER).await.expect("begun");
        }
        let known = begin(&store).await;
        for restored in ["UPDATE tenure SET number = 1", "DELETE FROM tenure"] {
            execute(&store, Statement::fixed("test.restored", restored, [])).await;
            let opened = store.open(known.full, OWNER, &pods(), RULES).await;
            opened.expect("opened");
            let lasts = store.keep_alive(OWNER, Tenure(3)).await;
            assert!(lasts.expect("told"));
            assert_eq!(last(&store).await, Some(3));
        }
    }
}

async fn last(store: &Arc<SqlStore>) -> Option<i64> {
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let tenure = owner::tenures(store.database.dialect(), &[OWNER]);
    let last = row(&mut *reader, tenure, |row| row.int(1)).await;
    reader.rollback().await.expect("ended");
    last.expect("an answer")
}
