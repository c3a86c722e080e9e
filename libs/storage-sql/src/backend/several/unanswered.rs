//! Commits that are given up and land late: what is written anew meanwhile, by the writer of the same epoch, is compared with what they leave behind.

use std::pin::pin;
use std::sync::Arc;

use armadex_model::{ClusterLabels, ObjectKey, Query};
use armadex_storage::conformance::fixture::{all_pods, name};
use armadex_storage::conformance::{Fixture, RULES, Writer, object, resource};
use armadex_storage::{Change, ClusterId, Health, Search as _, Sink as _, StoreError, Written};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::place::{
    Home, PATIENCE, PAUSE, fixture_of, open, persist, wait_until_so_many_wait,
    wait_until_somebody_waits,
};
use super::proxy::{Cut, Proxy};
use crate::backend::{Lane, rows};
use crate::sql::{head, object, stream};
use crate::store::SqlStore;

const CONFIG_MAP: &str = "m/team-a/settings";

/// A namespace in which two types have an object each.
async fn filled(fixture: &Fixture) -> Writer {
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("team-a", "last")]).await;
    let config_maps = fixture.writer("m", &config_map()).await;
    let settings = object("team-a", "settings");
    fixture.put(&config_maps, [settings]).await;
    pods
}

fn config_map() -> armadex_model::ResourceType {
    resource("", "configmaps", "ConfigMap", true)
}

fn deletes() -> Change {
    Change::Delete(ObjectKey::new("team-a", "last"))
}

fn changes() -> Change {
    Change::Put(object("team-a", "last").version("101").build())
}

/// As a synchro does: what does not succeed for now is tried again, the same batch.
fn writes(store: &Arc<SqlStore>, pods: &Writer, change: fn() -> Change) -> JoinHandle<Written> {
    let (fixture, pods) = (fixture_of(store), pods.clone());
    tokio::spawn(async move {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match fixture.write(&pods, [change()]).await {
                Err(err) if err.is_transient() && Instant::now() < deadline => sleep(PAUSE).await,
                done => return done.expect("written"),
            }
        }
    })
}

/// Two stores with one writer are what a process is before and after it gives its commit up; whoever has the head stands for what stalls that. What the second
/// finds to write.
async fn twice(place: &Home, pods: &Writer, change: fn() -> Change) -> Written {
    let stores = place.stores(3).await;
    let [one, other, third] = &stores[..] else {
        panic!("three")
    };
    let mut holder = third.database.write().await.expect("a transaction");
    holder.execute(head::advance(0)).await.expect("held");
    let first = writes(one, pods, change);
    wait_until_somebody_waits(place, third).await;
    let second = writes(other, pods, change);
    wait_until_so_many_wait(place, third, 2).await;
    holder.rollback().await.expect("let go");
    let first = first.await.expect("no panic");
    assert_eq!(first.changed + first.deleted, 1, "{first:?}");
    second.await.expect("no panic")
}

/// The revisions that are superseded, each as often as the log says so.
async fn superseded(store: &SqlStore) -> Vec<i64> {
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let log = object::log(0, i64::MAX, 100);
    let log = rows(&mut *reader, log, object::decode_log).await;
    reader.rollback().await.expect("ended");
    let superseded = log.expect("a log").into_iter().map(|row| row.prev_rev);
    superseded.filter(|&rev| rev != 0).collect()
}

