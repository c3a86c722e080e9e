//! What the rest of the crate needs of a database: transactions that execute [`Statement`]s.
//!
//! The traits are small and object-safe, so that everything above them is written once for all databases.

mod attempt;
mod certificates;
mod driver_row;
pub(crate) mod error;
mod gate;
pub(crate) mod guarded;
pub(crate) mod head_row;
pub(crate) mod hosts;
pub(crate) mod identity;
pub(crate) mod incarnation;
mod lanes;
mod migrating;
pub(crate) mod mysql;
pub(crate) mod pool;
pub(crate) mod postgres;
pub(crate) mod schema;
pub(crate) mod seen;
#[cfg(test)]
pub(crate) mod several;
pub(crate) mod sqlite;
pub(crate) mod stopwatch;

use std::sync::Arc;
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;

use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;

/// Takes one row at a time.
pub(crate) type RowSink<'a> = &'a mut (dyn FnMut(&dyn Row) -> Result<(), StoreError> + Send);

/// A row of an answer; columns are counted from 0. A value of another type than asked for is a broken store.
pub(crate) trait Row {
    fn int(&self, column: usize) -> Result<i64, StoreError>;
    fn text(&self, column: usize) -> Result<String, StoreError>;
    fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError>;
    fn blob(&self, column: usize) -> Result<Vec<u8>, StoreError>;
}

/// Something that executes statements.
#[async_trait]
pub(crate) trait Connection: Send {
    /// What it speaks.
    fn dialect(&self) -> Dialect;

    /// Runs a statement and says how many rows it touched.
    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError>;

    /// Runs a query and hands over its rows.
    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError>;
}

/// An open transaction; dropped without a commit, it is rolled back.
#[async_trait]
pub(crate) trait Transaction: Connection {
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;
    async fn rollback(self: Box<Self>) -> Result<(), StoreError>;

    /// Ends it together with its connection, for the server that answers is behind another one: where there are several, the next one is connected
    /// with first from now on.
    fn leave(self: Box<Self>) {}
}

/// Which connections a read uses: what takes a moment never waits behind what may take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The catalogue, the head, one object: a few rows by key.
    Short,
    /// Pages and counts.
    Search,
    /// Everything that there is, for a check or for sums: it takes as long as there is much.
    Whole,
    /// What whoever writes asks about what is stored: sweeps, audits, all clusters. A fleet that starts asks for thousands of these, and whoever serves
    /// searches may be the same process: they stand in a line of their own, and leave a connection to what takes a moment.
    Upkeep,
}

/// What a database takes on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Bytes of each table and index, the largest first.
    pub tables: Vec<(String, u64)>,
    /// Bytes of all, and of what else the database has.
    pub total: u64,
    /// Bytes that were freed and wait for something new.
    pub free: u64,
}

/// A database that hands out transactions.
#[async_trait]
pub(crate) trait Database: Send + Sync {
    fn dialect(&self) -> Dialect;

    /// A snapshot to read from.
    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError>;

    /// The same, begun with a query that has no parameters: with a server both are one message, and each message takes the way there and back.
    async fn read_with(
        &self,
        lane: Lane,
        first: Statement,
        each: RowSink<'_>,
    ) -> Result<Box<dyn Transaction>, StoreError> {
        debug_assert!(first.params.is_empty(), "it is sent as it is");
        let mut transaction = self.read(lane).await?;
        transaction.fetch(first, each).await?;
        Ok(transaction)
    }

    /// A transaction that may write; only the writer task asks for one.
    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError>;

    /// How long to wait, each time, before what seems to have lost commits is looked at once more, over another connection: another server may have
    /// answered than before, which has not come so far yet. There is none such where nothing is said.
    fn patience(&self) -> &'static [Duration] {
        &[]
    }

    /// Notes what was committed where a restored database would not have it. Called after each commit; must be cheap.
    fn note_committed(&self, incarnation: &str, revision: i64);

    /// Lets the database catch up with what only an idle moment lets it do. Called by the writer between two transactions.
    async fn catch_up(&self);

    /// Gives some of the space back that was freed, where the database does not do so by itself; whether there is more. Called by the writer after a
    /// purge that is done; must be short.
    async fn give_space_back(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// What it takes on its disk; nothing where it does not say.
    async fn disk(&self) -> Result<Disk, StoreError> {
        Ok(Disk::default())
    }

    /// Gives back the memory that only work needs. Called by the writer when it has had nothing to do for a while.
    async fn rest(&self);

    /// Gives the connections back.
    async fn close(&self);
}

pub(crate) type SharedDatabase = Arc<dyn Database>;

/// All rows of a query, decoded.
pub(crate) async fn rows<T: Send>(
    connection: &mut dyn Connection,
    statement: Statement,
    decode: fn(&dyn Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    connection
        .fetch(statement, &mut |row| {
            found.push(decode(row)?);
            Ok(())
        })
        .await?;
    Ok(found)
}

/// The first row of a query, decoded.
pub(crate) async fn row<T: Send>(
    connection: &mut dyn Connection,
    statement: Statement,
    decode: fn(&dyn Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let found = rows(connection, statement, decode).await?;
    Ok(found.into_iter().next())
}
