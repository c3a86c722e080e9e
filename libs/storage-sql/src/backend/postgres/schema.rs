//! Bringing the schema of a database up to date, and looking how it stands and whose it is.
//!
//! All of it is one transaction, which holds the table of versions: that is the lock. A second process waits for it and finds the work done, or, where
//! both made that table, is told so and begins again.

use armadex_storage::StoreError;
use async_trait::async_trait;
use tracing::info;

use super::begin::Purpose;
use super::connect::Connector;
use super::connection::PostgresTransaction;
use super::limits::Limits;
use super::ownership::{self, OpenSchema};
use crate::backend::error::broken;
use crate::backend::hosts::Hosts;
use crate::backend::migrating::{self, Migrating};
use crate::backend::pool::Pool;
use crate::backend::schema::{self, SchemaStanding};
use crate::backend::{Connection as _, Transaction as _, head_row, identity, row, rows};
use crate::location::Server;
use crate::sql::dialect::Dialect;
use crate::sql::head;
use crate::sql::statement::Statement;

const VERSIONS: &str = "CREATE TABLE migration (version BIGINT NOT NULL PRIMARY KEY, name TEXT COLLATE \"C\" NOT NULL)";
/// Who only looks is not held up.
const LOCK: &str = "LOCK TABLE migration IN SHARE ROW EXCLUSIVE MODE";

/// Whoever has the table of versions, else whoever has read or written any of the tables for longest, which nobody changes meanwhile: its process on
/// the server and, where that may be known, its name, its host, and since when. Each text says that it is one: what is joined to a text that does not, somebody else's operator could take.
const HOLDERS: &str = "SELECT TEXT 'process ' || CAST(a.pid AS TEXT) || TEXT ' of the server' || COALESCE(TEXT ' (' || a.application_name || TEXT ' at ' \
     || COALESCE(host(a.client_addr), 'a socket') || TEXT ', since ' || pg_catalog.to_char(a.xact_start, 'HH24:MI:SS') || TEXT ')', '') \
     FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid \
     WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND c.relkind = 'r' AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND l.pid <> pg_backend_pid() \
     ORDER BY c.relname = 'migration' AND l.mode IN ('ShareRowExclusiveLock', 'AccessExclusiveLock') DESC, a.xact_start, a.pid LIMIT 1";

/// Brings the schema up to date, unless a newer binary has been here: then it only looks whether this one is served.
pub(crate) async fn migrate(server: &Server) -> Result<(), StoreError> {
    let mut schema = Schema {
        pool: Pool::new(Connector::of_schema(server, Hosts::of_primary(server)), 1),
        server,
        told: None,
    };
    let done = migrating::migrate(&mut schema).await;
    schema.pool.close().await;
    done
}

struct Schema<'a> {
    pool: Pool<Connector>,
    server: &'a Server,
    /// Who was last said to be at the same work.
    told: Option<String>,
}

#[async_trait]
impl Migrating for Schema<'_> {
    async fn migrate_once(&mut self) -> Result<(), StoreError> {
        let open = migrate_once(&self.pool, self.server).await?;
        ownership::tell(&open, self.server);
        Ok(())
    }

    /// Where it cannot be found out there is no more to say than that somebody is; each is named once.
    async fn tell(&mut self) {
        let found = holder(&self.pool, self.server).await.ok().flatten();
        let holder = found.unwrap_or_else(|| "another process".to_owned());
        if self.told.as_ref() != Some(&holder) {
            info!(%holder, "{holder} changes the store's schema, or keeps it from being changed; it is waited for");
            self.told = Some(holder);
        }
    }
}

pub(super) async fn holder(
    pool: &Pool<Connector>,
    server: &Server,
) -> Result<Option<String>, StoreError> {
    let begun = PostgresTransaction::begin(pool, Purpose::Read, Limits::of(server));
    let mut transaction = begun.await?;
    let found = row(&mut transaction, holder_of_lock(), |row| row.text(0)).await;
    Box::new(transaction).rollback().await?;
    found
}

/// How the schema of a database stands to this binary. Nothing is changed.
pub(crate) async fn look(server: &Server) -> Result<SchemaStanding, StoreError> {
    let connector = Connector::of_schema(server, Hosts::of_primary(server));
    let (standing, _) = look_over(server, connector).await?;
    Ok(standing)
}

/// The same of a replica.
pub(crate) async fn look_at_replica(server: &Server) -> Result<SchemaStanding, StoreError> {
    let connector = Connector::of_schema(server, Hosts::of_replicas(server));
    let (standing, open) = look_over(server, connector).await?;
    ownership::tell(&open, server);
    Ok(standing)
}