async fn assert_sound(fixture: &Fixture, pods: &[&str]) {
    assert_eq!(fixture.list(&all_pods(), 10).await, pods);
    fixture.assert_sound().await;
    let config_maps = Query::all(config_map().gvr);
    assert_eq!(fixture.list(&config_maps, 10).await, [CONFIG_MAP]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_lands_while_it_is_done_anew_is_done_once() {
    for place in Home::on_each_server() {
        let store = place.store().await;
        let fixture = fixture_of(&store);
        let pods = filled(&fixture).await;
        let again = twice(&place, &pods, deletes).await;
        assert_eq!((again.unchanged, again.deleted), (1, 0), "{again:?}");
        assert_eq!(superseded(&store).await.len(), 1);
        assert_sound(&fixture, &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_lands_while_it_is_done_anew_is_done_once() {
    for place in Home::on_each_server() {
        let store = place.store().await;
        let fixture = fixture_of(&store);
        let pods = filled(&fixture).await;
        let again = twice(&place, &pods, changes).await;
        assert_eq!((again.unchanged, again.changed), (1, 0), "{again:?}");
        assert_eq!(superseded(&store).await.len(), 1);
        assert_sound(&fixture, &["m/team-a/last"]).await;
    }
}

/// The process knows where it left its stream, as nearly always, and goes on with it afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_reaches_the_server_after_it_was_given_up_is_done_once() {
    for place in Home::on_each_server() {
        let proxy = Proxy::to(place.database.server()).await;
        let (store, other) = (open(&place.url_by(proxy.port())).await, place.store().await);
        let fixture = fixture_of(&store);
        let pods = filled(&fixture).await;
        let before = store.head().await.expect("a head").revision;
        proxy.cut_next(Cut::HeldCommit);
        let refused = fixture.write(&pods, [deletes()]).await;
        assert!(refused.is_err_and(|err| err.is_transient()));
        assert!(proxy.has_cut());
        let again = writes(&store, &pods, deletes);
        wait_until_somebody_waits(&place, &other).await;
        proxy.let_go();
        let again = again.await.expect("no panic");
        assert_eq!((again.unchanged, again.deleted), (1, 0), "{again:?}");
        assert_eq!(store.head().await.expect("a head").revision, before + 1);
        let next = object("team-a", "next");
        let next = persist(&fixture, &pods, &[next]).await.expect("written");
        assert_eq!(next.added, 1);
        assert_sound(&fixture, &["m/team-a/next"]).await;
    }
}

fn labels(env: &str) -> ClusterLabels {
    ClusterLabels::of([("env", env)]).0
}

fn health(reason: &str) -> Health {
    Health {
        healthy: false,
        reason: reason.to_owned(),
    }
}

/// What a synchro says of a cluster, one way or another.
async fn says(
    store: &SqlStore,
    cluster: ClusterId,
    what: What,
    is: &str,
) -> Result<(), StoreError> {
    match what {
        What::Labels => store.set_labels(cluster, "", &labels(is)).await,
        What::Health => store.set_health(cluster, "", &health(is), None).await,
    }
}

#[derive(Clone, Copy)]
enum What {
    Labels,
    Health,
}

/// Asks until that succeeds.
async fn insists(asks: impl AsyncFn() -> Result<(), StoreError>) -> Result<(), StoreError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match asks().await {
            Err(err) if err.is_transient() && Instant::now() < deadline => sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// Whoever changed it puts it back before the first change has reached the server.
async fn lands_late_and_does_not_stay(what: What) {
    for place in Home::on_each_server() {
        let proxy = Proxy::to(place.database.server()).await;
        let (store, other) = (open(&place.url_by(proxy.port())).await, place.store().await);
        let cluster = fixture_of(&store).pods_of("m").await.cluster;
        let says_before = async || says(&store, cluster, what, "before").await;
        says_before().await.expect("said");
        proxy.cut_next(Cut::HeldCommit);
        let refused = says(&store, cluster, what, "meanwhile").await;
        assert!(refused.is_err_and(|err| err.is_transient()));
        comes_behind(&place, &proxy, &other, says_before).await;
        let catalog = other.catalog().await.expect("a catalogue");
        let found = &catalog.clusters[&name("m")];
        match what {
            What::Labels => assert_eq!(found.labels, labels("before")),
            What::Health => assert_eq!(found.health, Some(health("before"))),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_that_land_after_they_were_given_up_and_put_back_do_not_stay() {
    lands_late_and_does_not_stay(What::Labels).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_that_lands_after_it_was_given_up_and_is_as_before_does_not_stay() {
    lands_late_and_does_not_stay(What::Health).await;
}

/// Asks what comes behind something that is held on its way, which has to be waited for, and lets that go.
async fn comes_behind(
    place: &Home,
    proxy: &Proxy,
    other: &SqlStore,
    asks: impl AsyncFn() -> Result<(), StoreError>,
) {
    assert!(proxy.has_cut());
    let mut asked = pin!(insists(asks));
    tokio::select! {
        () = wait_until_somebody_waits(place, other) => {}
        done = &mut asked => panic!("what is under way was not waited for: {done:?}"),
    }
    proxy.let_go();
    asked.await.expect("done");
}

/// It is gone before anybody has heard that it was there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_leaves_and_a_type_that_closes_are_not_there_though_they_came_late() {
    for place in Home::on_each_server() {
        let proxy = Proxy::to(place.database.server()).await;
        let (store, other) = (open(&place.url_by(proxy.port())).await, place.store().await);
        let cluster = fixture_of(&store).pods_of("m").await.cluster;
        let known = store.open(cluster, "", &config_map(), RULES).await;
        let resource = known.expect("opened").resource;
        store.close(cluster, "", resource).await.expect("closed");
        proxy.cut_next(Cut::HeldCommit);
        let opened = store.open(cluster, "", &config_map(), RULES).await;
        assert!(opened.is_err_and(|err| err.is_transient()));
        let closes = async || store.close(cluster, "", resource).await;
        comes_behind(&place, &proxy, &other, closes).await;
        let mut reader = other.database.read(Lane::Short).await.expect("a reader");
        let stream = stream::several(reader.dialect(), &[(cluster.0, resource.0)]);
        let found = rows(&mut *reader, stream, stream::decode).await;
        reader.rollback().await.expect("ended");
        assert!(!found.expect("a stream")[0].is_open);
        proxy.cut_next(Cut::HeldCommit);
        let joined = store.join(&name("late"), "uid", "").await;
        assert!(joined.is_err_and(|err| err.is_transient()));
        let leaves = async || store.leave(&name("late"), "uid").await;
        comes_behind(&place, &proxy, &other, leaves).await;
        let catalog = other.catalog().await.expect("a catalogue");
        assert!(!catalog.clusters.contains_key(&name("late")));
    }
}
