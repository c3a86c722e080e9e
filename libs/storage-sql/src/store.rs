//! The store as its two sides see it.

pub(crate) mod check;
mod families;
pub(crate) mod mend;
mod search;
mod sink;
mod snapshots;
pub(crate) mod stats;

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use armadex_storage::{Head, StoreError};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::backend::error::{closed, collided};
use crate::backend::guarded::{Availability, GuardedDatabase};
use crate::backend::identity;
use crate::backend::incarnation::{self, Committed};
use crate::backend::{Connection, Lane, SharedDatabase, Transaction, head_row, schema};
use crate::catalog::Snapshot;
use crate::form::term::{HASH_KEY_BYTES, TermHasher};
use crate::options::Options;
use crate::read::Tuning;
use crate::sql::head::HeadRow;
use crate::write::label_keys::LabelKeys;
use crate::write::lease::Lease;
use crate::write::left_off::LeftOff;
use crate::write::numbers::ObjectIds;
use crate::write::past::{self, Past, PastKnown};
use crate::write::work::{Done, Order, Work};
use crate::write::writer::Writer;
use families::Families;
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
    seen: Seen,
    past: past::Seen,
    families: Families,
    /// One for each batch that may be packed at the same time.
    packing: Arc<Semaphore>,
    /// None where another process writes, and this is a replica of that.
    orders: Option<mpsc::Sender<Order>>,
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
        let past = PastKnown::new(options.watch_window_bytes);
        let mut store = Self::known(database, options, key, &committed, past.seen());
        let (orders, waiting) = mpsc::channel(options.queue.max(1));
        let writer = Writer {
            database: Arc::clone(&store.database),
            portions: options.portions.clone(),
            watch_window: options.watch_window,
            past,
            lease: Lease::new(options.patience),
            left_off: LeftOff::default(),
            rest: options.rest,
            object_ids: ObjectIds::default(),
            labels,
            committed,
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
        let past = PastKnown::new(options.watch_window_bytes).seen();
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
            seen: Seen(Mutex::new(committed.clone()), Mutex::default()),
            past,
            families: Families::default(),
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

    /// How the database has been since it was opened.
    #[must_use]
    pub fn availability(&self) -> Availability {
        self.guarded.availability()
    }

    /// What the store keeps of the past, where this process does its periodic work.
    #[must_use]
    pub fn past(&self) -> Option<Past> {
        self.past.at(Instant::now())
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

    /// Begins a read of the database that this process knows; of a replica that is behind once it has caught up, if that takes no longer than a moment.
    async fn begin(&self, lane: Lane) -> Result<(Box<dyn Transaction>, HeadRow), StoreError> {
        for pause in CATCH_UP {
            match self.begin_at_once(lane).await {
                Err(err) if incarnation::is_behind(&err) => {
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
                begun => return begun,
            }
        }
        let begun = self.begin_at_once(lane).await;
        if begun.as_ref().is_err_and(incarnation::is_behind) {
            // Should it stay behind, commits were lost: what is known of them means something else when their numbers are reached again.
            self.snapshots.forget();
        }
        begun
    }

    async fn begin_at_once(
        &self,
        lane: Lane,
    ) -> Result<(Box<dyn Transaction>, HeadRow), StoreError> {
        let seen = self.seen.before();
        let mut transaction = match self.database.read(lane).await {
            Err(gone @ StoreError::Gone { .. }) => return Err(self.is_over(seen, gone).await),
            begun => begun?,
        };
        let head = head_row::read(&mut *transaction).await?;
        if let Err(refused) = schema::check(self.database.dialect(), head.serves) {
            transaction.rollback().await?;
            return Err(self.is_over(seen, refused).await);
        }
        if self.is_replica() && self.seen.is_past(&head) {
            // The connection goes with it: another one may lead to a server that is not behind.
            drop(transaction);
            self.database.leave_host();
            return Err(incarnation::behind(head.revision, seen.revision));
        }
        if head.incarnation == seen.incarnation && head.revision < seen.revision {
            transaction.rollback().await?;
            return Err(self.rewound(seen).await);
        }
        if head.incarnation != seen.incarnation {
            let key = identity::hash_key(&mut *transaction).await?;
            if !self.hasher.has_key(&key) {
                // It was empty when this process began, and has become the copy of another store.
                transaction.rollback().await?;
                return Err(self.is_over(seen, incarnation::rewound()).await);
            }
        }
        self.seen.note(&head);
        Ok((transaction, head))
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

    /// The database is behind a state that was read from it: everything that was handed out since means something else now.
    async fn rewound(&self, seen: Committed) -> StoreError {
        // Where the writer finds nothing wrong somebody else has found it out, and the next read meets another incarnation.
        let told = self.order(Work::Rewound(seen)).await;
        told.err().unwrap_or_else(incarnation::rewound)
    }

    /// Gives the writer an order and waits for its answer.
    async fn order(&self, work: Work) -> Result<Done, StoreError> {
        let orders = self
            .orders
            .as_ref()
            .ok_or_else(|| StoreError::Unsupported {
                what: "a replica takes no writes".into(),
            })?;
        let (reply, answer) = oneshot::channel();
        let order = Order { work, reply };
        orders.send(order).await.map_err(|_| closed())?;
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

/// The highest revision that this process has read: whoever reads a lower one of the same incarnation later reads a database that was
/// rewound.
#[derive(Debug)]
struct Seen(Mutex<Committed>, Mutex<VecDeque<String>>);

/// Incarnations that were read before the present one and are remembered: a store gets another one when it was restored.
const FORMER: usize = 8;
/// Milliseconds that a replica is waited for, each time a little longer: half a second in all. Replicas of one store are some milliseconds apart, unless one is in trouble.
const CATCH_UP: [u64; 5] = [10, 30, 60, 120, 280];

impl Seen {
    /// What had been read before a transaction began: it must not be behind that.
    fn before(&self) -> Committed {
        self.lock().clone()
    }

    /// Whether a replica shows what was left behind: an earlier revision, or an incarnation before the present one.
    fn is_past(&self, head: &HeadRow) -> bool {
        let seen = self.lock();
        match seen.incarnation == head.incarnation {
            true => head.revision < seen.revision,
            false => self.former().contains(&head.incarnation),
        }
    }

    fn former(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, head: &HeadRow) {
        let mut seen = self.lock();
        if seen.incarnation != head.incarnation {
            let mut former = self.former();
            former.truncate(FORMER - 1);
            former.push_front(seen.incarnation.clone());
            *seen = Committed {
                incarnation: head.incarnation.clone(),
                revision: head.revision,
            };
        }
        seen.revision = seen.revision.max(head.revision);
    }

    fn lock(&self) -> MutexGuard<'_, Committed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody may hold a store in an orphaned task.
impl Drop for SqlStore {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
