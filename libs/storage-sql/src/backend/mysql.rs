//! MySQL and MariaDB: one writing connection and a few reading ones.
//!
//! Writes run in READ COMMITTED: what a transaction relies on it holds by its writes, and there are fewer locks between keys to meet at. Reads
//! run in REPEATABLE READ from a snapshot that is taken when they begin.

mod connect;
mod connection;
mod error;
mod limits;
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
use connect::{Connector, Purpose};
use connection::MysqlTransaction;
use limits::Limits;

pub(crate) use schema::{look, look_at_replica, migrate};

/// Connections for what takes a moment: one would do, but for the time that a cold page takes.
const SHORT_READERS: u32 = 2;
/// Of these, those on which streams compare as well. How many connections there are is said to the process, and a server has other clients; one is always for
/// what takes a moment.
const UPKEEP_READERS: u32 = SHORT_READERS - 1;

/// A database on a server, and our connections with it.
pub(crate) struct MysqlDatabase {
    writer: Pool<Connector>,
    short: Pool<Connector>,
    /// A part of these.
    upkeep: Pool<Connector>,
    searches: Pool<Connector>,
    /// Opened by who needs it.
    whole: Pool<Connector>,
    limits: Limits,
    limits_of_whole: Limits,
    /// Which of the replicas is connected with first.
    first: Option<Arc<AtomicUsize>>,
}

impl MysqlDatabase {
    /// Connects, and brings the schema up to date.
    pub(crate) async fn open(server: &Server, options: &Options) -> Result<Self, StoreError> {
        migrate(server).await?;
        Ok(Self::of(server, options, Connector::new))
    }

    /// Of a replica: it takes no writes, and has its schema from where it has everything.
    pub(crate) fn replica(server: &Server, options: &Options) -> Self {
        let first = Arc::<AtomicUsize>::default();
        let connector = |server: &Server, purpose| Connector::of_replica(server, purpose, &first);
        Self {
            first: Some(Arc::clone(&first)),
            ..Self::of(server, options, connector)
        }
    }

    fn of(
        server: &Server,
        options: &Options,
        connector: impl Fn(&Server, Purpose) -> Connector,
    ) -> Self {
        let pool = |purpose, places| Pool::new(connector(server, purpose), places);
        let short = pool(Purpose::Read, SHORT_READERS);
        Self {
            writer: pool(Purpose::Write, 1),
            upkeep: short.part(UPKEEP_READERS),
            short,
            searches: pool(Purpose::Read, options.readers),
            whole: pool(Purpose::ReadWhole, 1),
            limits: Limits::of(server),
            limits_of_whole: Limits::of_whole(server),
            first: None,
        }
    }
}

#[async_trait]
impl Database for MysqlDatabase {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        let (pool, limits) = match lane {
            Lane::Short => (&self.short, self.limits),
            Lane::Upkeep => (&self.upkeep, self.limits),
            Lane::Search => (&self.searches, self.limits),
            Lane::Whole => (&self.whole, self.limits_of_whole),
        };
        let begun = MysqlTransaction::begin(
            pool,
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            limits,
        );
        Ok(Box::new(begun.await?))
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        let begun = MysqlTransaction::begin(&self.writer, "START TRANSACTION", self.limits);
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
        self.whole.close().await;
        self.writer.close().await;
    }
}

#[cfg(test)]
mod tests;
