//! The real store, which counts what is asked of it, and fails, stalls or changes when a test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use armadex_model::query::{Position, Start};
use armadex_model::{
    ClusterLabels, ClusterName, GroupVersionResource, ObjectKey, Query, ResourceType,
};
use armadex_storage::conformance::fixture::{live, name};
use armadex_storage::conformance::{Fixture, ObjectBuilder, Writer};
use armadex_storage::{
    Catalog, Change, Found, Head, Health, MemberPosition, Page, PageBudget, Search, StoreError,
};
use async_trait::async_trait;
use tokio::sync::watch;

use super::still::Still;

/// A store under watch.
pub(crate) struct Watched {
    store: Arc<dyn Search>,
    /// Both sides of the same store.
    fixture: Fixture,
    touched: Option<Touched>,
    writes: AtomicUsize,
    /// The read that fails, counted from one; none if zero.
    pub(crate) failing_page: AtomicUsize,
    /// The read before which something is written, counted from one; none if zero.
    pub(crate) writing_page: AtomicUsize,
    /// How many pages were read.
    pub(crate) pages: AtomicUsize,
    /// How many of them with a count of all rows.
    pub(crate) counts: AtomicUsize,
    /// Reads that find nothing before the first that does.
    pub(crate) empty_pages: AtomicUsize,
    /// How often the catalogue was read by itself.
    pub(crate) catalogs: AtomicUsize,
    /// How often the head was read.
    pub(crate) heads: AtomicUsize,
    /// How often it was asked whether a namespace is there.
    pub(crate) namespaces: AtomicUsize,
    /// The largest number of rows that was asked for at a time.
    pub(crate) largest_budget: AtomicUsize,
    /// The largest number of bytes that was asked for at a time.
    pub(crate) largest_bytes: AtomicUsize,
    /// Bytes of bodies that were read in pages.
    pub(crate) read_bytes: AtomicUsize,
    /// Searches that have begun: pages and counts.
    pub(crate) searches: AtomicUsize,
    /// While it is shut, a search that has begun goes no further.
    pub(crate) gate: watch::Sender<Gate>,
    /// The database is another one from now on.
    pub(crate) restored: AtomicBool,
    /// It is a replica from now on that lacks the last revision.
    pub(crate) behind: AtomicBool,
    /// What was known of the database is of a past that it does not have.
    pub(crate) rewound: AtomicBool,
}

/// What searches pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    Shut,
}

/// An object that a write changes, and its stream.
pub(super) struct Touched {
    pub(super) writer: Writer,
    pub(super) object: ObjectBuilder,
}

impl Watched {
    pub(super) fn new(fixture: Fixture, touched: Option<Touched>) -> Self {
        Self {
            store: Arc::clone(&fixture.search),
            fixture,
            touched,
            writes: AtomicUsize::new(0),
            failing_page: AtomicUsize::new(0),
            writing_page: AtomicUsize::new(0),
            pages: AtomicUsize::new(0),
            counts: AtomicUsize::new(0),
            empty_pages: AtomicUsize::new(0),
            catalogs: AtomicUsize::new(0),
            heads: AtomicUsize::new(0),
            namespaces: AtomicUsize::new(0),
            largest_budget: AtomicUsize::new(0),
            largest_bytes: AtomicUsize::new(0),
            read_bytes: AtomicUsize::new(0),
            searches: AtomicUsize::new(0),
            gate: watch::Sender::new(Gate::Open),
            restored: AtomicBool::new(false),
            behind: AtomicBool::new(false),
            rewound: AtomicBool::new(false),
        }
    }

    /// Changes the object that was written last. No list is longer or shorter for it.
    pub(crate) async fn write(&self) {
        let _still = Still::begin();
        let Touched { writer, object } = self.touched.as_ref().expect("an object");
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let object = object.clone().version(&format!("{}", 9000 + number));
        self.fixture.put(writer, [object]).await;
    }

    /// A cluster joins, if it has not, and has this type from now on.
    pub(crate) async fn open(&self, cluster: &str, resource: &ResourceType) {
        let _still = Still::begin();
        self.fixture.writer(cluster, resource).await;
    }

    /// A cluster leaves; nothing is written for it.
    pub(crate) async fn leave(&self, cluster: &str) {
        let _still = Still::begin();
        let cluster = name(cluster);
        let left = self.fixture.sink.leave(&cluster, "incarnation-1");
        left.await.expect("left");
    }

    /// A cluster that has joined is looked after.
    pub(crate) async fn set_health(&self, cluster: &str, health: &Health) {
        let _still = Still::begin();
        let sink = &self.fixture.sink;
        let id = sink.join(&name(cluster), "incarnation-1", "").await;
        let set = sink.set_health(id.expect("joined"), "", health, None).await;
        set.expect("described");
    }

    /// A cluster that has joined has these labels from now on.
    pub(crate) async fn set_labels(&self, cluster: &str, labels: &str) {
        let _still = Still::begin();
        let sink = &self.fixture.sink;
        let id = sink.join(&name(cluster), "incarnation-1", "").await;
        let labels = ClusterLabels::parse(labels);
        let set = sink.set_labels(id.expect("joined"), "", &labels).await;
        set.expect("labelled");
    }

