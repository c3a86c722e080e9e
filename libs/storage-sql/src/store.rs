//! The store as its two sides see it.

pub(crate) mod check;
mod search;
mod sink;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use armadex_storage::StoreError;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::backend::error::broken;
use crate::backend::identity;
use crate::backend::{Connection, SharedDatabase, row};
use crate::catalog::Snapshot;
use crate::form::term::TermHasher;
use crate::sql::head::{self, HeadRow};
use crate::write::numbers::ObjectIds;
use crate::write::writer::{Order, Writer};

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections that read.
    pub readers: u32,
    /// Batches that may wait for the writer; when it is full, writers wait.
    pub queue: usize,
    /// How long a statement waits for another process's transaction.
    pub busy_timeout: Duration,
    /// How many revisions superseded versions and tombstones are kept for. 0 keeps none and writes no tombstone; what is past any
    /// other figure is removed by [`armadex_storage::Sink::purge`].
    pub retention: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // Reads of one machine's fleet are short; more connections would only divide its cores.
            readers: 4,
            // Batches of 500 objects are about 2 MB; the writer takes up to 16 at once.
            queue: 16,
            busy_timeout: Duration::from_secs(5),
            retention: 0,
        }
    }
}

/// A store in a SQL database. It is both sides at once: [`armadex_storage::Sink`] and [`armadex_storage::Search`].
pub struct SqlStore {
    pub(crate) database: SharedDatabase,
    pub(crate) hasher: TermHasher,
    snapshot: ArcSwap<Snapshot>,
    orders: mpsc::Sender<Order>,
    stop: CancellationToken,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl SqlStore {
    /// Starts the writer on a database whose schema is up to date.
    pub(crate) async fn start(
        database: SharedDatabase,
        options: &Options,
    ) -> Result<Self, StoreError> {
        let mut transaction = database.read().await?;
        let key = identity::hash_key(&mut *transaction).await?;
        let head = read_head(&mut *transaction).await?;
        let snapshot = Snapshot::load(&mut *transaction, head.catalog).await?;
        transaction.rollback().await?;
        let (orders, waiting) = mpsc::channel(options.queue.max(1));
        let stop = CancellationToken::new();
        let writer = Writer {
            database: Arc::clone(&database),
            retention: options.retention,
            object_ids: ObjectIds::default(),
        };
        let task = tokio::spawn(writer.run(waiting, stop.clone()));
        Ok(Self {
            database,
            snapshot: ArcSwap::from_pointee(snapshot),
            hasher: TermHasher::new(key),
            orders,
            stop,
            writer: Mutex::new(Some(task)),
        })
    }

    /// Carries out what was accepted, then closes the database. Calls after this fail as unavailable.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        if let Some(task) = self.writer.lock().await.take() {
            // A writer that panicked has nothing more to write; its callers were told.
            let _ = task.await;
        }
        self.database.close().await;
    }

    /// The catalogue as of this transaction, and its head.
    pub(crate) async fn current(
        &self,
        connection: &mut dyn Connection,
    ) -> Result<(Arc<Snapshot>, HeadRow), StoreError> {
        let head = read_head(connection).await?;
        let known = self.snapshot.load_full();
        if known.version == head.catalog {
            return Ok((known, head));
        }
        let fresh = Arc::new(Snapshot::load(connection, head.catalog).await?);
        self.snapshot.store(Arc::clone(&fresh));
        Ok((fresh, head))
    }

    /// Looks whether the catalogue changed.
    async fn refresh(&self) -> Result<Arc<Snapshot>, StoreError> {
        let mut transaction = self.database.read().await?;
        let (snapshot, _) = self.current(&mut *transaction).await?;
        transaction.rollback().await?;
        Ok(snapshot)
    }

    /// Gives the writer an order and waits for its answer.
    async fn order<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Order,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(make(reply)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

/// Nobody may hold a store in an orphaned task.
impl Drop for SqlStore {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn read_head(connection: &mut dyn Connection) -> Result<HeadRow, StoreError> {
    let head = row(connection, head::select(), head::decode).await?;
    head.ok_or_else(|| broken("it has no head row"))
}

/// The writer is gone, so nothing can be written any more.
fn stopped() -> StoreError {
    StoreError::Unavailable {
        reason: "it is closed".into(),
        source: Box::new(std::io::Error::from(std::io::ErrorKind::BrokenPipe)),
    }
}
