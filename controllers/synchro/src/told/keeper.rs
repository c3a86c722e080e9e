//! Writes the status of one PediaCluster when it changed, not more often than the floor allows and in turns with all others, and tells
//! transitions as Events. The last word of a process is not said where another one has spoken since.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_control_plane::{Recorder, Trouble};
use armadex_crds::conditions::{self, ClusterCondition, ConditionStatus, SynchroRunningReason};
use armadex_crds::{GroupResourcesStatus, PediaClusterStatus};
use futures::FutureExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::config::Shared;
use crate::told::applied::{Applied, Put};
use crate::told::board::{Board, Running};
use crate::told::last_words::Speaker;
use crate::told::outages;
use crate::told::refresh::Refresh;
use crate::told::status::{self, Counts};

/// Between two writes: a cluster whose streams begin one after the other has one status to tell, not forty. What is ready is in the
/// first already.
const FLOOR: Duration = Duration::from_secs(2);
/// Between two writes of a cluster that has something new to tell every time: one that is being read in for a minute is told of a
/// dozen times, not thirty.
const HIGHEST_FLOOR: Duration = Duration::from_secs(8);
/// What changes together is written together.
const SETTLE: Duration = Duration::from_millis(150);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// For which the next status of a cluster waits for its Events, and the end of a process for the last ones.
const EVENTS: Duration = Duration::from_secs(5);
/// Events that wait while none is taken; the oldest go first.
const MOST_UNTOLD: usize = 32;
/// Between two times that what somebody else wrote is written over for no other reason: an edit is put right at
/// once, and a program that keeps the same fields is not fought with more often than this.
const CLAIM: Duration = Duration::from_secs(60);
/// How often a status is made anew at once because the object had become another one; who has seen so many waits.
const TRIES: usize = 3;

/// Keeps the status of one PediaCluster.
pub(crate) struct StatusKeeper {
    pub(crate) shared: Arc<Shared>,
    pub(crate) applied: Applied,
    pub(crate) name: String,
    pub(crate) reference: ObjectReference,
    pub(crate) recorder: Recorder,
    pub(crate) board: Arc<Board>,
    pub(crate) written: PediaClusterStatus,
    /// What an earlier process said of resources, until this one has something to say of them.
    pub(crate) found: Vec<GroupResourcesStatus>,
    pub(crate) claims: Claims,
    /// When what is counted is written.
    pub(crate) refresh: Refresh,
    /// What was written and is to be told.
    pub(crate) untold: VecDeque<Event>,
}

/// When what somebody else wrote may be written over.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// When it was last.
    last: Option<Instant>,
    /// When it is again, if it waits for that.
    due: Option<Instant>,
}

impl StatusKeeper {
    /// Writes until cancelled, and then once more what is known at the end. A status that cannot be made is made anew: what it is made of changes.
    pub(crate) async fn run(mut self, cancel: CancellationToken) {
        let mut broken = Backoff::new(FLOOR, LAST_RETRY);
        while let Err(_panic) = AssertUnwindSafe(self.keep(&cancel)).catch_unwind().await {
            error!(cluster = %self.name, "the keeper of a status broke off, it begins anew");
            let rest = tokio::time::sleep(broken.next(rand::random()));
            cancel.run_until_cancelled(rest).await;
            self.board.changed().notify_one();
        }
        Box::pin(self.last_word()).await;
    }

