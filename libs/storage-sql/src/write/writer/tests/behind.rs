//! A server that takes over and is behind the one before it.

use std::fmt::Debug;
use std::sync::atomic::AtomicBool;

use armadex_storage::Sink;
use armadex_storage::conformance::Fixture;
use armadex_storage::conformance::fixture::name;
use futures::future::BoxFuture;

use super::*;
use crate::store::SqlStore;

/// Two servers of one database. What somebody lost is not there on the first, which answers until it is left.
struct Servers {
    database: SharedDatabase,
    /// What makes the first differ from the other one.
    loss: &'static [&'static str],
    is_behind: Arc<AtomicBool>,
}

/// Of a server that is behind: what it lost is lost in each transaction, and there again afterwards.
struct Behind {
    transaction: Box<dyn Transaction>,
    is_behind: Arc<AtomicBool>,
}

#[async_trait]
impl Database for Servers {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        match self.is_behind.load(SeqCst) {
            // Who reads could lose nothing.
            true => self.write().await,
            false => self.database.read(lane).await,
        }
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        let mut transaction = self.database.write().await?;
        if !self.is_behind.load(SeqCst) {
            return Ok(transaction);
        }
        for loss in self.loss {
            let loss = Statement::fixed("test.loss", loss, []);
            transaction.execute(loss).await?;
        }
        Ok(Box::new(Behind {
            transaction,
            is_behind: Arc::clone(&self.is_behind),
        }))
    }

    fn patience(&self) -> &'static [Duration] {
        &[Duration::ZERO]
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.database.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {}
}

#[async_trait]
impl Connection for Behind {
    fn dialect(&self) -> Dialect {
        self.transaction.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.transaction.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        self.transaction.fetch(statement, each).await
    }
}

#[async_trait]
impl Transaction for Behind {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.transaction.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.transaction.rollback().await
    }

    fn leave(self: Box<Self>) {
        self.is_behind.store(false, SeqCst);
    }
}

/// Writes a batch after another one to a server that lost what is said, and to the one after it; whether it is stored there.
async fn is_stored(loss: &'static [&'static str]) -> bool {
    let mut fleet = Fleet::of(1).await;
    fleet.open().await;
    let database = Arc::new(Servers {
        database: fleet.database,
        loss,
        is_behind: Arc::default(),
    });
    let mut writer = writer_on(&database, fleet.committed);
    let batch = |version| {
        let changes = objects(version, "web");
        batches(&fleet.clusters, &fleet.streams, version, &changes)
    };
    assert!(writer.results(&batch("1")).await[0].is_ok());
    database.is_behind.store(true, SeqCst);
    let results = writer.results(&batch("2")).await;
    results[0].is_ok() && !writer.is_over && !database.is_behind.load(SeqCst)
}

/// The head tells only as long as no other process has led it on.
#[tokio::test]
async fn what_is_lost_on_a_server_and_there_on_the_next_one_is_not_lost() {
    assert!(is_stored(&["UPDATE stream SET rv = ''"]).await);
    assert!(is_stored(&["UPDATE head SET rev = 0"]).await);
    assert!(is_stored(&["UPDATE head SET catalog = 0"]).await);
}

type Asked = fn(&SqlStore, ClusterId, Stream) -> BoxFuture<'_, Box<dyn Debug + Send>>;

/// What a writer asks of what is stored, by which it deletes, closes streams and lets clusters leave.
const ASKED: [Asked; 6] = [
    |store, cluster, stream| {
        Box::pin(async move {
            let keys = store.keys(cluster, stream.resource, None, 10).await;
            Box::new(keys.expect("keys")) as _
        })
    },
    |store, cluster, stream| {
        Box::pin(async move {
            let versions = store.versions(cluster, stream.resource, None, 10).await;
            Box::new(versions.expect("versions")) as _
        })
    },
    |store, cluster, _| {
        Box::pin(async move { Box::new(store.streams(cluster).await.expect("streams")) as _ })
    },
    |store, _, _| Box::pin(async move { Box::new(store.clusters().await.expect("clusters")) as _ }),
    |store, _, _| {
        Box::pin(async move { Box::new(store.holder(&name("m")).await.expect("a holder")) as _ })
    },
    |store, _, _| {
        Box::pin(async move {
            let adopted = store.adopt(&name("m"), "incarnation-1", "member").await;
            Box::new(adopted.expect("adopted")) as _
        })
    },
];

#[tokio::test]
async fn what_a_writer_asks_of_a_server_that_is_behind_is_asked_of_the_next_one() {
    let fleet = Fleet::of(0).await;
    let database = Arc::new(Servers {
        database: fleet.database,
        loss: &[
            "UPDATE head SET rev = 0",
            "DELETE FROM counter",
            "DELETE FROM stream",
            "UPDATE cluster SET active = 2",
        ],
        is_behind: Arc::default(),
    });
    let shared: SharedDatabase = Arc::<Servers>::clone(&database);
    let store = SqlStore::start(shared, &Options::default()).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    for asked in ASKED {
        let ask = async || {
            format!(
                "{:?}",
                asked(&store, pods.cluster, pods.stream.clone()).await
            )
        };
        let known = ask().await;
        database.is_behind.store(true, SeqCst);
        assert_eq!(ask().await, known);
        assert!(!database.is_behind.load(SeqCst), "it was believed: {known}");
    }
    store.shutdown().await;
}
