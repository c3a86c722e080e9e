//! What is asked of the database to train dictionaries, to follow and to read them. SQLite.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use armadex_model::{ClusterName, ObjectKey, Query};
use armadex_storage::conformance::fixture::resource;
use armadex_storage::conformance::{Fixture, Writer, object};
use armadex_storage::{Change, Search as _, Sink as _};
use async_trait::async_trait;

use super::*;
use crate::backend::sqlite::SqliteDatabase;
use crate::backend::{Database, RowSink, SharedDatabase, Transaction, row};
use crate::form::dictionaries::numbers_of;
use crate::options::{Options, Training};
use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;

/// What the readers of a database have asked for, and whether the next samples are refused.
#[derive(Clone, Default)]
struct Watch {
    asked: Arc<Mutex<Vec<&'static str>>>,
    refuses: Arc<AtomicBool>,
}

impl Watch {
    /// How often it was asked for this since the last time that anybody wanted to know.
    fn count(&self, statement: &str) -> usize {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let before = asked.len();
        asked.retain(|name| *name != statement);
        before - asked.len()
    }

    fn meets(&self, statement: &Statement) -> Result<(), StoreError> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(statement.name);
        match statement.name == "dict.sample" && self.refuses.swap(false, Ordering::SeqCst) {
            true => Err(broken("the test refuses it".to_owned())),
            false => Ok(()),
        }
    }
}

struct Watched<T: ?Sized> {
    watch: Watch,
    inner: T,
}

#[async_trait]
impl Database for Watched<SharedDatabase> {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        Ok(Box::new(Watched {
            watch: self.watch.clone(),
            inner: self.inner.read(lane).await?,
        }))
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.inner.write().await
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.inner.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {
        self.inner.catch_up().await;
    }

    async fn rest(&self) {
        self.inner.rest().await;
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

#[async_trait]
impl Connection for Watched<Box<dyn Transaction>> {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.inner.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        self.watch.meets(&statement)?;
        self.inner.fetch(statement, each).await
    }
}

#[async_trait]
impl Transaction for Watched<Box<dyn Transaction>> {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.rollback().await
    }
}

/// A type is tried that has two objects, which is in vain.
fn options(period: Duration) -> Options {
    let training = Training {
        least: 2,
        period,
        ..Training::default()
    };
    Options {
        training,
        ..Options::default()
    }
}

async fn store(directory: &tempfile::TempDir, options: &Options) -> (Arc<SqlStore>, Watch) {
    let path = directory.path().join("store.db");
    let inner = SqliteDatabase::open(&path, options).await;
    let watch = Watch::default();
    let database = Watched {
        watch: watch.clone(),
        inner: Arc::new(inner.expect("a database")) as SharedDatabase,
    };
    let store = SqlStore::start(Arc::new(database), options).await;
    (Arc::new(store.expect("a store")), watch)
}

fn widgets() -> ResourceType {
    resource("example.com", "widgets", "Widget", true)
}

/// Two objects of a type in a cluster.
async fn put(store: &Arc<SqlStore>, cluster: &str, of: &ResourceType) -> Writer {
    let fixture = Fixture::of(store);
    let writer = fixture.writer(cluster, of).await;
    let objects = [1, 2].map(|number| object("ns", &format!("w-{number}")).body(body(number)));
    fixture.put(&writer, objects).await;
    writer
}

fn body(number: u64) -> String {
    let own = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let spec = format!("this-is-in-each-and-in-nothing-that-is-built-in/{own:016x}");
    format!(r#""name":"w-{number}"}},"spec":"{spec}"}}"#)
}

/// A dictionary of the type, from another process.
async fn learn(store: &SqlStore, resource: TypeId) {
    let samples: Vec<String> = (10..500).map(body).collect();
    let lesson = Lesson {
        resource: resource.0,
        objects: 500,
        bytes: zstd::dict::from_samples(&samples, 4096).expect("a dictionary"),
    };
    let learnt = store.order(Work::Learn(lesson)).await.expect("learnt");
    let number = numbers_of(resource.0).map(|numbers| *numbers.start());
    assert!(matches!(learnt, Done::Learnt(first) if first == number));
}

#[tokio::test]
async fn one_look_at_the_streams_does_for_all_that_are_tried() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, watch) = store(&directory, &options(Duration::from_secs(600))).await;
    for plural in ["widgets", "gadgets", "gizmos"] {
        put(&store, "m", &resource("example.com", plural, "Thing", true)).await;
    }
    for _ in 0..3 {
        store.train_one().await.expect("tried");
        assert_eq!(watch.count("dict.sample"), 1);
    }
    assert_eq!(watch.count("dict.large_types"), 1);
}