    async fn keep(&mut self, cancel: &CancellationToken) {
        let mut backoff = Backoff::new(FLOOR, LAST_RETRY);
        let mut floor = FLOOR;
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                () = self.board.changed().notified() => {}
                () = self.claims.due() => {}
                () = self.refresh.due() => {}
            }
            tokio::select! {
                () = cancel.cancelled() => break,
                () = tokio::time::sleep(SETTLE) => {}
            }
            self.take_in();
            self.refresh.looks(Instant::now(), rand::random());
            let Some(status) = self.news() else {
                self.tell_events(cancel).await;
                continue;
            };
            let shared = Arc::clone(&self.shared);
            // It is made anew when it is written; ten thousand that stand in line would be hundreds of megabytes.
            let bytes = bytes_of(&status);
            drop(status);
            let turn = tokio::select! {
                () = cancel.cancelled() => break,
                turn = shared.statuses.turn(bytes) => turn,
            };
            let is_written = Box::pin(self.put()).await;
            drop(turn);
            self.tell_events(cancel).await;
            let wait = if is_written {
                backoff.reset();
                floor
            } else {
                self.board.changed().notify_one();
                backoff.next(rand::random())
            };
            tokio::select! {
                () = cancel.cancelled() => break,
                () = tokio::time::sleep(wait) => {}
            }
            floor = next_floor(floor, self.is_written());
        }
    }

    /// Takes in how the object is. What somebody else has made of the status is what is written, so that what is told here is
    /// written again: at once after the last word of a process that was replaced by this one, which is said once, and else in turn.
    fn take_in(&mut self) {
        let object = self.board.take_object();
        // What others say of the object is theirs.
        if self.shared.config.observes {
            return;
        }
        if let Some(object) = object {
            self.applied.saw(&object);
        }
        self.claims.due = None;
        self.take_in_arrived();
        let Some(status) = self.applied.foreign() else {
            return;
        };
        if self.board.facts().running == Running::Shutdown {
            return;
        }
        if *status != self.written {
            if !status::says_shutdown(status) && !self.claims.take(Instant::now()) {
                return;
            }
            self.written = status.clone();
        }
        // Whose it was does not matter any more.
        if self.is_written() {
            self.applied.agrees();
        }
    }

    /// What was sent without an answer and is there after all is what is written, and is told as such: it may not hold any more.
    fn take_in_arrived(&mut self) {
        if let Some(status) = self.applied.take_arrived() {
            self.stands(status);
        }
    }

    /// This process has put a status there.
    fn stands(&mut self, status: PediaClusterStatus) {
        self.tell(&status);
        if !status.sync_resources.is_empty() {
            self.found = Vec::new();
        }
        self.written = status;
    }

    /// Says what is known at the end.
    async fn last_word(&mut self) {
        let shared = Arc::clone(&self.shared);
        if !shared.last_words.of(self).await {
            warn!(cluster = %self.name, "the last status was not written");
        }
        let all = self.untold.len();
        let told = async {
            let _turn = shared.last_words.event_turn().await;
            self.publish_untold().await;
        };
        if timeout(EVENTS, told).await.is_err() {
            debug!(cluster = %self.name, "the last Events were not written in time");
            self.lose_what_was_under_way(all);
            self.shared
                .metrics
                .events_failed
                .add(self.untold.len() as u64);
        }
    }

    /// What is to be written, if that is anything. What is counted goes with it; for nothing else it is written once in a while.
    fn news(&self) -> Option<PediaClusterStatus> {
        let counts = self.refresh.counts(Instant::now());
        let is_news = self.built(counts) != self.written;
        is_news.then(|| self.built(Counts::Now))
    }

    /// What the status should be now.
    fn built(&self, counts: Counts) -> PediaClusterStatus {
        let (facts, streams) = (self.board.facts(), self.board.progress());
        let told = match self.found.as_slice() {
            [] => &self.written.sync_resources,
            found => found,
        };
        let streams = (streams.as_slice(), counts);
        status::build(&self.written, told, &facts, streams, Timestamp::now())
    }

    /// Whether there is nothing to write but, by and by, what is counted.
    fn is_written(&self) -> bool {
        self.built(Counts::Told) == self.written
    }

    /// Whether the status is as it should be now.
    async fn put(&mut self) -> bool {
        for _ in 0..TRIES {
            match self.try_to_write().await {
                Some(Put::Done | Put::Gone) => return true,
                Some(Put::Overtaken) => {}
                None => return false,
            }
        }
        false
    }

    /// Writes once what there is to write. `None` if that fails.
    async fn try_to_write(&mut self) -> Option<Put> {
        let Some(status) = self.news() else {
            return Some(Put::Done);
        };
        let put = match self.shared.config.observes {
            true => Ok(Put::Done),
            false => self.applied.put(&status).await,
        };
        let put = match put {
            Ok(put) => put,
            Err(error) => {
                self.refused(&error);
                return None;
            }
        };
        if self.shared.refusals.statuses.ends(&self.name) {
            info!("statuses are written again");
        }
        match put {
            Put::Done => {
                let clusters = self.shared.metrics.number();
                self.refresh.written(Instant::now(), clusters);
                self.stands(status);
            }
            Put::Overtaken => {
                self.take_in_arrived();
                if let Some(status) = self.applied.foreign() {
                    self.written = status.clone();
                }
            }
            // There is no status to keep.
            Put::Gone => {}
        }
        Some(put)
    }

    fn refused(&self, error: &Trouble) {
        let statuses = &self.shared.refusals.statuses;
        let news = statuses.begins(&self.name, outages::class_of(error));
        if news {
            warn!(cluster = %self.name, error = %error, "the status was not written, retrying; others that are refused alike are not told of");
        }
    }

    fn tell(&mut self, status: &PediaClusterStatus) {
        for type_ in status::transitions(&self.written, status) {
            let Some(event) = event_of(&self.written, status, type_) else {
                continue;
            };
            info!(cluster = %self.name, reason = event.reason, note = event.note, "transition");
            self.untold.push_back(event);
        }
        self.untold.extend(differences(&self.written, status));
        while self.untold.len() > MOST_UNTOLD {
            self.untold.pop_front();
            self.shared.metrics.events_failed.add(1);
        }
    }

    /// Tells what is to be told, for as long as the next status can wait. The Event that takes longer is lost, and so is the one during which
    /// the process ends: it may be there, and would be there twice. Those behind it are tried again.
    async fn tell_events(&mut self, cancel: &CancellationToken) {
        let all = self.untold.len();
        let told = timeout(EVENTS, self.publish_untold());
        match cancel.run_until_cancelled(told).await {
            Some(Ok(())) => {}
            Some(Err(_elapsed)) => {
                debug!(cluster = %self.name, "an Event was not written in time");
                self.lose_what_was_under_way(all);
                self.board.changed().notify_one();
            }
            None => self.lose_what_was_under_way(all),
        }
    }

    /// Telling of so many broke off, in the middle of one unless it had not begun.
    fn lose_what_was_under_way(&self, all: usize) {
        if self.untold.len() < all {
            self.shared.metrics.events_failed.add(1);
        }
    }

    async fn publish_untold(&mut self) {
        while let Some(event) = self.untold.pop_front() {
            publish(&self.shared, &self.recorder, &self.reference, &event).await;
        }
    }
}

