//! Stores in memory that keep what they are given, and fail when they are told to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_model::{ClusterLabels, ClusterName, ObjectKey, ResourceType};
use armadex_storage::{
    Batch, Change, ClusterId, Health, Holder, Joined, MemberPosition, Object, Phase, Purged, Rules,
    Sink, StoreError, StoredVersion, Stream, StreamState, Tenure, TypeId, Written,
};
use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The one type that these tests store.
pub(super) const TYPE: TypeId = TypeId(1);
/// Of which there may be objects beside.
const OTHERS: TypeId = TypeId(2);

#[derive(Default)]
pub(super) struct MemorySink {
    state: Mutex<Stored>,
    written: Notify,
}

#[derive(Default)]
pub(super) struct Stored {
    pub(super) rows: BTreeMap<ObjectKey, Object>,
    /// By which each of them was made, and those that went.
    made_by: BTreeMap<ObjectKey, Rules>,
    pub(super) position: Option<MemberPosition>,
    pub(super) epoch: i64,
    /// The type is kept: nobody is shown it before something is written.
    pub(super) hidden: bool,
    /// The type, while it is open; otherwise its rows wait for the purge and are not shown.
    open: Option<ResourceType>,
    /// Types that are stored beside it, with the same rows.
    pub(super) beside: Vec<ResourceType>,
    /// Objects of another type.
    pub(super) others: u64,
    /// Looks at how many there are.
    pub(super) looks: usize,
    /// By which all of the rows were made.
    rules: Rules,
    /// Writes that were tried.
    pub(super) writes: usize,
    /// When something was written.
    pub(super) written: Vec<Instant>,
    /// What the next writes answer instead of storing.
    pub(super) faults: VecDeque<StoreError>,
    /// How long after it was done a write answers.
    pub(super) late: Duration,
    /// A key that is always refused.
    pub(super) refused: Option<ObjectKey>,
    /// A key that is taken and not stored, as no store should.
    pub(super) lost: Option<ObjectKey>,
    /// Streams cannot be read.
    pub(super) unreadable: bool,
    /// The type is something else to other clusters.
    pub(super) differs: bool,
    /// Whoever reads versions panics.
    pub(super) panics: bool,
    /// Whoever reads keys is counted there.
    pub(super) comparing: Option<Arc<Comparing>>,
}

/// How many read keys at the same time, each of whom takes a while.
pub(super) struct Comparing {
    takes: Duration,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Comparing {
    pub(super) fn that_takes(takes: Duration) -> Arc<Self> {
        let (now, most) = Default::default();
        Arc::new(Self { takes, now, most })
    }

    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    async fn read(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        tokio::time::sleep(self.takes).await;
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stored {
    /// `namespace/name@version`, in order; nothing of a type that is closed.
    pub(super) fn shown(&self) -> Vec<String> {
        let row =
            |(key, object): (&ObjectKey, &Object)| format!("{key}@{}", object.resource_version);
        let rows = self
            .rows
            .iter()
            .filter(|_| self.open.is_some() && !self.hidden);
        rows.map(row).collect()
    }

    /// What a writer that opens the type is told, as [`Stream::position`] promises: `None` only where there is no row.
    fn resumable(&self, rules: Rules) -> Option<MemberPosition> {
        let of_no_list = || MemberPosition {
            resource_version: String::new(),
            member: String::new(),
            phase: Phase::Listing,
        };
        match self.position.clone() {
            Some(position) if self.rules.stream == rules.stream => Some(position),
            Some(position) => Some(MemberPosition {
                phase: Phase::Listing,
                ..position
            }),
            None => (!self.rows.is_empty()).then(of_no_list),
        }
    }

    /// One with the uid, the version and the rules that it has is left as it is.
    fn put(&mut self, object: Object, rules: Rules) -> Written {
        let mut written = Written::default();
        let key = object.key.clone();
        let former_rules = self.made_by.insert(key.clone(), rules);
        let former = self.rows.get(&key);
        written.bytes = object.body.len() as i64 - former.map_or(0, |row| row.body.len() as i64);
        match former {
            Some(former) if former.uid != object.uid => {
                (written.added, written.deleted) = (1, 1);
            }
            Some(former) => {
                let is_same = former.resource_version == object.resource_version
                    && former_rules.is_some_and(|former| former.form == rules.form);
                written.changed = u64::from(!is_same);
                written.unchanged = u64::from(is_same);
            }
            None => written.added = 1,
        }
        self.rows.insert(key, object);
        written
    }

    fn delete(&mut self, key: &ObjectKey) -> Written {
        let was = self.rows.remove(key);
        let was_there = was.is_some();
        Written {
            bytes: -was.map_or(0, |row| row.body.len() as i64),
            deleted: u64::from(was_there),
            unchanged: u64::from(!was_there),
            ..Written::default()
        }
    }

    /// What is stored was listed from another cluster.
    pub(super) fn is_of_another(&mut self) {
        let position = self.position.as_mut().expect("it was listed");
        position.member = "another".to_owned();
    }

    /// `Live@7`.
    pub(super) fn place(&self) -> String {
        self.position.as_ref().map_or_else(
            || "none".to_owned(),
            |position| format!("{:?}@{}", position.phase, position.resource_version),
        )
    }
}

impl MemorySink {
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Stored) -> T) -> T {
        work(&mut self.state.lock().unwrap())
    }

    /// Waits until it holds; says what is there instead if it does not come.
    #[track_caller]
    pub(super) fn until(
        &self,
        what: String,
        holds: impl Fn(&Stored) -> bool,
    ) -> impl Future<Output = ()> {
        self.until_within(Duration::from_secs(20), what, holds)
    }

    /// The same, for as long.
    #[track_caller]
    pub(super) fn until_within(
        &self,
        limit: Duration,
        what: String,
        holds: impl Fn(&Stored) -> bool,
    ) -> impl Future<Output = ()> {
        let wait = async move {
            loop {
                let written = self.written.notified();
                if self.with(|stored| holds(stored)) {
                    return;
                }
                written.await;
            }
        };
        async move {
            if tokio::time::timeout(limit, wait).await.is_err() {
                let (rows, place) = self.with(|stored| (stored.shown(), stored.place()));
                panic!("{what} did not come; there are {rows:?} at {place}");
            }
        }
    }
}

#[async_trait]
impl Sink for MemorySink {
    async fn join(&self, _: &ClusterName, _: &str, _: &str) -> Result<ClusterId, StoreError> {
        Ok(ClusterId(1))
    }

