//! A store that panics when a test says so, as a defect in what asks it would, that is not available, or whose answer is late.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_model::{ClusterLabels, ClusterName, ObjectKey, ResourceType};
use armadex_storage::{
    Batch, ClusterId, Health, Holder, Joined, Purged, Rules, Sink, StoreError, StoredVersion,
    Stream, StreamState, Tenure, TypeId, Written,
};
use async_trait::async_trait;
use tokio::time::Instant;

type Answer<T> = Result<T, StoreError>;

/// A purge that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purge {
    pub(crate) at: Instant,
    pub(crate) limit: u32,
    pub(crate) grace: Duration,
}

/// The store cannot be written.
pub(crate) fn unavailable() -> StoreError {
    let reason = "the disk is full, as a test says".to_owned();
    let source = reason.clone().into();
    StoreError::Unavailable { reason, source }
}

pub(crate) struct BreakingSink {
    store: Arc<dyn Sink>,
    breaks: Mutex<BTreeSet<&'static str>>,
    /// Calls that break each time.
    broken: Mutex<BTreeSet<&'static str>>,
    /// How often calls are refused from now on.
    refusals: Mutex<BTreeMap<&'static str, usize>>,
    /// When purges were asked for, of how many rows, and with which grace.
    purges: Mutex<Vec<Purge>>,
    /// What comes of purges: these in turn, and nothing more after them. Without any the store is asked.
    purged: Mutex<Option<VecDeque<Answer<Purged>>>>,
    /// How long each waits for its turn.
    purges_wait: Mutex<Duration>,
    adoptions: AtomicUsize,
    /// How often clusters were to leave.
    leaves: AtomicUsize,
    /// How often an owner said that it lives.
    beats: AtomicUsize,
    /// Nothing can leave.
    keeps: AtomicBool,
    /// The next adoption is done, and not answered.
    swallows: AtomicBool,
    /// What is said of labels is done, and not answered.
    loses_labels: AtomicBool,
    /// Nothing comes of what is said of labels, and how often that was.
    hangs_at_labels: AtomicBool,
    hung_at_labels: AtomicUsize,
    is_of_other_rules: AtomicBool,
    /// How many objects were stored that had been, in another form or version.
    changed: AtomicU64,
}

impl BreakingSink {
    pub(super) fn new(store: Arc<dyn Sink>) -> Self {
        Self {
            store,
            breaks: Mutex::default(),
            broken: Mutex::default(),
            refusals: Mutex::default(),
            purges: Mutex::default(),
            purged: Mutex::default(),
            purges_wait: Mutex::default(),
            adoptions: AtomicUsize::new(0),
            leaves: AtomicUsize::new(0),
            beats: AtomicUsize::new(0),
            keeps: AtomicBool::new(false),
            swallows: AtomicBool::new(false),
            loses_labels: AtomicBool::new(false),
            hangs_at_labels: AtomicBool::new(false),
            hung_at_labels: AtomicUsize::new(0),
            is_of_other_rules: AtomicBool::new(false),
            changed: AtomicU64::new(0),
        }
    }

    /// Whether objects are stored by the rules of another release from now on.
    pub(crate) fn stores_by_other_rules(&self, is_so: bool) {
        self.is_of_other_rules.store(is_so, Ordering::Release);
    }

    fn rules(&self, rules: Rules) -> Rules {
        match self.is_of_other_rules.load(Ordering::Acquire) {
            true => Rules {
                form: rules.form ^ 1,
                stream: rules.stream ^ 1,
            },
            false => rules,
        }
    }

