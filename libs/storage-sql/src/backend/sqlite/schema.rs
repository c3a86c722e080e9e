//! Bringing the schema of a SQLite file up to date, and looking how it stands.

use std::path::Path;

use armadex_storage::StoreError;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqlSafeStr, SqliteConnection, SqlitePool};

use super::error::classify;
use crate::backend::error::broken;
use crate::backend::schema::{self, SchemaStanding};
use crate::backend::{Connection, head_row, identity};
use crate::sql::dialect::Dialect;
use crate::sql::head;

/// What keeps account of the migrations that were run. A store that a newer binary has migrated has some that this one does not know.
fn migrator() -> Migrator {
    let all = schema::migrations(Dialect::Sqlite).iter().map(|step| {
        let kind = MigrationType::Simple;
        let sql = step.sql.into_sql_str();
        Migration::new(step.version, step.name.into(), kind, sql, false)
    });
    let mut migrator = Migrator::with_migrations(all.collect());
    migrator.set_ignore_missing(true);
    migrator
}

/// Brings the schema up to date, unless a newer binary has been here: then it only looks whether this one is served. One transaction that may
/// write is the lock: a second process waits, and finds the work done.
pub(crate) async fn migrate(writer: &SqlitePool) -> Result<(), StoreError> {
    let begun = writer.begin_with("BEGIN IMMEDIATE").await;
    let mut transaction = begun.map_err(|err| classify("locking the schema", err))?;
    let standing = standing(&mut transaction).await?;
    if standing.is_ahead() {
        let head = head_row::read(&mut transaction).await?;
        schema::check(Dialect::Sqlite, head.serves)?;
        let (version, newest) = (standing.version.unwrap_or(0), standing.newest);
        tracing::info!(
            version,
            newest,
            "a newer binary has migrated the store to version {version}, which serves this one as well"
        );
    }
    let run = migrator().run_direct(None, &mut *transaction, false).await;
    run.map_err(explain)?;
    identity::create_missing(&mut transaction).await?;
    let serves = head::raise_serves(schema::serves(Dialect::Sqlite));
    transaction.execute(serves).await?;
    let done = transaction.commit().await;
    done.map_err(|err| classify("the migration", err))
}

/// How the schema of a file stands to this binary. Nothing is changed, and no file is made.
pub(crate) async fn look(path: &Path) -> Result<SchemaStanding, StoreError> {
    if !path.exists() {
        return Ok(SchemaStanding::of(Dialect::Sqlite, &[]));
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let opened = options.disable_statement_logging().connect().await;
    let mut connection = opened.map_err(|err| classify("opening the database file", err))?;
    let found = standing(&mut connection).await;
    let closed = connection.close().await;
    closed.map_err(|err| classify("closing the database file", err))?;
    found
}

async fn standing(connection: &mut SqliteConnection) -> Result<SchemaStanding, StoreError> {
    let reading = |err| classify("reading which migrations were run", err);
    let kept = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
    let kept: i64 = sqlx::query_scalar(kept)
        .fetch_one(&mut *connection)
        .await
        .map_err(reading)?;
    let run: Vec<i64> = match kept {
        0 => Vec::new(),
        _ => sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success = TRUE")
            .fetch_all(&mut *connection)
            .await
            .map_err(reading)?,
    };
    let mut standing = SchemaStanding::of(Dialect::Sqlite, &run);
    if standing.is_complete() {
        let serves = sqlx::query_scalar("SELECT serves FROM head WHERE id = 1");
        let serves = serves.fetch_optional(connection).await;
        standing.serves = serves.map_err(|err| classify("reading whom the store serves", err))?;
    }
    Ok(standing)
}

fn explain(err: MigrateError) -> StoreError {
    match err {
        MigrateError::VersionMismatch(found) => broken(format!(
            "version {found} of its schema is not this binary's: a build between two releases made it, so move the file away and let the \
             members be listed anew"
        )),
        MigrateError::Execute(err) | MigrateError::ExecuteMigration(err, _) => {
            classify("the migration", err)
        }
        other => broken(other.to_string()),
    }
}
