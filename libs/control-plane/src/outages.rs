//! What fails now, so that an outage is told once: not by each object or stream that it hits, not at each attempt, and not each time that it
//! comes back.
//!
//! Those that fail with the same words share an outage. It begins with the first of them and is over when all of them work again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::lock;

/// Words that are remembered. Whoever fails in more ways than this has been told enough of.
const WORDS: usize = 32;
/// What is over and comes back within this time is the same outage. Of errors that are other words each time, as those are that name a
/// port, as many lines as [`WORDS`] are told in it.
const TOLD_FOR: Duration = Duration::from_secs(600);

/// What fails now, and for whom.
#[derive(Debug, Default)]
pub struct Outages {
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
    pub fn begins(&self, who: &str, words: &str) -> bool {
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
    pub fn ends(&self, who: &str) -> bool {
        let mut is_over = false;
        for outage in self.lock().values_mut() {
            if outage.hits.remove(who) && outage.hits.is_empty() {
                is_over |= !std::mem::replace(&mut outage.over, true);
            }
        }
        is_over
    }

    /// Whether something is said to fail for him.
    #[cfg(any(test, feature = "testing"))]
    pub fn hit(&self, who: &str) -> bool {
        let known = self.lock();
        known.values().any(|outage| outage.hits.contains(who))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Outage>> {
        lock(&self.known)
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
}