    /// How many objects were stored so far that had been, in another form or version.
    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Acquire)
    }

    /// The purges that were asked for.
    pub(crate) fn purges(&self) -> Vec<Purge> {
        self.purges.lock().expect("no panic within").clone()
    }

    /// What comes of purges from now on; nothing is left to purge after that.
    pub(crate) fn purges_come_to(&self, answers: impl IntoIterator<Item = Answer<Purged>>) {
        let answers = Some(answers.into_iter().collect());
        *self.purged.lock().expect("no panic within") = answers;
    }

    /// Each purge waits so long for its turn from now on.
    pub(crate) fn purges_wait_for(&self, turn: Duration) {
        *self.purges_wait.lock().expect("no panic within") = turn;
    }

    /// How many adoptions were asked for.
    pub(crate) fn adoptions(&self) -> usize {
        self.adoptions.load(Ordering::Acquire)
    }

    /// How often clusters were to leave.
    pub(crate) fn leaves(&self) -> usize {
        self.leaves.load(Ordering::Acquire)
    }

    /// How often an owner said that it lives, and was heard.
    pub(crate) fn beats(&self) -> usize {
        self.beats.load(Ordering::Acquire)
    }

    /// Whether clusters cannot leave from now on.
    pub(crate) fn keep(&self, keep: bool) {
        self.keeps.store(keep, Ordering::Release);
    }

    /// The answer to the next adoption never comes.
    pub(crate) fn swallow_an_adoption(&self) {
        self.swallows.store(true, Ordering::Release);
    }

    /// Whether that adoption was done.
    pub(crate) fn has_swallowed(&self) -> bool {
        !self.swallows.load(Ordering::Acquire)
    }

    /// Whether what is said of labels is done, and its answer lost, from now on.
    pub(crate) fn lose_answers_to_labels(&self, loses: bool) {
        self.loses_labels.store(loses, Ordering::Release);
    }

    /// Nothing comes of what is said of labels from now on.
    pub(crate) fn hang_at_labels(&self) {
        self.hangs_at_labels.store(true, Ordering::Release);
    }

    /// How often nothing came of it.
    pub(crate) fn hung_at_labels(&self) -> usize {
        self.hung_at_labels.load(Ordering::Acquire)
    }

    /// The next call of `join` or `adopt` panics.
    pub(crate) fn break_at(&self, call: &'static str) {
        self.breaks.lock().expect("no panic within").insert(call);
    }

    /// Every call panics from now on; `join`, `open`, `purge` and `streams` know how.
    pub(crate) fn keep_breaking(&self, call: &'static str) {
        self.broken.lock().expect("no panic within").insert(call);
    }

    /// No call panics any more.
    pub(crate) fn heal(&self) {
        self.broken.lock().expect("no panic within").clear();
    }

    /// The next calls of `adopt`, `begin`, `close`, `join`, `keep_alive`, `set_health`, `set_labels` or `streams`, so many of them, are refused.
    pub(crate) fn refuse(&self, call: &'static str, times: usize) {
        let mut refusals = self.refusals.lock().expect("no panic within");
        refusals.insert(call, times);
    }

    /// Whether so many were.
    pub(crate) fn has_refused(&self, call: &'static str) -> bool {
        let refusals = self.refusals.lock().expect("no panic within");
        refusals.get(call).is_none_or(|left| *left == 0)
    }

    /// Whether all that was to break has done so.
    pub(crate) fn has_broken(&self) -> bool {
        self.breaks.lock().expect("no panic within").is_empty()
    }

    fn admit(&self, call: &'static str) -> Answer<()> {
        let mut refusals = self.refusals.lock().expect("no panic within");
        match refusals.get_mut(call) {
            Some(left) if *left > 0 => {
                *left -= 1;
                Err(unavailable())
            }
            _ => Ok(()),
        }
    }

    /// What comes of the next purge, if a test says so.
    fn next_purged(&self) -> Option<Answer<Purged>> {
        let nothing = Purged {
            finished: true,
            ..Purged::default()
        };
        let mut purged = self.purged.lock().expect("no panic within");
        let answers = purged.as_mut()?;
        Some(answers.pop_front().unwrap_or(Ok(nothing)))
    }

    fn pass(&self, call: &'static str) {
        let once = self.breaks.lock().expect("no panic within").remove(call);
        let always = self.broken.lock().expect("no panic within").contains(call);
        let breaks = once || always;
        assert!(!breaks, "{call} breaks, as a test says");
    }
}

#[async_trait]
impl Sink for BreakingSink {
    async fn join(
        &self,
        cluster: &ClusterName,
        incarnation: &str,
        owner: &str,
    ) -> Answer<ClusterId> {
        self.pass("join");
        self.admit("join")?;
        self.store.join(cluster, incarnation, owner).await
    }

