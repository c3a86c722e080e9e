use std::sync::atomic::{AtomicUsize, Ordering};

use armadex_model::{ClusterName, GroupVersionResource, ObjectKey};
use armadex_storage::{Catalog, Found, Head, MemberPosition};
use async_trait::async_trait;
use tokio::sync::Notify;

use super::*;

/// A store that looks for objects, for as long as it is not let go on.
#[derive(Default)]
struct Slow {
    begun: Notify,
    go_on: Notify,
    searched: AtomicUsize,
}

#[async_trait]
impl Search for Slow {
    async fn page(&self, _: &Query, _: &Start, _: PageBudget) -> Result<Page, StoreError> {
        self.begun.notify_one();
        self.go_on.notified().await;
        self.searched.fetch_add(1, Ordering::Relaxed);
        Ok(Page {
            rows: Vec::new(),
            next: None,
            head: Head {
                revision: 7,
                incarnation: "first".to_owned(),
            },
            looked_at: 0,
        })
    }

    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        unreachable!("it is only searched")
    }

    async fn head(&self) -> Result<Head, StoreError> {
        unreachable!("it is only searched")
    }

    async fn counted_page(
        &self,
        _: &Query,
        _: &Start,
        _: PageBudget,
    ) -> Result<(Page, Option<u64>), StoreError> {
        unreachable!("nobody counts")
    }

    async fn count(&self, _: &Query) -> Result<Option<u64>, StoreError> {
        unreachable!("nobody counts")
    }

    async fn position(
        &self,
        _: &ClusterName,
        _: &GroupVersionResource,
    ) -> Result<Option<MemberPosition>, StoreError> {
        unreachable!("it is only searched")
    }

    async fn get(
        &self,
        _: &ClusterName,
        _: &GroupVersionResource,
        _: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        unreachable!("it is only searched")
    }

    fn secret(&self) -> [u8; 32] {
        [0; 32]
    }

    async fn has_namespace(&self, _: &ClusterName, _: &str) -> Result<bool, StoreError> {
        unreachable!("it is only searched")
    }
}

const BUDGET: PageBudget = PageBudget { rows: 1, bytes: 1 };

fn searches(store: &Arc<Slow>) -> Searches {
    Searches {
        store: Arc::clone(store) as Arc<dyn Search>,
        turns: Turns::new(turn_sizes(1)),
        asker: Asker::user("alice"),
        seal: Arc::new(Seal::of(&store.secret())),
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
        found = searches.page(&query, &Start::Beginning, BUDGET) => panic!("{found:?}"),
        () = store.begun.notified() => {}
    }
    let bob = Asker::user("bob");
    assert!(searches.turns.now(&bob).is_none(), "the store still works");
    store.go_on.notify_one();
    assert!(searches.turns.wait(&bob).await.is_ok());
    assert_eq!(store.searched.load(Ordering::Relaxed), 1);
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
    let (found, ()) = tokio::join!(searches.page(&query, &Start::Beginning, BUDGET), stop);
    assert!(matches!(found, Err(StoreError::Unavailable { .. })));
    assert_eq!(store.searched.load(Ordering::Relaxed), 0);
}
