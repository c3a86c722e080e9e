//! Documents of discovery, made once for each set of types and kept while they are asked for. Clusters of the same types share theirs, and
//! neither health nor a cluster that comes or goes changes them. A type that the fleet had not, has no more or has described otherwise makes
//! all of them anew when they are next asked for: a set names its types, and how they are described is said in one place for all.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::{Catalog, ClusterEntry};
use moka::future::Cache;
use serde_json::Value;

use crate::answer::aside::aside;
use crate::answer::document::{Document, Written};

/// Bytes of documents that are kept. The aggregated document of 100 types has about 30 KiB, so those of some hundred sets of types
/// stay; the fleet's, which everybody asks for, always does.
const KEPT_BYTES: u64 = 16 << 20;
/// Those of types that are gone are asked for no more.
const KEPT_IDLE: Duration = Duration::from_secs(600);

/// What is said of a type, as its tree, as a text and in the document's tag, takes as long as to go through so many bytes: some 10 µs.
const A_TYPE: usize = 2 << 10;

/// The documents that have been made.
pub(super) struct Documents {
    kept: Cache<Key, Arc<Document>>,
    built: AtomicU64,
}

/// One document. Its path tells what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The types of its view; `None` for what the server says about itself.
    types: Option<TypesOf>,
    path: String,
    content_type: &'static str,
}

/// The types of a view: all that there are, and which of them a cluster has. The catalogue keeps what has not changed, so the same values are
/// known by their place, which nobody else gets while it is named here. What was in that place is held by those who use it alone.
#[derive(Clone, Debug)]
struct TypesOf {
    all: Weak<BTreeMap<GroupVersionResource, Arc<ResourceType>>>,
    chosen: Option<Weak<BTreeSet<Arc<GroupVersionResource>>>>,
}

impl TypesOf {
    fn places(&self) -> (usize, Option<usize>) {
        let chosen = self.chosen.as_ref();
        (
            self.all.as_ptr().addr(),
            chosen.map(|chosen| chosen.as_ptr().addr()),
        )
    }
}

impl PartialEq for TypesOf {
    fn eq(&self, other: &Self) -> bool {
        self.places() == other.places()
    }
}

impl Eq for TypesOf {}

impl Hash for TypesOf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.places().hash(state);
    }
}

impl Default for Documents {
    fn default() -> Self {
        let weight = |key: &Key, document: &Arc<Document>| {
            u32::try_from(key.path.len() + document.bytes.len()).unwrap_or(u32::MAX)
        };
        Self {
            kept: Cache::builder()
                .weigher(weight)
                .max_capacity(KEPT_BYTES)
                .time_to_idle(KEPT_IDLE)
                .build(),
            built: AtomicU64::new(0),
        }
    }
}

impl Documents {
    /// How many have been made.
    #[cfg(test)]
    pub(super) fn built(&self) -> u64 {
        self.built.load(Ordering::Relaxed)
    }

    /// A document below a view, which says something of so many types at most; `None` if the view has no such thing, which is not kept.
    pub(super) async fn of_view(
        &self,
        (catalog, cluster): (&Catalog, Option<&ClusterEntry>),
        path: String,
        written: Written,
        (listed, make): (usize, impl FnOnce() -> Option<Value>),
    ) -> Option<Arc<Document>> {
        let types = TypesOf {
            all: Arc::downgrade(&catalog.types),
            chosen: cluster.map(|entry| Arc::downgrade(&entry.resources)),
        };
        let size = listed.saturating_mul(A_TYPE);
        self.get(Some(types), path, written, (size, make)).await
    }

    /// A document about the server itself.
    pub(super) async fn own(
        &self,
        path: &str,
        written: Written,
        make: impl FnOnce() -> Value,
    ) -> Option<Arc<Document>> {
        let make = || Some(make());
        self.get(None, path.to_owned(), written, (A_TYPE, make))
            .await
    }

    /// Requests for the same document at the same time wait for one to make it. It is kept also where that one leaves: nothing is waited for once it is begun.
    async fn get(
        &self,
        types: Option<TypesOf>,
        path: String,
        written: Written,
        (size, make): (usize, impl FnOnce() -> Option<Value>),
    ) -> Option<Arc<Document>> {
        let key = Key {
            types,
            path,
            content_type: written.content_type,
        };
        let making = async {
            let document = || make().map(|value| Document::new(&value, written));
            let made = aside(size, document).await?;
            self.built.fetch_add(1, Ordering::Relaxed);
            Some(Arc::new(made))
        };
        self.kept.optionally_get_with(key, making).await
    }
}

#[cfg(test)]
mod tests;
