//! MySQL and MariaDB: one writing connection and a few reading ones.
//!
//! Writes run in READ COMMITTED: what a transaction relies on it holds by its writes, and there are fewer locks between keys to meet at. Reads
//! run in REPEATABLE READ from a snapshot that is taken when they begin.

mod connect;
mod connection;
mod error;
mod limits;
mod schema;

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

pub(crate) use schema::{look, migrate};

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
}

impl MysqlDatabase {
    /// Connects, and brings the schema up to date.
    pub(crate) async fn open(server: &Server, options: &Options) -> Result<Self, StoreError> {
        migrate(server).await?;
        let pool = |purpose, places| Pool::new(Connector::new(server, purpose), places);
        let short = pool(Purpose::Read, SHORT_READERS);
        Ok(Self {
            writer: pool(Purpose::Write, 1),
            upkeep: short.part(UPKEEP_READERS),
            short,
            searches: pool(Purpose::Read, options.readers),
            whole: pool(Purpose::ReadWhole, 1),
            limits: Limits::of(server),
            limits_of_whole: Limits::of_whole(server),
        })
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
