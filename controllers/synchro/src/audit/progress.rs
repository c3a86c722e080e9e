//! How far an audit has come. It outlives sessions: one that the end of a session breaks off goes on in the next, with the types that are left.
//! Pure: times and chances are passed in.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_crds::ClusterAudit;
use armadex_model::GroupVersionResource;
use armadex_storage::ClusterId;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::time::Instant;

/// From when an audit began until it goes on in another session; twice as long each time,
const GOES_ON: Duration = Duration::from_secs(2 * 60);
/// and no longer than this. Of a member that is lost every two minutes it then takes two of some 45, so that fifty of them have two or three of the
/// four turns at most.
const GOES_ON_LAST: Duration = Duration::from_secs(60 * 60);
/// So many sessions in a row may end before another type is compared. Then the type at which the audit stands is given up,
const FRUITLESS: u32 = 3;
/// and after so many, where the next is not compared either, all that are left: of a member that is never there for long enough whoever asked
/// is answered after some two hours.
const ALL_FRUITLESS: u32 = 2 * FRUITLESS;

/// A cluster, and who its member is.
pub(super) type Compared = (ClusterId, String);

/// Shared with the task that makes it.
pub(super) type UnderWay = Arc<Mutex<Progress>>;

/// An audit that has begun and not ended.
#[derive(Debug)]
pub(super) struct Progress {
    of: Compared,
    pub(super) outcome: ClusterAudit,
    pub(super) words: Vec<String>,
    /// What is stored was seen.
    pub(super) is_whole: bool,
    /// Types of which something is told.
    done: BTreeSet<GroupVersionResource>,
    /// Sessions that it was begun in since a type was compared.
    fruitless: u32,
    backoff: Backoff,
    /// When it may go on, if it is broken off.
    again: Instant,
}

impl Progress {
    pub(super) fn new(request: String, of: Compared, now: Instant) -> Self {
        Self {
            of,
            outcome: ClusterAudit {
                request,
                time: Time(Timestamp::UNIX_EPOCH),
                proved: 0,
                unproved: 0,
                objects: 0,
                differences: 0,
                mended: 0,
                message: String::new(),
            },
            words: Vec::new(),
            is_whole: true,
            done: BTreeSet::new(),
            fruitless: 0,
            backoff: Backoff::new(GOES_ON, GOES_ON_LAST),
            again: now,
        }
    }

    /// Whether it is what is to be audited now. Whoever asks for another one wants to know how things are after he asked.
    pub(super) fn answers(&self, request: &str, of: &Compared) -> bool {
        self.of == *of && (request.is_empty() || self.outcome.request == request)
    }

    /// When it may go on, if it is broken off.
    pub(super) const fn again(&self) -> Instant {
        self.again
    }

    /// It begins, or goes on, in a session. Gives how many of the types that are left are not to be tried any more.
    pub(super) fn goes_on(&mut self, now: Instant, chance: f64) -> usize {
        self.again = now + self.backoff.next(chance);
        let before = self.fruitless;
        self.fruitless = before.saturating_add(1);
        match before {
            FRUITLESS => 1,
            ALL_FRUITLESS.. => usize::MAX,
            _ => 0,
        }
    }

    /// Sessions last long enough for a type.
    pub(super) const fn compared(&mut self) {
        self.fruitless = 0;
    }

    /// Something is told of a type.
    pub(super) fn done(&mut self, gvr: &GroupVersionResource) {
        self.done.insert(gvr.clone());
    }

    pub(super) fn is_done(&self, gvr: &GroupVersionResource) -> bool {
        self.done.contains(gvr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(identity: &str) -> Compared {
        (ClusterId(1), identity.to_owned())
    }

    fn begun() -> Progress {
        Progress::new("7".to_owned(), of("uid"), Instant::now())
    }

    #[test]
    fn another_request_and_another_member_are_another_audit() {
        let progress = begun();
        assert!(progress.answers("7", &of("uid")));
        assert!(progress.answers("", &of("uid")), "it was taken away");
        assert!(!progress.answers("8", &of("uid")));
        assert!(!progress.answers("7", &of("another")));
        assert!(!progress.answers("7", &(ClusterId(2), "uid".to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_on_less_and_less_often() {
        let (mut progress, now) = (begun(), Instant::now());
        let waits = [(); 8].map(|()| {
            progress.goes_on(now, 1.0);
            progress.again().duration_since(now).as_secs() / 60
        });
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_to_nothing_again_and_again_is_given_up() {
        let (mut progress, now) = (begun(), Instant::now());
        let given_up = [(); 7].map(|()| progress.goes_on(now, 1.0));
        assert_eq!(given_up, [0, 0, 0, 1, 0, 0, usize::MAX]);
        progress.compared();
        let given_up = [(); 4].map(|()| progress.goes_on(now, 1.0));
        assert_eq!(given_up, [0, 0, 0, 1]);
    }
}
