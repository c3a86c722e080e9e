//! Documents of discovery, made once for each state of the clusters and types and kept while they are asked for. Health changes none of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use armadex_model::ClusterName;
use armadex_storage::Catalog;
use moka::future::Cache;
use serde_json::Value;

use crate::answer::document::{Document, Written};

/// Bytes of documents that are kept. The aggregated document of a cluster with 100 types has about 30 KiB, so those of some hundred
/// clusters stay; the fleet's, which everybody asks for, always does.
const KEPT_BYTES: u64 = 16 << 20;
/// Those of a catalog that is gone are asked for no more.
const KEPT_IDLE: Duration = Duration::from_secs(600);

/// The documents that have been made.
pub(super) struct Documents {
    kept: Cache<Key, Arc<Document>>,
    built: AtomicU64,
}

/// One document. Its path tells what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The generation of the catalog and the cluster of its view; `None` for what the server says about itself.
    view: Option<(u64, Option<ClusterName>)>,
    path: String,
    content_type: &'static str,
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

    /// A document below a view; `None` if the view has no such thing, which is not kept.
    pub(super) async fn of_view(
        &self,
        catalog: &Catalog,
        cluster: Option<&ClusterName>,
        path: String,
        written: Written,
        make: impl FnOnce() -> Option<Value>,
    ) -> Option<Arc<Document>> {
        let view = Some((catalog.generation, cluster.cloned()));
        self.get(view, path, written, make).await
    }

    /// A document about the server itself.
    pub(super) async fn own(
        &self,
        path: &str,
        written: Written,
        make: impl FnOnce() -> Value,
    ) -> Option<Arc<Document>> {
        self.get(None, path.to_owned(), written, || Some(make()))
            .await
    }

    /// Requests for the same document at the same time wait for one to make it.
    async fn get(
        &self,
        view: Option<(u64, Option<ClusterName>)>,
        path: String,
        written: Written,
        make: impl FnOnce() -> Option<Value>,
    ) -> Option<Arc<Document>> {
        let key = Key {
            view,
            path,
            content_type: written.content_type,
        };
        let making = async {
            let value = make()?;
            self.built.fetch_add(1, Ordering::Relaxed);
            Some(Arc::new(Document::new(&value, written)))
        };
        self.kept.optionally_get_with(key, making).await
    }
}

#[cfg(test)]
mod tests;
