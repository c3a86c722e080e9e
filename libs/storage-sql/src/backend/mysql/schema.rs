//! Bringing the schema of a database up to date, and looking how it stands.
//!
//! MySQL commits with each statement that changes a schema, and holds nothing from one to the next. So each statement of a migration may be run
//! again: by a process that comes after one that was killed in the middle, or by two that begin together. What is noted last is the version.

use armadex_storage::StoreError;
use async_trait::async_trait;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::{MySqlConnection, Row as _};

use super::connect::Connector;
use super::connection::MysqlTransaction;
use super::error::classify;
use super::limits::Limits;
use crate::backend::hosts::Hosts;
use crate::backend::migrating::{self, Migrating};
use crate::backend::pool::{Connect as _, Pool};
use crate::backend::schema::{self, Migration, SchemaStanding};
use crate::backend::{Connection as _, Transaction as _, head_row, identity};
use crate::location::Server;
use crate::sql::dialect::Dialect;
use crate::sql::head;

const NOTES: &str = "CREATE TABLE IF NOT EXISTS migration (version BIGINT NOT NULL PRIMARY KEY, name VARBINARY(255) NOT NULL) \
                     ENGINE = InnoDB ROW_FORMAT = DYNAMIC";

/// Who begins together with others meets each of them a few times.
const TOLD_AT: usize = 4;

/// Brings the schema up to date, unless a newer binary has been here: then it only looks whether this one is served.
pub(crate) async fn migrate(server: &Server) -> Result<(), StoreError> {
    let mut schema = Schema { server, met: 0 };
    migrating::migrate(&mut schema).await
}

struct Schema<'a> {
    server: &'a Server,
    /// How often others were met.
    met: usize,
}

#[async_trait]
impl Migrating for Schema<'_> {
    async fn migrate_once(&mut self) -> Result<(), StoreError> {
        migrate_once(self.server).await
    }

    async fn tell(&mut self) {
        self.met += 1;
        if self.met == TOLD_AT {
            tracing::info!(
                "others use the tables of the store, or change them; it is waited until its schema can be changed"
            );
        }
    }
}

async fn migrate_once(server: &Server) -> Result<(), StoreError> {
    let connector = Connector::of_schema(server, Hosts::of_primary(server));
    let mut connection = connector.connect().await?;
    let standing = standing(&mut connection).await?;
    if !standing.pending.is_empty() && !standing.is_ahead() {
        run_pending(&mut connection, &standing).await?;
    }
    connector.close(connection).await;
    let pool = Pool::new(connector, 1);
    let settled = settle(&pool, server, &standing).await;
    pool.close().await;
    settled
}

/// How the schema of a database stands to this binary. Nothing is changed.
pub(crate) async fn look(server: &Server) -> Result<SchemaStanding, StoreError> {
    look_over(Connector::of_schema(server, Hosts::of_primary(server))).await
}

/// The same of a replica.
pub(crate) async fn look_at_replica(server: &Server) -> Result<SchemaStanding, StoreError> {
    look_over(Connector::of_schema(server, Hosts::of_replicas(server))).await
}

async fn look_over(connector: Connector) -> Result<SchemaStanding, StoreError> {
    let mut connection = connector.connect().await?;
    let found = standing(&mut connection).await;
    connector.close(connection).await;
    found
}

async fn standing(connection: &mut MySqlConnection) -> Result<SchemaStanding, StoreError> {
    let doing = "reading which migrations were run";
    let noted = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'migration'";
    let number = |row: &sqlx::mysql::MySqlRow| row.try_get_unchecked::<i64, _>(0);
    let found = sqlx::query(noted).fetch_one(&mut *connection).await;
    let are_noted = found.and_then(|row| number(&row));
    let mut run = Vec::new();
    if are_noted.map_err(|err| classify(doing, err))? > 0 {
        let rows = sqlx::query("SELECT version FROM migration").fetch_all(&mut *connection);
        let rows = rows.await.map_err(|err| classify(doing, err))?;
        for row in &rows {
            run.push(number(row).map_err(|err| classify(doing, err))?);
        }
    }
    let mut standing = SchemaStanding::of(Dialect::MySql, &run);
    if standing.is_complete() {
        let serves = sqlx::query("SELECT serves FROM head WHERE id = 1");
        let serves = serves.fetch_optional(connection).await;
        let serves = serves.and_then(|row| row.as_ref().map(number).transpose());
        standing.serves = serves.map_err(|err| classify("reading whom the store serves", err))?;
    }
    Ok(standing)
}

