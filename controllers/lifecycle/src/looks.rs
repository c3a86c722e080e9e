//! Looks after which nothing was left to do, and what they saw. Platforms write the status of a source object again and again: where its templates
//! read nothing of that and all else is as it was, another look would come to the same and is spared.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, Weak},
};

use armadex_control_plane::lock;
use armadex_crds::{PediaCluster, PediaClusterLifecycle};
use armadex_policy::{Found, Interest, Readiness, template::Reads};

/// By the name of the lifecycle.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<HashMap<String, Arc<Seen>>>);

/// What was looked up, and what was there.
#[derive(Clone, Debug)]
pub(crate) struct Sighted {
    pub(crate) interest: Interest,
    /// A watch gives the very same value as long as the object is the same. Held weakly: it is not kept for this.
    pub(crate) found: Weak<Found>,
}

/// What a look saw.
#[derive(Debug)]
pub(crate) struct Seen {
    lifecycle: Weak<PediaClusterLifecycle>,
    /// As a hash.
    cluster: u64,
    source: Interest,
    reads: Arc<Reads>,
    /// What they read, as a hash.
    read: u64,
    references: Vec<Sighted>,
}

impl Seen {
    /// Of a lifecycle and its PediaCluster; the source comes first of what was sighted. Nothing if it is not there.
    pub(crate) fn new(
        lifecycle: &Arc<PediaClusterLifecycle>,
        cluster: &PediaCluster,
        reads: &Arc<Reads>,
        sighted: &[Sighted],
    ) -> Option<Self> {
        let (source, references) = sighted.split_first()?;
        let found = source.found.upgrade()?;
        Some(Self {
            lifecycle: Arc::downgrade(lifecycle),
            cluster: digest(cluster),
            source: source.interest.clone(),
            read: reads.digest(&found.object.read()),
            reads: reads.clone(),
            references: references.to_vec(),
        })
    }

    fn is_so(&self, lifecycle: &Arc<PediaClusterLifecycle>, cluster: &PediaCluster) -> bool {
        let source = found(&self.source).filter(|source| !source.deleting);
        let reads_the_same =
            |source: Arc<Found>| self.reads.digest(&source.object.read()) == self.read;
        self.lifecycle.as_ptr() == Arc::as_ptr(lifecycle)
            && source.is_some_and(reads_the_same)
            && self.references.iter().all(Sighted::is_so)
            && digest(cluster) == self.cluster
    }
}

impl Sighted {
    fn is_so(&self) -> bool {
        let found = found(&self.interest);
        let is_same = found.is_some_and(|found| Arc::as_ptr(&found) == self.found.as_ptr());
        is_same && self.interest.watch.trouble().is_none()
    }
}

impl Looks {
    /// Whether a look at them would see what the last one saw. Takes its time, as what is read of the source is.
    pub(crate) fn are_same(
        &self,
        name: &str,
        lifecycle: &Arc<PediaClusterLifecycle>,
        cluster: Option<&PediaCluster>,
    ) -> bool {
        match (self.last(name), cluster) {
            (Some(seen), Some(cluster)) => seen.is_so(lifecycle, cluster),
            _ => false,
        }
    }

    /// Nothing was left to do after this.
    pub(crate) fn remember(&self, name: &str, seen: Seen) {
        lock(&self.0).insert(name.to_owned(), Arc::new(seen));
    }

    pub(crate) fn forget(&self, name: &str) {
        lock(&self.0).remove(name);
    }

    /// What the last look saw, if nothing was left to do after it.
    pub(crate) fn last(&self, name: &str) -> Option<Arc<Seen>> {
        lock(&self.0).get(name).cloned()
    }
}

fn found(interest: &Interest) -> Option<Arc<Found>> {
    let object = interest.object.as_ref()?;
    let is_listed = interest.watch.readiness() == Readiness::Listed;
    is_listed.then(|| interest.watch.get(object)).flatten()
}

/// Of all but the version, which the synchro's statuses change.
fn digest(cluster: &PediaCluster) -> u64 {
    let mut cluster = cluster.clone();
    cluster.metadata.resource_version = None;
    let text = serde_json::to_string(&cluster).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
