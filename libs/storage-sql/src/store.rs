//! The store as its two sides see it.

pub(crate) mod check;
mod families;
pub(crate) mod mend;
#[cfg(test)]
mod overlapping;
mod schedule;
mod search;
mod shared;
mod sink;
mod snapshots;
pub(crate) mod stats;
mod training;

use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use armadex_storage::{Catalog, Head, StoreError};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::backend::error::{closed, collided};
use crate::backend::guarded::{Availability, GuardedDatabase};
use crate::backend::identity;
use crate::backend::incarnation::{self, Committed};
use crate::backend::seen::Seen;
use crate::backend::{Connection, Lane, SharedDatabase, Transaction, head_row, schema};
use crate::catalog::Snapshot;
use crate::form::dictionaries::Dictionaries;
use crate::form::term::{HASH_KEY_BYTES, TermHasher};
use crate::options::Options;
use crate::read::Tuning;
use crate::sql::head::HeadRow;
use crate::write::label_keys::LabelKeys;
use crate::write::lease::Lease;
use crate::write::left_off::LeftOff;
use crate::write::numbers::ObjectIds;
use crate::write::past::{self, Past, PastKnown};
use crate::write::queue::{Orders, queue};
use crate::write::tenures::Tenures;
use crate::write::unanswered::Unanswered;
use crate::write::work::{Done, Order, Work};
use crate::write::writer::Writer;
use families::Families;
use schedule::Schedule;
use shared::Shared;
use snapshots::Snapshots;

/// How often a read begins anew because something came or went as it began. That is seldom once.
const MOMENTS: usize = 8;

/// A store in a SQL database. It is both sides at once: [`armadex_storage::Sink`] and [`armadex_storage::Search`].
pub struct SqlStore {
    pub(crate) database: SharedDatabase,
    guarded: Arc<GuardedDatabase>,
    pub(crate) hasher: TermHasher,
    tuning: Tuning,
    searches: u32,
    snapshots: Arc<Snapshots>,
    /// Who serves searches asks for the catalogue at each request.
    catalogs: Shared<Arc<Catalog>>,
    seen: Arc<Seen>,
    past: past::Seen,
    dictionaries: Dictionaries,
    families: Families,
    schedule: Schedule,
    /// One for each batch that may be packed at the same time.
    packing: Arc<Semaphore>,
    /// None where another process writes, and this is a replica of that.
    orders: Option<Orders>,
    stop: CancellationToken,
    /// Cancelled when the writer has ended, for whatever reason.
    ended: CancellationToken,
    writer: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// A snapshot of the database, the catalogue and the head as of it.
pub(crate) struct Moment {
    pub(crate) transaction: Box<dyn Transaction>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) head: Head,
}

impl SqlStore {
    /// Starts the writer on a database whose schema is up to date.
    pub(crate) async fn start(
        database: SharedDatabase,
        options: &Options,
    ) -> Result<Self, StoreError> {
        let mut transaction = database.read(Lane::Short).await?;
        let (key, head) = looked_at(&mut *transaction).await?;
        let mut labels = LabelKeys::new(options.label_sample);
        labels.follow(&mut *transaction, head.catalog).await?;
        transaction.rollback().await?;
        let committed = Committed::at(&head);
        let past = PastKnown::new(options.watch_window_bytes, options.history.clone());
        let mut store = Self::known(database, options, key, &committed, past.seen());
        let (orders, waiting) = queue(options.queue);
        let writer = Writer {
            database: Arc::clone(&store.database),
            portions: options.portions.clone(),
            watch_window: options.watch_window,
            past,
            lease: Lease::new(options.patience),
            left_off: LeftOff::default(),
            tenures: Tenures::default(),
            unanswered: Unanswered::default(),
            rest: options.rest,
            object_ids: ObjectIds::default(),
            labels,
            committed,
            seen: Arc::clone(&store.seen),
            is_over: false,
        };
        let (stopping, ending) = (store.stop.clone(), store.ended.clone().drop_guard());
        let task = options.writer_runtime().spawn(async move {
            // Dropped by a panic too.
            let _ending = ending;
            writer.run(waiting, stopping).await;
        });
        store.orders = Some(orders);
        store.writer = tokio::sync::Mutex::new(Some(task));
        Ok(store)
    }