    async fn leave(&self, cluster: &ClusterName, incarnation: &str) -> Answer<()> {
        self.leaves.fetch_add(1, Ordering::AcqRel);
        if self.keeps.load(Ordering::Acquire) {
            return Err(unavailable());
        }
        self.store.leave(cluster, incarnation).await
    }

    async fn begin(&self, owner: &str) -> Answer<Tenure> {
        self.admit("begin")?;
        self.store.begin(owner).await
    }

    async fn keep_alive(&self, owner: &str, tenure: Tenure) -> Answer<bool> {
        self.admit("keep_alive")?;
        let lasts = self.store.keep_alive(owner, tenure).await?;
        self.beats.fetch_add(1, Ordering::AcqRel);
        Ok(lasts)
    }

    async fn adopt(
        &self,
        cluster: &ClusterName,
        incarnation: &str,
        member: &str,
    ) -> Answer<ClusterId> {
        self.pass("adopt");
        self.admit("adopt")?;
        self.adoptions.fetch_add(1, Ordering::AcqRel);
        let adopted = self.store.adopt(cluster, incarnation, member).await;
        if self.swallows.swap(false, Ordering::AcqRel) {
            std::future::pending::<()>().await;
        }
        adopted
    }

    async fn clusters(&self) -> Answer<Vec<Joined>> {
        self.store.clusters().await
    }

    async fn holder(&self, cluster: &ClusterName) -> Answer<Option<Holder>> {
        self.store.holder(cluster).await
    }

    async fn set_health(
        &self,
        cluster: ClusterId,
        owner: &str,
        health: &Health,
        version: Option<&str>,
    ) -> Answer<()> {
        self.admit("set_health")?;
        self.store.set_health(cluster, owner, health, version).await
    }

    async fn set_labels(
        &self,
        cluster: ClusterId,
        owner: &str,
        labels: &ClusterLabels,
    ) -> Answer<()> {
        self.admit("set_labels")?;
        if self.hangs_at_labels.load(Ordering::Acquire) {
            self.hung_at_labels.fetch_add(1, Ordering::AcqRel);
            std::future::pending::<()>().await;
        }
        self.store.set_labels(cluster, owner, labels).await?;
        match self.loses_labels.load(Ordering::Acquire) {
            true => Err(unavailable()),
            false => Ok(()),
        }
    }

    async fn open(
        &self,
        cluster: ClusterId,
        owner: &str,
        resource: &ResourceType,
        rules: Rules,
    ) -> Answer<Stream> {
        self.pass("open");
        let rules = self.rules(rules);
        self.store.open(cluster, owner, resource, rules).await
    }

    async fn write(&self, mut batch: Batch) -> Answer<Written> {
        batch.rules = self.rules(batch.rules);
        let written = self.store.write(batch).await?;
        self.changed.fetch_add(written.changed, Ordering::AcqRel);
        Ok(written)
    }

    async fn keys(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Answer<Vec<ObjectKey>> {
        self.store.keys(cluster, resource, after, limit).await
    }

    async fn versions(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Answer<Vec<StoredVersion>> {
        self.store.versions(cluster, resource, after, limit).await
    }

    async fn streams(&self, cluster: ClusterId) -> Answer<Vec<StreamState>> {
        self.pass("streams");
        self.admit("streams")?;
        self.store.streams(cluster).await
    }

    async fn close(&self, cluster: ClusterId, owner: &str, resource: TypeId) -> Answer<()> {
        self.admit("close")?;
        self.store.close(cluster, owner, resource).await
    }

    async fn purge(&self, limit: u32, grace: Duration) -> Answer<Purged> {
        let purge = Purge {
            at: Instant::now(),
            limit,
            grace,
        };
        self.purges.lock().expect("no panic within").push(purge);
        self.pass("purge");
        let turn = *self.purges_wait.lock().expect("no panic within");
        if !turn.is_zero() {
            tokio::time::sleep(turn).await;
        }
        match self.next_purged() {
            Some(answer) => answer,
            None => self.store.purge(limit, grace).await,
        }
    }
}