    /// The revision that it is at.
    pub(crate) async fn revision(&self) -> i64 {
        let _still = Still::begin();
        self.store.head().await.expect("a head").revision
    }

    /// A search begins.
    async fn begin(&self) {
        self.searches.fetch_add(1, Ordering::Relaxed);
        self.pass().await;
    }

    /// Waits for the gate to be open. A paused clock goes on while it is shut.
    async fn pass(&self) {
        let mut gate = self.gate.subscribe();
        let opened = gate.wait_for(|gate| *gate == Gate::Open).await;
        opened.expect("the gate is there as long as the store");
    }

    /// What happens before a page is read.
    async fn before_page(&self, budget: PageBudget) -> Result<(), StoreError> {
        self.check()?;
        let read = self.pages.fetch_add(1, Ordering::Relaxed) + 1;
        if self.failing_page.load(Ordering::Relaxed) == read {
            return Err(StoreError::Broken {
                reason: "the test says so".to_owned(),
            });
        }
        if self.writing_page.load(Ordering::Relaxed) == read {
            self.write().await;
        }
        self.largest_budget
            .fetch_max(budget.rows as usize, Ordering::Relaxed);
        self.largest_bytes
            .fetch_max(budget.bytes, Ordering::Relaxed);
        Ok(())
    }

    /// What becomes of a page that was read.
    fn after_page(&self, query: &Query, mut page: Page) -> Page {
        let bytes = page.rows.iter().map(|found| found.body.len());
        self.read_bytes.fetch_add(bytes.sum(), Ordering::Relaxed);
        page.head = self.seen(page.head);
        let fewer = |left: usize| left.checked_sub(1);
        let empty = &self.empty_pages;
        if (empty.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer)).is_ok() {
            page.rows = Vec::new();
            page.next = Some(before_all(query));
        }
        page
    }

    /// The stream of the object that was written last has come to this version of the member's.
    pub(crate) async fn reach(&self, version: &str) {
        self.write_at(version, None).await;
    }

    /// The object that was written last is gone, as of this version of the member's.
    pub(crate) async fn delete(&self, version: &str) {
        let Touched { object, .. } = self.touched.as_ref().expect("an object");
        let key = object.clone().build().key;
        self.write_at(version, Some(Change::Delete(key))).await;
    }

    async fn write_at(&self, version: &str, change: Option<Change>) {
        let _still = Still::begin();
        let Touched { writer, .. } = self.touched.as_ref().expect("an object");
        let batch = writer.batch(change, Some(live(version)));
        self.fixture.sink.write(batch).await.expect("written");
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.rewound.load(Ordering::Relaxed) {
            true => Err(StoreError::Gone {
                reason: "the database was rewound".to_owned(),
            }),
            false => Ok(()),
        }
    }

    fn seen(&self, head: Head) -> Head {
        let lacks = i64::from(self.behind.load(Ordering::Relaxed));
        let head = Head {
            revision: head.revision - lacks,
            ..head
        };
        match self.restored.load(Ordering::Relaxed) {
            true => Head {
                incarnation: format!("after {}", head.incarnation),
                ..head
            },
            false => head,
        }
    }
}

/// A place that every row comes after.
fn before_all(query: &Query) -> Position {
    Position {
        keys: Vec::new(),
        resource: query.types[0].resource.clone(),
        cluster: String::new(),
        namespace: String::new(),
        name: String::new(),
    }
}

#[async_trait]
impl Search for Watched {
    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        let _still = Still::begin();
        self.catalogs.fetch_add(1, Ordering::Relaxed);
        self.check()?;
        self.store.catalog().await
    }

    async fn head(&self) -> Result<Head, StoreError> {
        self.pass().await;
        let _still = Still::begin();
        self.check()?;
        self.heads.fetch_add(1, Ordering::Relaxed);
        Ok(self.seen(self.store.head().await?))
    }

    async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        self.begin().await;
        let _still = Still::begin();
        self.before_page(budget).await?;
        let page = self.store.page(query, start, budget).await?;
        Ok(self.after_page(query, page))
    }

    async fn counted_page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<(Page, Option<u64>), StoreError> {
        self.begin().await;
        let _still = Still::begin();
        self.before_page(budget).await?;
        self.counts.fetch_add(1, Ordering::Relaxed);
        let (page, rows) = self.store.counted_page(query, start, budget).await?;
        Ok((self.after_page(query, page), rows))
    }

    async fn position(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
    ) -> Result<Option<MemberPosition>, StoreError> {
        let _still = Still::begin();
        self.check()?;
        self.store.position(cluster, resource).await
    }

    async fn count(&self, query: &Query) -> Result<Option<u64>, StoreError> {
        self.begin().await;
        let _still = Still::begin();
        self.check()?;
        self.store.count(query).await
    }

    async fn get(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
        key: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        let _still = Still::begin();
        self.check()?;
        self.store.get(cluster, resource, key).await
    }

    fn follows(&self) -> bool {
        self.behind.load(Ordering::Relaxed)
    }

    fn secret(&self) -> [u8; 32] {
        self.store.secret()
    }

    async fn has_namespace(
        &self,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<bool, StoreError> {
        let _still = Still::begin();
        self.check()?;
        self.namespaces.fetch_add(1, Ordering::Relaxed);
        self.store.has_namespace(cluster, namespace).await
    }
}
