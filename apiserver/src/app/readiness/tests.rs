use std::sync::atomic::{AtomicUsize, Ordering};

use armadex_model::query::Start;
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query};
use armadex_storage::{Catalog, Found, Head, MemberPosition, Page, PageBudget, StoreError};
use async_trait::async_trait;

use super::*;

/// A store of which only the head is asked.
enum Store {
    Well,
    Broken,
    Silent,
    /// Counts those who ask, and takes its time.
    Slow(Arc<AtomicUsize>, Duration),
}

fn head() -> Head {
    Head {
        revision: 1,
        incarnation: "first".to_owned(),
    }
}

fn broken<T>() -> Result<T, StoreError> {
    Err(StoreError::Broken {
        reason: "the test says so".to_owned(),
    })
}

#[async_trait]
impl Search for Store {
    async fn head(&self) -> Result<Head, StoreError> {
        match self {
            Self::Well => Ok(head()),
            Self::Broken => broken(),
            Self::Silent => std::future::pending().await,
            Self::Slow(asked, takes) => {
                asked.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(*takes).await;
                Ok(head())
            }
        }
    }

    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        broken()
    }

    async fn page(&self, _: &Query, _: &Start, _: PageBudget) -> Result<Page, StoreError> {
        broken()
    }

    async fn counted_page(
        &self,
        _: &Query,
        _: &Start,
        _: PageBudget,
    ) -> Result<(Page, Option<u64>), StoreError> {
        broken()
    }

    async fn position(
        &self,
        _: &ClusterName,
        _: &GroupVersionResource,
    ) -> Result<Option<MemberPosition>, StoreError> {
        broken()
    }

    async fn count(&self, _: &Query) -> Result<Option<u64>, StoreError> {
        broken()
    }

    async fn get(
        &self,
        _: &ClusterName,
        _: &GroupVersionResource,
        _: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        broken()
    }

    fn secret(&self) -> [u8; 32] {
        [0; 32]
    }

    async fn has_namespace(&self, _: &ClusterName, _: &str) -> Result<bool, StoreError> {
        broken()
    }
}

fn shared(store: Store) -> Arc<dyn Search> {
    Arc::new(store)
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_or_says_nothing_is_not_ready() {
    let readiness = Readiness::default();
    for (store, expected) in [
        (Store::Broken, false),
        (Store::Well, true),
        (Store::Silent, false),
        (Store::Well, true),
    ] {
        tokio::time::advance(ASKED_ANEW).await;
        let asked = tokio::time::timeout(KEPT, readiness.store_answers(&shared(store))).await;
        assert_eq!(asked, Ok(expected), "in less than a probe's patience");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_store_is_kept_for_a_second_whatever_it_was() {
    for (first, then) in [(Store::Well, Store::Broken), (Store::Broken, Store::Well)] {
        let readiness = Readiness::default();
        let then = shared(then);
        let answered = readiness.store_answers(&shared(first)).await;
        tokio::time::advance(KEPT / 2).await;
        assert_eq!(readiness.store_answers(&then).await, answered);
        tokio::time::advance(KEPT / 2).await;
        assert_eq!(readiness.store_answers(&then).await, !answered);
    }
}

/// Whoever asks may go away at once, as often as they like.
#[tokio::test(start_paused = true)]
async fn a_store_is_asked_once_though_nobody_waits_for_its_answer() {
    let asked = Arc::new(AtomicUsize::new(0));
    let store = shared(Store::Slow(Arc::clone(&asked), PATIENCE / 2));
    let readiness = Readiness::default();
    for _ in 0..3 {
        let short = tokio::time::timeout(PATIENCE / 10, readiness.store_answers(&store)).await;
        assert!(short.is_err(), "it takes longer");
    }
    assert!(readiness.store_answers(&store).await);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_takes_long_is_asked_once_and_waited_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let store = shared(Store::Slow(Arc::clone(&asked), 3 * KEPT));
    let readiness = Readiness::default();
    for _ in 0..2 {
        assert!(!readiness.store_answers(&store).await);
        tokio::time::advance(KEPT).await;
    }
    assert!(readiness.store_answers(&store).await);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
