//! PostgreSQL: one writing connection and a few reading ones.
//!
//! Writes run in READ COMMITTED: what a transaction relies on it holds by its writes. Reads run in REPEATABLE READ, which is one snapshot.
//! All that a transaction wants to be set it sets itself, together with its beginning, so that a pooler may give each another connection.

mod begin;
mod connect;
mod connection;
mod error;
mod limits;
mod numbered;
mod schema;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use armadex_storage::StoreError;
use async_trait::async_trait;

use crate::backend::pool::Pool;
use crate::backend::{Database, Lane, Transaction};
use crate::location::Server;
use crate::options::Options;
use crate::sql::dialect::Dialect;
use begin::Purpose;
use connect::Connector;
use connection::PostgresTransaction;
use limits::Limits;

pub(crate) use schema::{look, look_at_replica, migrate};

/// Connections for what takes a moment: one would do, but for the time that a cold page takes.
const SHORT_READERS: u32 = 2;
/// Of these, those on which streams compare as well. How many connections there are is said to the process, and a server has other clients; one is always for
/// what takes a moment.
const UPKEEP_READERS: u32 = SHORT_READERS - 1;

/// A database on a server, and our connections with it.
pub(crate) struct PostgresDatabase {
    writer: Pool<Connector>,
    short: Pool<Connector>,
    /// A part of these.
    upkeep: Pool<Connector>,
    searches: Pool<Connector>,
    limits: Limits,
    limits_of_whole: Limits,
    /// Which of the replicas is connected with first.
    first: Option<Arc<AtomicUsize>>,
}

impl PostgresDatabase {
    /// Connects, and brings the schema up to date.
    pub(crate) async fn open(server: &Server, options: &Options) -> Result<Self, StoreError> {
        migrate(server).await?;
        Ok(Self::of(server, options, Connector::new))
    }

    /// Of a replica: it takes no writes, and has its schema from where it has everything.
    pub(crate) fn replica(server: &Server, options: &Options) -> Self {
        let first = Arc::<AtomicUsize>::default();
        let connector = |server: &Server| Connector::of_replica(server, &first);
        Self {
            first: Some(Arc::clone(&first)),
            ..Self::of(server, options, connector)
        }
    }

    fn of(server: &Server, options: &Options, connector: impl Fn(&Server) -> Connector) -> Self {
        let pool = |places| Pool::new(connector(server), places);
        let short = pool(SHORT_READERS);
        Self {
            writer: pool(1),
            upkeep: short.part(UPKEEP_READERS),
            short,
            searches: pool(options.readers),
            limits: Limits::of(server),
            limits_of_whole: Limits::of_whole(server),
            first: None,
        }
    }
}

#[async_trait]
impl Database for PostgresDatabase {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        let (pool, limits) = match lane {
            Lane::Short => (&self.short, self.limits),
            Lane::Upkeep => (&self.upkeep, self.limits),
            Lane::Search => (&self.searches, self.limits),
            Lane::Whole => (&self.searches, self.limits_of_whole),
        };
        let begun = PostgresTransaction::begin(pool, Purpose::Read, limits);
        Ok(Box::new(begun.await?))
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        let begun = PostgresTransaction::begin(&self.writer, Purpose::Write, self.limits);
        Ok(Box::new(begun.await?))
    }

    fn leave_host(&self) {
        if let Some(first) = &self.first {
            first.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Nothing is beside a server that would outlive its restore.
    fn note_committed(&self, _incarnation: &str, _revision: i64) {}

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {
        self.short.close().await;
        self.searches.close().await;
        self.writer.close().await;
    }
}

#[cfg(test)]
mod tests;
