//! A database that may be in trouble: away, slow, full, read-only. While it is, calls are refused at once instead of waiting as long as a pool does, it is tried now and
//! then, and the log has one line.
//!
//! Reading and writing are in trouble apart from each other. Reading is when no transaction can be begun: a statement that takes too long is the
//! matter of who asked. Writing is when anything of a transaction fails that may pass, until one is committed that has written something.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use armadex_storage::{Outage, StoreError};
use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::error::{chain, is_collision, is_crowd};
use super::gate::{Entry, Gate};
use super::{Connection, Database, Disk, Lane, Row, RowSink, SharedDatabase, Transaction};
use crate::sql::dialect::Dialect;
use crate::sql::head::{self, Numbered};
use crate::sql::statement::Statement;

/// A database and what is known of its trouble.
pub(crate) struct GuardedDatabase {
    inner: SharedDatabase,
    reads: Arc<Watch>,
    writes: Arc<Watch>,
    /// What tries whether a trouble is over, so that nobody waits for it who searches.
    tries: TaskTracker,
}

/// How a store has been since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Availability {
    /// Nothing is known to be wrong with reading.
    pub reads: bool,
    /// Nothing is known to be wrong with writing.
    pub writes: bool,
    /// How often it fell into trouble.
    pub outages: u64,
    /// Calls that were refused without asking the database.
    pub refused: u64,
}

impl GuardedDatabase {
    pub(crate) fn new(inner: SharedDatabase) -> Self {
        Self {
            inner,
            reads: Arc::new(Watch::new(&READS)),
            writes: Arc::new(Watch::new(&WRITES)),
            tries: TaskTracker::new(),
        }
    }

    /// How it is. Where it is in trouble whoever asks this has it tried when it is time: of a store that nobody searches, or has anything to write to, it would be told
    /// for ever. Whoever does write is the better one to find out, for one number says little of a batch.
    pub(crate) fn availability(&self) -> Availability {
        if let (Entry::Try, attempt) = self.reads.enter() {
            self.try_reading(attempt);
        }
        if let (Entry::Try, attempt) = self.writes.enter_late() {
            self.try_writing(attempt);
        }
        let of_both = |number: fn(&Watch) -> &AtomicU64| {
            let [reads, writes] = [&self.reads, &self.writes];
            number(reads).load(Ordering::Relaxed) + number(writes).load(Ordering::Relaxed)
        };
        Availability {
            reads: self.reads.gate().is_well(),
            writes: self.writes.gate().is_well(),
            outages: of_both(|watch| &watch.outages),
            refused: of_both(|watch| &watch.refused),
        }
    }

    /// What a beginning of a reading comes to, unless it is known that it would fail.
    async fn begun(
        &self,
        lane: Lane,
        beginning: impl Future<Output = Result<Box<dyn Transaction>, StoreError>>,
    ) -> Result<Box<dyn Transaction>, StoreError> {
        let (entry, attempt) = self.reads.enter();
        match entry {
            Entry::Refused => return Err(self.reads.refusal()),
            Entry::Try => {
                self.try_reading(attempt);
                return Err(self.reads.refusal());
            }
            Entry::Go => {}
        }
        match beginning.await {
            Ok(begun) => {
                attempt.worked();
                Ok(begun)
            }
            // It answers, and says that somebody is in the way.
            Err(err) if is_collision(&err) => {
                attempt.worked();
                Err(err)
            }
            // Its own line may be long; whether the database answers, others find out.
            Err(err) if lane == Lane::Upkeep => Err(err),
            // One connection too many, or one more in the line: those that there are go on, if there are any.
            Err(err) if is_crowd(&err) && self.reads.has_just_worked() => Err(err),
            Err(err) => Err(attempt.failed(err)),
        }
    }

