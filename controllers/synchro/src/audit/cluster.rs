//! The cluster that is audited, and what is remembered of its audits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_model::{ClusterName, GroupVersionResource};
use armadex_storage::ClusterId;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::audit::comparison::Hashes;
use crate::audit::progress::{Compared, Progress, UnderWay};
use crate::audit::schedule;
use crate::config::Shared;
use crate::lock::lock;
use crate::stream::Connected;
use crate::told::board::Board;
use crate::told::metrics::ClusterMetrics;

/// A cluster whose member is connected.
pub(crate) struct AuditedCluster {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: ClusterName,
    pub(crate) id: ClusterId,
    pub(crate) board: Arc<Board>,
    pub(crate) metrics: Arc<ClusterMetrics>,
    pub(crate) connected: Arc<Connected>,
    pub(crate) audits: Arc<Audits>,
}

impl AuditedCluster {
    pub(super) fn compared(&self) -> Compared {
        (self.id, self.connected.identity.as_str().to_owned())
    }

    /// Waits for the time of the next one, which begins soon where the member may have been another one when it was stored.
    pub(super) async fn is_due(&self) {
        loop {
            tokio::select! {
                () = self.audits.is_due() => return,
                () = self.connected.was_vouched_for.notified() => self.audits.begins_soon(Instant::now()),
            }
        }
    }
}

/// What stays while sessions with the member come and go.
#[derive(Debug)]
pub(crate) struct Audits {
    pub(super) hashes: Hashes,
    /// `None`: none begins by itself.
    due: Mutex<Option<Due>>,
    /// The one that has begun; of another session, if none of this one has.
    under_way: Mutex<Option<UnderWay>>,
    /// What was wrong after a list as well, by type: no further list is made for it.
    stubborn: Mutex<BTreeMap<GroupVersionResource, BTreeSet<u64>>>,
}

/// When the next one begins by itself.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// By the period.
    regular: Instant,
    /// Since the last one began something happened that it may not have seen.
    soon: Option<Instant>,
}

impl Due {
    fn first(&self) -> Instant {
        self.soon
            .map_or(self.regular, |soon| soon.min(self.regular))
    }
}

impl Audits {
    /// `last` is when the last one ended, whichever process made it.
    pub(crate) fn new(period: Duration, last: Option<Timestamp>) -> Self {
        let since = last.map(|last| Timestamp::now().duration_since(last));
        let since = since.map(|since| Duration::try_from(since).unwrap_or_default());
        let first = || Due {
            regular: Instant::now() + schedule::first(period, since, rand::random()),
            soon: None,
        };
        Self {
            hashes: Hashes::default(),
            due: Mutex::new((!period.is_zero()).then(first)),
            under_way: Mutex::default(),
            stubborn: Mutex::default(),
        }
    }

    /// Waits for the time of the next one, or for that of one that a session's end broke off.
    async fn is_due(&self) {
        let broken_off = lock(&self.under_way)
            .as_ref()
            .map(|progress| lock(progress).again());
        let due = broken_off.or(lock(&self.due).as_ref().map(Due::first));
        match due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// What is asked for by the one that a session's end broke off.
    pub(super) fn broken_off(&self) -> Option<String> {
        let under_way = lock(&self.under_way);
        let request = |progress: &UnderWay| lock(progress).outcome.request.clone();
        under_way.as_ref().map(request)
    }

    /// The one that a session's end broke off, if it is what is to be audited now; otherwise one that begins.
    pub(super) fn begin(&self, request: String, of: Compared) -> UnderWay {
        let mut under_way = lock(&self.under_way);
        let known = under_way.take();
        let known = known.filter(|known| lock(known).answers(&request, &of));
        let begin = || {
            // It sees all that was until now.
            if let Some(due) = &mut *lock(&self.due) {
                due.soon = None;
            }
            let progress = Progress::new(request, of, Instant::now());
            Arc::new(Mutex::new(progress))
        };
        let progress = known.unwrap_or_else(begin);
        *under_way = Some(Arc::clone(&progress));
        progress
    }

    /// The member may have been put back to a backup, or built anew: the next one that begins by itself does so soon after this time. One that goes on after it was broken off
    /// is none of them: what it has compared already may be different since.
    pub(crate) fn begins_soon(&self, after: Instant) {
        let soon = after + schedule::soon(rand::random());
        if let Some(due) = &mut *lock(&self.due) {
            due.soon = Some(due.soon.map_or(soon, |before| before.min(soon)));
        }
    }

    /// It is over; the next one begins after the period, unless something happened meanwhile.
    pub(super) fn end(&self, period: Duration) {
        *lock(&self.under_way) = None;
        if let Some(due) = &mut *lock(&self.due) {
            due.regular = Instant::now() + schedule::next(period, rand::random());
        }
    }

    /// Whether a list has left all of this as it is, and nothing has put it right since.
    pub(super) fn is_stubborn(&self, gvr: &GroupVersionResource, wrong: &BTreeSet<u64>) -> bool {
        let stubborn = lock(&self.stubborn);
        stubborn
            .get(gvr)
            .is_some_and(|known| wrong.is_subset(known))
    }

    /// All that is wrong and was before a list as well; of the type nothing else is remembered.
    pub(super) fn remains(&self, gvr: &GroupVersionResource, wrong: &BTreeSet<u64>) {
        let mut stubborn = lock(&self.stubborn);
        if wrong.is_empty() {
            stubborn.remove(gvr);
        } else {
            stubborn.insert(gvr.clone(), wrong.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    fn due(audits: &Audits) -> Option<Instant> {
        lock(&audits.due).as_ref().map(Due::first)
    }

    fn compared() -> Compared {
        (ClusterId(1), "uid".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn an_audit_that_is_to_begin_soon_is_not_put_off_and_where_there_are_none_there_is_none()
    {
        let audits = Audits::new(YEAR, None);
        audits.begins_soon(Instant::now());
        let soon = due(&audits).expect("it is due");
        assert!(soon - Instant::now() <= Duration::from_secs(600));
        tokio::time::advance(Duration::from_secs(100)).await;
        audits.begins_soon(Instant::now());
        let again = due(&audits).expect("it is due");
        assert!(again <= soon);

        let never = Audits::new(Duration::ZERO, None);
        never.begins_soon(Instant::now());
        assert_eq!(due(&never), None);
    }

    /// Which one that began after the outage has.
    #[tokio::test(start_paused = true)]
    async fn what_an_audit_compared_before_an_outage_that_broke_it_off_is_compared_after_it() {
        let audits = Audits::new(YEAR, None);
        audits.begin(String::new(), compared());
        audits.begins_soon(Instant::now());
        audits.begin(String::new(), compared());
        audits.end(YEAR);
        let soon = due(&audits).expect("it is due");
        assert!(soon - Instant::now() <= Duration::from_secs(600));
        audits.begin(String::new(), compared());
        audits.end(YEAR);
        let next = due(&audits).expect("it is due");
        assert!(next - Instant::now() > Duration::from_secs(600));
    }
}