async fn look_over(
    server: &Server,
    connector: Connector,
) -> Result<(SchemaStanding, Vec<OpenSchema>), StoreError> {
    let pool = Pool::new(connector, 1);
    let mut transaction =
        PostgresTransaction::begin(&pool, Purpose::Read, Limits::of(server)).await?;
    let open = check_ownership(&mut transaction, server).await?;
    let found = standing(&mut transaction).await?;
    Box::new(transaction).rollback().await?;
    pool.close().await;
    Ok((found, open))
}

async fn migrate_once(
    pool: &Pool<Connector>,
    server: &Server,
) -> Result<Vec<OpenSchema>, StoreError> {
    let begun = PostgresTransaction::begin(pool, Purpose::Migrate, Limits::of(server));
    let mut transaction = begun.await?;
    check_encoding(&mut transaction, server).await?;
    let open = check_ownership(&mut transaction, server).await?;
    let found = standing(&mut transaction).await?;
    if found.is_ahead() {
        check_served(&mut transaction, &found).await?;
    } else if !found.pending.is_empty() {
        let versions = if found.version.is_none() {
            VERSIONS
        } else {
            LOCK
        };
        transaction.run("locking the schema", versions).await?;
        run_pending(&mut transaction).await?;
    }
    Box::new(transaction).commit().await?;
    Ok(open)
}

/// Runs what is still missing now that nobody else does.
async fn run_pending(transaction: &mut PostgresTransaction) -> Result<(), StoreError> {
    let found = standing(transaction).await?;
    for step in schema::migrations(Dialect::Postgres) {
        if found
            .pending
            .iter()
            .any(|left| left.version == step.version)
        {
            transaction.run("the migration", step.sql).await?;
            transaction.execute(note(step)).await?;
        }
    }
    identity::create_missing(transaction).await?;
    let serves = head::raise_serves(schema::serves(Dialect::Postgres));
    transaction.execute(serves).await.map(drop)
}

async fn check_served(
    transaction: &mut PostgresTransaction,
    standing: &SchemaStanding,
) -> Result<(), StoreError> {
    let head = head_row::read(transaction).await?;
    schema::check(Dialect::Postgres, head.serves)?;
    let (version, newest) = (standing.version.unwrap_or(0), standing.newest);
    info!(
        version,
        newest,
        "a newer binary has migrated the store to version {version}, which serves this one as well"
    );
    Ok(())
}

async fn standing(transaction: &mut PostgresTransaction) -> Result<SchemaStanding, StoreError> {
    let run = match row(transaction, kept(), |row| row.int(0)).await? {
        Some(1..) => rows(transaction, versions(), |row| row.int(0)).await?,
        _ => vec![],
    };
    let mut standing = SchemaStanding::of(Dialect::Postgres, &run);
    if standing.is_complete() {
        let head = row(transaction, head::select(), head::decode).await?;
        standing.serves = head.map(|head| head.serves);
    }
    Ok(standing)
}

/// Names of members are in all scripts.
async fn check_encoding(
    transaction: &mut PostgresTransaction,
    server: &Server,
) -> Result<(), StoreError> {
    let found = row(transaction, encoding(), |row| row.text(0)).await?;
    match found.unwrap_or_default() {
        utf8 if utf8 == "UTF8" => Ok(()),
        other => Err(broken(format!(
            "{server} keeps texts in {other}: make it anew with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
        ))),
    }
}

async fn check_ownership(
    transaction: &mut PostgresTransaction,
    server: &Server,
) -> Result<Vec<OpenSchema>, StoreError> {
    ownership::check(transaction, server, &schema::relations(Dialect::Postgres)).await
}

fn holder_of_lock() -> Statement {
    Statement::fixed("migration.holder", HOLDERS, [])
}

fn kept() -> Statement {
    Statement::fixed(
        "migration.kept",
        "SELECT COUNT(*) FROM pg_class WHERE oid = CAST(pg_catalog.to_regclass('migration') AS OID)",
        [],
    )
}

fn versions() -> Statement {
    Statement::fixed("migration.versions", "SELECT version FROM migration", [])
}

fn encoding() -> Statement {
    Statement::fixed(
        "migration.encoding",
        "SELECT pg_catalog.current_setting('server_encoding')",
        [],
    )
}

fn note(step: &schema::Migration) -> Statement {
    Statement::fixed(
        "migration.note",
        "INSERT INTO migration (version, name) VALUES (?, ?)",
        [step.version.into(), step.name.into()],
    )
}

/// All that is asked here.
#[cfg(test)]
pub(super) fn statements() -> Vec<Statement> {
    let [step, ..] = schema::migrations(Dialect::Postgres) else {
        return vec![];
    };
    let relations = schema::relations(Dialect::Postgres);
    vec![
        holder_of_lock(),
        kept(),
        versions(),
        encoding(),
        note(step),
        ownership::others(&relations),
        ownership::open_to_everybody(),
    ]
}
