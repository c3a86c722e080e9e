//! The space that a purge has freed goes back to the file system, in small steps; and a file that was made without that can be made anew.
//!
//! SQLite keeps freed pages for later. Where a file was made with `auto_vacuum = INCREMENTAL` it can move pages of its end to where some are free and
//! cut the end off. That costs a write for each, so what a busy store frees and takes again all the time is left to it.

use armadex_storage::StoreError;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};

use super::error::classify;
use crate::backend::Disk;

/// Pages that one step moves: 4 MiB, some 20 ms in which nobody else writes.
const STEP: i64 = 256;
/// A pragma takes no parameters.
const MOVE: &str = "PRAGMA incremental_vacuum(256)";
/// Of all pages, this part may be free: what an hour's changes take again.
const SPARE_PART: i64 = 16;
/// And so many in any case: 4 MiB.
const SPARE: i64 = 256;
/// The value of `PRAGMA auto_vacuum` that allows steps.
const INCREMENTAL: i64 = 2;

/// One step; whether there is more to give back.
pub(super) async fn give_back(writer: &SqlitePool) -> Result<bool, StoreError> {
    let acquired = writer.acquire().await;
    let mut connection = acquired.map_err(|err| classify("giving space back", err))?;
    step(&mut connection)
        .await
        .map_err(|err| classify("giving space back", err))
}

async fn step(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let pages = figure(connection, "PRAGMA page_count").await?;
    let free = figure(connection, "PRAGMA freelist_count").await?;
    let excess = free - (pages / SPARE_PART).max(SPARE);
    if excess < STEP || figure(connection, "PRAGMA auto_vacuum").await? != INCREMENTAL {
        return Ok(false);
    }
    sqlx::query(MOVE).execute(&mut *connection).await?;
    let more = excess >= 2 * STEP;
    if !more {
        // The file itself is cut when the log is copied back. Who reads from the log is not waited for.
        let copied = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)");
        copied.execute(&mut *connection).await?;
    }
    Ok(more)
}

async fn figure(
    connection: &mut SqliteConnection,
    pragma: &'static str,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(pragma).fetch_one(connection).await
}

/// Writes the whole file anew, without free space, and so that later steps can give space back. Nobody writes meanwhile. Whether the new file is in the place of the
/// former one: while somebody reads that, it lies in the log beside it.
pub(super) async fn rewrite(options: SqliteConnectOptions) -> Result<bool, StoreError> {
    let doing = |err| classify("writing the database file anew", err);
    let mut connection = options.connect().await.map_err(doing)?;
    for sql in ["PRAGMA auto_vacuum = INCREMENTAL", "VACUUM"] {
        let done = sqlx::query(sql).execute(&mut connection).await;
        done.map_err(doing)?;
    }
    // That somebody reads is no error of this one: its row says so.
    let kept = figure(&mut connection, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    let is_kept = kept.map_err(doing)? != 0;
    connection.close().await.map_err(doing)?;
    Ok(!is_kept)
}

/// What the file has in it, by table and index.
pub(super) async fn disk(readers: &SqlitePool) -> Result<Disk, StoreError> {
    let doing = |err| classify("measuring the database file", err);
    let mut connection = readers.acquire().await.map_err(doing)?;
    let tables = "SELECT name, SUM(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name ORDER BY 2 DESC, 1";
    let tables: Vec<(String, i64)> = sqlx::query_as(tables)
        .fetch_all(&mut *connection)
        .await
        .map_err(doing)?;
    let mut figures = [0; 3];
    let pragmas = [
        "PRAGMA page_size",
        "PRAGMA page_count",
        "PRAGMA freelist_count",
    ];
    for (found, pragma) in figures.iter_mut().zip(pragmas) {
        let figure = figure(&mut connection, pragma).await.map_err(doing)?;
        *found = figure.unsigned_abs();
    }
    let [page, pages, free] = figures;
    Ok(Disk {
        tables: tables
            .into_iter()
            .map(|(name, bytes)| (name, bytes.unsigned_abs()))
            .collect(),
        total: page * pages,
        free: page * free,
    })
}
