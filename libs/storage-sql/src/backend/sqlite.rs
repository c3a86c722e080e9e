//! SQLite: one writing connection and a few reading ones on one file in WAL mode.

mod connection;
mod schema;

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool};

use crate::backend::error::classify;
use crate::backend::{Database, Transaction};
use crate::sql::dialect::Dialect;
use crate::store::Options;

pub(crate) use schema::migrate;

/// Larger pages fit posting blocks and compressed bodies better than the default of 4,096: half more rows a second.
const PAGE_SIZE: u32 = 16_384;
/// Pages in the log before it is copied back: 128 MiB. Copying often is what slows a load down.
const CHECKPOINT_PAGES: &str = "8000";
/// The log file is cut back to this many bytes (64 MiB) once it has been copied.
const LOG_BYTES: &str = "67108864";
/// Statement texts are few, see [`crate::sql::statement`]; all of them stay prepared.
const STATEMENTS: usize = 512;
/// KiB of page cache of the writer: its index pages are hit at random.
const WRITER_CACHE: &str = "-24576";
/// KiB of page cache of each reader; the operating system caches the rest.
const READER_CACHE: &str = "-4096";
/// How long a reader waits for a connection: longer than any page takes, shorter than a client waits.
const ACQUIRE: Duration = Duration::from_secs(10);

/// A file and its connections.
pub(crate) struct SqliteDatabase {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl SqliteDatabase {
    /// Opens the file, which is made if it is not there, and brings its schema up to date.
    pub(crate) async fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        create_private(path)?;
        let writer = connect(writer_options(path, options), 1).await?;
        migrate(&writer).await?;
        let readers = connect(reader_options(path, options), options.readers).await?;
        Ok(Self { writer, readers })
    }
}

/// Only brings the schema up to date.
pub(crate) async fn migrate_file(path: &Path, options: &Options) -> Result<(), StoreError> {
    create_private(path)?;
    let writer = connect(writer_options(path, options), 1).await?;
    let migrated = migrate(&writer).await;
    writer.close().await;
    migrated
}

#[async_trait]
impl Database for SqliteDatabase {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn read(&self) -> Result<Box<dyn Transaction>, StoreError> {
        begin(&self.readers, "BEGIN").await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        begin(&self.writer, "BEGIN IMMEDIATE").await
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

async fn begin(pool: &SqlitePool, how: &'static str) -> Result<Box<dyn Transaction>, StoreError> {
    let begun = pool.begin_with(how).await;
    let transaction: sqlx::Transaction<'static, Sqlite> =
        begun.map_err(|err| classify("opening a transaction", err))?;
    Ok(Box::new(transaction))
}

async fn connect(options: SqliteConnectOptions, most: u32) -> Result<SqlitePool, StoreError> {
    SqlitePoolOptions::new()
        .max_connections(most)
        .acquire_timeout(ACQUIRE)
        .test_before_acquire(false)
        .connect_with(options)
        .await
        .map_err(|err| classify("opening the database file", err))
}

fn writer_options(path: &Path, options: &Options) -> SqliteConnectOptions {
    shared_options(path, options)
        .page_size(PAGE_SIZE)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("journal_size_limit", LOG_BYTES)
        .pragma("cache_size", WRITER_CACHE)
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
}

/// Makes the file so that only its owner reads it. SQLite gives the log the same mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Err(err) if err.kind() != ErrorKind::AlreadyExists => Err(StoreError::Unavailable {
            reason: format!("{} cannot be created", path.display()),
            source: Box::new(err),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