impl Claims {
    /// Whether it may be now, which it was then. If not, it is remembered that somebody waits.
    fn take(&mut self, now: Instant) -> bool {
        let next = self.last.map(|last| last + CLAIM);
        self.due = next.filter(|next| now < *next);
        let may = self.due.is_none();
        if may {
            self.last = Some(now);
        }
        may
    }

    /// Until what waits is due; for ever if nothing does.
    async fn due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}

impl Speaker for StatusKeeper {
    /// Whether it was said, or stays unsaid because somebody else has spoken since: then that is a process that took over.
    async fn say(&mut self) -> bool {
        self.take_in();
        for _ in 0..TRIES {
            if self.applied.foreign().is_some() {
                info!(cluster = %self.name, "somebody else writes the status by now, it stays");
                return true;
            }
            match self.try_to_write().await {
                Some(Put::Overtaken) => {}
                Some(Put::Done | Put::Gone) => return true,
                None => return false,
            }
        }
        true
    }
}

/// Writes an Event about a PediaCluster, unless nothing is to be written. What it tells is true all the same, and mostly in the status: it is for those who look at
/// `kubectl describe`.
pub(crate) async fn publish(
    shared: &Shared,
    recorder: &Recorder,
    cluster: &ObjectReference,
    event: &Event,
) {
    if shared.config.observes {
        return;
    }
    if let Err(error) = recorder.publish(event, cluster).await {
        let cluster = cluster.name.as_deref().unwrap_or_default();
        debug!(cluster, error = %Trouble::from(error), "an Event was not written");
        shared.metrics.events_failed.add(1);
    }
}

