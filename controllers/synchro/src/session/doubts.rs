//! Types that a member's whole answers had no place for, and since when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use armadex_model::GroupVersionResource;
use tokio::time::Instant;

/// An API server that has just started may say within a moment twice that it has no custom resources: the two answers are this far apart.
const BELIEVED_AFTER: Duration = Duration::from_secs(5);

/// What is doubted.
#[derive(Debug, Default)]
pub(super) struct Doubts(BTreeMap<GroupVersionResource, Instant>);

impl Doubts {
    /// Those that have been doubted for so long that another answer without them is believed.
    pub(super) fn ripe(&self, now: Instant) -> BTreeSet<GroupVersionResource> {
        let is_ripe = |since: &Instant| now.duration_since(*since) >= BELIEVED_AFTER;
        let ripe = self.0.iter().filter(|(_, since)| is_ripe(since));
        ripe.map(|(gvr, _)| gvr.clone()).collect()
    }

    /// The last whole answer had no place for these, and for no others.
    pub(super) fn are(&mut self, doubted: &BTreeSet<GroupVersionResource>, now: Instant) {
        self.0.retain(|gvr, _| doubted.contains(gvr));
        for gvr in doubted {
            self.0.entry(gvr.clone()).or_insert(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_twice_within_a_moment_is_not_gone() {
        let gvr = GroupVersionResource::new("shop.example", "v1", "orders");
        let doubted = BTreeSet::from([gvr]);
        let mut doubts = Doubts::default();
        let begun = Instant::now();
        doubts.are(&doubted, begun);
        doubts.are(&doubted, begun + BELIEVED_AFTER / 2);
        assert_eq!(doubts.ripe(begun + BELIEVED_AFTER / 2), BTreeSet::new());
        assert_eq!(doubts.ripe(begun + BELIEVED_AFTER), doubted);
        doubts.are(&BTreeSet::new(), begun + BELIEVED_AFTER);
        doubts.are(&doubted, begun + BELIEVED_AFTER);
        assert_eq!(doubts.ripe(begun + BELIEVED_AFTER), BTreeSet::new());
    }
}
