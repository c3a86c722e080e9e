//! Forward-only migrations of a SQLite file.

use armadex_storage::StoreError;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{SqlSafeStr, SqlitePool};

use super::error::classify;
use crate::backend::error::broken;
use crate::backend::identity;

/// Every migration, oldest first. A released one never changes.
fn migrations() -> Migrator {
    Migrator::with_migrations(vec![
        migration(
            1,
            "store",
            include_str!("../../../migrations/sqlite/0001_store.sql"),
        ),
        migration(
            2,
            "leaving",
            include_str!("../../../migrations/sqlite/0002_leaving.sql"),
        ),
        migration(
            3,
            "owners",
            include_str!("../../../migrations/sqlite/0003_owners.sql"),
        ),
    ])
}

fn migration(version: i64, name: &'static str, sql: &'static str) -> Migration {
    let kind = MigrationType::Simple;
    Migration::new(version, name.into(), kind, sql.into_sql_str(), false)
}

/// Brings the schema up to date. One transaction that may write is the lock: a second process waits, and finds the work done.
pub(crate) async fn migrate(writer: &SqlitePool) -> Result<(), StoreError> {
    let begun = writer.begin_with("BEGIN IMMEDIATE").await;
    let mut transaction = begun.map_err(|err| classify("locking the schema", err))?;
    migrations()
        .run_direct(None, &mut *transaction, false)
        .await
        .map_err(explain)?;
    identity::create_missing(&mut transaction).await?;
    let done = transaction.commit().await;
    done.map_err(|err| classify("the migration", err))
}

fn explain(err: MigrateError) -> StoreError {
    let newest = migrations().iter().map(|m| m.version).max().unwrap_or(0);
    match err {
        MigrateError::VersionMissing(found) => broken(format!(
            "its schema has version {found}, and this binary knows versions up to {newest}: use a newer binary"
        )),
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