#[tokio::test]
async fn a_try_that_failed_is_made_again_and_one_in_vain_is_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, watch) = store(&directory, &options(Duration::ZERO)).await;
    let TypeId(of_widgets) = put(&store, "m", &widgets()).await.stream.resource;
    watch.refuses.store(true, Ordering::SeqCst);
    for (samples, why) in [(1, "refused"), (1, "again"), (0, "it was in vain")] {
        let purged = store.purge(100, Duration::ZERO).await;
        purged.expect("what is seen to beside is no part of it");
        assert_eq!(watch.count("dict.sample"), samples, "{why}");
    }
    // Grown four times it is the largest, for that it failed once is past.
    let now = Instant::now();
    let sizes = vec![(of_widgets + 1, 3), (of_widgets, 8)];
    store.schedule.found(now, sizes);
    assert_eq!(store.schedule.choose(now, &[]), Some((of_widgets, 8)));
}

/// Each would read thousands of objects, and all but one for nothing.
#[tokio::test]
async fn who_does_not_do_the_periodic_work_trains_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = options(Duration::ZERO);
    let (holder, _) = store(&directory, &options).await;
    put(&holder, "m", &widgets()).await;
    let purged = holder.purge(100, Duration::ZERO).await;
    purged.expect("it does the periodic work");
    let (other, watch) = store(&directory, &options).await;
    put(&other, "another", &widgets()).await;
    for _ in 0..2 {
        let purged = other.purge(100, Duration::ZERO).await;
        purged.expect("it leaves it to the first one");
        other.see_to_dictionaries().await;
    }
    assert!(watch.count("dict.all") > 0, "it learns of others'");
    assert_eq!(watch.count("dict.sample"), 0);
}

#[tokio::test]
async fn who_found_what_another_trained_looks_for_more_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = options(Duration::from_secs(600));
    let (other, _) = store(&directory, &options).await;
    let (follower, watch) = store(&directory, &options).await;
    let of_widgets = put(&follower, "m", &widgets()).await.stream.resource;
    watch.count("dict.all");
    for looks in [1, 0] {
        follower.see_to_dictionaries().await;
        assert_eq!(watch.count("dict.all"), looks);
    }
    learn(&other, of_widgets).await;
    follower.follow_dictionaries().await.expect("followed");
    assert!(follower.families.of(of_widgets).mark().is_some());
    watch.count("dict.all");
    for looks in [1, 0] {
        follower.see_to_dictionaries().await;
        assert_eq!(watch.count("dict.all"), looks);
    }
}

#[tokio::test]
async fn of_types_that_are_dropped_nothing_stays_known() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, _) = store(&directory, &options(Duration::ZERO)).await;
    let of_widgets = put(&store, "m", &widgets()).await.stream.resource;
    let gadgets = resource("example.com", "gadgets", "Thing", true);
    let of_gadgets = put(&store, "m", &gadgets).await.stream.resource;
    store.see_to_dictionaries().await;
    assert_eq!(store.families.types().len(), 2);
    let now = Instant::now();
    for failing in [of_widgets, of_gadgets] {
        let sizes = vec![(failing.0, 1_000_000)];
        store.schedule.found(now, sizes);
        assert!(store.schedule.choose(now, &[]).is_some());
        store.schedule.failed(now);
    }
    let mut transaction = store.database.write().await.expect("a transaction");
    let dropped = Statement::fixed(
        "test.drop",
        "DELETE FROM type WHERE id <> ?",
        [of_widgets.0.into()],
    );
    transaction.execute(dropped).await.expect("dropped");
    transaction.commit().await.expect("committed");
    store.see_to_dictionaries().await;
    assert_eq!(store.families.types(), [of_widgets]);
    let known = [of_widgets, of_gadgets].map(|one| store.schedule.knows(one.0));
    assert_eq!(known, [true, false]);
}

