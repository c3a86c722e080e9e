//! Writers that write at the same time: the order of revisions, and rows that several want.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use armadex_databases::Engine;
use armadex_model::{GroupVersionResource, Query};
use armadex_storage::Change;
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, Writer, object, resource};
use futures::future::join_all;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::place::{
    Home, PATIENCE, PAUSE, Place, fixture_of, open, persist, wait_until_somebody_waits,
};
use crate::backend::error::chain;
use crate::backend::{Lane, head_row, rows};
use crate::sql::statement::Statement;
use crate::sql::{head, object};
use crate::store::SqlStore;

const WRITERS: usize = 4;
const BATCHES: usize = 40;
const OBJECTS: usize = 12;

/// What a child process writes, and where; without it the child's part does nothing.
const PART: &str = "ARMADEX_TEST_PART_OF_A_WRITER";

/// What each of the processes does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fills_its_part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let (number, url) = part.split_once(' ').expect("a number and a place");
    let store = open(url).await;
    fill(&store, number.parse().expect("a number")).await;
    store.shutdown().await;
}

/// Each with a cluster of its own, some batches at a time so that they share transactions. Every revision is seen, and each once; and whoever looks
/// meanwhile whether the store is sound, again and again, finds that it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_four_writing_processes_finds_no_gap() {
    for kind in 0..Place::of_each_kind().count() {
        // On a busy machine all may be written before the first look is over.
        let mut checks = 0;
        for _ in 0..3 {
            if checks == 0 {
                let place = Place::of_each_kind().nth(kind).expect("as before");
                checks = write_beside_a_reader(&place).await;
            }
        }
        assert!(
            checks > 0,
            "no check began and ended while something was written"
        );
    }
}

/// How often it was looked at meanwhile.
async fn write_beside_a_reader(place: &Place) -> usize {
    let reader = place.store().await;
    let mut writers: Vec<Child> = (0..WRITERS).map(|part| writer(place, part)).collect();
    let done = AtomicBool::new(false);
    let writing = async {
        for writer in &mut writers {
            let ended = writer.wait().await.expect("its end");
            assert!(ended.success(), "{ended}");
        }
        done.store(true, Ordering::Release);
    };
    let checking = check_beside(&reader, &done);
    let ((), seen, checks) = tokio::join!(writing, follow(&reader, &done), checking);
    assert_eq!(seen, WRITERS * BATCHES * OBJECTS);
    fixture_of(&reader).assert_sound().await;
    checks
}

