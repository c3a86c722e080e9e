//! Incarnations of one cluster's name that come and go at the same time: one of them is shown in the end, or none.

use std::sync::Arc;

use armadex_storage::conformance::fixture::{live, name};
use armadex_storage::conformance::object;
use armadex_storage::{Search as _, Sink as _, StoreError};
use tokio::task::JoinHandle;

use super::place::{Home, fixture_of, wait_until_so_many_wait, wait_until_somebody_waits};
use crate::sql::head;
use crate::store::SqlStore;

/// What somebody asks of the name.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Join(&'static str),
    Leave(&'static str),
    Adopt(&'static str),
}

impl Asked {
    fn of(self, store: &Arc<SqlStore>) -> JoinHandle<Result<(), StoreError>> {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let name = name("m");
            match self {
                Self::Join(incarnation) => store.join(&name, incarnation, "").await.map(drop),
                Self::Leave(incarnation) => store.leave(&name, incarnation).await,
                Self::Adopt(incarnation) => {
                    let member = live("7").member;
                    store.adopt(&name, incarnation, &member).await.map(drop)
                }
            }
        })
    }
}

/// Asks one after the other, each of a store of its own, before the first is done: what it does is committed when somebody lets the head go. What is shown of the name.
async fn shown_after(place: &Home, asked: [Asked; 2]) -> Vec<String> {
    let stores = place.stores(3).await;
    let [one, other, third] = &stores[..] else {
        panic!("three")
    };
    let mut holder = third.database.write().await.expect("a transaction");
    holder.execute(head::advance(0)).await.expect("held");
    let first = asked[0].of(one);
    wait_until_somebody_waits(place, third).await;
    let second = asked[1].of(other);
    wait_until_so_many_wait(place, third, 2).await;
    holder.rollback().await.expect("let go");
    first.await.expect("no panic").expect("done");
    second.await.expect("no panic").expect("done");
    let shown = third.clusters().await.expect("clusters").into_iter();
    let shown = Vec::from_iter(shown.map(|cluster| cluster.incarnation));
    let catalog = third.catalog().await.expect("a catalogue");
    assert_eq!(catalog.clusters.len(), shown.len());
    shown
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_incarnations_that_come_back_at_once_the_last_is_shown() {
    for place in Home::on_each_server() {
        let store = place.store().await;
        for incarnation in ["1", "2"] {
            store
                .join(&name("m"), incarnation, "")
                .await
                .expect("joined");
            store.leave(&name("m"), incarnation).await.expect("left");
        }
        let asked = [Asked::Join("1"), Asked::Join("2")];
        assert_eq!(shown_after(&place, asked).await, ["2"]);
    }
}

/// One that left with objects, and the next one of its name, which has nothing.
async fn made_anew(place: &Home) {
    let store = place.store().await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let moved = pods.batch([], Some(live("7")));
    store.write(moved).await.expect("written");
    store.join(&name("m"), "2", "").await.expect("joined");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incarnation_that_joins_while_a_former_one_is_adopted_is_shown_alone() {
    for place in Home::on_each_server() {
        made_anew(&place).await;
        let asked = [Asked::Adopt("2"), Asked::Join("3")];
        assert_eq!(shown_after(&place, asked).await, ["3"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incarnation_that_leaves_while_a_former_one_is_adopted_is_not_shown() {
    for place in Home::on_each_server() {
        made_anew(&place).await;
        let asked = [Asked::Adopt("2"), Asked::Leave("2")];
        assert_eq!(shown_after(&place, asked).await, [""; 0]);
    }
}
