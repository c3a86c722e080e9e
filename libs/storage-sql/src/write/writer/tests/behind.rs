//! A server that takes over and is behind the one before it.

use std::sync::atomic::AtomicBool;

use super::*;

/// Two servers of one database. What somebody lost is not there on the first, which answers until it is left.
struct Servers {
    database: SharedDatabase,
    /// What makes the first differ from the other one.
    loss: &'static str,
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
        self.database.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        let mut transaction = self.database.write().await?;
        if !self.is_behind.load(SeqCst) {
            return Ok(transaction);
        }
        let loss = Statement::fixed("test.loss", self.loss, []);
        transaction.execute(loss).await?;
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
async fn is_stored(loss: &'static str) -> bool {
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
    assert!(is_stored("UPDATE stream SET rv = ''").await);
    assert!(is_stored("UPDATE head SET rev = 0").await);
    assert!(is_stored("UPDATE head SET catalog = 0").await);
}
