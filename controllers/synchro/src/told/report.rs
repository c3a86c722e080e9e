//! How one stream is doing: written by the stream, read when the status is made.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use armadex_crds::conditions::ResourceSyncReason;
use armadex_crds::{ResourceAudit, ResourceSyncStatus};
use armadex_model::{GroupVersionResource, ObjectKey};
use armadex_storage::Written;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::incoming::convert::Converted;
use crate::incoming::involved::Involved;
use crate::lock::lock;
use crate::stream::place::Place;
use crate::told::left_out::{Kept, LeftOut, LeftOutShare, Skipped};
use crate::told::tally::{Listing, Mark, Rows, Tally};

/// Between two log lines about objects of one stream that are left out: a member may have one that changes all the time.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Of a list that goes on.
const UNTOLD: &str =
    "the first list comes in, and the member does not tell how many objects it has";

/// Before the same trouble is told in other words.
const RESTATED: Duration = Duration::from_secs(60);

/// A member that asks to wait for so long, again and again, has more than a moment's trouble.
const ASKS_FOR_LONG: Duration = Duration::from_secs(300);

/// The state of one stream, shared by the stream and its cluster's status.
#[derive(Debug)]
pub(crate) struct Report {
    state: Mutex<State>,
    place: Place,
    /// Of Events, if not all are kept: those that are.
    involved: Option<Arc<Involved>>,
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    progress: Progress,
    left_out: LeftOut,
    /// When it was told how the stream fails.
    failed: Option<Instant>,
    /// Since when the member has asked to wait, and when that was told.
    waits: Option<(Instant, Instant)>,
    /// When an object was told of that is left out.
    told: Option<Instant>,
    /// Skipped objects since then.
    untold: u64,
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
    /// The member serves an older version than the stored one.
    pub(crate) converted: Option<Arc<Converted>>,
    /// What is stored. That it becomes another is told with what changes next, or by and by.
    pub(crate) tally: Tally,
    /// How far a list is whose end nobody has seen yet.
    pub(crate) listing: Option<Listing>,
    store_fails: Option<String>,
    standing: Option<Box<Standing>>,
    skipped: Skipped,
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
        Self::within(Arc::default(), changed, Tally::default(), now)
    }

    /// A stream that is about to begin; `changed` is told of everything that a status should show. The streams of its cluster have `share` together, and `tally` is
    /// what others have counted of it.
    pub(super) fn within(
        share: Arc<LeftOutShare>,
        changed: Arc<Notify>,
        tally: Tally,
        now: Timestamp,
    ) -> Self {
        let progress = Progress {
            status: ResourceSyncStatus::Pending,
            reason: Some(ResourceSyncReason::SynchroCreating),
            message: String::new(),
            initial_list: true,
            since: now,
            audit: None,
            converted: None,
            tally,
            listing: None,
            store_fails: None,
            standing: None,
            skipped: Skipped::default(),
        };
        Self {
            state: Mutex::new(State {
                progress,
                left_out: LeftOut::within(share),
                failed: None,
                waits: None,
                told: None,
                untold: 0,
            }),
            place: Place::default(),
            involved: None,
            changed,
        }
    }

    /// The same of a stream that converts like this.
    pub(super) fn of_converted(self, converted: Option<Arc<Converted>>) -> Self {
        self.lock().progress.converted = converted;
        self
    }

    /// The same of one that keeps these Events alone.
    pub(crate) fn of_involved(self, involved: Option<Arc<Involved>>) -> Self {
        Self { involved, ..self }
    }

    /// The kinds whose Events its stream keeps, if it is one of Events and leaves others out.
    pub(crate) fn involved(&self) -> Option<&Arc<Involved>> {
        self.involved.as_ref()
    }

    /// What to show.
    pub(crate) fn shown(&self) -> Progress {
        self.lock().progress.shown()
    }

    /// What the member is asked for by the stream of this type.
    pub(crate) fn asked(&self, stored: &GroupVersionResource) -> GroupVersionResource {
        let converted = self.lock().progress.converted.clone();
        converted.map_or_else(|| stored.clone(), |converted| converted.served().clone())
    }

    /// How far the stream has brought the store.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Whether its list or its watch fails, or is held up: what is shown is an error.
    pub(crate) fn fails(&self) -> bool {
        let state = self.lock();
        let Progress {
            status,
            store_fails,
            standing,
            ..
        } = &state.progress;
        let stands = listing_or_watching(*status) && standing.is_some();
        store_fails.is_none() && (stands || *status == ResourceSyncStatus::Error)
    }

    /// What the member has and the stream did not store, on purpose.
    pub(crate) fn left_out(&self) -> BTreeSet<ObjectKey> {
        self.lock().left_out.keys().clone()
    }

    /// The copy was compared with the member. That is told with what changes next, at the latest with the end of the audit: a status of a hundred kinds would
    /// be written for each of them.
    pub(crate) fn audited(&self, audit: ResourceAudit) {
        self.lock().progress.audit = Some(audit);
    }

    /// The store has given the stream so many objects, which are these.
    pub(crate) fn opened(&self, objects: u64, rows: Rows) {
        self.change(|progress| {
            progress.tally.opened(objects, rows);
            progress.initial_list &= rows != Rows::Listed;
        });
    }

    /// What was hidden, and is all that a list of the member had, is shown.
    pub(crate) fn is_shown(&self) {
        self.change(|progress| {
            progress.tally.is_shown();
            progress.initial_list = false;
        });
    }

    /// Who the member is may be another than before.
    pub(super) fn is_in_doubt(&self) {
        self.change(|progress| progress.tally.is_in_doubt());
    }

    /// A batch goes to the store.
    pub(crate) fn writes(&self) {
        self.lock().progress.tally.writes();
    }

    /// A batch was stored.
    pub(crate) fn wrote(&self, written: Written) {
        let now = Timestamp::now();
        self.lock().progress.tally.wrote(written, now);
    }

    /// All is stored that the member had then.
    pub(crate) fn proved(&self, then: Timestamp) {
        self.lock().progress.tally.proved(then);
    }

    /// The member was asked then how far it is, and a watch follows; `None`: none that goes by it.
    pub(crate) fn checked(&self, then: Option<Timestamp>) {
        self.lock().progress.tally.checked(then);
    }

    /// The watch after that has brought all that there was.
    pub(crate) fn check_holds(&self) {
        self.lock().progress.tally.check_holds();
    }

    /// Where what is counted stands.
    pub(crate) fn mark(&self) -> Mark {
        self.lock().progress.tally.mark()
    }

    /// What was stored then was added up.
    pub(crate) fn weighs(&self, bytes: u64, since: Mark) {
        self.lock().progress.tally.weighs(bytes, since);
    }

    /// The store was seen to have so many objects after that.
    pub(crate) fn counted(&self, objects: u64, since: Mark) {
        self.lock().progress.tally.counted(objects, since);
    }

    /// What is counted, for a stream that goes on with it.
    pub(super) fn tally(&self) -> Tally {
        self.lock().progress.tally.clone()
    }

    /// The stream began.
    pub(crate) fn started(&self) {
        self.works();
        self.listing_goes();
    }

    /// The first page of a list is coming in.
    pub(crate) fn listing_goes(&self) {
        self.lock().waits = None;
        self.set(ResourceSyncStatus::Pending, None, String::new());
    }

    /// A list began; what was skipped is found anew.
    pub(crate) fn listing(&self) {
        self.lock().left_out.clear();
        self.change(|progress| {
            progress.initial_list = true;
            progress.listing = None;
            progress.tally.listing();
            progress.skipped = Skipped::default();
        });
    }

    /// A page of a list is stored, after which others come: so many objects of it have come in, and so many are left, if the member tells.
    pub(crate) fn list_goes_on(&self, listed: u64, left: Option<u64>) {
        self.change(|progress| {
            let listing = Listing::of(listed, left);
            // The number of all objects becomes another with each page, which alone is no news.
            if progress.listing.map(Listing::percent) != Some(listing.percent()) {
                progress.listing = Some(listing);
            }
        });
    }

    /// All that the list had is stored.
    pub(crate) fn listed(&self) {
        // When that was is no news.
        self.lock().progress.tally.listed(Timestamp::now());
        self.change(|progress| {
            progress.initial_list = false;
            progress.listing = None;
        });
    }

    /// A watch was established.
    pub(crate) fn syncing(&self) {
        let mut state = self.lock();
        state.progress.initial_list = false;
        state.waits = None;
        drop(state);
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

    /// The member asks to wait with a list or a watch: no failure, unless it goes on so. How long it asks for is not told anew each time.
    pub(crate) fn waits(&self, words: String) {
        let now = Instant::now();
        let mut state = self.lock();
        let (since, told) = *state.waits.get_or_insert((now, now));
        if now - since >= ASKS_FOR_LONG {
            drop(state);
            self.failed(words);
            return;
        }
        if told == now || now - told >= RESTATED {
            state.waits = Some((since, now));
            drop(state);
            self.set(ResourceSyncStatus::Pending, None, words);
        }
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
        let (told, kept) = self.leave_out(key.as_ref());
        self.change(|progress| progress.skipped.add(key, reason, kept));
        told
    }

    /// Whether an object is left out.
    pub(crate) fn leaves_out(&self) -> bool {
        !self.lock().progress.skipped.is_empty()
    }

    /// An object is stored, or gone: it is no longer one that is left out.
    pub(crate) fn settled(&self, key: &ObjectKey) {
        let mut state = self.lock();
        let State {
            progress, left_out, ..
        } = &mut *state;
        let was_kept = left_out.remove(key);
        let is_news = progress.skipped.settle(key, was_kept);
        drop(state);
        if is_news {
            self.changed.notify_one();
        }
    }

    fn leave_out(&self, key: Option<&ObjectKey>) -> (Option<u64>, Kept) {
        let mut state = self.lock();
        let kept = key.map_or(Kept::Not, |key| state.left_out.insert(key));
        state.untold += 1;
        if state.told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
            return (None, kept);
        }
        state.told = Some(Instant::now());
        (Some(std::mem::take(&mut state.untold)), kept)
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
        lock(&self.state)
    }
}

