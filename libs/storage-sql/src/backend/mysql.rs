//! MySQL and MariaDB: one writing connection and a few reading ones.
//!
//! Writes run in READ COMMITTED: what a transaction relies on it holds, by its writes or, where it writes none of it, by SELECT ... FOR UPDATE, and there are fewer locks
//! between keys to meet at. Reads run in REPEATABLE READ from a snapshot that is taken when they begin.

mod connect;
mod connection;
mod error;
mod limits;
mod schema;

use std::sync::Arc;
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;

use crate::backend::hosts::Hosts;
use crate::backend::lanes::Lanes;
use crate::backend::pool::Pool;
use crate::backend::{Database, Lane, RowSink, Transaction};
use crate::location::Server;
use crate::options::Options;
use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;
use connect::{Connector, Purpose};
use connection::MysqlTransaction;
use limits::Limits;

pub(crate) use schema::{look, look_at_replica, migrate};

/// A database on a server, and our connections with it.
pub(crate) struct MysqlDatabase {
    hosts: Arc<Hosts>,
    lanes: Lanes<Connector>,
    limits: Limits,
    limits_of_whole: Limits,
}

impl MysqlDatabase {
    /// Connects, and brings the schema up to date.
    pub(crate) async fn open(server: &Server, options: &Options) -> Result<Self, StoreError> {
        migrate(server).await?;
        Ok(Self::of(server, options, Hosts::of_primary(server)))
    }

    /// Of a replica: it takes no writes, and has its schema from where it has everything.
    pub(crate) fn replica(server: &Server, options: &Options) -> Self {
        Self::of(server, options, Hosts::of_replicas(server))
    }

    fn of(server: &Server, options: &Options, hosts: Hosts) -> Self {
        let hosts = Arc::new(hosts);
        let connector = |purpose| Connector::new(server, purpose, &hosts);
        let reads = || connector(Purpose::Read);
        let lanes = Lanes::new(options, reads, connector(Purpose::Write));
        Self {
            lanes: lanes.with_whole(connector(Purpose::ReadWhole)),
            limits: Limits::of(server),
            limits_of_whole: Limits::of_whole(server),
            hosts,
        }
    }

    fn lane(&self, lane: Lane) -> (&Pool<Connector>, Limits) {
        let limits = match lane {
            Lane::Short | Lane::Upkeep | Lane::Search => self.limits,
            Lane::Whole => self.limits_of_whole,
        };
        (self.lanes.of(lane), limits)
    }
}

#[async_trait]
impl Database for MysqlDatabase {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        let (pool, limits) = self.lane(lane);
        let begun = MysqlTransaction::begin(pool, connection::READ, limits);
        Ok(Box::new(begun.await?))
    }

    async fn read_with(
        &self,
        lane: Lane,
        first: Statement,
        each: RowSink<'_>,
    ) -> Result<Box<dyn Transaction>, StoreError> {
        let (pool, limits) = self.lane(lane);
        let begun = MysqlTransaction::begin_with(pool, first, limits, each);
        Ok(Box::new(begun.await?))
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        let begun = MysqlTransaction::begin(self.lanes.writer(), connection::WRITE, self.limits);
        Ok(Box::new(begun.await?))
    }

    fn patience(&self) -> &'static [Duration] {
        self.hosts.patience()
    }

    /// Nothing is beside a server that would outlive its restore.
    fn note_committed(&self, _incarnation: &str, _revision: i64) {}

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {
        self.lanes.close().await;
    }
}

#[cfg(test)]
mod tests;
