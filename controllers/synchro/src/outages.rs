//! What fails now, so that an outage is told once: not by each stream that it hits, and not at each attempt. Pure.
//!
//! Streams that fail with the same words share an outage. It begins with the first of them and is over when all of them work again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Words that are remembered. Whoever fails in more ways than this at a time has been told enough of.
const WORDS: usize = 32;

/// What fails now, and for whom.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    failing: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

impl Outages {
    /// `who` failed with these words. Whether that is news.
    pub(crate) fn begins(&self, who: &str, words: &str) -> bool {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hit) = failing.get_mut(words) {
            hit.insert(who.to_owned());
            return false;
        }
        let news = failing.len() < WORDS;
        if news {
            failing.insert(words.to_owned(), BTreeSet::from([who.to_owned()]));
        }
        news
    }

    /// `who` works, or is no more. Whether an outage is over with that.
    pub(crate) fn ends(&self, who: &str) -> bool {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = failing.len();
        failing.retain(|_, hit| {
            hit.remove(who);
            !hit.is_empty()
        });
        failing.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_and_is_over_when_all_that_it_hit_work() {
        let outages = Outages::default();
        assert!(outages.begins("pods", "connection refused"));
        assert!(!outages.begins("pods", "connection refused"));
        assert!(!outages.begins("nodes", "connection refused"));
        assert!(outages.begins("secrets", "secrets is forbidden"));
        assert!(!outages.ends("pods"));
        assert!(!outages.begins("pods", "connection refused"));
        assert!(!outages.ends("pods"));
        assert!(outages.ends("nodes"));
        assert!(outages.begins("nodes", "connection refused"), "another one");
        assert!(!outages.begins("secrets", "secrets is forbidden"));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let outages = Outages::default();
        let told = (0..1000).filter(|number| outages.begins("pods", &number.to_string()));
        assert_eq!(told.count(), WORDS);
        assert!(outages.ends("pods"));
    }
}
