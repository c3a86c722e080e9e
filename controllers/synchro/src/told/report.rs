//! How one stream is doing: written by the stream, read when the status is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use armadex_crds::conditions::ResourceSyncReason;
use armadex_crds::{ResourceAudit, ResourceSyncStatus};
use armadex_model::ObjectKey;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::stream::place::Place;

/// Skipped objects that are named; of the others only the number is told.
const NAMED_OBJECTS: usize = 5;
/// Skipped objects that are known by their key, so that an audit does not miss them. More would be listed for and compared once.
const LEFT_OUT: usize = 1000;
/// Of all their keys: names of a hundred bytes. Names may be ten times as long.
const LEFT_OUT_BYTES: usize = 128 << 10;
/// Of those of all streams, of which a process may have thousands.
const ALL_LEFT_OUT_BYTES: usize = 8 << 20;
/// Of those of one cluster: eight streams that are full. A member that has more kinds of such objects takes nothing of what others have left.
const CLUSTER_LEFT_OUT_BYTES: usize = ALL_LEFT_OUT_BYTES / 8;
/// What those of all streams take.
static OF_THE_PROCESS: AtomicUsize = AtomicUsize::new(0);
/// Between two log lines about objects of one stream that are left out: a member may have one that changes all the time.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Before the same trouble is told in other words.
const RESTATED: Duration = Duration::from_secs(60);

/// The state of one stream, shared by the stream and its cluster's status.
#[derive(Debug)]
pub(crate) struct Report {
    state: Mutex<State>,
    place: Place,
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    progress: Progress,
    left_out: LeftOut,
    /// When it was told how the stream fails.
    failed: Option<Instant>,
    /// When an object was told of that is left out.
    told: Option<Instant>,
    /// Skipped objects since then.
    untold: u64,
}

/// Keys of skipped objects.
#[derive(Debug)]
struct LeftOut {
    keys: BTreeSet<ObjectKey>,
    bytes: usize,
    share: Arc<LeftOutShare>,
}

/// What the keys of all streams of one cluster take, beside those of all clusters.
#[derive(Debug)]
pub(crate) struct LeftOutShare {
    own: AtomicUsize,
    all: &'static AtomicUsize,
}

impl Default for LeftOutShare {
    fn default() -> Self {
        Self::beside(&OF_THE_PROCESS)
    }
}

impl LeftOutShare {
    fn beside(all: &'static AtomicUsize) -> Self {
        Self {
            own: AtomicUsize::new(0),
            all,
        }
    }

