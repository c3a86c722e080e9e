//! Reads of a replica that overlap.

use std::sync::Arc;

use armadex_storage::conformance::{Fixture, object};
use armadex_storage::{Search as _, StoreError};
use async_trait::async_trait;
use tokio::sync::{Mutex, oneshot};

use super::SqlStore;
use crate::backend::{Database, Lane, SharedDatabase, Transaction, head_row};
use crate::options::Options;
use crate::sql::dialect::Dialect;

/// A database in which the next read takes its snapshot and goes no further until it is let.
struct Halting {
    database: SharedDatabase,
    halt: Mutex<Option<Halt>>,
}

struct Halt {
    has_snapshot: oneshot::Sender<()>,
    go_on: oneshot::Receiver<()>,
}

#[async_trait]
impl Database for Halting {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        let mut transaction = self.database.read(lane).await?;
        let halt = self.halt.lock().await.take();
        if let Some(Halt {
            has_snapshot,
            go_on,
        }) = halt
        {
            head_row::read(&mut *transaction).await?;
            has_snapshot.send(()).expect("it is waited for");
            go_on.await.expect("it is let go on");
        }
        Ok(transaction)
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.database.write().await
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.database.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {}
}

/// It began before the other one saw more, so it does not go back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_began_before_another_saw_more_is_answered() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let options = Options::default();
    let store = Arc::new(SqlStore::sqlite(&path, &options).await.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    let location = format!("sqlite:{}", path.display())
        .parse()
        .expect("a place");
    let database = crate::open::database(&location, &options).await;
    let halting = Arc::new(Halting {
        database: database.expect("a database"),
        halt: Mutex::default(),
    });
    let replica = SqlStore::follow(Arc::clone(&halting) as SharedDatabase, &options).await;
    let replica = Arc::new(replica.expect("a replica"));
    let before = replica.head().await.expect("a head").revision;

    let (has_snapshot, waits) = oneshot::channel();
    let (let_go, go_on) = oneshot::channel();
    *halting.halt.lock().await = Some(Halt {
        has_snapshot,
        go_on,
    });
    let early = Arc::clone(&replica);
    let early = tokio::spawn(async move { early.head().await });
    waits.await.expect("it has begun");
    fixture.put(&pods, [object("ns", "a")]).await;
    let after = replica.head().await.expect("a head").revision;
    assert!(after > before);
    let_go.send(()).expect("it waits");
    let answered = early.await.expect("no panic");
    assert_eq!(answered.expect("answered").revision, before);
    assert_eq!(replica.head().await.expect("a head").revision, after);
    store.shutdown().await;
    replica.shutdown().await;
}