    async fn leave(&self, _: &ClusterName, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    async fn begin(&self, _: &str) -> Result<Tenure, StoreError> {
        Ok(Tenure(1))
    }

    async fn keep_alive(&self, _: &str, _: Tenure) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn set_health(
        &self,
        _: ClusterId,
        _: &str,
        _: &Health,
        _: Option<&str>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn set_labels(&self, _: ClusterId, _: &str, _: &ClusterLabels) -> Result<(), StoreError> {
        Ok(())
    }

    async fn open(
        &self,
        _: ClusterId,
        _: &str,
        resource: &ResourceType,
        rules: Rules,
    ) -> Result<Stream, StoreError> {
        self.with(|stored| {
            if stored.differs {
                let what = "a Pod is a Node elsewhere".to_owned();
                return Err(StoreError::Differs { what });
            }
            stored.epoch += 1;
            stored.open = Some(resource.clone());
            Ok(Stream {
                resource: TYPE,
                epoch: stored.epoch,
                objects: stored.rows.len() as u64,
                position: stored.resumable(rules),
                hidden: stored.hidden,
            })
        })
    }

    async fn write(&self, batch: Batch) -> Result<Written, StoreError> {
        let done = self.with(|stored| {
            stored.writes += 1;
            if let Some(fault) = stored.faults.pop_front() {
                return Err(fault);
            }
            if batch.epoch != stored.epoch || stored.open.is_none() {
                let what = "pods".to_owned();
                return Err(StoreError::Fenced { what });
            }
            let is_refused = |change: &&Change| {
                matches!(change, Change::Put(_)) && Some(change.key()) == stored.refused.as_ref()
            };
            if let Some(change) = batch.changes.iter().find(is_refused) {
                let (key, reason) = (change.key().clone(), "it is odd".to_owned());
                return Err(StoreError::Rejected { key, reason });
            }
            let lost = stored.lost.clone();
            let kept = |change: &Change| Some(change.key()) != lost.as_ref();
            let mut written = Written::default();
            for change in batch.changes.into_iter().filter(kept) {
                written += match change {
                    Change::Put(object) => stored.put(object, batch.rules),
                    Change::Delete(key) => stored.delete(&key),
                };
            }
            stored.hidden = false;
            stored.rules = match batch.whole {
                true => batch.rules,
                false => Rules {
                    stream: !batch.rules.stream,
                    ..batch.rules
                },
            };
            stored.position = batch.position.or(stored.position.take());
            stored.written.push(Instant::now());
            Ok(written)
        });
        self.written.notify_waiters();
        let late = self.with(|stored| stored.late);
        if !late.is_zero() {
            tokio::time::sleep(late).await;
        }
        done
    }

    async fn keys(
        &self,
        _: ClusterId,
        _: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<ObjectKey>, StoreError> {
        if let Some(comparing) = self.with(|stored| stored.comparing.clone()) {
            comparing.read().await;
        }
        let later = |key: &&ObjectKey| after.is_none_or(|after| *key > after);
        Ok(self.with(|stored| {
            let keys = stored.rows.keys().filter(later).cloned();
            keys.take(limit as usize).collect()
        }))
    }

    async fn versions(
        &self,
        _: ClusterId,
        _: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<StoredVersion>, StoreError> {
        assert!(!self.with(|stored| stored.panics), "as a test says");
        let later = |row: &&Object| after.is_none_or(|after| row.key > *after);
        let version = |row: &Object| StoredVersion {
            key: row.key.clone(),
            uid: row.uid.clone(),
            resource_version: row.resource_version.clone(),
            bytes: row.body.len() as u64,
        };
        Ok(self.with(|stored| {
            let rows = stored.rows.values().filter(later).map(version);
            rows.take(limit as usize).collect()
        }))
    }

    async fn streams(&self, _: ClusterId) -> Result<Vec<StreamState>, StoreError> {
        if self.with(|stored| stored.unreadable) {
            let reason = "it is away".to_owned();
            let source = reason.clone().into();
            return Err(StoreError::Unavailable { reason, source });
        }
        Ok(self.with(|stored| {
            stored.looks += 1;
            let types = stored.open.iter().chain(&stored.beside);
            let state = |resource: &ResourceType| StreamState {
                id: TYPE,
                resource: resource.clone(),
                position: stored.position.clone(),
                objects: stored.rows.len() as u64,
                is_beside: false,
            };
            let others = (stored.others > 0).then(|| StreamState {
                id: OTHERS,
                resource: super::type_of("nodes"),
                position: None,
                objects: stored.others,
                is_beside: false,
            });
            types.map(state).chain(others).collect()
        }))
    }

    async fn close(&self, _: ClusterId, _: &str, _: TypeId) -> Result<(), StoreError> {
        self.with(|stored| {
            stored.open = None;
            stored.position = None;
        });
        self.written.notify_waiters();
        Ok(())
    }

    async fn adopt(&self, _: &ClusterName, _: &str, _: &str) -> Result<ClusterId, StoreError> {
        Ok(ClusterId(1))
    }

    async fn clusters(&self) -> Result<Vec<Joined>, StoreError> {
        Ok(Vec::new())
    }

    async fn holder(&self, _: &ClusterName) -> Result<Option<Holder>, StoreError> {
        Ok(None)
    }

    async fn purge(&self, limit: u32, _: Duration) -> Result<Purged, StoreError> {
        Ok(self.with(|stored| {
            let closed = stored.open.is_none();
            let gone: Vec<_> = stored.rows.keys().cloned().collect();
            let gone = gone.into_iter().filter(|_| closed).take(limit as usize);
            let gone = gone.filter_map(|key| stored.rows.remove(&key)).count();
            Purged {
                objects: gone as u64,
                finished: !closed || stored.rows.is_empty(),
                ..Purged::default()
            }
        }))
    }
}

/// A store for each cluster, by its number.
pub(super) struct Sinks(pub(super) Vec<Arc<MemorySink>>);

impl Sinks {
    fn of(&self, cluster: ClusterId) -> &MemorySink {
        &self.0[usize::try_from(cluster.0).unwrap()]
    }
}

#[async_trait]
impl Sink for Sinks {
    async fn join(&self, _: &ClusterName, _: &str, _: &str) -> Result<ClusterId, StoreError> {
        Ok(ClusterId(0))
    }

    async fn leave(&self, _: &ClusterName, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    async fn begin(&self, _: &str) -> Result<Tenure, StoreError> {
        Ok(Tenure(1))
    }

    async fn keep_alive(&self, _: &str, _: Tenure) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn set_health(
        &self,
        _: ClusterId,
        _: &str,
        _: &Health,
        _: Option<&str>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn set_labels(&self, _: ClusterId, _: &str, _: &ClusterLabels) -> Result<(), StoreError> {
        Ok(())
    }

    async fn open(
        &self,
        cluster: ClusterId,
        owner: &str,
        resource: &ResourceType,
        rules: Rules,
    ) -> Result<Stream, StoreError> {
        self.of(cluster).open(cluster, owner, resource, rules).await
    }

    async fn write(&self, batch: Batch) -> Result<Written, StoreError> {
        self.of(batch.cluster).write(batch).await
    }

    async fn keys(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<ObjectKey>, StoreError> {
        self.of(cluster).keys(cluster, resource, after, limit).await
    }

    async fn versions(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<StoredVersion>, StoreError> {
        let sink = self.of(cluster);
        sink.versions(cluster, resource, after, limit).await
    }

    async fn streams(&self, cluster: ClusterId) -> Result<Vec<StreamState>, StoreError> {
        self.of(cluster).streams(cluster).await
    }

    async fn close(
        &self,
        cluster: ClusterId,
        owner: &str,
        resource: TypeId,
    ) -> Result<(), StoreError> {
        self.of(cluster).close(cluster, owner, resource).await
    }

    async fn adopt(&self, _: &ClusterName, _: &str, _: &str) -> Result<ClusterId, StoreError> {
        Ok(ClusterId(0))
    }

    async fn clusters(&self) -> Result<Vec<Joined>, StoreError> {
        Ok(Vec::new())
    }

    async fn holder(&self, _: &ClusterName) -> Result<Option<Holder>, StoreError> {
        Ok(None)
    }

    async fn purge(&self, _: u32, _: Duration) -> Result<Purged, StoreError> {
        Ok(Purged {
            finished: true,
            ..Purged::default()
        })
    }
}

/// What the double promises as every store does.
mod promises {
    use armadex_storage::conformance::streams::Writes;

    use super::*;

    async fn empty() -> Option<Writes> {
        Some((Arc::<MemorySink>::default(), Box::new(())))
    }

    armadex_storage::stream_conformance!(empty());
}
