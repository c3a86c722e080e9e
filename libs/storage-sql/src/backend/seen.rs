//! What a process has seen of a store. Whoever meets less of it afterwards meets a server that is behind another one, or a database that was
//! rewound; which of the two, time tells.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::backend::incarnation::Committed;
use crate::sql::head::HeadRow;

/// Incarnations that were read before the present one and are remembered: a store gets another one when it was restored.
const FORMER: usize = 8;

/// The furthest that a process has seen its store.
#[derive(Debug)]
pub(crate) struct Seen(Mutex<Known>);

/// What was known at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) last: Committed,
    /// Incarnations that were read before this one, the last first.
    former: VecDeque<String>,
}

impl Known {
    /// Whether a transaction that began after this moment shows what was left behind by then: an earlier revision or catalogue, or an
    /// incarnation before the present one.
    pub(crate) fn is_ahead_of(&self, head: &HeadRow) -> bool {
        match self.last.incarnation == head.incarnation {
            true => self.last.is_beyond(head),
            false => self.former.contains(&head.incarnation),
        }
    }

    fn turn_to(&mut self, head: &HeadRow) {
        let left = std::mem::replace(&mut self.last, Committed::at(head));
        self.former.truncate(FORMER - 1);
        self.former.push_front(left.incarnation);
    }
}

impl Seen {
    pub(crate) fn new(last: Committed) -> Self {
        Self(Mutex::new(Known {
            last,
            former: VecDeque::new(),
        }))
    }

    /// What is known before a transaction begins: it must not be behind that. Others go on meanwhile, and what they see says nothing about it.
    pub(crate) fn before(&self) -> Known {
        self.lock().clone()
    }

    /// Notes what a transaction shows; false if others have seen meanwhile that its incarnation has ended, which is no fault of the server's.
    pub(crate) fn note(&self, head: &HeadRow) -> bool {
        let mut known = self.lock();
        if known.last.incarnation == head.incarnation {
            known.last.reach(head.revision, head.catalog);
        } else if known.former.contains(&head.incarnation) {
            return false;
        } else {
            known.turn_to(head);
        }
        true
    }

    /// Notes what this process has committed: whoever reads afterwards has to find it.
    pub(crate) fn note_committed(&self, committed: &Committed) {
        let last = &mut self.lock().last;
        if last.incarnation == committed.incarnation {
            last.reach(committed.revision, committed.catalog);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(incarnation: &str, revision: i64) -> HeadRow {
        HeadRow {
            revision,
            pruned: 0,
            catalog: 1,
            floor: 0,
            incarnation: incarnation.to_owned(),
            serves: 1,
            history: 0,
        }
    }

    fn seen(incarnation: &str, revision: i64) -> Seen {
        Seen::new(Committed::at(&head(incarnation, revision)))
    }

    #[test]
    fn what_others_see_after_a_transaction_began_leaves_it_where_it_is() {
        let seen = seen("a", 100);
        let before = seen.before();
        assert!(seen.note(&head("a", 101)));
        assert!(!before.is_ahead_of(&head("a", 100)));
        assert!(seen.note(&head("a", 100)));
        let after = seen.before();
        assert_eq!(after.last.revision, 101, "nothing is unseen");
        assert!(after.is_ahead_of(&head("a", 100)));
        assert!(!after.is_ahead_of(&head("a", 101)));
    }

    #[test]
    fn what_was_committed_has_to_be_found() {
        let seen = seen("a", 100);
        seen.note_committed(&Committed::at(&head("a", 101)));
        assert!(seen.before().is_ahead_of(&head("a", 100)));
        seen.note_committed(&Committed::at(&head("a", 99)));
        seen.note_committed(&Committed::at(&head("of others", 200)));
        assert!(!seen.before().is_ahead_of(&head("a", 101)));
    }

    #[test]
    fn what_takes_no_revision_has_to_be_found_as_well() {
        let at = |revision, catalog| HeadRow {
            catalog,
            ..head("a", revision)
        };
        let seen = seen("a", 100);
        let before = seen.before();
        assert!(seen.note(&at(100, 5)));
        assert!(!before.is_ahead_of(&at(100, 1)));
        assert!(seen.before().is_ahead_of(&at(101, 4)));
        assert!(!seen.before().is_ahead_of(&at(100, 5)));
        seen.note_committed(&Committed::at(&at(100, 6)));
        assert!(seen.before().is_ahead_of(&at(100, 5)));
    }

    #[test]
    fn an_incarnation_that_has_ended_is_behind_and_does_not_come_back() {
        let seen = seen("a", 100);
        let before = seen.before();
        assert!(seen.note(&head("b", 7)));
        // It began while that was the present one, and others were faster.
        assert!(!before.is_ahead_of(&head("a", 100)));
        assert!(!seen.note(&head("a", 100)));
        let after = seen.before();
        assert_eq!(after.last.incarnation, "b");
        assert!(after.is_ahead_of(&head("a", 200)));
        assert!(!after.is_ahead_of(&head("c", 1)));
    }

    #[test]
    fn so_many_former_incarnations_are_remembered() {
        let seen = seen("0", 1);
        for number in 1..=FORMER {
            assert!(seen.note(&head(&number.to_string(), 1)));
        }
        assert!(seen.before().is_ahead_of(&head("0", 1)));
        assert!(seen.note(&head("next", 1)));
        assert!(!seen.before().is_ahead_of(&head("0", 1)));
    }
}