/// How large a status is on its way, about.
fn bytes_of(status: &PediaClusterStatus) -> usize {
    let mut counted = Counted(0);
    // What cannot be encoded is refused when it is written.
    let _ = serde_json::to_writer(&mut counted, status);
    counted.0
}

/// Counts what is written, and keeps nothing of it.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The time between two writes: longer while there is more to tell as soon as it is over, from the beginning after a quiet time.
fn next_floor(floor: Duration, quiet: bool) -> Duration {
    if quiet {
        FLOOR
    } else {
        (floor * 2).min(HIGHEST_FLOOR)
    }
}

/// The Event that tells a transition, if it is one worth telling: that something is about to begin is not.
fn event_of(
    before: &PediaClusterStatus,
    status: &PediaClusterStatus,
    type_: ClusterCondition,
) -> Option<Event> {
    let condition = conditions::find(&status.conditions, type_.as_str())?;
    let holds = condition.status == ConditionStatus::True.as_str();
    let (warning, reason) = match type_ {
        ClusterCondition::Validated if !holds => (true, condition.reason.as_str()),
        ClusterCondition::ClusterHealthy if holds => (false, "ClusterConnected"),
        // Why not is in the condition, and may become another reason again and again.
        ClusterCondition::ClusterHealthy if is_lost(status) && !is_lost(before) => {
            (true, "ClusterUnreachable")
        }
        ClusterCondition::SynchroRunning if goes_around(status) => (true, "ClusterByControlPlane"),
        // One that was lost on that way is told of as such.
        ClusterCondition::SynchroRunning if holds && goes_around(before) && is_healthy(status) => {
            (false, "ClusterNotByControlPlane")
        }
        // Who knew nothing of it before has only begun to look.
        ClusterCondition::Synced if holds && is_unsynced(before) => (false, "ClusterSynced"),
        _ => return None,
    };
    let note = match (condition.message.as_str(), status.version.as_str()) {
        (message, version) if holds && !version.is_empty() => {
            format!("{message}, version {version}")
        }
        (message, _) => message.to_owned(),
    };
    Some(event(warning, reason, &note))
}

/// Whether the member is asked by the control plane.
fn goes_around(status: &PediaClusterStatus) -> bool {
    let running = ClusterCondition::SynchroRunning.as_str();
    let running = conditions::find(&status.conditions, running);
    let by_control_plane = SynchroRunningReason::RunningByControlPlane.as_str();
    running.is_some_and(|running| running.reason == by_control_plane)
}

fn is_healthy(status: &PediaClusterStatus) -> bool {
    let healthy = ClusterCondition::ClusterHealthy;
    says(status, healthy, ConditionStatus::True)
}

/// Whether the member does not answer, whatever the reason.
fn is_lost(status: &PediaClusterStatus) -> bool {
    let healthy = ClusterCondition::ClusterHealthy;
    says(status, healthy, ConditionStatus::False)
}

/// Whether its first lists are under way.
fn is_unsynced(status: &PediaClusterStatus) -> bool {
    says(status, ClusterCondition::Synced, ConditionStatus::False)
}

fn says(status: &PediaClusterStatus, type_: ClusterCondition, said: ConditionStatus) -> bool {
    let found = conditions::find(&status.conditions, type_.as_str());
    found.is_some_and(|found| found.status == said.as_str())
}

