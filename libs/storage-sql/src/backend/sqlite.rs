//! SQLite: one writing connection and a few reading ones on one file in WAL mode.

mod connection;
mod error;
mod mark;
mod private;
mod schema;
mod space;

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, Sqlite, SqliteConnection,
    SqlitePool,
};

use crate::backend::{Database, Disk, Lane, Transaction, head_row};
use crate::options::Options;
use crate::sql::dialect::Dialect;

use crate::backend::error::broken;
use crate::backend::incarnation;
use error::classify;
use mark::{Mark, MarkFile, boot};

pub(crate) use schema::{look, migrate};

/// Larger pages fit posting blocks and compressed bodies better than the default of 4,096: half more rows a second.
const PAGE_SIZE: u32 = 16_384;
/// Pages in the log before it is copied back: 128 MiB. Copying often is what slows a load down.
const CHECKPOINT_PAGES: u64 = 8000;
/// The log file is cut back to this many bytes (64 MiB) once it has been copied.
const LOG_BYTES: &str = "67108864";
/// Statement texts are few, see [`crate::sql::statement`]; all of them stay prepared.
const STATEMENTS: usize = 512;
/// Rows that a connection's thread hands on before it waits until they are taken: those of a page, so that it finds them in one go. Each
/// wait costs two changes of threads; a tenth of this makes a list take a quarter more of the processor.
const ROWS_AHEAD: usize = 512;
/// Milliseconds that emptying the log waits for those who read, while nobody can write: longer than a page takes.
const LOG_WAIT: i64 = 1000;
/// KiB of page cache of the writer: its index pages are hit at random.
const WRITER_CACHE: &str = "-24576";
/// KiB of page cache of each reader; the operating system caches the rest, and each commit makes it begin anew.
const READER_CACHE: &str = "-1024";
/// How long a reader waits for a connection: longer than any page takes, shorter than a client waits.
const ACQUIRE: Duration = Duration::from_secs(10);

/// What is asked there has time, and is waited for by streams that wait for the writer as well.
const UPKEEP_READERS: u32 = 1;

/// A file and its connections.
pub(crate) struct SqliteDatabase {
    path: PathBuf,
    file: OpenFile,
    writer: SqlitePool,
    short: SqlitePool,
    searches: SqlitePool,
    upkeep: SqlitePool,
    mark: MarkFile,
    marked: Mutex<Mark>,
    most_log_bytes: u64,
    /// The log is emptied when it has so many bytes.
    catch_up_at: AtomicU64,
}

impl SqliteDatabase {
    /// Opens the file, which is made if it is not there, and brings its schema up to date.
    pub(crate) async fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        private::make(path)?;
        // Before it is opened, so that whatever took its place since is seen to be another.
        let file = OpenFile::of(path).map_err(|err| out_of_reach(path, err))?;
        let opening = connect(writer_options(path, options), 1);
        let opened = options.writer_runtime().spawn(opening).await;
        let writer = opened.map_err(|err| broken(err.to_string()))??;
        migrate(&writer).await?;
        file.check(path)?;
        let mark = MarkFile::open(path).map_err(|err| out_of_reach(path, err))?;
        let marked = check_mark(&writer, path, &mark, file.identity.inode).await?;
        Ok(Self {
            short: connect_all(reader_options(path, options), options.short_readers).await?,
            searches: connect(reader_options(path, options), options.readers).await?,
            upkeep: connect(reader_options(path, options), UPKEEP_READERS).await?,
            path: path.to_owned(),
            file,
            writer,
            most_log_bytes: options.most_log_bytes,
            catch_up_at: AtomicU64::new(options.most_log_bytes),
            mark,
            marked: Mutex::new(marked),
        })
    }

    /// Says that the database is open, before anything is committed: what is only read loses nothing when the machine goes down.
    fn open_mark(&self) -> Result<(), StoreError> {
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        if marked.closed {
            // Others may have committed since it was looked at, and have said so.
            let on_disk = MarkFile::read(&self.path).ok().flatten();
            let last = on_disk.unwrap_or_else(|| marked.clone());
            let opened = Mark {
                closed: false,
                ..last.clone()
            };
            if last.closed {
                let written = self.mark.write_through(&opened);
                written.map_err(|err| out_of_reach(&self.path, err))?;
            }
            *marked = opened;
        }
        Ok(())
    }

    /// Says that the database was closed in order, unless another process has it open, be it one that writes nothing for now. The last that closes it speaks
    /// for those that wrote before, whose commits its own last connection has brought to the disk.
    fn close_mark(&self) {
        let own = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(_alone) = self.mark.alone() else {
            return;
        };
        let on_disk = MarkFile::read(&self.path).ok().flatten();
        let Some(last) = on_disk.filter(|last| !last.closed && !own.is_ahead_of(last)) else {
            return;
        };
        let closed = Mark {
            closed: true,
            ..last
        };
        if let Err(err) = self.mark.write_through(&closed) {
            tracing::warn!(error = %err, "the mark beside the database cannot be written");
        }
    }

    fn write_mark(&self, change: impl FnOnce(&mut Mark)) {
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut marked);
        // Without a mark a restored file is not noticed; that is worth a word and no more.
        if let Err(err) = self.mark.write(&marked) {
            tracing::warn!(error = %err, "the mark beside the database cannot be written");
        }
    }
}