async fn run_pending(
    connection: &mut MySqlConnection,
    standing: &SchemaStanding,
) -> Result<(), StoreError> {
    change(connection, NOTES).await?;
    let is_pending = |migration: &&Migration| {
        let mut pending = standing.pending.iter();
        pending.any(|pending| pending.version == migration.version)
    };
    for migration in schema::migrations(Dialect::MySql).iter().filter(is_pending) {
        for statement in statements(migration.sql) {
            change(connection, statement).await?;
        }
        sqlx::query("INSERT IGNORE INTO migration (version, name) VALUES (?, ?)")
            .bind(migration.version)
            .bind(migration.name.as_bytes())
            .execute(&mut *connection)
            .await
            .map_err(|err| classify("noting a migration", err))?;
    }
    Ok(())
}

/// Runs one statement, unless it has been run before.
async fn change(
    connection: &mut MySqlConnection,
    statement: &'static str,
) -> Result<(), StoreError> {
    match sqlx::raw_sql(statement).execute(connection).await {
        Err(err) if !is_done(&err) => Err(classify("the migration", err)),
        _ => Ok(()),
    }
}

/// The table, column or key is there already, or gone already.
fn is_done(err: &sqlx::Error) -> bool {
    let err = err.as_database_error();
    let err = err.and_then(|err| err.try_downcast_ref::<MySqlDatabaseError>());
    err.is_some_and(|err| matches!(err.number(), 1050 | 1060 | 1061 | 1091))
}

/// Each ends with a semicolon at the end of its line.
fn statements(sql: &'static str) -> impl Iterator<Item = &'static str> {
    let parts = sql.split(";\n").map(str::trim);
    parts.filter(|part| {
        part.lines()
            .any(|line| !line.is_empty() && !line.starts_with("--"))
    })
}

/// What only rows have to say: whether this binary is served, the random values, and whom the schema serves now.
async fn settle(
    pool: &Pool<Connector>,
    server: &Server,
    standing: &SchemaStanding,
) -> Result<(), StoreError> {
    let limits = Limits::of(server);
    let mut transaction = MysqlTransaction::begin(pool, "START TRANSACTION", limits).await?;
    if standing.is_ahead() {
        let head = head_row::read(&mut transaction).await?;
        schema::check(Dialect::MySql, head.serves)?;
        let (version, newest) = (standing.version.unwrap_or(0), standing.newest);
        tracing::info!(
            version,
            newest,
            "a newer binary has migrated the store to version {version}, which serves this one as well"
        );
    }
    identity::create_missing(&mut transaction).await?;
    let serves = head::raise_serves(schema::serves(Dialect::MySql));
    transaction.execute(serves).await?;
    Box::new(transaction).commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_is_cut_into_statements_that_may_be_run_again() {
        for migration in schema::migrations(Dialect::MySql) {
            for statement in statements(migration.sql) {
                let is_text = |line: &&str| !line.starts_with("--") && !line.is_empty();
                let mut lines = statement.lines().filter(is_text);
                let text = lines.next().expect("a statement");
                let starts = [
                    "CREATE TABLE IF NOT EXISTS ",
                    "INSERT IGNORE ",
                    "ALTER TABLE ",
                    "UPDATE ",
                ];
                assert!(starts.iter().any(|start| text.starts_with(start)), "{text}");
                assert!(lines.all(|line| !line.contains(';')), "{statement}");
            }
        }
        let cut: Vec<_> = statements("-- a\nX;\n\n-- only words\n\nY\nZ;\n-- end\n").collect();
        assert_eq!(cut, ["-- a\nX", "-- only words\n\nY\nZ"]);
    }
}