/// Whether a stream with this status goes, as far as it knows.
const fn listing_or_watching(status: ResourceSyncStatus) -> bool {
    matches!(
        status,
        ResourceSyncStatus::Pending | ResourceSyncStatus::Syncing
    )
}

impl Progress {
    /// A failing store counts before everything, what stands before what seems to go well, a skipped object after everything else.
    fn shown(&self) -> Self {
        let mut shown = self.clone();
        if let Some(words) = &self.store_fails {
            shown.status = ResourceSyncStatus::Stop;
            shown.reason = Some(ResourceSyncReason::StorageException);
            shown.message = words.clone();
        } else if let Some(standing) = &self.standing
            && listing_or_watching(self.status)
        {
            shown.status = ResourceSyncStatus::Error;
            shown.reason = Some(ResourceSyncReason::ResourceWatchFailed);
            shown.message.clone_from(&standing.words);
            shown.since = standing.since;
        } else if self.status == ResourceSyncStatus::Syncing && !self.skipped.is_empty() {
            shown.reason = Some(ResourceSyncReason::ObjectSkipped);
            shown.message = self.skipped.words();
        } else if self.status == ResourceSyncStatus::Pending
            && self.listing == Some(Listing::Untold)
        {
            UNTOLD.clone_into(&mut shown.message);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::told::left_out::LEFT_OUT;

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
    fn what_an_audit_finds_of_a_kind_is_shown_and_the_status_is_not_written_for_it() {
        let report = report();
        let audit = ResourceAudit {
            proved_time: None,
            objects: 3,
            differences: 1,
            mended: 1,
            message: "1 differed: n/a".into(),
        };
        report.audited(audit.clone());
        assert_eq!(report.shown().audit, Some(audit));
        assert!(report.changed.notified().now_or_never().is_none());
    }

    #[test]
    fn a_page_of_a_list_is_news_when_it_is_another_step_and_what_is_counted_is_none() {
        let report = report();
        let news = || report.changed.notified().now_or_never().is_some();
        report.listing_goes();
        report.listing();
        news();
        let told = (1..=100_u64).filter(|page| {
            let written = Written {
                added: 500,
                ..Written::default()
            };
            report.wrote(written);
            report.proved(Timestamp::now());
            report.list_goes_on(page * 500, Some(50_500 - page * 500));
            news()
        });
        assert_eq!(told.count(), 20, "0, 5, 10 and so on to 95");
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
    fn the_number_of_named_objects_is_bounded_and_each_of_the_others_counts_once() {
        let report = report();
        let news = || report.changed.notified().now_or_never().is_some();
        report.syncing();
        let key = |index: usize| ObjectKey::new("n", index.to_string());
        for index in 0..100 {
            report.skipped(Some(key(index)), "no".into());
        }
        let message = report.shown().message;
        assert!(message.ends_with("; and 95 more"), "{message}");
        assert!(news());
        // A member changes two of them all the time.
        for length in 0..100 {
            report.skipped(Some(key(0)), format!("{length} bytes"));
            report.skipped(Some(key(99)), format!("{length} bytes"));
        }
        assert_eq!(report.shown().message, message);
        assert!(!news(), "the status is not written for it");
        report.settled(&key(99));
        let message = report.shown().message;
        assert!(message.ends_with("; and 94 more"), "{message}");
        assert!(news());
        (0..100).for_each(|index| report.settled(&key(index)));
        assert_eq!(report.shown().reason, None);
        assert!(!report.leaves_out(), "so that it need not be listed again");
    }

    #[test]
    fn a_stream_fails_for_as_long_as_an_error_is_shown() {
        type Step = (&'static str, fn(&Report));
        let report = report();
        let steps: [Step; 9] = [
            ("it begins", Report::started),
            ("refused", |report| report.failed("forbidden".into())),
            ("a list comes in", Report::listing_goes),
            ("no watch can follow", |report| report.stands("cut".into())),
            ("it watches all the same", Report::syncing),
            ("a watch has lasted", Report::works),
            ("full", |report| report.full("too many".into())),
            ("the store", |report| report.store_fails("away".into())),
            ("paused", |report| report.stopped(None, "")),
        ];
        let fails = steps.map(|(step, takes)| {
            takes(&report);
            let is_error = report.shown().status == ResourceSyncStatus::Error;
            assert_eq!(report.fails(), is_error, "{step}");
            is_error
        });
        let expected = [false, true, false, true, true, false, true, false, false];
        assert_eq!(fails, expected);
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
