//! Reads of the store that go on to their end, whoever goes away meanwhile.
//!
//! A client that resets its request drops all that works on it. A read that is dropped takes its connection with a database on a server along, and what
//! opens another one could be broken off the same way: a stranger would keep the store busy with greetings.

use std::sync::Arc;

use armadex_model::query::Start;
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query};
use armadex_storage::{Catalog, Found, Head, MemberPosition, Page, PageBudget, Search, StoreError};
use async_trait::async_trait;
use tokio_util::task::TaskTracker;

use crate::answer::searches::broken_off;

/// A store whose short reads are tasks of their own. Searches are already, see [`crate::answer::searches`].
pub(super) struct Unbroken {
    store: Arc<dyn Search>,
    tasks: TaskTracker,
}

impl Unbroken {
    pub(super) fn new(store: Arc<dyn Search>, tasks: TaskTracker) -> Self {
        Self { store, tasks }
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let read = self.tasks.spawn(read).await;
        read.unwrap_or_else(|error| Err(broken_off(error)))
    }
}

#[async_trait]
impl Search for Unbroken {
    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        let store = Arc::clone(&self.store);
        self.read(async move { store.catalog().await }).await
    }

    async fn head(&self) -> Result<Head, StoreError> {
        let store = Arc::clone(&self.store);
        self.read(async move { store.head().await }).await
    }

    async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        self.store.page(query, start, budget).await
    }

    async fn counted_page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<(Page, Option<u64>), StoreError> {
        self.store.counted_page(query, start, budget).await
    }

    async fn count(&self, query: &Query) -> Result<Option<u64>, StoreError> {
        self.store.count(query).await
    }

    async fn get(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
        key: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        let store = Arc::clone(&self.store);
        let (cluster, resource, key) = (cluster.clone(), resource.clone(), key.clone());
        self.read(async move { store.get(&cluster, &resource, &key).await })
            .await
    }

    async fn position(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
    ) -> Result<Option<MemberPosition>, StoreError> {
        let store = Arc::clone(&self.store);
        let (cluster, resource) = (cluster.clone(), resource.clone());
        self.read(async move { store.position(&cluster, &resource).await })
            .await
    }

    fn follows(&self) -> bool {
        self.store.follows()
    }

    fn secret(&self) -> [u8; 32] {
        self.store.secret()
    }

    async fn has_namespace(
        &self,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<bool, StoreError> {
        let store = Arc::clone(&self.store);
        let (cluster, namespace) = (cluster.clone(), namespace.to_owned());
        self.read(async move { store.has_namespace(&cluster, &namespace).await })
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use crate::testing::{Contents, Gate};

    use super::*;

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_is_done_all_the_same() {
        let store = Contents::new().store().await;
        let tasks = TaskTracker::new();
        let unbroken = Unbroken::new(Arc::clone(&store) as Arc<dyn Search>, tasks.clone());
        store.gate.send_replace(Gate::Shut);
        let mut asked = unbroken.head();
        while store.gate.receiver_count() == 0 {
            assert!(futures::poll!(&mut asked).is_pending());
            tokio::task::yield_now().await;
        }
        drop(asked);
        store.gate.send_replace(Gate::Open);
        tasks.close();
        tasks.wait().await;
        assert_eq!(store.heads.load(Ordering::Relaxed), 1);
    }
}
