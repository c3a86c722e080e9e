//! A database that several stores share, and what their cases are written with.

use std::sync::Arc;
use std::time::Duration;

use armadex_databases::{Address, Database as TestDatabase, Engine};
use armadex_storage::conformance::Fixture;
use armadex_storage::conformance::fixture::{ObjectBuilder, Writer};
use armadex_storage::{Change, StoreError, Written};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use crate::backend::{Lane, SharedDatabase, row};
use crate::location::{Location, Timeouts};
use crate::options::Options;
use crate::sql::statement::Statement;
use crate::store::SqlStore;

/// A database and stores on it.
pub(crate) struct Home {
    pub(super) database: TestDatabase,
}

impl Home {
    /// An empty database on each server; where there is none, that has been said.
    pub(super) fn on_each_server() -> impl Iterator<Item = Self> {
        [Engine::Postgres, Engine::Mysql]
            .into_iter()
            .filter_map(|engine| {
                // Shown if the test fails.
                println!("on {engine:?}");
                let database = TestDatabase::for_test(engine).expect("a server")?;
                Some(Self { database })
            })
    }

    pub(super) async fn store(&self) -> Arc<SqlStore> {
        self.store_with(&Options::default()).await
    }

    pub(super) async fn store_with(&self, options: &Options) -> Arc<SqlStore> {
        open_with(&patient(&self.database), options).await
    }

    /// The same database by way of a port of this machine, each statement with its text.
    pub(super) fn url_by(&self, port: u16) -> String {
        format!("{}?prepared=false", self.prepared_url_by(port))
    }

    /// The same, with statements that the server remembers.
    pub(super) fn prepared_url_by(&self, port: u16) -> String {
        let server: Address = self.database.server().by_way_of(port);
        server.database(self.database.name())
    }

    pub(super) async fn stores(&self, count: usize) -> Vec<Arc<SqlStore>> {
        let mut stores = Vec::with_capacity(count);
        for _ in 0..count {
            stores.push(self.store().await);
        }
        stores
    }
}

/// A database of each kind: on a server, or in a file that several processes of one machine have open.
pub(crate) enum Place {
    Server(Home),
    File(tempfile::TempDir),
}

impl Place {
    pub(crate) fn of_each_kind() -> impl Iterator<Item = Self> {
        Home::on_each_server()
            .map(Self::Server)
            .chain(std::iter::once_with(Self::in_a_file))
    }

    pub(crate) fn in_a_file() -> Self {
        Self::File(tempfile::tempdir().expect("a temporary directory"))
    }

    /// That of the server, if it is on one.
    pub(crate) fn engine(&self) -> Option<Engine> {
        match self {
            Self::Server(home) => Some(home.database.server().engine()),
            Self::File(_) => None,
        }
    }

    pub(super) async fn store(&self) -> Arc<SqlStore> {
        self.store_with(&Options::default()).await
    }

    pub(super) async fn store_with(&self, options: &Options) -> Arc<SqlStore> {
        open_with(&self.location(), options).await
    }

    pub(crate) fn location(&self) -> Location {
        match self {
            Self::Server(home) => patient(&home.database),
            Self::File(directory) => Location::Sqlite(directory.path().join("store.db")),
        }
    }

    /// For another process.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Server(home) => home.database.patient_url(),
            Self::File(_) => self.location().to_string(),
        }
    }
}

/// Where a database of a test is, for stores that take nobody for dead who is slow: tests run beside builds, and one of them may hold a transaction open and say
/// nothing until another is seen to wait for it.
pub(crate) fn patient(database: &TestDatabase) -> Location {
    let mut location = database.patient_url().parse().expect("a location");
    if let Location::Server(server) = &mut location {
        server.timeouts = Timeouts {
            connect: server.timeouts.connect,
            statement: PATIENCE,
            lock: PATIENCE,
            idle: PATIENCE,
        };
    }
    location
}

pub(super) async fn open(url: &str) -> Arc<SqlStore> {
    let location = url.parse().expect("a location");
    open_with(&location, &Options::default()).await
}

async fn open_with(location: &Location, options: &Options) -> Arc<SqlStore> {
    let store = crate::open::open_with(location, options).await;
    Arc::new(store.expect("a store"))
}

pub(super) fn fixture_of(store: &Arc<SqlStore>) -> Fixture {
    let audited = Arc::clone(store);
    Fixture::of(store).audited(move || {
        let store = Arc::clone(&audited);
        async move { store.check().await.expect("a report").faults }
    })
}

/// Runs a statement of a test's own, as somebody else would who has the database; how many rows it touched.
pub(super) async fn execute(store: &SqlStore, statement: Statement) -> u64 {
    let mut transaction = store.database.write().await.expect("a transaction");
    let touched = transaction.execute(statement).await.expect("done");
    transaction.commit().await.expect("committed");
    touched
}

/// Longer than any trouble of these tests.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries of what is in trouble.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Writes as a synchro does: what does not succeed for now is tried again, the same batch.
pub(super) async fn persist(
    fixture: &Fixture,
    writer: &Writer,
    objects: &[ObjectBuilder],
) -> Result<Written, StoreError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let changes = objects.iter().cloned();
        let changes = changes.map(|object| Change::Put(object.build()));
        match fixture.write(writer, changes).await {
            Err(err) if err.is_transient() && Instant::now() < deadline => sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// MySQL looks anew only where nobody has asked it for a tenth of a second.
const UNASKED: Duration = Duration::from_millis(120);

/// Before one more look: who asks MySQL does so when no other test of this process has done so for long enough, or nobody would see anything new.
async fn turn_to_look(engine: Engine) -> Option<MutexGuard<'static, ()>> {
    static LOOKS: Mutex<()> = Mutex::const_new(());
    match engine {
        Engine::Postgres => {
            sleep(PAUSE).await;
            None
        }
        Engine::Mysql => {
            let turn = LOOKS.lock().await;
            sleep(UNASKED).await;
            Some(turn)
        }
    }
}

/// Returns when a transaction of this database waits for a row of another.
pub(super) async fn wait_until_somebody_waits(place: &Home, store: &SqlStore) {
    wait_until_so_many_wait(place, store, 1).await;
}

/// Returns when so many do.
pub(super) async fn wait_until_so_many_wait(place: &Home, store: &SqlStore, count: i64) {
    wait_until_rows_are_waited_for(place.database.server().engine(), &store.database, count).await;
}

/// Returns when somebody does, of a database that may be no store yet.
pub(crate) async fn wait_until_a_row_is_waited_for(engine: Engine, database: &SharedDatabase) {
    wait_until_rows_are_waited_for(engine, database, 1).await;
}

async fn wait_until_rows_are_waited_for(engine: Engine, database: &SharedDatabase, count: i64) {
    let text = match engine {
        Engine::Postgres => {
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        }
        Engine::Mysql => {
            "SELECT COUNT(*) FROM information_schema.innodb_trx t \
             JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
             WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()"
        }
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let turn = turn_to_look(engine).await;
        let mut reader = database.read(Lane::Short).await.expect("a reader");
        let waiting = Statement::fixed("waiting", text, []);
        let waiting = row(&mut *reader, waiting, |row| row.int(0)).await;
        reader.rollback().await.expect("ended");
        let waiting = waiting.expect("an answer").unwrap_or_default();
        if waiting >= count {
            return;
        }
        assert!(Instant::now() < deadline, "{waiting} wait");
        drop(turn);
    }
}
