//! What the cases are written with: an empty store, writers, objects.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use armadex_model::query::{Position, Start};
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query, ResourceType, Term};

use crate::{
    Batch, Change, ClusterId, Found, MemberPosition, Object, PageBudget, Phase, Rules, Search,
    Sink, StoreError, Stream, Written,
};

/// A store's check of itself: what is wrong, in words.
pub type Audit = Box<dyn Fn() -> BoxFuture<'static, Vec<String>> + Send + Sync>;

/// Both sides of an empty store.
pub struct Fixture {
    /// The write side.
    pub sink: Arc<dyn Sink>,
    /// The read side of the same store.
    pub search: Arc<dyn Search>,
    /// Tells what is wrong inside the store: an index that does not agree with its objects, for example.
    pub audit: Audit,
    /// The store's budgets are set to next to nothing, so that every answer takes many short pages.
    pub tiny: bool,
    /// Whatever must live as long as the store, a temporary directory for example.
    pub guard: Box<dyn Any + Send + Sync>,
}

/// A stream of a cluster that has joined.
#[derive(Clone, Debug)]
pub struct Writer {
    /// Its cluster.
    pub cluster: ClusterId,
    /// The stream.
    pub stream: Stream,
}

impl Fixture {
    /// Both sides of a store, with the budgets of every day; it has nothing to say of itself.
    pub fn of<S: Sink + Search>(store: &Arc<S>) -> Self {
        Self {
            sink: Arc::clone(store) as _,
            search: Arc::clone(store) as _,
            audit: Box::new(|| Box::pin(async { vec![] })),
            tiny: false,
            guard: Box::new(()),
        }
    }

    /// With what tells whether the store is sound.
    #[must_use]
    pub fn audited<F>(mut self, audit: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<String>> + Send + 'static,
    {
        self.audit = Box::new(move || Box::pin(audit()));
        self
    }

    /// With something that lives as long as the store.
    #[must_use]
    pub fn guarded(mut self, guard: impl Any + Send + Sync) -> Self {
        self.guard = Box::new(guard);
        self
    }

    /// Joins a cluster and opens its stream of pods.
    pub async fn pods_of(&self, cluster: &str) -> Writer {
        self.writer(cluster, &resource("", "pods", "Pod", true))
            .await
    }

    /// Joins a cluster and opens a stream.
    pub async fn writer(&self, cluster: &str, resource: &ResourceType) -> Writer {
        let cluster = self
            .sink
            .join(&name(cluster), "incarnation-1", "")
            .await
            .expect("joined");
        let stream = self
            .sink
            .open(cluster, "", resource, RULES)
            .await
            .expect("opened");
        Writer { cluster, stream }
    }

    /// Stores objects.
    pub async fn put(
        &self,
        writer: &Writer,
        objects: impl IntoIterator<Item = ObjectBuilder>,
    ) -> Written {
        let changes = objects
            .into_iter()
            .map(|object| Change::Put(object.build()));
        self.write(writer, changes).await.expect("written")
    }

    /// Deletes objects of a namespace.
    pub async fn delete(&self, writer: &Writer, namespace: &str, names: &[&str]) -> Written {
        let changes = names
            .iter()
            .map(|name| Change::Delete(ObjectKey::new(namespace, *name)));
        self.write(writer, changes).await.expect("written")
    }

    /// Stores changes that move no position.
    pub async fn write(
        &self,
        writer: &Writer,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<Written, StoreError> {
        self.sink.write(writer.batch(changes, None)).await
    }

    /// Every row of a query as `cluster/namespace/name`, read in pages of `rows`.
    pub async fn list(&self, query: &Query, rows: u32) -> Vec<String> {
        self.rows(query, rows).await.iter().map(path).collect()
    }

    /// How many rows a query has.
    pub async fn count(&self, query: &Query) -> u64 {
        match self.search.count(query).await.expect("a count") {
            Some(count) => count,
            // Too much work to tell is an answer where no work is allowed, and nowhere else.
            None if self.tiny => self.list(query, 100).await.len() as u64,
            None => panic!("no count of {query:?}"),
        }
    }

    /// The rows of a query from `start` on, at most `rows`: as many pages as that takes. `None` if the store refuses to go there.
    pub async fn rows_from(&self, query: &Query, start: &Start, rows: u32) -> Option<Vec<Found>> {
        let mut all: Vec<Found> = Vec::new();
        let mut start = start.clone();
        loop {
            let missing = rows - u32::try_from(all.len()).expect("few rows");
            let budget = PageBudget {
                rows: missing,
                bytes: usize::MAX,
            };
            let page = match self.search.page(query, &start, budget).await {
                Err(StoreError::Unsupported { .. }) if self.tiny => return None,
                page => page.expect("a page"),
            };
            all.extend(page.rows);
            match page.next {
                Some(position) if all.len() < rows as usize => {
                    start = Start::After(through_a_token(&position));
                }
                _ => return Some(all),
            }
        }
    }

    /// Every row of a query, read in pages of `rows`.
    pub async fn rows(&self, query: &Query, rows: u32) -> Vec<Found> {
        let budget = PageBudget {
            rows,
            bytes: usize::MAX,
        };
        let mut all = Vec::new();
        let mut start = Start::Beginning;
        for _ in 0..MOST_PAGES {
            let page = self
                .search
                .page(query, &start, budget)
                .await
                .expect("a page");
            assert!(
                page.rows.len() <= rows as usize,
                "a page is larger than asked"
            );
            all.extend(page.rows);
            match page.next {
                Some(position) => {
                    let next = Start::After(through_a_token(&position));
                    assert_ne!(next, start, "a page that leads nowhere: {query:#?}");
                    start = next;
                }
                None => return all,
            }
        }
        panic!("pages without end: {query:#?}");
    }

    /// Nothing is wrong inside the store.
    pub async fn assert_sound(&self) {
        let faults = (self.audit)().await;
        assert!(faults.is_empty(), "the store is not sound: {faults:#?}");
    }

    /// Purges until nothing is left, without any grace; how many objects went.
    pub async fn purge(&self, limit: u32) -> u64 {
        let mut objects = 0;
        loop {
            let purged = self
                .sink
                .purge(limit, Duration::ZERO)
                .await
                .expect("purged");
            objects += purged.objects;
            if purged.finished {
                return objects;
            }
        }
    }
}

impl Writer {
    /// A batch of this stream.
    pub fn batch(
        &self,
        changes: impl IntoIterator<Item = Change>,
        position: Option<MemberPosition>,
    ) -> Batch {
        Batch {
            cluster: self.cluster,
            resource: self.stream.resource,
            epoch: self.stream.epoch,
            rules: RULES,
            whole: true,
            changes: changes.into_iter().collect(),
            position,
        }
    }
}

/// What the objects of these cases are made by.
pub const RULES: Rules = Rules::of_all(1);

/// Far above what any case takes.
const MOST_PAGES: usize = 100_000;

/// A position travels as JSON inside a token.
pub fn through_a_token(position: &Position) -> Position {
    let text = serde_json::to_string(position).expect("positions are JSON");
    serde_json::from_str(&text).expect("and come back")
}

/// `cluster/namespace/name` of a row.
pub fn path(row: &Found) -> String {
    format!("{}/{}/{}", row.cluster, row.key.namespace, row.key.name)
}

/// A cluster's name.
pub fn name(cluster: &str) -> ClusterName {
    ClusterName::new(cluster).expect("a cluster name")
}

/// A position of a finished list.
pub fn live(version: &str) -> MemberPosition {
    MemberPosition {
        resource_version: version.into(),
        member: "member-uid".into(),
        phase: Phase::Live,
    }
}

/// A resource type of version `v1`.
pub fn resource(group: &str, plural: &str, kind: &str, namespaced: bool) -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new(group, "v1", plural),
        kind: kind.into(),
        namespaced,
        singular: kind.to_lowercase(),
        short_names: vec![],
        categories: vec!["all".into()],
    }
}