/// The Event that tells of an audit which found differences.
fn differences(before: &PediaClusterStatus, now: &PediaClusterStatus) -> Option<Event> {
    let audit = now.audit.as_ref().filter(|audit| audit.differences > 0)?;
    if before.audit.as_ref() == Some(audit) {
        return None;
    }
    let note = format!(
        "of {} objects {} were not as the member has them, {} are mended: {}",
        audit.objects, audit.differences, audit.mended, audit.message
    );
    Some(event(true, "AuditFoundDifferences", &note))
}

/// An Event about a PediaCluster.
pub(crate) fn event(warning: bool, reason: &str, note: &str) -> Event {
    Event {
        type_: if warning {
            EventType::Warning
        } else {
            EventType::Normal
        },
        reason: reason.to_owned(),
        // The API allows 1024 bytes.
        note: Some(note.chars().take(250).collect()),
        action: "Sync".to_owned(),
        secondary: None,
    }
}

#[cfg(test)]
mod paced;
#[cfg(test)]
mod restarts;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod unanswered;

#[cfg(test)]
mod tests {
    use armadex_crds::ClusterAudit;
    use armadex_crds::conditions::ClusterHealthyReason;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::told::board::{Facts, MemberHealth};

    #[test]
    fn a_status_that_changes_all_the_time_is_written_less_and_less_often() {
        let busy = next_floor(FLOOR, false);
        assert_eq!(busy, 2 * FLOOR);
        assert_eq!(next_floor(HIGHEST_FLOOR, false), HIGHEST_FLOOR);
        assert_eq!(next_floor(HIGHEST_FLOOR, true), FLOOR);
    }

    #[tokio::test(start_paused = true)]
    async fn what_somebody_else_writes_on_and_on_is_written_over_now_and_then() {
        let (mut claims, begun) = (Claims::default(), Instant::now());
        assert!(claims.take(begun), "the first time at once");
        assert!(!claims.take(begun + CLAIM / 2));
        claims.due().await;
        assert_eq!(begun.elapsed(), CLAIM);
        assert!(claims.take(Instant::now()));
    }

    #[test]
    fn another_reason_why_a_member_is_not_reached_is_no_event() {
        let lost = |reason| {
            let health = MemberHealth::NotReachable(reason, "why".to_owned());
            let facts = Facts {
                health,
                ..Facts::default()
            };
            let unknown = PediaClusterStatus::default();
            status::build(
                &unknown,
                &[],
                &facts,
                (&[], Counts::Now),
                Timestamp::UNIX_EPOCH,
            )
        };
        let event = |before: &PediaClusterStatus, now: &PediaClusterStatus| {
            let event = event_of(before, now, ClusterCondition::ClusterHealthy);
            event.map(|event| event.reason)
        };
        let one = lost(ClusterHealthyReason::NotReachable);
        let other = lost(ClusterHealthyReason::TooManyByControlPlane);
        let first = event(&PediaClusterStatus::default(), &other);
        assert_eq!(first.as_deref(), Some("ClusterUnreachable"));
        assert_eq!(event(&one, &other), None);
        assert_eq!(event(&other, &one), None);
    }

    #[test]
    fn differences_are_told_once_and_none_are_no_event() {
        let audited = |differences| PediaClusterStatus {
            audit: Some(ClusterAudit {
                request: String::new(),
                time: Time(Timestamp::UNIX_EPOCH),
                proved: 1,
                unproved: 0,
                objects: 9,
                differences,
                mended: differences,
                message: "pods: 2 differed: n/a, n/b".into(),
            }),
            ..PediaClusterStatus::default()
        };
        let unaudited = PediaClusterStatus::default();
        let event = differences(&unaudited, &audited(2)).unwrap();
        let note = "of 9 objects 2 were not as the member has them, 2 are mended: pods: 2 differed: n/a, n/b";
        assert_eq!(event.note.as_deref(), Some(note));
        assert!(differences(&audited(2), &audited(2)).is_none());
        assert!(differences(&unaudited, &audited(0)).is_none());
    }
}
