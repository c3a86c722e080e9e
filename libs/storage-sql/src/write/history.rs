//! Which types keep what they superseded beyond the watch window: those that are asked for, and those that a store knows of.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::options::History;
use crate::sql::milestone::Superseding;

/// Types that have a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Histories(BTreeSet<i64>);

impl Histories {
    pub(crate) fn of(types: impl IntoIterator<Item = i32>) -> Self {
        Self(types.into_iter().map(i64::from).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a type has one.
    pub(crate) fn has(&self, resource: i64) -> bool {
        self.0.contains(&resource)
    }

    /// Whether what a revision superseded is there for a history: of any type, where the log has been pruned and only that was left.
    pub(crate) fn keep(&self, row: &Superseding, pruned: i64) -> bool {
        row.rev <= pruned || self.has(row.resource)
    }
}

/// What the process that does the periodic work knows of histories.
#[derive(Debug)]
pub(crate) struct HistoryKnown {
    /// What it was told; what the store says else.
    asked: Option<History>,
    settled: Option<Settled>,
}

/// What there is a history of, as of a change of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) catalog: i64,
    pub(crate) history: History,
    pub(crate) types: Histories,
    /// Versions of resources that are to have one, and are more than may.
    pub(crate) without: usize,
}

impl HistoryKnown {
    pub(crate) fn new(asked: Option<History>) -> Self {
        Self {
            asked,
            settled: None,
        }
    }

    pub(crate) fn asked(&self) -> Option<&History> {
        self.asked.as_ref()
    }

    pub(crate) fn settled(&self) -> Option<&Settled> {
        self.settled.as_ref()
    }

    /// How long a history is. Nothing is in one before it is settled.
    pub(crate) fn window(&self) -> Duration {
        let settled = self.settled.as_ref();
        settled.map_or(Duration::ZERO, |settled| settled.history.window)
    }

    /// The most bytes that are kept.
    pub(crate) fn most(&self) -> i64 {
        let settled = self.settled.as_ref();
        bound(settled.map_or(0, |settled| settled.history.bytes))
    }

    /// The types that have one.
    pub(crate) fn types(&self) -> Histories {
        let settled = self.settled.as_ref();
        settled.map_or_else(Histories::default, |settled| settled.types.clone())
    }

    /// Whether all types that are to have a history have one and no others, as of a change of the catalogue. Where none is to have one that does not change.
    pub(crate) fn is_settled(&self, catalog: i64) -> bool {
        let settled = self.settled.as_ref();
        settled.is_some_and(|settled| settled.catalog == catalog || settled.history.of.is_empty())
    }

    pub(crate) fn settle(&mut self, settled: Settled) {
        self.settled = Some(settled);
    }

    /// Another process may have decided about them.
    pub(crate) fn forget(&mut self) {
        self.settled = None;
    }
}

/// At the most so many bytes; 0: any number.
pub(super) fn bound(most: u64) -> i64 {
    match i64::try_from(most) {
        Ok(0) | Err(_) => i64::MAX,
        Ok(most) => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_types_are_looked_for_only_where_some_are_to_have_a_history() {
        for (of, again) in [(vec![], true), (vec![named("pods")], false)] {
            let mut known = HistoryKnown::new(None);
            assert!(!known.is_settled(4));
            known.settle(Settled {
                catalog: 4,
                history: History {
                    of,
                    ..History::default()
                },
                types: Histories::of([1]),
                without: 0,
            });
            assert!(known.is_settled(4));
            assert_eq!(known.is_settled(5), again);
            known.forget();
            assert!(!known.is_settled(4));
        }
    }

    fn named(resource: &str) -> (String, String) {
        (String::new(), resource.to_owned())
    }

    #[test]
    fn where_the_log_is_pruned_whatever_is_left_is_kept() {
        let row = |rev, resource| Superseding {
            rev,
            cluster: 1,
            resource,
            bytes: 1,
        };
        let types = Histories::of([7]);
        let kept = [(4, 3), (4, 7), (5, 3), (5, 7)].map(|(rev, of)| types.keep(&row(rev, of), 4));
        assert_eq!(kept, [true, true, false, true]);
    }
}
