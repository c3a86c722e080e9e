//! The read side of a store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use armadex_model::query::{Position, Start};
use armadex_model::{
    ClusterLabels, ClusterName, GroupVersionResource, ObjectKey, Query, ResourceType,
};
use async_trait::async_trait;
use bytes::Bytes;

use crate::{Health, MemberPosition, SharedMap, StoreError};

/// What is in the store: clusters, their types and their health. Small, shared and immutable.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Every cluster that has joined and not left, by name.
    pub clusters: SharedMap<ClusterName, Arc<ClusterEntry>>,
    /// Every type that some cluster has, by what a URL names. The same value as before as long as none comes, goes or is described
    /// otherwise: what is made of types alone may be kept as long as it is.
    pub types: Arc<BTreeMap<GroupVersionResource, Arc<ResourceType>>>,
}

/// One cluster of the catalog.
#[derive(Clone, Debug)]
pub struct ClusterEntry {
    /// Whether its member answers; `None` before the first check.
    pub health: Option<Health>,
    /// The member's `gitVersion`, once known.
    pub version: Option<String>,
    /// By which searches choose it; clusters that have the same share one text.
    pub labels: ClusterLabels,
    /// The types that are stored of it; clusters that have the same share one set, and all sets the names.
    pub resources: Arc<BTreeSet<Arc<GroupVersionResource>>>,
}

/// The store's revision and the incarnation it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Commit order, without gaps.
    pub revision: i64,
    /// Changes when the database was restored or rewound: revisions of another incarnation mean nothing.
    pub incarnation: String,
}

/// How much one page may hold; whichever is reached first ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageBudget {
    /// Rows, at least 1.
    pub rows: u32,
    /// Bytes of bodies; at least one row is returned however large it is.
    pub bytes: usize,
}

/// One row of an answer.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its type.
    pub resource: Arc<ResourceType>,
    /// The cluster it lives in.
    pub cluster: ClusterName,
    /// Namespace and name.
    pub key: ObjectKey,
    /// The member's resourceVersion.
    pub resource_version: String,
    /// The store's revision of its last change.
    pub revision: i64,
    /// `metadata.creationTimestamp` in seconds since 1970.
    pub created: i64,
    /// The stored form; see [`armadex_model::body`].
    pub body: Bytes,
}

/// Some rows of an answer, in its order.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rows. A page has a budget of work beside that of rows: it may be short, or empty, although more follow.
    pub rows: Vec<Found>,
    /// Where the next page begins; `None` when no row is left. When `rows` is full, the store has looked one row further, so
    /// that a last full page is not followed by an empty one.
    pub next: Option<Position>,
    /// The store as the rows were read from it.
    pub head: Head,
    /// Rows and index blocks that were looked at to find these, and to count all if that was asked for: what the page cost, in a figure that no machine changes.
    pub looked_at: u64,
}

/// What an API server may ask of a store.
#[async_trait]
pub trait Search: Send + Sync + 'static {
    /// What is in the store now; cheap enough to call for every request.
    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError>;

    /// The store's revision.
    async fn head(&self) -> Result<Head, StoreError>;

    /// The rows of `query` from `start` on, as many as `budget` allows. Holds no transaction or connection afterwards.
    async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError>;

    /// A page as [`Search::page`] gives it, and how many rows the query has at the same moment: [`Search::count`].
    async fn counted_page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<(Page, Option<u64>), StoreError>;

    /// How many rows `query` has, without its order; `None` if it would take too much work to tell.
    async fn count(&self, query: &Query) -> Result<Option<u64>, StoreError>;

    /// One object, or `None`.
    async fn get(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
        key: &ObjectKey,
    ) -> Result<Option<Found>, StoreError>;

    /// Where a type of a cluster stands in its member; `None` where the type is not shown, or was not written since it was opened.
    async fn position(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
    ) -> Result<Option<MemberPosition>, StoreError>;

    /// Whether it follows another store, and may be behind what was read of that elsewhere: what is of a later revision is yet to come then. A store that follows
    /// none and is behind was rewound.
    fn follows(&self) -> bool {
        false
    }

    /// What the processes of one store have in common and nobody else knows: whoever keeps it from a client may have the client carry what it is not to read.
    fn secret(&self) -> [u8; 32];

    /// Whether the cluster has objects of any type in this namespace.
    async fn has_namespace(
        &self,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<bool, StoreError>;
}