    /// Reads from the replica of a database that others write.
    pub(crate) async fn follow(
        database: SharedDatabase,
        options: &Options,
    ) -> Result<Self, StoreError> {
        let mut transaction = database.read(Lane::Short).await?;
        let (key, head) = looked_at(&mut *transaction).await?;
        transaction.rollback().await?;
        let past = past::Seen::default();
        let committed = Committed::at(&head);
        Ok(Self::known(database, options, key, &committed, past))
    }

    /// Without anybody who writes.
    fn known(
        database: SharedDatabase,
        options: &Options,
        key: [u8; HASH_KEY_BYTES],
        committed: &Committed,
        past: past::Seen,
    ) -> Self {
        let guarded = Arc::new(GuardedDatabase::new(database));
        let stop = CancellationToken::new();
        Self {
            database: Arc::<GuardedDatabase>::clone(&guarded),
            guarded,
            hasher: TermHasher::new(key),
            tuning: options.tuning.clone(),
            searches: options.readers,
            snapshots: Arc::new(Snapshots::new(stop.clone())),
            catalogs: Shared::new(),
            seen: Arc::new(Seen::new(committed.clone())),
            past,
            dictionaries: Dictionaries::default(),
            families: Families::default(),
            schedule: Schedule::new(options.training.clone()),
            packing: Arc::new(Semaphore::new(cores())),
            orders: None,
            stop,
            ended: CancellationToken::new(),
            writer: tokio::sync::Mutex::default(),
        }
    }

    /// By what this store is told from all others, though not from its own copies: eight hexadecimal digits, the same for as long as it is there.
    #[must_use]
    pub fn identity(&self) -> String {
        self.hasher.identity()
    }

    /// How the database has been since it was opened. Where reading fails, or writing and nobody writes, that is tried once more beside whoever asks this, now and then, so he
    /// asks within a runtime of tokio.
    #[must_use]
    pub fn availability(&self) -> Availability {
        self.guarded.availability()
    }

    /// What the store keeps of the past, where this process does its periodic work.
    #[must_use]
    pub fn past(&self) -> Option<Past> {
        self.past.at(Instant::now()).map(|(past, _)| past)
    }

    /// What it keeps for the history of types, the watch window's part of it included, where this process does the periodic work and there is any history.
    #[must_use]
    pub fn history(&self) -> Option<Past> {
        self.past
            .at(Instant::now())
            .and_then(|(_, history)| history)
    }

    /// Whether it is a replica of a store that others write.
    #[must_use]
    pub fn is_replica(&self) -> bool {
        self.orders.is_none()
    }

    /// Searches that can be made at the same time.
    #[must_use]
    pub fn searches(&self) -> usize {
        self.searches as usize
    }

    /// Returns when nothing can be written any more: after [`SqlStore::shutdown`], or because the writer failed. A process whose
    /// writer failed must not live on: it would look sound and store nothing. Of a replica: when it has become that
    /// of another store, or of one that serves later binaries alone.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
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

    /// Begins a read that needs to know what there is.
    pub(crate) async fn moment(&self, lane: Lane) -> Result<Moment, StoreError> {
        for _ in 0..MOMENTS {
            let (mut transaction, mut head) = self.begin(lane).await?;
            if self.snapshots.is_under_way(&head) {
                // A first reading takes long, and there are few connections. Once: what has changed since it began takes a moment.
                transaction.rollback().await?;
                self.snapshots.refreshed().await;
                (transaction, head) = self.begin(lane).await?;
            }
            let (transaction, snapshot) = self.snapshots.current(transaction, &head).await?;
            let Some(snapshot) = snapshot else {
                transaction.rollback().await?;
                continue;
            };
            return Ok(Moment {
                transaction,
                snapshot,
                head: Head {
                    revision: head.revision,
                    incarnation: head.incarnation,
                },
            });
        }
        Err(collided("clusters and types came and went all the while"))
    }

