use std::sync::atomic::{AtomicUsize, Ordering};

use armadex_model::{ClusterName, GroupVersionResource, ObjectKey};
use armadex_storage::{Catalog, Found, Head};
use async_trait::async_trait;
use tokio::sync::Notify;

use super::*;

/// A store that counts, for as long as it is not let go on.
#[derive(Default)]
struct Slow {
    begun: Notify,
    go_on: Notify,
    counted: AtomicUsize,
}

#[async_trait]
impl Search for Slow {
    async fn count(&self, _: &Query) -> Result<Option<u64>, StoreError> {
        self.begun.notify_one();
        self.go_on.notified().await;
        self.counted.fetch_add(1, Ordering::Relaxed);
        Ok(Some(7))
    }

    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        unreachable!("it only counts")
    }

    async fn head(&self) -> Result<Head, StoreError> {
        unreachable!("it only counts")
    }

    async fn page(&self, _: &Query, _: &Start, _: PageBudget) -> Result<Page, StoreError> {
        unreachable!("it only counts")
    }

    async fn get(
        &self,
        _: &ClusterName,
        _: &GroupVersionResource,
        _: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        unreachable!("it only counts")
    }

    async fn has_namespace(&self, _: &ClusterName, _: &str) -> Result<bool, StoreError> {
        unreachable!("it only counts")
    }
}

fn searches(store: &Arc<Slow>) -> Searches {
    let one = TurnSizes {
        at_once: 1,
        at_once_per_asker: 1,
        ..SEARCHES
    };
    Searches {
        store: Arc::clone(store) as Arc<dyn Search>,
        turns: Turns::new(one),
        asker: Asker::user("alice"),
        tasks: TaskTracker::new(),
        ending: CancellationToken::new(),
    }
}

fn pods() -> Query {
    Query::all(GroupVersionResource::new("", "v1", "pods"))
}

#[tokio::test]
async fn a_search_that_nobody_waits_for_keeps_its_turn_until_the_store_is_done() {
    let store = Arc::new(Slow::default());
    let searches = searches(&store);
    let query = pods();
    tokio::select! {
        found = searches.count(&query) => panic!("{found:?}"),
        () = store.begun.notified() => {}
    }
    let bob = Asker::user("bob");
    assert!(searches.turns.now(&bob).is_none(), "the store still works");
    store.go_on.notify_one();
    assert!(searches.turns.wait(&bob).await.is_ok());
    assert_eq!(store.counted.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_search_is_broken_off_when_the_server_stops() {
    let store = Arc::new(Slow::default());
    let searches = searches(&store);
    let query = pods();
    let stop = async {
        store.begun.notified().await;
        searches.ending.cancel();
        searches.tasks.close();
        searches.tasks.wait().await;
    };
    let (found, ()) = tokio::join!(searches.count(&query), stop);
    assert!(matches!(found, Err(StoreError::Unavailable { .. })));
    assert_eq!(store.counted.load(Ordering::Relaxed), 0);
}