/// What a file is told from others by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

/// The file that is open.
struct OpenFile {
    identity: Identity,
    /// The log says that it is not at its path any more.
    told: Once,
}

impl OpenFile {
    fn of(path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            identity: Identity::of(path)?,
            told: Once::new(),
        })
    }

    /// Whether the file at the path is still this one. A connection to one that was removed goes on as if nothing had happened, in a database that nobody else
    /// sees. A microsecond.
    fn check(&self, path: &Path) -> Result<(), StoreError> {
        let reason = match Identity::of(path) {
            Ok(file) if file == self.identity => return Ok(()),
            Ok(_) => "replaced",
            Err(err) if err.kind() == ErrorKind::NotFound => "removed",
            // What cannot be looked at has not been seen to be another.
            Err(_) => return Ok(()),
        };
        // Who searches is told, and needs not know where it is.
        self.told.call_once(|| {
            tracing::error!(path = %path.display(), "the store's file was {reason} while it was in use");
        });
        Err(StoreError::Gone {
            reason: format!(
                "the store is not available: its file was {reason} while it was in use"
            ),
        })
    }
}

/// Gives a database that is behind its mark another incarnation, and writes the mark that it has from now on. Nobody commits meanwhile, so the mark is not ahead of
/// a database that has lost nothing; and of processes that open one together the first does so, which leaves a mark of what the others find. One that was closed
/// in order keeps its mark for as long as nobody writes to it.
async fn check_mark(
    writer: &SqlitePool,
    path: &Path,
    mark: &MarkFile,
    inode: u64,
) -> Result<Mark, StoreError> {
    let mut transaction = begin(writer, "BEGIN IMMEDIATE").await?;
    let connection = &mut *transaction;
    let head = head_row::read(connection).await?;
    let mut found = Mark {
        incarnation: head.incarnation,
        revision: head.revision,
        boot: boot(),
        inode,
        closed: false,
    };
    let marked = MarkFile::read(path).map_err(|err| out_of_reach(path, err))?;
    let is_behind = match &marked {
        Some(mark) => mark.is_ahead_of(&found),
        // A file that came here without its mark.
        None => found.revision > 0,
    };
    if is_behind {
        let renewed = incarnation::renew(connection, &found.incarnation).await?;
        // It holds the only transaction that writes.
        found.incarnation = renewed.unwrap_or(found.incarnation);
    } else {
        found.closed = marked.is_some_and(|mark| mark.closes(&found));
    }
    if !found.closed {
        // Before the end: one whose transaction was not committed after all is of no database, and the next to come renews it again.
        mark.write_through(&found)
            .map_err(|err| out_of_reach(path, err))?;
    }
    transaction.commit().await?;
    Ok(found)
}

fn out_of_reach(path: &Path, err: std::io::Error) -> StoreError {
    StoreError::Unavailable {
        reason: format!(
            "{} and what belongs to it cannot be read or made",
            path.display()
        ),
        source: Box::new(err),
    }
}

/// Only brings the schema up to date.
pub(crate) async fn migrate_file(path: &Path, options: &Options) -> Result<(), StoreError> {
    private::make(path)?;
    let writer = connect(writer_options(path, options), 1).await?;
    let migrated = migrate(&writer).await;
    writer.close().await;
    migrated
}

/// What came of writing a file anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The bytes that the file had.
    pub before: u64,
    /// Those that it has; `None` where somebody read it all the while, so that what takes its place lies in the log beside it.
    pub after: Option<u64>,
}

/// Writes the whole file anew; see [`space`].
pub(crate) async fn compact(path: &Path, options: &Options) -> Result<Compacted, StoreError> {
    let bytes = || {
        let file = std::fs::metadata(path).map_err(|err| out_of_reach(path, err))?;
        Ok(file.len())
    };
    let before = bytes()?;
    let is_done = space::rewrite(compact_options(path, options)).await?;
    let after = is_done.then(bytes).transpose()?;
    Ok(Compacted { before, after })
}

/// The copy that becomes the file anew is as large as that, and has its place on the disk.
fn compact_options(path: &Path, options: &Options) -> SqliteConnectOptions {
    let options = writer_options(path, options).create_if_missing(false);
    options.pragma("temp_store", "FILE")
}

