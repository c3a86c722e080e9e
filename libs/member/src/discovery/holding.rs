//! What is held of the answers of one member while they are read and decoded: of most members so little that it may be there of many at the same
//! time.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::served::{
    MOST_ALIASES_IN_ALL, MOST_GROUPS, MOST_REQUESTS, MOST_RESOURCES, MOST_VERSIONS_IN_ALL,
    ServedResource,
};
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

/// What is held of one member: of what it answers to `/api` and to `/apis` together.
#[derive(Debug)]
pub(crate) struct Holding {
    room: Room,
    bytes: AtomicUsize,
    pub(super) groups: Count,
    pub(super) versions: Count,
    /// Of the older way.
    pub(super) requests: Count,
    resources: Count,
    aliases: Count,
}

/// How many there are of what a member may have so many of.
#[derive(Debug)]
pub(super) struct Count {
    most: usize,
    found: AtomicUsize,
}

impl Count {
    const fn of_at_most(most: usize) -> Self {
        let found = AtomicUsize::new(0);
        Self { most, found }
    }

    /// There are so many more; whether they are within what may be.
    pub(super) fn add(&self, more: usize) -> bool {
        self.found.fetch_add(more, Ordering::Relaxed);
        self.is_within()
    }

    fn is_within(&self) -> bool {
        self.found() <= self.most
    }

    fn found(&self) -> usize {
        self.found.load(Ordering::Relaxed)
    }
}

impl Holding {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            room,
            bytes: AtomicUsize::new(0),
            groups: Count::of_at_most(MOST_GROUPS),
            versions: Count::of_at_most(MOST_VERSIONS_IN_ALL),
            requests: Count::of_at_most(MOST_REQUESTS),
            resources: Count::of_at_most(MOST_RESOURCES),
            aliases: Count::of_at_most(MOST_ALIASES_IN_ALL),
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

    /// What is kept of a resource, if it is within what may be: an alias takes more than ten times what it has in an answer.
    pub(super) fn resource(&self, found: ServedResource) -> Option<ServedResource> {
        let found = found.named()?;
        let aliases = found.short_names.len() + found.categories.len();
        (self.resources.add(1) && self.aliases.add(aliases)).then_some(found)
    }

    /// What `read` finds; of an answer that cannot be read to its end nothing is kept, so nothing of it counts either.
    pub(super) fn counted<T, E>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let (resources, aliases) = (self.resources.found(), self.aliases.found());
        let found = read();
        if found.is_err() {
            self.resources.found.store(resources, Ordering::Relaxed);
            self.aliases.found.store(aliases, Ordering::Relaxed);
        }
        found
    }

    /// Whether all that the member told was within what may be. If not some of it was not kept, and nobody is to take that for the whole.
    pub(super) fn is_whole(&self) -> bool {
        let all = [
            &self.groups,
            &self.versions,
            &self.requests,
            &self.resources,
            &self.aliases,
        ];
        all.into_iter().all(Count::is_within)
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

    fn resource(short_names: usize, categories: usize) -> ServedResource {
        ServedResource {
            name: "things".into(),
            singular: String::new(),
            kind: "Thing".into(),
            namespaced: true,
            can_sync: true,
            short_names: vec!["a".into(); short_names],
            categories: vec!["b".into(); categories],
        }
    }

    #[test]
    fn more_aliases_than_may_be_are_not_kept_and_that_is_known() {
        let holding = Holding::new(Room::Large);
        let half = MOST_ALIASES_IN_ALL / 2;
        assert!(holding.resource(resource(half, half)).is_some() && holding.is_whole());
        assert!(holding.resource(resource(0, 0)).is_some() && holding.is_whole());
        assert!(holding.resource(resource(0, 1)).is_none() && !holding.is_whole());
    }
}
