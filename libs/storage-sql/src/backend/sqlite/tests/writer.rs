//! The one task that writes: failures, its end, its rest.

use tokio::sync::mpsc;

use super::*;

/// A transaction that failed gives back the numbers that it took, so nobody may go on using them.
#[tokio::test]
async fn numbers_that_a_failed_transaction_took_are_not_handed_out_twice() {
    let place = Home::new();
    place.run(REFUSE).await;
    let (one, other) = (open_store(&place).await, open_store(&place).await);
    let fixture = fixture_of(&one);
    let pods = fixture.pods_of("member1").await;
    let refused = [Change::Put(object("ns", "refused").build())];
    let refused = fixture.write(&pods, refused).await;
    assert!(refused.is_err_and(|err| !err.is_transient()));
    fixture.put(&pods, [object("ns", "a")]).await;
    let elsewhere = fixture_of(&other);
    let nodes = resource("", "nodes", "Node", false);
    let nodes = elsewhere.writer("member1", &nodes).await;
    let several = ["b", "c", "d"].map(|name| object("", name));
    elsewhere.put(&nodes, several).await;
    fixture.assert_sound().await;
}

/// A database whose writer panics.
struct Faulty(SqliteDatabase);

#[async_trait]
impl Database for Faulty {
    fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.0.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        panic!("the test says so")
    }

    fn note_committed(&self, _: &str, _: i64) {}

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {
        self.0.close().await;
    }
}

#[tokio::test]
async fn a_writer_that_panics_is_told_to_whoever_waits_for_its_end() {
    let place = Home::new();
    let database = Faulty(place.database().await.expect("a database"));
    let store = SqlStore::start(Arc::new(database), &Options::default()).await;
    let store = store.expect("a store");
    let member = armadex_model::ClusterName::new("member1").expect("a name");
    let refused = store.join(&member, "incarnation", "").await;
    assert!(refused.is_err_and(|err| err.is_transient()));
    tokio::time::timeout(Duration::from_secs(20), store.ended())
        .await
        .expect("an end");
    store.shutdown().await;
}

/// Notes when its writer rests.
struct Resting(SqliteDatabase, mpsc::UnboundedSender<()>);

#[async_trait]
impl Database for Resting {
    fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.0.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.0.write().await
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.0.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {
        self.0.catch_up().await;
    }

    async fn rest(&self) {
        self.0.rest().await;
        let _ = self.1.send(());
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

#[tokio::test]
async fn a_writer_rests_once_after_its_work_and_works_again() {
    let place = Home::new();
    let (rests, mut resting) = mpsc::unbounded_channel();
    let database = Resting(place.database().await.expect("a database"), rests);
    let options = Options {
        rest: Duration::from_millis(20),
        ..Options::default()
    };
    let store = SqlStore::start(Arc::new(database), &options).await;
    let store = store.expect("a store");
    for name in ["member1", "member2"] {
        assert!(resting.try_recv().is_err(), "it has nothing to rest from");
        let name = armadex_model::ClusterName::new(name).expect("a name");
        store.join(&name, "incarnation", "").await.expect("joined");
        resting.recv().await.expect("a rest");
    }
    store.shutdown().await;
}

/// SQLite ends a transaction itself when the disk is full or cannot be read. Here a trigger does so; whoever has the connection next must not
/// find it in one.
#[tokio::test]
async fn a_transaction_that_the_database_ended_itself_leaves_a_writer_that_works() {
    let place = Home::new();
    place
        .run(
            "CREATE TRIGGER full BEFORE INSERT ON ver WHEN NEW.name = 'large' \
             BEGIN SELECT RAISE(ROLLBACK, 'full'); END",
        )
        .await;
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    let refused = [Change::Put(object("ns", "large").build())];
    assert!(fixture.write(&pods, refused).await.is_err());
    fixture.put(&pods, [object("ns", "a")]).await;
    fixture.assert_sound().await;
}

/// A check may read for minutes; writing must not wait for its end again and again.
#[tokio::test]
async fn a_log_that_cannot_be_emptied_is_let_grow_before_it_is_tried_again() {
    let place = Home::new();
    let options = Options {
        most_log_bytes: 1,
        busy_timeout: Duration::from_millis(20),
        ..Options::default()
    };
    let database = SqliteDatabase::open(&place.path(), &options).await;
    let database = database.expect("a database");
    let mut reader = database.read(Lane::Search).await.expect("a reader");
    head_row::read(&mut *reader).await.expect("a head");
    place.run("UPDATE head SET floor = 0").await;
    let bytes = log_bytes(&place.path());
    database.catch_up().await;
    assert_eq!(database.catch_up_at.load(Ordering::Relaxed), bytes + 1);
    reader.rollback().await.expect("ended");
    database.catch_up_at.store(0, Ordering::Relaxed);
    database.catch_up().await;
    assert_eq!(database.catch_up_at.load(Ordering::Relaxed), 1);
}
