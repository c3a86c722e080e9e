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
    asked: History,
    /// The types that have one, and as of which change of the catalogue.
    settled: Option<(i64, Histories)>,
}

impl HistoryKnown {
    pub(crate) fn new(asked: History) -> Self {
        Self {
            asked,
            settled: None,
        }
    }

    /// The resources that are to have one: group and plural name.
    pub(crate) fn asked(&self) -> Vec<(&str, &str)> {
        let of = self.asked.of.iter();
        of.map(|(group, resource)| (group.as_str(), resource.as_str()))
            .collect()
    }

    pub(crate) fn window(&self) -> Duration {
        self.asked.window
    }

    /// The most bytes that are kept.
    pub(crate) fn most(&self) -> i64 {
        bound(self.asked.bytes)
    }

    /// The types that have one, as far as this process has seen to it.
    pub(crate) fn types(&self) -> Histories {
        let settled = self.settled.as_ref();
        settled.map_or_else(Histories::default, |(_, types)| types.clone())
    }

    /// Whether all types that are asked for have one and no others, as of a change of the catalogue: who asks for none only ends what there was.
    pub(crate) fn is_settled(&self, catalog: i64) -> bool {
        let settled = self.settled.as_ref();
        settled.is_some_and(|(at, _)| *at == catalog || self.asked.of.is_empty())
    }

    pub(crate) fn settle(&mut self, catalog: i64, types: Histories) {
        self.settled = Some((catalog, types));
    }

    /// Another process may decide about them.
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

    fn known(of: &[(&str, &str)]) -> HistoryKnown {
        let of = of.iter();
        HistoryKnown::new(History {
            of: of
                .map(|(group, name)| ((*group).to_owned(), (*name).to_owned()))
                .collect(),
            ..History::default()
        })
    }

    #[test]
    fn new_types_are_looked_for_only_where_some_are_asked_for() {
        for (of, again) in [(&[][..], true), (&[("", "pods")][..], false)] {
            let mut known = known(of);
            assert!(!known.is_settled(4));
            known.settle(4, Histories::of([1]));
            assert!(known.is_settled(4));
            assert_eq!(known.is_settled(5), again);
            known.forget();
            assert!(!known.is_settled(4));
        }
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
