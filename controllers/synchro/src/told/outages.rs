//! What fails now, so that an outage is told once: not by each stream that it hits, not at each attempt, and not each time that it comes back.
//!
//! Streams that fail with the same words share an outage. It begins with the first of them and is over when all of them work again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use armadex_policy::{Trouble, TroubleKind};
use tokio::time::Instant;

use crate::lock::lock;

/// Words that are remembered. Whoever fails in more ways than this has been told enough of.
const WORDS: usize = 32;
/// What is over and comes back within this time is the same outage. Of errors that are other words each time, as those are that name a
/// port, as many lines as [`WORDS`] are told in it.
const TOLD_FOR: Duration = Duration::from_secs(600);

/// What the control plane refuses now, and of which cluster. What is asked for goes by a right of its own, so it is told of by itself.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// That a status is written.
    pub(crate) statuses: Outages,
    /// That a finalizer is set.
    pub(crate) finalizers: Outages,
    /// That one is taken away.
    pub(crate) departures: Outages,
}

impl Refusals {
    /// This cluster is no more.
    pub(crate) fn forget(&self, who: &str) {
        for outages in [&self.statuses, &self.finalizers, &self.departures] {
            outages.ends(who);
        }
    }
}

/// What a line of the log names of many.
const NAMED: usize = 3;

/// What fails now, and for whom.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    known: Mutex<BTreeMap<String, Outage>>,
}

#[derive(Debug)]
struct Outage {
    /// Whom it hits now.
    hits: BTreeSet<String>,
    /// When it was told.
    told: Instant,
    /// It was told that it is over, and nothing since.
    over: bool,
}

impl Outages {
    /// `who` failed with these words. Whether that is news.
    pub(crate) fn begins(&self, who: &str, words: &str) -> bool {
        let mut known = self.lock();
        if let Some(outage) = known.get_mut(words) {
            outage.hits.insert(who.to_owned());
            let news = outage.over && outage.told.elapsed() >= TOLD_FOR;
            if news {
                (outage.told, outage.over) = (Instant::now(), false);
            }
            return news;
        }
        known.retain(|_, outage| !outage.hits.is_empty() || outage.told.elapsed() < TOLD_FOR);
        let news = known.len() < WORDS;
        if news {
            let outage = Outage {
                hits: BTreeSet::from([who.to_owned()]),
                told: Instant::now(),
                over: false,
            };
            known.insert(words.to_owned(), outage);
        }
        news
    }

    /// `who` works, or is no more. Whether an outage is over with that which was told of.
    pub(crate) fn ends(&self, who: &str) -> bool {
        let mut is_over = false;
        for outage in self.lock().values_mut() {
            if outage.hits.remove(who) && outage.hits.is_empty() {
                is_over |= !std::mem::replace(&mut outage.over, true);
            }
        }
        is_over
    }

    /// Whether something is said to fail for him.
    #[cfg(test)]
    pub(crate) fn hit(&self, who: &str) -> bool {
        let known = self.lock();
        known.values().any(|outage| outage.hits.contains(who))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Outage>> {
        lock(&self.known)
    }
}

/// What a line of the log is about, where it may be about hundreds.
pub(crate) fn named<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    let mut all = all.into_iter();
    let mut named: Vec<String> = all
        .by_ref()
        .take(NAMED)
        .map(|one| one.to_string())
        .collect();
    let others = all.count();
    if others > 0 {
        named.push(format!("and {others} more"));
    }
    named.join(", ")
}

/// In which way a request to the control plane failed: in the same words for each object, which errors name.
pub(crate) fn class_of(trouble: &Trouble) -> &'static str {
    match trouble.kind {
        TroubleKind::Invalid => "invalid",
        TroubleKind::Forbidden => "forbidden",
        TroubleKind::Missing => "missing",
        TroubleKind::Conflict => "conflict",
        TroubleKind::Unavailable => "unavailable",
        TroubleKind::Failed => "failed",
        TroubleKind::Unanswered => "unanswered",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_told_once_and_is_over_when_all_that_it_hit_work() {
        let outages = Outages::default();
        assert!(outages.begins("pods", "connection refused"));
        assert!(!outages.begins("pods", "connection refused"));
        assert!(!outages.begins("nodes", "connection refused"));
        assert!(outages.begins("secrets", "secrets is forbidden"));
        assert!(!outages.ends("pods"));
        assert!(!outages.begins("pods", "connection refused"));
        assert!(!outages.ends("pods"));
        assert!(outages.ends("nodes"));
        assert!(!outages.begins("nodes", "connection refused"), "it is back");
        assert!(!outages.ends("nodes"), "and gone, untold");
        tokio::time::advance(TOLD_FOR).await;
        assert!(outages.begins("nodes", "connection refused"), "another one");
        assert!(!outages.begins("secrets", "secrets is forbidden"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let outages = Outages::default();
        let fail = |turn: usize| {
            let words = (0..1000).map(move |number| format!("{turn} {number}"));
            words.filter(|words| outages.begins("pods", words)).count()
        };
        assert_eq!(fail(0), WORDS);
        assert!(outages.ends("pods"));
        assert_eq!(fail(1), 0, "each port is told of for a while");
        tokio::time::advance(TOLD_FOR).await;
        assert_eq!(fail(2), WORDS);
    }

    #[test]
    fn of_many_a_few_are_named() {
        assert_eq!(named(["a", "b", "c"]), "a, b, c");
        assert_eq!(named(["a", "b", "c", "d", "e"]), "a, b, c, and 2 more");
    }

    #[test]
    fn a_refusal_is_the_same_whichever_object_it_names() {
        let refusal = |name: &str, kind| {
            let message = format!("{name} is refused");
            class_of(&Trouble { kind, message })
        };
        let (forbidden, busy) = (TroubleKind::Forbidden, TroubleKind::Unavailable);
        assert_eq!(refusal("a", forbidden), refusal("b", forbidden));
        assert_ne!(refusal("a", forbidden), refusal("a", busy));
    }

    #[test]
    fn an_api_server_that_cannot_decrypt_is_another_trouble_than_one_that_is_busy() {
        let class = |code| {
            let status = kube::core::Status::failure("unable to transform key", "");
            class_of(&Trouble::from(&status.with_code(code)))
        };
        assert_eq!(class(429), class(503));
        assert_ne!(class(500), class(503));
    }
}
