//! A fleet as the store sees it: clusters, the types of each, and one object of each type.

use anyhow::{Result, ensure};
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, ResourceType};
use armadex_storage::{Batch, Change, ClusterId, Object, Rules, Sink, Stream};
use armadex_storage_sql::SqlStore;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};

pub(super) const RULES: Rules = Rules::of_all(1);
/// Clusters that come at the same time.
const AT_ONCE: usize = 16;

/// How large it is, and how different its clusters are.
pub(super) struct Fleet {
    pub(super) clusters: usize,
    pub(super) kinds: usize,
    pub(super) sets: usize,
}

impl Fleet {
    /// Whether there are as many sets.
    pub(super) fn check(&self) -> Result<()> {
        let Self {
            clusters,
            kinds,
            sets,
        } = self;
        // Two kinds that are no further apart than half of all are missing from a set, or none.
        let most = 1 + kinds * (kinds.saturating_sub(1) / 2);
        ensure!(
            *sets >= 1 && *sets <= most && sets <= clusters,
            "--sets takes 1 to {}",
            most.min(*clusters)
        );
        Ok(())
    }

    /// One of the kinds.
    pub(super) fn kind(&self, number: usize) -> ResourceType {
        ResourceType {
            gvr: GroupVersionResource::new("bench.armadex.io", "v1", format!("kind{number:03}s")),
            kind: format!("Kind{number:03}"),
            namespaced: true,
            singular: format!("kind{number:03}"),
            short_names: vec![],
            categories: vec![],
        }
    }

    /// Whether a cluster has a kind. Those of the first set have all.
    fn has(&self, cluster: usize, kind: usize) -> bool {
        let Some(set) = (cluster % self.sets).checked_sub(1) else {
            return true;
        };
        let first = set % self.kinds;
        let second = (first + 1 + set / self.kinds) % self.kinds;
        kind != first && kind != second
    }

    /// The cluster of a number.
    pub(super) async fn join(&self, store: &SqlStore, number: usize) -> Result<ClusterId> {
        let name = ClusterName::new(&format!("member-{number:06}"))?;
        Ok(store.join(&name, "incarnation", "bench").await?)
    }

    /// Puts all of it into a store.
    pub(super) async fn fill(&self, store: &SqlStore) -> Result<()> {
        let clusters = (0..self.clusters).map(|number| self.fill_cluster(store, number));
        stream::iter(clusters)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    async fn fill_cluster(&self, store: &SqlStore, number: usize) -> Result<()> {
        let cluster = self.join(store, number).await?;
        let kinds = (0..self.kinds).filter(|&kind| self.has(number, kind));
        let kinds = kinds.map(|kind| async move {
            let stream = store
                .open(cluster, "bench", &self.kind(kind), RULES)
                .await?;
            match number {
                0 => write(store, cluster, stream).await,
                _ => Ok(()),
            }
        });
        stream::iter(kinds)
            .buffer_unordered(self.kinds)
            .try_collect()
            .await
    }
}

async fn write(store: &SqlStore, cluster: ClusterId, stream: Stream) -> Result<()> {
    let object = Object {
        key: ObjectKey::new("default", "one"),
        uid: "00000000-0000-4000-8000-000000000001".to_owned(),
        resource_version: "1".to_owned(),
        created: 1_600_000_000,
        terms: vec![],
        body: Bytes::from_static(br#"{"metadata":{"name":"one","namespace":"default"}}"#),
    };
    let batch = Batch {
        cluster,
        resource: stream.resource,
        rules: RULES,
        epoch: stream.epoch,
        whole: true,
        changes: vec![Change::Put(object)],
        position: None,
    };
    store.write(batch).await?;
    Ok(())
}
