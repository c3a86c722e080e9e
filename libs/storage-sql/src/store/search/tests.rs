//! What a page does beside the threads that serve. SQLite.

use armadex_model::NameFilter;
use armadex_model::label::{Operator, Requirement};
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, object};

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use futures::{FutureExt as _, poll};

use super::*;
use crate::aside::tests::HANDED_OVER;
use crate::backend::error::{Class, classified, collided};
use crate::backend::sqlite::SqliteDatabase;
use crate::backend::{Connection, Database, RowSink, SharedDatabase};
use crate::options::Options;
use crate::read::Tuning;
use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;

/// 2,000 pods of one namespace, most of them with two labels and one with a hundred.
async fn store(directory: &tempfile::TempDir) -> Arc<SqlStore> {
    let tuning = Tuning {
        // Three blocks are many.
        blocks: 16,
        ..Tuning::default()
    };
    let options = Options {
        tuning,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&directory.path().join("store.db"), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    let pod = |n: usize| {
        let pod = object("ns", &format!("p-{n:04}")).label("app", "web");
        let pod = pod.label("odd", if n.is_multiple_of(2) { "no" } else { "yes" });
        match n {
            0 => (0..100).fold(pod, |pod, label| pod.label(&format!("key-{label}"), "x")),
            _ => pod,
        }
    };
    fixture.put(&pods, (0..2000).map(pod)).await;
    store
}

/// How often a page hands work over to another thread.
async fn handed_over(store: &SqlStore, query: &Query, rows: u32) -> usize {
    let before = HANDED_OVER.get();
    let budget = PageBudget {
        rows,
        bytes: usize::MAX,
    };
    let page = store.page(query, &Start::Beginning, budget).await;
    page.expect("a page");
    HANDED_OVER.get() - before
}

fn labelled(labels: Vec<Requirement>) -> Query {
    Query {
        labels,
        ..all_pods()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_one_label_excludes_is_passed_over_however_large_it_is() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(store(&directory).await);
    let tuning = Tuning {
        // Those of the label are more.
        blocks: 4,
        ..Tuning::default()
    };
    let options = Options {
        tuning,
        ..Options::default()
    };
    let path = directory.path().join("store.db");
    let store = SqlStore::sqlite(&path, &options).await.expect("a store");
    let no_web = Requirement {
        key: "app".to_owned(),
        operator: Operator::NotIn(["web".to_owned()].into()),
    };
    let query = labelled(vec![no_web]);
    let budget = PageBudget {
        rows: 500,
        bytes: usize::MAX,
    };
    let page = store.page(&query, &Start::Beginning, budget).await;
    let page = page.expect("a page");
    assert_eq!((page.rows.len(), page.next.is_none()), (0, true));
    assert!(page.looked_at < 100, "{}", page.looked_at);
    assert_eq!(store.count(&query).await.expect("a count"), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_long_is_done_in_other_threads() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory).await;
    let web = Requirement::is_in("app", ["web"]);
    let odd = Requirement::is_in("odd", ["yes"]);
    let none_of = |n: usize| Requirement {
        key: format!("key-{n}"),
        operator: Operator::NotIn((0..150).map(|value| value.to_string()).collect()),
    };
    let named = Query {
        names: NameFilter::only("p-0000"),
        ..labelled((0..60).map(none_of).collect())
    };
    for (what, query, rows, expected) in [
        ("one row", all_pods(), 1, 0),
        ("all bodies", all_pods(), 2000, 1),
        ("the blocks of a label", labelled(vec![web.clone()]), 1, 1),
        (
            "two labels and what they have in common",
            labelled(vec![web, odd]),
            1,
            2,
        ),
        ("a hundred labels and nine thousand values", named, 1, 1),
    ] {
        let handed_over = handed_over(&store, &query, rows).await;
        assert!(handed_over >= expected, "{what}: {handed_over}");
        assert!(expected > 0 || handed_over == 0, "{what}: {handed_over}");
    }
}

/// A database of which the first statements of one name collide with another transaction.
struct Colliding {
    inner: SharedDatabase,
    statement: &'static str,
    left: Arc<AtomicUsize>,
    meets: fn() -> StoreError,
}

#[async_trait]
impl Database for Colliding {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        Ok(Box::new(CollidingTransaction {
            inner: self.inner.read(lane).await?,
            statement: self.statement,
            left: Arc::clone(&self.left),
            meets: self.meets,
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

struct CollidingTransaction {
    inner: Box<dyn Transaction>,
    statement: &'static str,
    left: Arc<AtomicUsize>,
    meets: fn() -> StoreError,
}

#[async_trait]
impl Connection for CollidingTransaction {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.inner.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let collides = |left: usize| left.checked_sub(1);
        if statement.name == self.statement
            && self
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, collides)
                .is_ok()
        {
            return Err((self.meets)());
        }
        self.inner.fetch(statement, each).await
    }
}

#[async_trait]
impl Transaction for CollidingTransaction {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.rollback().await
    }
}

/// A store of one pod `ns/one` in cluster `m`, and how many of its readers are still to meet something.
async fn colliding(
    directory: &tempfile::TempDir,
    meets: fn() -> StoreError,
) -> (Arc<SqlStore>, Arc<AtomicUsize>) {
    let options = Options::default();
    let path = directory.path().join("store.db");
    let inner = SqliteDatabase::open(&path, &options)
        .await
        .expect("a database");
    let left = Arc::new(AtomicUsize::new(0));
    let database = Colliding {
        inner: Arc::new(inner),
        statement: "head.select",
        left: Arc::clone(&left),
        meets,
    };
    let store = SqlStore::start(Arc::new(database), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "one")]).await;
    (store, left)
}

/// What one read meets, as when a table is changed meanwhile, is nothing for a client to hear of.
#[tokio::test]
async fn a_read_that_collides_is_done_once_more() {
    let directory = tempfile::tempdir().expect("a directory");
    let newer = || collided("a table is newer than the snapshot");
    let (store, left) = colliding(&directory, newer).await;
    let (name, query) = ("m".parse().expect("a name"), all_pods());
    let gvr = &query.types[0].resource;
    let key = ObjectKey::new("ns", "one");
    let budget = PageBudget {
        rows: 1,
        bytes: 1 << 20,
    };
    for (collisions, succeeds) in [(1, true), (2, false)] {
        let collide = || left.store(collisions, Ordering::SeqCst);
        let start = Start::Beginning;
        collide();
        assert_eq!(store.catalog().await.is_ok(), succeeds);
        collide();
        assert_eq!(store.head().await.is_ok(), succeeds);
        collide();
        assert_eq!(store.page(&query, &start, budget).await.is_ok(), succeeds);
        collide();
        assert_eq!(
            store.counted_page(&query, &start, budget).await.is_ok(),
            succeeds
        );
        collide();
        assert_eq!(store.count(&query).await.is_ok(), succeeds);
        collide();
        assert_eq!(store.get(&name, gvr, &key).await.is_ok(), succeeds);
        collide();
        assert_eq!(store.position(&name, gvr).await.is_ok(), succeeds);
        collide();
        let there = store.has_namespace(&name, "ns").await;
        assert_eq!(there.is_ok_and(|there| there), succeeds);
        assert_eq!(left.load(Ordering::SeqCst), 0);
    }
}

/// Those before may wait as long as the database hangs.
#[tokio::test]
async fn where_the_store_is_known_not_to_answer_nobody_stands_in_line_for_the_catalogue() {
    let directory = tempfile::tempdir().expect("a directory");
    let away = || classified("a read", sqlx::Error::RowNotFound, Class::Passing);
    let (store, left) = colliding(&directory, away).await;
    let connections =
        (0..Options::default().short_readers).map(|_| store.database.read(Lane::Short));
    let taken = join_all(connections).await;
    assert!(taken.iter().all(Result::is_ok));
    let mut before = store.catalog();
    assert!(poll!(&mut before).is_pending());
    assert!(store.availability().reads);
    assert!(poll!(store.catalog()).is_pending(), "who comes later waits");
    left.store(1, Ordering::SeqCst);
    // Over a connection of another kind.
    store.count(&all_pods()).await.expect_err("it is away");
    assert!(!store.availability().reads);
    let refused = store.catalog().now_or_never().expect("an answer at once");
    assert!(refused.is_err_and(|err| err.is_told()));
}

/// Who has waited for a lock as long as one may holds a connection that others wait for.
#[tokio::test]
async fn a_read_that_has_waited_for_a_lock_does_not_wait_once_more() {
    let directory = tempfile::tempdir().expect("a directory");
    let waited = || classified("a read", sqlx::Error::RowNotFound, Class::Waited);
    let (store, left) = colliding(&directory, waited).await;
    left.store(2, Ordering::SeqCst);
    assert!(store.head().await.is_err());
    assert_eq!(left.load(Ordering::SeqCst), 1);
}