    /// Begins a read of the database that this process knows. What seems to have lost commits may be a server that is behind another one: it is left,
    /// and looked at again for as long as servers that follow each other need.
    async fn begin(&self, lane: Lane) -> Result<(Box<dyn Transaction>, HeadRow), StoreError> {
        let mut pauses = self.database.patience().iter();
        loop {
            let before = self.seen.before();
            let (mut transaction, head) = self.begin_at_once(lane, &before.last).await?;
            if before.is_ahead_of(&head) {
                transaction.leave();
                match pauses.next() {
                    Some(pause) => tokio::time::sleep(*pause).await,
                    None => return Err(self.stays_behind(before.last, &head).await),
                }
                continue;
            }
            if head.incarnation != before.last.incarnation {
                // What was lost with commits may have been made anew, and be another one.
                self.dictionaries.forget();
                let key = identity::hash_key(&mut *transaction).await?;
                if !self.hasher.has_key(&key) {
                    // It was empty when this process began, and has become the copy of another store.
                    transaction.rollback().await?;
                    return Err(self.is_over(before.last, incarnation::rewound()).await);
                }
            }
            if self.seen.note(&head) {
                return Ok((transaction, head));
            }
            transaction.rollback().await?;
        }
    }

    async fn begin_at_once(
        &self,
        lane: Lane,
        seen: &Committed,
    ) -> Result<(Box<dyn Transaction>, HeadRow), StoreError> {
        let (transaction, head) = match head_row::begin(&*self.database, lane).await {
            Err(gone @ StoreError::Gone { .. }) => {
                return Err(self.is_over(seen.clone(), gone).await);
            }
            begun => begun?,
        };
        if let Err(refused) = schema::check(self.database.dialect(), head.serves) {
            transaction.rollback().await?;
            return Err(self.is_over(seen.clone(), refused).await);
        }
        Ok((transaction, head))
    }

    /// What comes of a database that does not catch up. A replica may yet; of any other one everything that was handed out since means something else
    /// now, unless the writer knows better.
    async fn stays_behind(&self, seen: Committed, head: &HeadRow) -> StoreError {
        let behind = incarnation::behind(head, seen.clone());
        if self.is_replica() {
            // Should it stay so, commits were lost: what is known of them means something else when their numbers are reached again.
            self.snapshots.forget();
            self.dictionaries.forget();
            return behind;
        }
        let told = self.order(Work::Rewound(seen)).await;
        told.err().unwrap_or(behind)
    }

    /// This database is not to be used any more. The writer finds the same, and ends.
    async fn is_over(&self, seen: Committed, found: StoreError) -> StoreError {
        if self.is_replica() {
            tracing::error!(error = %found, "the replica is not to be read any more");
            self.ended.cancel();
            return found;
        }
        let told = self.order(Work::Rewound(seen)).await;
        told.err().unwrap_or(found)
    }

    /// Gives the writer an order and waits for its answer.
    pub(crate) async fn order(&self, work: Work) -> Result<Done, StoreError> {
        let orders = self
            .orders
            .as_ref()
            .ok_or_else(|| StoreError::Unsupported {
                what: "a replica takes no writes".into(),
            })?;
        let (reply, answer) = oneshot::channel();
        let order = Order { work, reply };
        if !orders.give(order).await {
            return Err(closed());
        }
        answer.await.map_err(|_| closed())?
    }
}

/// What a store is opened with: the key of its terms, and where it is.
async fn looked_at(
    connection: &mut dyn Connection,
) -> Result<([u8; HASH_KEY_BYTES], HeadRow), StoreError> {
    let key = identity::hash_key(connection).await?;
    let head = head_row::read(connection).await?;
    schema::check(connection.dialect(), head.serves)?;
    Ok((key, head))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Nobody may hold a store in an orphaned task.
impl Drop for SqlStore {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
