//! Writers that write at the same time: the order of revisions, and rows that several want.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use armadex_model::{GroupVersionResource, Query};
use armadex_storage::Change;
use armadex_storage::conformance::{Fixture, Writer, object, resource};
use futures::future::join_all;
use tokio::time::{Instant, sleep};

use super::place::{PATIENCE, PAUSE, Place, fixture_of, persist};
use crate::backend::{Lane, head_row, rows};
use crate::sql::object;
use crate::store::SqlStore;

const WRITERS: usize = 4;
const BATCHES: usize = 40;
const OBJECTS: usize = 12;

/// Each with a cluster of its own, some batches at a time so that they share transactions. Every revision is seen, and each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_four_writers_finds_no_gap() {
    for place in Place::on_each_server() {
        let stores = place.stores(WRITERS).await;
        let reader = place.store().await;
        let done = AtomicBool::new(false);
        let writing = async {
            let writers = stores.iter().enumerate();
            join_all(writers.map(|(number, store)| fill(store, number))).await;
            done.store(true, Ordering::Release);
        };
        let ((), seen) = tokio::join!(writing, follow(&reader, &done));
        assert_eq!(seen, WRITERS * BATCHES * OBJECTS);
        fixture_of(&reader).assert_sound().await;
    }
}

async fn fill(store: &Arc<SqlStore>, number: usize) {
    let fixture = fixture_of(store);
    let cluster = format!("c-{number}");
    let types = ["pods", "services"].map(|plural| resource("", plural, "Thing", true));
    let writers = [
        fixture.writer(&cluster, &types[0]).await,
        fixture.writer(&cluster, &types[1]).await,
    ];
    for batch in 0..BATCHES / 2 {
        let objects = (0..OBJECTS).map(|n| {
            let name = format!("o-{batch}-{n}");
            object(&format!("ns-{}", n % 3), &name).label("app", "web")
        });
        let objects = Vec::from_iter(objects);
        let [a, b] = &writers;
        let (a, b) = tokio::join!(
            persist(&fixture, a, &objects),
            persist(&fixture, b, &objects)
        );
        a.and(b).expect("written");
    }
}

/// Polls the head and reads the log up to it, as whoever watches does; says how many revisions came.
async fn follow(store: &SqlStore, done: &AtomicBool) -> usize {
    let mut last = 0;
    loop {
        let is_last = done.load(Ordering::Acquire);
        let mut transaction = store.database.read(Lane::Short).await.expect("a reader");
        let head = head_row::read(&mut *transaction).await.expect("a head");
        let log = object::log(last, head.revision, u32::MAX >> 1);
        let log = rows(&mut *transaction, log, object::decode_log).await;
        let found: Vec<i64> = log.expect("a log").iter().map(|row| row.rev).collect();
        transaction.rollback().await.expect("ended");
        let expected: Vec<i64> = (last + 1..=head.revision).collect();
        assert_eq!(found, expected, "after revision {last}");
        last = head.revision;
        if is_last {
            return usize::try_from(last).expect("few revisions");
        }
    }
}

/// Types of one cluster in the same namespaces, which come and go: each wants the rows of these namespaces, of the cluster and of the head.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_collide_lose_nothing() {
    for place in Place::on_each_server() {
        let stores = place.stores(WRITERS).await;
        let writing = stores.iter().enumerate();
        join_all(writing.map(|(number, store)| come_and_go(store, number))).await;
        let fixture = fixture_of(&stores[0]);
        for number in 0..WRITERS {
            let gvr = GroupVersionResource::new("", "v1", type_name(number));
            let left = fixture.list(&Query::all(gvr), 50).await;
            let expected = (0..ROUNDS).map(|n| format!("shared/ns-{}/last-{n}", n % NAMESPACES));
            let mut expected = Vec::from_iter(expected);
            expected.sort();
            assert_eq!(left, expected);
        }
        fixture.assert_sound().await;
    }
}

const ROUNDS: usize = 15;
const NAMESPACES: usize = 5;

fn type_name(number: usize) -> String {
    format!("things{number}")
}

async fn come_and_go(store: &Arc<SqlStore>, number: usize) {
    let fixture = fixture_of(store);
    let things = resource("", &type_name(number), "Thing", true);
    let writer = fixture.writer("shared", &things).await;
    for round in 0..ROUNDS {
        // In another order in each store, and each round.
        let order = (0..NAMESPACES).map(|n| (n * (number + 1) + round) % NAMESPACES);
        let passing = order.map(|n| object(&format!("ns-{n}"), &format!("passing-{n}")));
        let passing = Vec::from_iter(passing);
        persist(&fixture, &writer, &passing).await.expect("written");
        let last = object(
            &format!("ns-{}", round % NAMESPACES),
            &format!("last-{round}"),
        );
        persist(&fixture, &writer, &[last]).await.expect("written");
        let gone = passing.iter().map(|object| object.clone().build().key);
        remove(&fixture, &writer, gone.collect()).await;
    }
}

async fn remove(fixture: &Fixture, writer: &Writer, keys: Vec<armadex_model::ObjectKey>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let changes = keys.iter().cloned().map(Change::Delete);
        match fixture.write(writer, changes).await {
            Err(err) if err.is_transient() && Instant::now() < deadline => sleep(PAUSE).await,
            done => {
                done.expect("removed");
                return;
            }
        }
    }
}