    /// Whether there is room for so many bytes, which are taken then.
    fn takes(&self, bytes: usize) -> bool {
        if !adds_within(CLUSTER_LEFT_OUT_BYTES, &self.own, bytes) {
            return false;
        }
        let fits = adds_within(ALL_LEFT_OUT_BYTES, self.all, bytes);
        if !fits {
            self.own.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    fn gives_back(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn adds_within(most: usize, held: &AtomicUsize, bytes: usize) -> bool {
    let others = held.fetch_add(bytes, Ordering::Relaxed);
    let fits = others + bytes <= most;
    if !fits {
        held.fetch_sub(bytes, Ordering::Relaxed);
    }
    fits
}

impl LeftOut {
    fn within(share: Arc<LeftOutShare>) -> Self {
        Self {
            keys: BTreeSet::new(),
            bytes: 0,
            share,
        }
    }

    fn insert(&mut self, key: &ObjectKey) {
        let bytes = bytes_of(key);
        let fits = self.keys.len() < LEFT_OUT && self.bytes + bytes <= LEFT_OUT_BYTES;
        if !fits || self.keys.contains(key) || !self.share.takes(bytes) {
            return;
        }
        self.keys.insert(key.clone());
        self.bytes += bytes;
    }

    fn remove(&mut self, key: &ObjectKey) {
        if self.keys.remove(key) {
            let bytes = bytes_of(key);
            self.bytes -= bytes;
            self.share.gives_back(bytes);
        }
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.share.gives_back(std::mem::take(&mut self.bytes));
    }
}

impl Drop for LeftOut {
    fn drop(&mut self) {
        self.clear();
    }
}

fn bytes_of(key: &ObjectKey) -> usize {
    size_of::<ObjectKey>() + key.namespace.len() + key.name.len()
}

/// The state of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// State in one word.
    pub(crate) status: ResourceSyncStatus,
    /// Why, in one word.
    pub(crate) reason: Option<ResourceSyncReason>,
    /// Why, in words.
    pub(crate) message: String,
    /// The first list is not finished.
    pub(crate) initial_list: bool,
    /// Since when `status` is what it is.
    pub(crate) since: Timestamp,
    /// What came of the last audit since the stream began.
    pub(crate) audit: Option<ResourceAudit>,
    store_fails: Option<String>,
    standing: Option<Box<Standing>>,
    skipped: BTreeMap<Option<ObjectKey>, String>,
    skipped_beyond: u64,
}

/// What keeps a stream from working while it lists and begins to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Standing {
    words: String,
    since: Timestamp,
}

impl Report {
    /// A stream of a cluster that has no other.
    #[cfg(test)]
    pub(crate) fn new(changed: Arc<Notify>, now: Timestamp) -> Self {
        Self::within(Arc::default(), changed, now)
    }

    /// A stream that is about to begin; `changed` is told of everything that a status should show. The streams of its cluster have `share` together.
    pub(super) fn within(share: Arc<LeftOutShare>, changed: Arc<Notify>, now: Timestamp) -> Self {
        let progress = Progress {
            status: ResourceSyncStatus::Pending,
            reason: Some(ResourceSyncReason::SynchroCreating),
            message: String::new(),
            initial_list: true,
            since: now,
            audit: None,
            store_fails: None,
            standing: None,
            skipped: BTreeMap::new(),
            skipped_beyond: 0,
        };
        Self {
            state: Mutex::new(State {
                progress,
                left_out: LeftOut::within(share),
                failed: None,
                told: None,
                untold: 0,
            }),
            place: Place::default(),
            changed,
        }
    }

    /// What to show.
    pub(crate) fn shown(&self) -> Progress {
        self.lock().progress.shown()
    }

    /// How far the stream has brought the store.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// What the member has and the stream did not store, on purpose.
    pub(crate) fn left_out(&self) -> BTreeSet<ObjectKey> {
        self.lock().left_out.keys.clone()
    }

    /// The copy was compared with the member.
    pub(crate) fn audited(&self, audit: ResourceAudit) {
        self.change(|progress| progress.audit = Some(audit));
    }

    /// The stream began.
    pub(crate) fn started(&self) {
        self.works();
        self.listing_goes();
    }

    /// The first page of a list is coming in.
    pub(crate) fn listing_goes(&self) {
        self.set(ResourceSyncStatus::Pending, None, String::new());
    }

    /// A list began; what was skipped is found anew.
    pub(crate) fn listing(&self) {
        self.lock().left_out.clear();
        self.change(|progress| {
            progress.initial_list = true;
            progress.skipped.clear();
            progress.skipped_beyond = 0;
        });
    }

    /// All that the list had is stored.
    pub(crate) fn listed(&self) {
        self.change(|progress| progress.initial_list = false);
    }

    /// A watch was established.
    pub(crate) fn syncing(&self) {
        self.lock().progress.initial_list = false;
        self.set(ResourceSyncStatus::Syncing, None, String::new());
    }

    /// A list or a watch failed. What goes on failing is not told in other words each time: errors name ports.
    pub(crate) fn failed(&self, words: String) {
        let reason = Some(ResourceSyncReason::ResourceWatchFailed);
        let mut state = self.lock();
        let stands = state.progress.status == ResourceSyncStatus::Error
            && state
                .failed
                .is_some_and(|failed| failed.elapsed() < RESTATED);
        if stands {
            return;
        }
        state.failed = Some(Instant::now());
        drop(state);
        self.set(ResourceSyncStatus::Error, reason, words);
    }

    /// The cluster has as many objects as it may have.
    pub(crate) fn full(&self, words: String) {
        let reason = Some(ResourceSyncReason::TooManyObjects);
        self.set(ResourceSyncStatus::Error, reason, words);
    }

    /// It fails in a way that does not end when a list comes in or a watch begins: that is told until it [works](Self::works).
    pub(crate) fn stands(&self, words: String) {
        self.change(|progress| {
            let known = progress.standing.take();
            let since = known.map_or_else(Timestamp::now, |known| known.since);
            progress.standing = Some(Box::new(Standing { words, since }));
        });
    }

    /// The stream works.
    pub(crate) fn works(&self) {
        let stands = self.lock().progress.standing.is_some();
        if stands {
            self.change(|progress| progress.standing = None);
        }
    }

    /// The stream does not run.
    pub(crate) fn stopped(&self, reason: Option<ResourceSyncReason>, words: &str) {
        self.lock().progress.store_fails = None;
        self.set(ResourceSyncStatus::Stop, reason, words.to_owned());
    }

    /// The store does not take what the stream has.
    pub(crate) fn store_fails(&self, words: String) {
        self.change(|progress| progress.store_fails = Some(words));
    }

    /// The store took something. Whether it had failed before.
    pub(crate) fn store_works(&self) -> bool {
        let fails = self.lock().progress.store_fails.is_some();
        fails && self.change(|progress| progress.store_fails.take().is_some())
    }

    /// An object is left out. If that is to be told in the log: how many have been since the last time.
    pub(crate) fn skipped(&self, key: Option<ObjectKey>, reason: String) -> Option<u64> {
        let told = self.leave_out(key.as_ref());
        self.change(|progress| {
            if progress.skipped.len() < NAMED_OBJECTS || progress.skipped.contains_key(&key) {
                progress.skipped.insert(key, reason);
            } else {
                progress.skipped_beyond += 1;
            }
        });
        told
    }

    /// Whether an object is left out.
    pub(crate) fn leaves_out(&self) -> bool {
        let state = self.lock();
        let progress = &state.progress;
        !progress.skipped.is_empty() || progress.skipped_beyond > 0
    }

    /// An object is stored, or gone: it is no longer one that is left out.
    pub(crate) fn settled(&self, key: &ObjectKey) {
        let mut state = self.lock();
        let State {
            progress, left_out, ..
        } = &mut *state;
        left_out.remove(key);
        let was_named =
            !progress.skipped.is_empty() && progress.skipped.remove(&Some(key.clone())).is_some();
        drop(state);
        if was_named {
            self.changed.notify_one();
        }
    }

    fn leave_out(&self, key: Option<&ObjectKey>) -> Option<u64> {
        let mut state = self.lock();
        if let Some(key) = key {
            state.left_out.insert(key);
        }
        state.untold += 1;
        if state.told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
            return None;
        }
        state.told = Some(Instant::now());
        Some(std::mem::take(&mut state.untold))
    }

    fn set(&self, status: ResourceSyncStatus, reason: Option<ResourceSyncReason>, message: String) {
        self.change(|progress| {
            if progress.status != status {
                progress.since = Timestamp::now();
            }
            progress.status = status;
            progress.reason = reason;
            progress.message = message;
        });
    }

    /// Tells of a change that can be seen. A watch that is renewed every five minutes is none, and a status is not made anew for it.
    fn change<T>(&self, change: impl FnOnce(&mut Progress) -> T) -> T {
        let mut state = self.lock();
        let before = state.progress.shown();
        let done = change(&mut state.progress);
        let is_news = state.progress.shown() != before;
        drop(state);
        if is_news {
            self.changed.notify_one();
        }
        done
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// A failing store counts before everything, what stands before what seems to go well, a skipped object after everything else.
    fn shown(&self) -> Self {
        let mut shown = self.clone();
        if let Some(words) = &self.store_fails {
            shown.status = ResourceSyncStatus::Stop;
            shown.reason = Some(ResourceSyncReason::StorageException);
            shown.message = words.clone();
        } else if let (Some(standing), ResourceSyncStatus::Pending | ResourceSyncStatus::Syncing) =
            (&self.standing, self.status)
        {
            shown.status = ResourceSyncStatus::Error;
            shown.reason = Some(ResourceSyncReason::ResourceWatchFailed);
            shown.message.clone_from(&standing.words);
            shown.since = standing.since;
        } else if self.status == ResourceSyncStatus::Syncing && !self.skipped.is_empty() {
            shown.reason = Some(ResourceSyncReason::ObjectSkipped);
            shown.message = self.skipped_words();
        }
        shown
    }

    fn skipped_words(&self) -> String {
        let named = self.skipped.iter().map(|(key, reason)| match key {
            Some(key) => format!("{key} is not stored: {reason}"),
            None => format!("an object is not stored: {reason}"),
        });
        let mut words = named.collect::<Vec<_>>().join("; ");
        if self.skipped_beyond > 0 {
            words.push_str(&format!("; and {} more", self.skipped_beyond));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn report() -> Report {
        Report::new(Arc::default(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_watch_that_is_renewed_is_no_news() {
        let report = report();
        let news = || report.changed.notified().now_or_never().is_some();
        report.syncing();
        assert!(news());
        report.syncing();
        report.listed();
        assert!(!news());
        report.failed("refused".into());
        assert!(news());
        report.failed("refused".into());
        assert!(!news());
        report.syncing();
        assert!(news());
    }

    #[test]
    fn a_skipped_object_is_named_until_it_is_settled() {
        let report = report();
        let key = ObjectKey::new("n", "big");
        report.skipped(Some(key.clone()), "it is too large".into());
        assert_eq!(report.shown().message, "", "only while all else goes well");
        report.syncing();
        let shown = report.shown();
        assert_eq!(shown.reason, Some(ResourceSyncReason::ObjectSkipped));
        assert_eq!(shown.message, "n/big is not stored: it is too large");
        report.settled(&key);
        assert_eq!(report.shown().reason, None);
    }

    #[test]
    fn what_is_left_out_is_known_beyond_what_is_named_until_a_list_finds_it_anew() {
        let report = report();
        for index in 0..2 * LEFT_OUT {
            let key = ObjectKey::new("n", index.to_string());
            report.skipped(Some(key), "no".into());
        }
        assert_eq!(report.left_out().len(), LEFT_OUT);
        let key = ObjectKey::new("n", "7");
        report.settled(&key);
        assert!(!report.left_out().contains(&key));
        report.listing();
        assert!(report.left_out().is_empty());
    }

    #[test]
    fn what_is_left_out_is_bounded_in_bytes() {
        let report = report();
        for index in 0..LEFT_OUT {
            report.skipped(Some(long(index)), "no".into());
        }
        let bytes: usize = report.left_out().iter().map(bytes_of).sum();
        assert!(
            (LEFT_OUT_BYTES - 3000..=LEFT_OUT_BYTES).contains(&bytes),
            "{bytes}"
        );
        report.settled(&long(0));
        report.skipped(Some(long(LEFT_OUT)), "no".into());
        assert!(
            report.left_out().contains(&long(LEFT_OUT)),
            "there is room again"
        );
    }

    fn long(index: usize) -> ObjectKey {
        ObjectKey::new("n".repeat(1000), format!("{index:01000}"))
    }

    /// So many streams of a cluster, each of which leaves out as much as it may.
    fn full(cluster: &Arc<LeftOutShare>, streams: usize) -> Vec<LeftOut> {
        let full = |_| {
            let mut stream = LeftOut::within(Arc::clone(cluster));
            (0..LEFT_OUT).for_each(|index| stream.insert(&long(index)));
            stream
        };
        (0..streams).map(full).collect()
    }

    fn held<'a>(streams: impl IntoIterator<Item = &'a LeftOut>) -> usize {
        streams.into_iter().map(|stream| stream.bytes).sum()
    }

    #[test]
    fn a_cluster_that_leaves_out_much_takes_no_room_of_others() {
        static ALL: AtomicUsize = AtomicUsize::new(0);
        let [hostile, healthy] = [(); 2].map(|()| Arc::new(LeftOutShare::beside(&ALL)));
        let of_hostile = full(&hostile, 100);
        let bytes = held(&of_hostile);
        let most = CLUSTER_LEFT_OUT_BYTES;
        assert!((most - 3000..=most).contains(&bytes), "{bytes}");
        let of_healthy = full(&healthy, 1);
        assert!(held(&of_healthy) > LEFT_OUT_BYTES - 3000);
    }

    #[test]
    fn what_all_streams_leave_out_is_bounded_together() {
        static ALL: AtomicUsize = AtomicUsize::new(0);
        let cluster = |_| full(&Arc::new(LeftOutShare::beside(&ALL)), 10);
        let mut streams: Vec<_> = (0..10).flat_map(cluster).collect();
        let bytes = held(&streams);
        assert_eq!(bytes, ALL.load(Ordering::Relaxed));
        let most = ALL_LEFT_OUT_BYTES;
        assert!((most - 3000..=most).contains(&bytes), "{bytes}");
        let mut last = streams.pop().expect("a stream");
        assert!(last.keys.is_empty());
        streams[0].remove(&long(0));
        streams[1].clear();
        drop(streams.remove(2));
        last.insert(&long(7));
        assert!(last.keys.contains(&long(7)), "there is room again");
        drop((streams, last));
        assert_eq!(ALL.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_goes_on_failing_says_so_in_other_words_once_a_minute() {
        let report = report();
        let mut told = BTreeSet::new();
        for port in 40_000..40_240 {
            report.failed(format!("10.0.0.7:{port}: connection refused"));
            told.insert(report.shown().message);
            tokio::time::advance(Duration::from_millis(500)).await;
        }
        assert_eq!(told.len(), 2, "in two minutes");
        report.syncing();
        report.failed("forbidden".into());
        assert_eq!(report.shown().message, "forbidden");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_left_out_again_and_again_is_a_line_a_minute() {
        let report = report();
        let key = ObjectKey::new("n", "changes");
        let mut lines = Vec::new();
        for _ in 0..600 {
            lines.extend(report.skipped(Some(key.clone()), "no".into()));
            report.settled(&key);
            tokio::time::advance(Duration::from_millis(200)).await;
        }
        assert_eq!(lines, [1, 300], "in two minutes");
    }

    #[test]
    fn the_number_of_named_objects_is_bounded() {
        let report = report();
        report.syncing();
        for index in 0..100 {
            report.skipped(Some(ObjectKey::new("n", index.to_string())), "no".into());
        }
        let message = report.shown().message;
        assert!(message.ends_with("; and 95 more"), "{message}");
    }

    #[test]
    fn a_failing_store_hides_the_state_until_it_works() {
        let report = report();
        report.syncing();
        report.store_fails("the store is not available".into());
        assert_eq!(report.shown().status, ResourceSyncStatus::Stop);
        report.store_works();
        assert_eq!(report.shown().status, ResourceSyncStatus::Syncing);
    }
}
