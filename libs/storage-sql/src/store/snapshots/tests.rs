//! A reading of the catalogue whose asker goes away. SQLite.

use armadex_storage::conformance::{RULES, resource};
use armadex_storage::{Search as _, Sink as _};
use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::*;
use crate::backend::{Connection, Lane, RowSink, head_row};
use crate::options::Options;
use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;
use crate::store::SqlStore;

/// A transaction whose reading of streams waits for a permit.
struct Held {
    inner: Box<dyn Transaction>,
    begun: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

#[async_trait]
impl Connection for Held {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.inner.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        if statement.name == "stream.since" {
            self.begun.add_permits(1);
            self.let_go.acquire().await.expect("open").forget();
        }
        self.inner.fetch(statement, each).await
    }
}

#[async_trait]
impl Transaction for Held {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.rollback().await
    }
}

async fn store_with_pods(folder: &tempfile::TempDir) -> SqlStore {
    let path = folder.path().join("store.db");
    let store = SqlStore::sqlite(&path, &Options::default()).await;
    let store = store.expect("a store");
    let name = "member1".parse().expect("a name");
    let cluster = store.join(&name, "incarnation", "").await.expect("joined");
    let pods = resource("", "pods", "Pod", true);
    store.open(cluster, &pods, RULES).await.expect("opened");
    store
}

#[tokio::test]
async fn a_reading_goes_on_when_its_asker_goes_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_with_pods(&folder).await;
    let (begun, let_go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let held = async || {
        let inner = store.database.read(Lane::Short).await;
        let mut inner = inner.expect("a transaction");
        let head = head_row::read(&mut *inner).await.expect("a head");
        let (begun, let_go) = (Arc::clone(&begun), Arc::clone(&let_go));
        let held = Held {
            inner,
            begun,
            let_go,
        };
        (Box::new(held) as Box<dyn Transaction>, head)
    };
    let (transaction, head) = held().await;
    let snapshots = Arc::clone(&store.snapshots);
    let asked = tokio::spawn(async move { snapshots.current(transaction, &head).await.map(drop) });
    begun.acquire().await.expect("open").forget();
    asked.abort();
    asked.await.expect_err("it was given up");
    let (transaction, head) = held().await;
    let_go.add_permits(1);
    let (transaction, known) = store
        .snapshots
        .current(transaction, &head)
        .await
        .expect("a catalogue");
    assert_eq!(
        (known.version, known.catalog.types.len()),
        (head.catalog, 1)
    );
    let again = begun.available_permits();
    assert_eq!(again, 0, "it was read once");
    transaction.rollback().await.expect("ended");
    store.shutdown().await;
}

#[tokio::test]
async fn whether_the_store_answers_is_told_without_a_catalogue() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_with_pods(&folder).await;
    store.head().await.expect("a head");
    assert_eq!(store.snapshots.known.load().version, 0);
    store.catalog().await.expect("a catalogue");
    assert_ne!(store.snapshots.known.load().version, 0);
    store.shutdown().await;
}