/// This program once more, ended with the test.
fn writer(place: &Place, part: usize) -> Child {
    let own = std::env::current_exe().expect("this test");
    let process = Command::new(own)
        .args([
            "--exact",
            "--nocapture",
            "backend::several::order::fills_its_part",
        ])
        .env(PART, format!("{part} {}", place.url()))
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    process.expect("a writer")
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

/// Looks whether the store is sound until all is written; says how often something had been written before such a look, and more was in its course.
async fn check_beside(reader: &Arc<SqlStore>, done: &AtomicBool) -> usize {
    let fixture = fixture_of(reader);
    let revision = async || fixture.search.head().await.expect("a head").revision;
    let (mut checks, mut before) = (0, revision().await);
    while !done.load(Ordering::Acquire) {
        fixture.assert_sound().await;
        let after = revision().await;
        checks += usize::from(before > 0 && before < after);
        before = after;
    }
    checks
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

/// Types of one cluster in the same namespaces, which come and go: each wants the rows of these namespaces, of the cluster and of the head, and waits for another
/// one that has them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_collide_lose_nothing() {
    for place in Home::on_each_server() {
        let (stores, looks) = (place.stores(WRITERS).await, place.store().await);
        let collided = AtomicBool::new(false);
        let writing = stores.iter().enumerate();
        let writing = writing.map(|(number, store)| come_and_go(store, number, &collided));
        let looking = async {
            wait_until_somebody_waits(&place, &looks).await;
            collided.store(true, Ordering::Release);
        };
        tokio::join!(join_all(writing), looking);
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

/// In all rounds, and on until somebody was seen to wait: a fast machine may be through with them before anybody has looked.
async fn come_and_go(store: &Arc<SqlStore>, number: usize, collided: &AtomicBool) {
    let fixture = fixture_of(store);
    let things = resource("", &type_name(number), "Thing", true);
    let writer = fixture.writer("shared", &things).await;
    let rounds = (0..).take_while(|round| *round < ROUNDS || !collided.load(Ordering::Acquire));
    for round in rounds.map(|round| round % ROUNDS) {
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

/// A transaction holds the head and wants a counter, a batch has the counter and wants the head: the server ends one of them. It is the batch that is
/// to be ended, which is written once and by nobody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_a_server_ends_for_a_deadlock_is_done_anew_before_anybody_hears_of_it() {
    for place in Home::on_each_server() {
        let [one, other, third] = [
            place.store().await,
            place.store().await,
            place.store().await,
        ];
        let fixture = fixture_of(&one);
        let pods = fixture.pods_of("m").await;
        let many = (0..200).map(|number| object("ns", &format!("p-{number:03}")));
        fixture.put(&pods, many).await;
        let mut written = 0;
        let mut was_ended = false;
        while !was_ended && written < DEADLOCKS {
            let mut holder = other.database.write().await.expect("a transaction");
            // MySQL ends whoever has changed less.
            let changes = "UPDATE ver SET dict = dict + 1";
            let changes = Statement::fixed("test.changes", changes, []);
            holder.execute(changes).await.expect("changed");
            holder.execute(head::advance(0)).await.expect("held");
            let late = object("ns", &format!("late-{written}")).build();
            let (writes, writer) = (fixture_of(&one), pods.clone());
            let batch =
                tokio::spawn(async move { writes.write(&writer, [Change::Put(late)]).await });
            wait_until_somebody_waits(&place, &third).await;
            let crosses = Statement::fixed("test.crosses", "UPDATE counter SET n = n + 0", []);
            // Who gets the batch's row while it waits for the head gets it because the batch is undone.
            was_ended = holder.execute(crosses).await.is_ok();
            holder.rollback().await.expect("let go");
            let done = batch.await.expect("no panic").expect("written");
            assert_eq!(done.added, 1);
            written += 1;
        }
        assert!(was_ended, "each time the other one was ended");
        assert_eq!(fixture.list(&all_pods(), 500).await.len(), 200 + written);
        fixture.assert_sound().await;
    }
}

/// Somebody holds the row that all batches want for longer than one waits for it. That is told to who brought it, who tries again, and is no outage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_waits_for_a_row_for_as_long_as_it_may_is_given_up_and_written_later() {
    for place in Home::on_each_server() {
        let other = place.store().await;
        let store = open(&format!("{}&lock_timeout=1s", place.database.patient_url())).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        let mut holder = other.database.write().await.expect("a transaction");
        holder.execute(head::advance(0)).await.expect("held");
        let change = Change::Put(object("ns", "a").build());
        let refused = fixture.write(&pods, [change]).await;
        let refused = refused.expect_err("somebody else has the row");
        assert!(refused.is_transient() && !refused.is_told(), "{refused}");
        let cause = chain(&refused).to_lowercase();
        let words = match place.database.server().engine() {
            Engine::Postgres => "lock timeout",
            Engine::Mysql => "lock wait timeout exceeded",
        };
        assert!(cause.contains(words), "{cause}");
        let known = store.availability();
        assert!(known.writes && known.outages == 0, "{known:?}");
        holder.rollback().await.expect("let go");
        let written = persist(&fixture, &pods, &[object("ns", "a")]).await;
        assert_eq!(written.expect("written").added, 1);
        fixture.assert_sound().await;
    }
}

/// PostgreSQL ends whoever finds the deadlock: the batch, which has waited for longer, unless this machine is slow.
const DEADLOCKS: usize = 8;

/// As of a process that is paused in the middle of a batch: it has the row that all batches want, and says nothing. The others have a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_writer_that_says_nothing_more_holds_is_free_for_others_after_some_seconds() {
    for place in Home::on_each_server() {
        let other = place.store().await;
        let fixture = fixture_of(&other);
        let (ours, pods) = (fixture.pods_of("own").await, fixture.pods_of("m").await);
        // As a process opens it.
        let paused = open(&place.database.patient_url()).await;
        let mut holder = paused.database.write().await.expect("a transaction");
        holder.execute(head::advance(1)).await.expect("held");
        let written = persist(&fixture, &pods, &[object("ns", "a")]).await;
        assert_eq!(written.expect("written").added, 1);
        let refused = holder.commit().await.expect_err("it was ended");
        assert!(refused.is_transient(), "{refused}");
        // Nothing of it is there, and the store that was paused goes on.
        let own = fixture_of(&paused);
        let written = persist(&own, &ours, &[object("ns", "b")]).await;
        assert_eq!(written.expect("written").added, 1);
        assert_eq!(fixture.list(&all_pods(), 10).await, ["m/ns/a", "own/ns/b"]);
        fixture.assert_sound().await;
    }
}
