//! An empty database of each kind.

use std::any::Any;
use std::sync::Arc;

use armadex_databases::{Database as TestDatabase, Engine};

use crate::backend::several::place::patient;
use crate::backend::{Lane, Row, SharedDatabase};
use crate::location::Location;
use crate::open;
use crate::options::Options;
use crate::sql::copy::{Cells, TABLES};
use crate::sql::statement::Statement;
use crate::store::SqlStore;

/// A database, and what has to live as long.
pub(super) struct Home {
    pub(super) location: Location,
    _guard: Box<dyn Any + Send + Sync>,
}

impl Home {
    /// A file, and each kind of server.
    pub(super) fn kinds() -> [Option<Engine>; 3] {
        [None, Some(Engine::Postgres), Some(Engine::Mysql)]
    }

    /// `None` where there can be no server, which has been said then.
    pub(super) fn of(kind: Option<Engine>) -> Option<Self> {
        let Some(engine) = kind else {
            return Some(Self::in_a_file());
        };
        let database = TestDatabase::for_test(engine).expect("a server")?;
        Some(Self {
            location: patient(&database),
            _guard: Box::new(database),
        })
    }

    pub(super) fn in_a_file() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self {
            location: Location::Sqlite(directory.path().join("store.db")),
            _guard: Box::new(directory),
        }
    }

    /// Whether there is a file.
    pub(super) fn is_there(&self) -> bool {
        matches!(&self.location, Location::Sqlite(path) if path.exists())
    }

    pub(super) async fn store(&self) -> Arc<SqlStore> {
        Arc::new(open::open(&self.location).await.expect("a store"))
    }

    pub(super) async fn database(&self) -> SharedDatabase {
        let database = open::database(&self.location, &Options::default()).await;
        database.expect("a database")
    }

    /// All rows of all tables.
    pub(super) async fn tables(&self) -> Vec<(&'static str, Vec<Cells>)> {
        let database = self.database().await;
        let mut transaction = database.read(Lane::Search).await.expect("a read");
        let mut tables = Vec::new();
        for table in &TABLES {
            let mut rows = Vec::new();
            let page = table.page(database.dialect(), None, i64::from(i32::MAX));
            let mut take = |row: &dyn Row| {
                rows.push(table.decode(row)?);
                Ok(())
            };
            let read = transaction.fetch(page, &mut take).await;
            read.expect("rows");
            tables.push((table.name, rows));
        }
        transaction.rollback().await.expect("ended");
        database.close().await;
        tables
    }

    pub(super) async fn run(&self, sql: &'static str) {
        let database = self.database().await;
        let mut transaction = database.write().await.expect("a transaction");
        let done = transaction.execute(Statement::fixed("test", sql, []));
        assert_eq!(done.await.expect("done"), 1, "{sql}");
        transaction.commit().await.expect("committed");
        database.close().await;
    }
}