    /// Tries beside whoever came whether reading works again.
    fn try_reading(&self, attempt: Attempt) {
        let inner = Arc::clone(&self.inner);
        self.tries.spawn(async move {
            // As whoever reads begins.
            let mut seen = |_: &dyn Row| Ok(());
            match inner
                .read_with(Lane::Short, head::select(), &mut seen)
                .await
            {
                Ok(transaction) => {
                    attempt.worked();
                    // Whatever becomes of it, it was begun.
                    let _ = transaction.rollback().await;
                }
                Err(err) if is_trouble(&err) => drop(attempt.failed(err)),
                // An answer, though a bad one: whoever comes next meets it, and is told.
                Err(_) => attempt.worked(),
            }
        });
    }
}

impl GuardedDatabase {
    /// Tries beside whoever came whether writing works again: one number goes unused.
    fn try_writing(&self, attempt: Attempt) {
        let inner = Arc::clone(&self.inner);
        self.tries.spawn(async move {
            let tried = async {
                let mut transaction = inner.write().await?;
                let take = head::take_numbers(Numbered::Epoch, 1);
                match transaction.execute(take).await {
                    Ok(_) => transaction.commit().await,
                    Err(err) => {
                        // The first error says what is wrong.
                        let _ = transaction.rollback().await;
                        Err(err)
                    }
                }
            };
            match tried.await {
                Ok(()) => attempt.worked(),
                Err(err) if is_trouble(&err) => drop(attempt.failed(err)),
                // What is no trouble says nothing of whether a commit is.
                Err(_) => attempt.put_off(),
            }
        });
    }
}

#[async_trait]
impl Database for GuardedDatabase {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.begun(lane, self.inner.read(lane)).await
    }

    async fn read_with(
        &self,
        lane: Lane,
        first: Statement,
        each: RowSink<'_>,
    ) -> Result<Box<dyn Transaction>, StoreError> {
        self.begun(lane, self.inner.read_with(lane, first, each))
            .await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        let (entry, attempt) = self.writes.enter();
        if entry == Entry::Refused {
            return Err(self.writes.refusal());
        }
        match self.inner.write().await {
            Ok(transaction) => Ok(Box::new(Watched {
                transaction,
                attempt: Some(attempt),
                has_written: false,
            })),
            // All is written over one connection, so one too many is all that there is.
            Err(err) => Err(attempt.failed(err)),
        }
    }

    fn patience(&self) -> &'static [Duration] {
        self.inner.patience()
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.inner.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {
        self.inner.catch_up().await;
    }

    async fn give_space_back(&self) -> Result<bool, StoreError> {
        self.inner.give_space_back().await
    }

    async fn disk(&self) -> Result<Disk, StoreError> {
        self.inner.disk().await
    }

    async fn rest(&self) {
        self.inner.rest().await;
    }

    async fn close(&self) {
        for watch in [&self.reads, &self.writes] {
            watch.gate().close();
        }
        self.inner.close().await;
        self.tries.close();
        self.tries.wait().await;
    }
}

/// A transaction that writes; whether it can be committed says whether the store can be written to. One that came to nothing is committed also by a server that
/// waits for a standby which is away, and where a disk is full.
struct Watched {
    transaction: Box<dyn Transaction>,
    attempt: Option<Attempt>,
    has_written: bool,
}

impl Watched {
    fn noted<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        done.map_err(|err| match is_trouble(&err) {
            true => match self.attempt.take() {
                Some(attempt) => attempt.failed(err),
                None => err,
            },
            false => err,
        })
    }
}

#[async_trait]
impl Connection for Watched {
    fn dialect(&self) -> Dialect {
        self.transaction.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let done = self.transaction.execute(statement).await;
        self.has_written |= done.as_ref().is_ok_and(|rows| *rows > 0);
        self.noted(done)
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let done = self.transaction.fetch(statement, each).await;
        self.noted(done)
    }
}