#[tokio::test]
async fn a_dictionary_that_pages_need_is_read_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = options(Duration::from_secs(600));
    let (writer, _) = store(&directory, &options).await;
    let of_widgets = put(&writer, "m", &widgets()).await.stream.resource;
    learn(&writer, of_widgets).await;
    writer.follow_dictionaries().await.expect("followed");
    put(&writer, "another", &widgets()).await;

    let (reader, watch) = store(&directory, &options).await;
    for read in [1, 0] {
        let rows = Fixture::of(&reader)
            .rows(&Query::all(widgets().gvr), 1)
            .await;
        assert_eq!(rows.len(), 4);
        assert_eq!(watch.count("dict.several"), read);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_dictionary_is_told_and_its_objects_are_mended() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = options(Duration::from_secs(600));
    let (writer, _) = store(&directory, &options).await;
    let early = put(&writer, "m", &widgets()).await;
    learn(&writer, early.stream.resource).await;
    writer.follow_dictionaries().await.expect("followed");
    put(&writer, "another", &widgets()).await;
    let mut transaction = writer.database.write().await.expect("a transaction");
    let damage = "UPDATE dict SET bytes = SUBSTR(bytes, 1, 8) || X'ff'";
    let damage = Statement::fixed("test.damage", damage, []);
    transaction.execute(damage).await.expect("damaged");
    transaction.commit().await.expect("committed");

    let (anew, _) = store(&directory, &options).await;
    let place = || {
        let cluster = ClusterName::new("another").expect("a name");
        (cluster, ObjectKey::new("ns", "w-1"))
    };
    let read = async || {
        let (cluster, key) = place();
        anew.get(&cluster, &widgets().gvr, &key).await
    };
    let broken = read().await.expect_err("it cannot be unpacked").to_string();
    assert!(broken.ends_with("is damaged"), "{broken}");
    let faults = anew.check().await.expect("a report").faults;
    assert!(faults[0].ends_with("is damaged"), "{faults:?}");
    put(&anew, "third", &widgets()).await;
    assert_eq!(anew.mend().await.expect("mended").removed, 2);
    assert!(read().await.expect("no such object").is_none());
    let left = Statement::fixed("test.left", "SELECT COUNT(*) FROM dict", []);
    let mut reader = anew.database.write().await.expect("a transaction");
    let left = row(&mut *reader, left, |row| row.int(0)).await;
    reader.rollback().await.expect("ended");
    assert_eq!(left.expect("an answer"), Some(0));
    // Who knows it from before the damage packs nothing with it any more, and everybody begins anew.
    let changes = [Change::Put(object("ns", "w-3").body(body(3)).build())];
    let refused = Fixture::of(&writer).write(&early, changes).await;
    assert!(
        matches!(refused, Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    for ended in [writer, anew] {
        ended.shutdown().await;
    }

    let (last, _) = store(&directory, &options).await;
    put(&last, "another", &widgets()).await;
    let (cluster, key) = place();
    let found = last.get(&cluster, &widgets().gvr, &key).await;
    assert!(found.expect("a body").is_some());
    assert_eq!(last.check().await.expect("a report").faults, [""; 0]);
    last.shutdown().await;
}

#[test]
fn nothing_is_learnt_from_what_is_secret() {
    let core = |resource| may_be_learnt(&GroupVersionResource::new("", "v1", resource));
    assert_eq!(
        ["secrets", "configmaps", "pods"].map(core),
        [false, false, true]
    );
    assert!(may_be_learnt(&GroupVersionResource::new(
        "example.com",
        "v1",
        "configmaps"
    )));
}
