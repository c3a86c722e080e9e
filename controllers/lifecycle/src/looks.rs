//! Looks after which nothing was left to do, and what they saw. Platforms write the status of a source object again and again: where its templates
//! read nothing of that and all else is as it was, another look would come to the same and is spared.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, Weak},
};

use armadex_control_plane::lock;
use armadex_crds::{PediaCluster, PediaClusterLifecycle};
use armadex_policy::{Counters, Found, Interest, Readiness, template::Reads};

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
    /// Of all but its version, as a hash.
    cluster: u64,
    source: Interest,
    reads: Arc<Reads>,
    /// What they read, as a hash.
    read: u64,
    references: Vec<Sighted>,
    same: Mutex<Same>,
}

/// What was found to be no other: the rest of them need not be looked at.
#[derive(Debug)]
struct Same {
    cluster: Weak<PediaCluster>,
    /// The parts of the source that something is read of, as a hash.
    parts: u64,
}

impl Seen {
    /// Of a lifecycle and its PediaCluster; the source comes first of what was sighted, and `read` is a hash of what templates read of it. Nothing if it
    /// is not there.
    pub(crate) fn new(
        lifecycle: &Arc<PediaClusterLifecycle>,
        cluster: &Arc<PediaCluster>,
        (reads, read): (&Arc<Reads>, u64),
        sighted: &[Sighted],
    ) -> Option<Self> {
        let (source, references) = sighted.split_first()?;
        let found = source.found.upgrade()?;
        let same = Same {
            cluster: Arc::downgrade(cluster),
            parts: found.object.fields().digest(reads),
        };
        Some(Self {
            lifecycle: Arc::downgrade(lifecycle),
            cluster: digest(cluster),
            source: source.interest.clone(),
            read,
            reads: reads.clone(),
            references: references.to_vec(),
            same: Mutex::new(same),
        })
    }

    fn is_so(
        &self,
        lifecycle: &Arc<PediaClusterLifecycle>,
        cluster: &Arc<PediaCluster>,
        counters: &Counters,
    ) -> bool {
        self.lifecycle.as_ptr() == Arc::as_ptr(lifecycle)
            && self.references.iter().all(Sighted::is_so)
            && self.is_of_cluster(cluster)
            && found(&self.source).is_some_and(|source| self.reads_the_same(&source, counters))
    }

    fn is_of_cluster(&self, cluster: &Arc<PediaCluster>) -> bool {
        if lock(&self.same).cluster.as_ptr() == Arc::as_ptr(cluster) {
            return true;
        }
        let is_same = digest(cluster) == self.cluster;
        if is_same {
            lock(&self.same).cluster = Arc::downgrade(cluster);
        }
        is_same
    }

    /// The source is parsed where a part has changed that something is read of.
    fn reads_the_same(&self, source: &Found, counters: &Counters) -> bool {
        if source.deleting {
            return false;
        }
        let parts = source.object.fields().digest(&self.reads);
        if lock(&self.same).parts == parts {
            return true;
        }
        counters.parses();
        let is_same = source.object.lacks(&self.reads).is_none()
            && self.reads.digest(&source.object.read()) == self.read;
        if is_same {
            lock(&self.same).parts = parts;
        }
        is_same
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
    /// Whether a look at them would see what the last one saw. May take its time.
    pub(crate) fn are_same(
        &self,
        name: &str,
        lifecycle: &Arc<PediaClusterLifecycle>,
        cluster: Option<&Arc<PediaCluster>>,
        counters: &Counters,
    ) -> bool {
        match (self.last(name), cluster) {
            (Some(seen), Some(cluster)) => seen.is_so(lifecycle, cluster, counters),
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