#[async_trait]
impl Transaction for Watched {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self {
            transaction,
            attempt,
            has_written,
        } = *self;
        match (transaction.commit().await, attempt) {
            (Ok(()), Some(attempt)) if has_written => {
                attempt.worked();
                Ok(())
            }
            (Err(err), Some(attempt)) => Err(attempt.failed(err)),
            (done, _) => done,
        }
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.transaction.rollback().await
    }

    fn leave(self: Box<Self>) {
        self.transaction.leave();
    }
}

/// Whether an error is the database's trouble: not one of content, and not two writers who met.
fn is_trouble(err: &StoreError) -> bool {
    err.is_transient() && !is_collision(err)
}

/// What is said of one of the two.
struct Words {
    begins: &'static str,
    ends: &'static str,
    refused: &'static str,
}

const READS: Words = Words {
    begins: "the store does not answer; searches are refused until it does, and it is tried now and then",
    ends: "the store answers again",
    refused: "it did not answer when it was last asked",
};
const WRITES: Words = Words {
    begins: "the store cannot be written to; what is to be written waits, and it is tried now and then",
    ends: "the store can be written to again",
    refused: "it could not be written to when that was last tried",
};

/// What is known of reading, or of writing.
struct Watch {
    gate: Mutex<Gate>,
    words: &'static Words,
    outages: AtomicU64,
    refused: AtomicU64,
}

impl Watch {
    fn new(words: &'static Words) -> Self {
        Self {
            gate: Mutex::default(),
            words,
            outages: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// What becomes of a call, and what it has to say afterwards.
    fn enter(self: &Arc<Self>) -> (Entry, Attempt) {
        let entry = self.gate().enter(Instant::now());
        self.entered(entry)
    }

    /// The same where nobody came for a while.
    fn enter_late(self: &Arc<Self>) -> (Entry, Attempt) {
        let entry = self.gate().enter_late(Instant::now());
        self.entered(entry)
    }

    fn entered(self: &Arc<Self>, entry: Entry) -> (Entry, Attempt) {
        let attempt = Attempt {
            watch: Arc::clone(self),
            is_open: entry == Entry::Try,
        };
        (entry, attempt)
    }

    fn refusal(&self) -> StoreError {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let reason = self.words.refused;
        StoreError::Unavailable {
            reason: reason.to_owned(),
            source: Box::new(Outage::new(reason)),
        }
    }

    fn has_just_worked(&self) -> bool {
        self.gate().has_just_worked(Instant::now())
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that says how it went. One that does not is no news.
struct Attempt {
    watch: Arc<Watch>,
    /// Others are refused until this one has said how it went.
    is_open: bool,
}

impl Attempt {
    fn worked(mut self) {
        self.is_open = false;
        let over = self.watch.gate().worked(Instant::now());
        if let Some(took) = over {
            let seconds = took.as_secs();
            info!(seconds, "{}", self.watch.words.ends);
        }
    }

    /// It was made to find out, and found out nothing.
    fn put_off(mut self) {
        self.is_open = false;
        self.watch.gate().put_off(Instant::now(), rand::random());
    }

    /// Notes what is trouble, and says that it was told.
    fn failed(mut self, err: StoreError) -> StoreError {
        if !is_trouble(&err) {
            return err;
        }
        let StoreError::Unavailable { reason, source } = err else {
            return err;
        };
        let entry = match std::mem::take(&mut self.is_open) {
            true => Entry::Try,
            false => Entry::Go,
        };
        let outage = Outage::new(chain(&*source));
        let (was_well, is_news) = {
            let mut gate = self.watch.gate();
            let was_well = gate.is_well();
            (was_well, gate.failed(entry, Instant::now(), rand::random()))
        };
        if was_well {
            self.watch.outages.fetch_add(1, Ordering::Relaxed);
        }
        if is_news {
            warn!(error = %outage, doing = reason, "{}", self.watch.words.begins);
        }
        StoreError::Unavailable {
            reason,
            source: Box::new(outage),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.is_open {
            self.watch.gate().undecided();
        }
    }
}

#[cfg(test)]
mod tests;