#[async_trait]
impl Database for SqliteDatabase {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        let readers = match lane {
            Lane::Short => &self.short,
            Lane::Search | Lane::Whole => &self.searches,
            Lane::Upkeep => &self.upkeep,
        };
        self.file.check(&self.path)?;
        begin(readers, "BEGIN").await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.file.check(&self.path)?;
        let transaction = begin(&self.writer, "BEGIN IMMEDIATE").await?;
        self.open_mark()?;
        Ok(transaction)
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.write_mark(|mark| {
            incarnation.clone_into(&mut mark.incarnation);
            mark.revision = revision;
        });
    }

    async fn catch_up(&self) {
        let bytes = log_bytes(&self.path);
        if bytes < self.catch_up_at.load(Ordering::Relaxed) {
            return;
        }
        let is_done = match restart_log(&self.writer).await {
            Ok(is_done) => is_done,
            Err(err) => {
                tracing::warn!(error = %err, "the database's log could not be emptied");
                false
            }
        };
        // Who reads for minutes, as a check does, would else hold up every write for as long as is waited here.
        let next = if is_done { 0 } else { bytes } + self.most_log_bytes;
        self.catch_up_at.store(next, Ordering::Relaxed);
    }

    async fn give_space_back(&self) -> Result<bool, StoreError> {
        space::give_back(&self.writer).await
    }

    async fn disk(&self) -> Result<Disk, StoreError> {
        space::disk(&self.searches).await
    }

    async fn rest(&self) {
        // What the cache had is read again from the operating system's.
        let done = sqlx::query("PRAGMA shrink_memory").execute(&self.writer);
        if let Err(err) = done.await {
            tracing::warn!(error = %err, "the writer's memory could not be given back");
        }
    }

    async fn close(&self) {
        self.short.close().await;
        self.searches.close().await;
        self.upkeep.close().await;
        self.writer.close().await;
        self.close_mark();
    }
}

/// Copies the log back and begins it anew, if nobody reads from it for a moment; whether that was so.
async fn restart_log(writer: &SqlitePool) -> Result<bool, sqlx::Error> {
    let mut connection = writer.acquire().await?;
    let before: i64 = sqlx::query_scalar("PRAGMA busy_timeout")
        .fetch_one(&mut *connection)
        .await?;
    let waits = |milliseconds: i64| {
        // A pragma takes no parameters; this is a number.
        sqlx::query(AssertSqlSafe(format!(
            "PRAGMA busy_timeout = {milliseconds}"
        )))
    };
    waits(before.min(LOG_WAIT))
        .execute(&mut *connection)
        .await?;
    let done = sqlx::query("PRAGMA wal_checkpoint(RESTART)").fetch_one(&mut *connection);
    let done = done.await.and_then(|row| row.try_get::<i64, _>(0));
    waits(before).execute(&mut *connection).await?;
    let is_done = done? == 0;
    if !is_done {
        tracing::debug!("a reader kept the database's log from being emptied");
    }
    Ok(is_done)
}

async fn begin(pool: &SqlitePool, how: &'static str) -> Result<Box<dyn Transaction>, StoreError> {
    let begun = pool.begin_with(how).await;
    let transaction: sqlx::Transaction<'static, Sqlite> =
        begun.map_err(|err| classify("opening a transaction", err))?;
    Ok(Box::new(transaction))
}

/// All at once and for as long as the file is open: they are few, and whoever asks for a moment does not wait for one to be opened.
async fn connect_all(options: SqliteConnectOptions, number: u32) -> Result<SqlitePool, StoreError> {
    let all = pool_options(number).min_connections(number);
    all.max_lifetime(None)
        .idle_timeout(None)
        .connect_with(options)
        .await
        .map_err(|err| classify("opening the database file", err))
}

async fn connect(options: SqliteConnectOptions, most: u32) -> Result<SqlitePool, StoreError> {
    pool_options(most)
        .connect_with(options)
        .await
        .map_err(|err| classify("opening the database file", err))
}

/// Who waits for a connection waits for a busy store, which is nothing to warn of; who waits too long gets an error.
fn pool_options(most: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(most)
        .acquire_timeout(ACQUIRE)
        .acquire_slow_threshold(ACQUIRE)
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(is_at_rest(connection)))
}

/// Whether a connection may be used again. Where the database ended a transaction itself, as it does when the disk is full, the driver goes on
/// believing in it and begins no other: such a connection is closed.
async fn is_at_rest(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // A rollback may be queued; it is done first.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

fn writer_options(path: &Path, options: &Options) -> SqliteConnectOptions {
    shared_options(path, options)
        .page_size(PAGE_SIZE)
        // Of a file that is made with it; see `space` for others.
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES.to_string())
        .pragma("journal_size_limit", LOG_BYTES)
        .pragma("cache_size", WRITER_CACHE)
        // What undoes one statement of many rows is a few megabytes, and would be written to a file.
        .pragma("temp_store", "MEMORY")
}

fn reader_options(path: &Path, options: &Options) -> SqliteConnectOptions {
    shared_options(path, options)
        .read_only(true)
        .pragma("query_only", "1")
        .pragma("cache_size", READER_CACHE)
}

fn shared_options(path: &Path, options: &Options) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(options.busy_timeout)
        .foreign_keys(false)
        .statement_cache_capacity(STATEMENTS)
        .row_buffer_size(ROWS_AHEAD)
        // Its warnings are pages of SQL; what takes long is told by name, see `connection`.
        .disable_statement_logging()
}

/// The size of the log beside a database file.
fn log_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(0, |file| file.len())
}

#[cfg(test)]
mod tests;
