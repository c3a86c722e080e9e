//! Which connections what takes long is read over.

use std::sync::Mutex;

use super::*;
use crate::backend::{Database, Transaction};
use crate::sql::dialect::Dialect;

/// A database that notes which lanes are asked for.
struct Noting {
    database: SqliteDatabase,
    lanes: Arc<Mutex<Vec<Lane>>>,
}

#[async_trait::async_trait]
impl Database for Noting {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.lanes.lock().expect("no panic").push(lane);
        self.database.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.database.write().await
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.database.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {
        self.database.catch_up().await;
    }

    async fn disk(&self) -> Result<crate::backend::Disk, StoreError> {
        self.database.disk().await
    }

    async fn rest(&self) {}

    async fn close(&self) {
        self.database.close().await;
    }
}

#[tokio::test]
async fn who_reads_everything_has_the_time_for_it() {
    let (place, lanes) = (Home::new(), Arc::default());
    let options = Options::default();
    let database = SqliteDatabase::open(&place.path(), &options).await;
    let database = Noting {
        database: database.expect("a database"),
        lanes: Arc::clone(&lanes),
    };
    let store = SqlStore::start(Arc::new(database), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let taken = || std::mem::take(&mut *lanes.lock().expect("no panic"));
    taken();
    store.check().await.expect("a report");
    assert_eq!(taken(), [Lane::Whole], "a check");
    store.mend().await.expect("sound");
    assert_eq!(taken(), [Lane::Whole], "a mending");
    store.stats().await.expect("sums");
    assert_eq!(taken(), [Lane::Whole], "sums");
    store.shutdown().await;
}