/// The type of pods.
pub fn pods() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "pods")
}

/// All pods.
pub fn all_pods() -> Query {
    Query::all(pods())
}

/// So many words that nothing built in packs and that all objects have, in an order of its own: a trained dictionary finds them. The same for ever.
pub fn words(number: usize, count: usize) -> String {
    let word = |of: usize| (of as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = (0..count).map(|at| format!("{:016x}", word((number * 7 + at * 11) % 80)));
    Vec::from_iter(words).join(" ")
}

/// An object to be stored.
#[derive(Clone, Debug)]
pub struct ObjectBuilder(Object);

/// An object with plausible values everywhere.
pub fn object(namespace: &str, name: &str) -> ObjectBuilder {
    ObjectBuilder(Object {
        key: ObjectKey::new(namespace, name),
        uid: format!("uid-of-{namespace}-{name}"),
        resource_version: "100".into(),
        created: 1_700_000_000,
        terms: vec![],
        body: format!(r#""name":"{name}","namespace":"{namespace}"}},"spec":{{}}}}"#).into(),
    })
}

impl ObjectBuilder {
    /// With another uid.
    #[must_use]
    pub fn uid(mut self, uid: &str) -> Self {
        self.0.uid = uid.into();
        self
    }

    /// With another resourceVersion.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        self.0.resource_version = version.into();
        self
    }

    /// Created at another time.
    #[must_use]
    pub fn created(mut self, seconds: i64) -> Self {
        self.0.created = seconds;
        self
    }

    /// With another body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.0.body = body.into().into();
        self
    }

    /// With one more label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.terms.push(Term::Label {
            key: key.into(),
            value: value.into(),
        });
        self.0.terms.push(Term::LabelKey { key: key.into() });
        self
    }

    /// With one more indexed field.
    #[must_use]
    pub fn field(mut self, path: &'static str, value: &str) -> Self {
        self.0.terms.push(Term::Field {
            path,
            value: value.into(),
        });
        self
    }

    /// With one more indexed field that nearly every object has a value of its own of.
    #[must_use]
    pub fn own_field(mut self, path: &'static str, value: &str) -> Self {
        self.0.terms.push(Term::OwnField {
            path,
            value: value.into(),
        });
        self
    }

    /// The object.
    #[must_use]
    pub fn build(self) -> Object {
        self.0
    }
}
