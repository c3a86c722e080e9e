//! A reading of the catalogue whose asker goes away, and one that others wait for. SQLite.

use std::time::Duration;

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
    store.open(cluster, "", &pods, RULES).await.expect("opened");
    store
}

/// What says that a reading has come to the streams, and lets it go on.
struct Holding {
    begun: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

impl Holding {
    fn new() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self {
            begun: none(),
            let_go: none(),
        }
    }

    async fn held(&self, store: &SqlStore) -> (Box<dyn Transaction>, HeadRow) {
        let inner = store.database.read(Lane::Short).await;
        let mut inner = inner.expect("a transaction");
        let head = head_row::read(&mut *inner).await.expect("a head");
        let held = Held {
            inner,
            begun: Arc::clone(&self.begun),
            let_go: Arc::clone(&self.let_go),
        };
        (Box::new(held), head)
    }
}

#[tokio::test]
async fn a_reading_goes_on_when_its_asker_goes_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_with_pods(&folder).await;
    let holding = Holding::new();
    let Holding { begun, let_go } = &holding;
    let (transaction, head) = holding.held(&store).await;
    let snapshots = Arc::clone(&store.snapshots);
    let asked = tokio::spawn(async move { snapshots.current(transaction, &head).await.map(drop) });
    begun.acquire().await.expect("open").forget();
    asked.abort();
    asked.await.expect_err("it was given up");
    let (transaction, head) = holding.held(&store).await;
    let_go.add_permits(1);
    let (transaction, known) = store
        .snapshots
        .current(transaction, &head)
        .await
        .expect("a catalogue");
    let known = known.expect("of this revision");
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

/// More than the connections for what takes a moment.
const WAITING: usize = 4;

#[tokio::test]
async fn who_waits_for_a_reading_of_the_catalogue_holds_no_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(store_with_pods(&folder).await);
    let holding = Holding::new();
    let (transaction, head) = holding.held(&store).await;
    let snapshots = Arc::clone(&store.snapshots);
    let reading = tokio::spawn(async move { snapshots.current(transaction, &head).await });
    holding.begun.acquire().await.expect("open").forget();
    let waiting = (0..WAITING).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.catalog().await })
    });
    let waiting = Vec::from_iter(waiting);
    // Connections are given in the order of asking, so at the last of these all of them wait for the catalogue.
    for _ in 0..=WAITING {
        let told = tokio::time::timeout(Duration::from_secs(5), store.head()).await;
        told.expect("a connection is free").expect("a head");
    }
    holding.let_go.add_permits(1);
    let (transaction, _) = reading.await.expect("no panic").expect("a catalogue");
    transaction.rollback().await.expect("ended");
    for waiting in waiting {
        let catalog = waiting.await.expect("no panic").expect("a catalogue");
        assert_eq!(catalog.types.len(), 1);
    }
    store.shutdown().await;
}

#[tokio::test]
async fn what_is_known_of_a_later_revision_is_not_shown_at_an_earlier_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_with_pods(&folder).await;
    let began = async || {
        let transaction = store.database.read(Lane::Short).await;
        let mut transaction = transaction.expect("a transaction");
        let head = head_row::read(&mut *transaction).await.expect("a head");
        (transaction, head)
    };
    let shown = async |(transaction, head): (Box<dyn Transaction>, HeadRow)| {
        let current = store.snapshots.current(transaction, &head).await;
        let (transaction, known) = current.expect("a catalogue");
        transaction.rollback().await.expect("ended");
        known.map(|known| known.catalog.clusters.len())
    };
    let before = began().await;
    let name = "member1".parse().expect("a name");
    store.leave(&name, "incarnation").await.expect("left");
    let after = began().await;
    assert_eq!(shown(after).await, Some(0));
    assert_eq!(shown(before).await, None, "it would be without the cluster");
    store.catalog().await.expect("one that begins now");
    store.shutdown().await;
}
