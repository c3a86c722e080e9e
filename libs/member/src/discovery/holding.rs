//! What is held of the answers of one member while they are read and decoded: of most members so little that it may be there of many at the same
//! time.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::served::MOST_ALIASES_IN_ALL;
use crate::error::MemberError;

/// What all answers of a member have together where it has some three hundred types beside those of Kubernetes.
const USUAL_BYTES: usize = 1 << 20;

/// How much there is room for of what a member says it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// As much as usual members say. Of one that says more no answer is read to its end.
    Usual,
    /// As much as any may say.
    Large,
}

/// What is held of one member.
#[derive(Debug)]
pub(crate) struct Holding {
    room: Room,
    bytes: AtomicUsize,
    aliases: AtomicUsize,
}

impl Holding {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            room,
            bytes: AtomicUsize::new(0),
            aliases: AtomicUsize::new(0),
        }
    }

    /// So many more bytes are to be held, if there is room for them.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), MemberError> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        match self.room {
            Room::Usual if self.is_large() => Err(MemberError::Large),
            _ => Ok(()),
        }
    }

    /// Whether it is more than is usual.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > USUAL_BYTES
    }

    /// Those of the short names or categories of a resource for which there is room: a short one takes more than ten times what it has in an answer.
    pub(super) fn aliases(&self, mut found: Vec<String>) -> Vec<String> {
        let before = self.aliases.fetch_add(found.len(), Ordering::Relaxed);
        found.truncate(MOST_ALIASES_IN_ALL.saturating_sub(before));
        found.shrink_to_fit();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_more_than_is_usual_needs_room_for_it() {
        let (usual, large) = (Holding::new(Room::Usual), Holding::new(Room::Large));
        for holding in [&usual, &large] {
            assert!(holding.hold(USUAL_BYTES - 1).is_ok() && holding.hold(1).is_ok());
            assert!(!holding.is_large());
        }
        assert!(matches!(usual.hold(1), Err(MemberError::Large)));
        assert!(large.hold(1).is_ok() && large.is_large());
    }

    #[test]
    fn so_many_aliases_are_kept_of_a_member_and_no_more() {
        let holding = Holding::new(Room::Large);
        let found = |number| vec!["a".to_owned(); number];
        assert_eq!(
            holding.aliases(found(MOST_ALIASES_IN_ALL - 1)).len(),
            MOST_ALIASES_IN_ALL - 1
        );
        assert_eq!(holding.aliases(found(2)), ["a"]);
        let none = holding.aliases(found(16));
        assert_eq!((none.len(), none.capacity()), (0, 0));
    }
}
