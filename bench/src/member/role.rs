//! What each member is like, and how many objects it has of each kind. Pure.

use serde::Serialize;

/// What a member is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    /// It does all that is asked.
    Healthy,
    /// It lets nobody read its last kind.
    ForbidsAKind,
    /// It lets everybody list and nobody watch.
    RefusesWatches,
    /// It sends the first half of each list, and then nothing.
    StallsInLists,
    /// It takes connections and says nothing, not even of TLS.
    Silent,
}

/// Of so many members one is of each kind of trouble.
const OF: usize = 20;

impl Role {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self::Healthy,
        Self::ForbidsAKind,
        Self::RefusesWatches,
        Self::StallsInLists,
        Self::Silent,
    ];

    /// That of the member of this number. The last three of each twenty are in trouble; those that hang do so in turns in one way
    /// and the other.
    pub(super) fn of(number: usize) -> Self {
        match (number % OF, number / OF % 2) {
            (17, _) => Self::ForbidsAKind,
            (18, _) => Self::RefusesWatches,
            (19, 0) => Self::StallsInLists,
            (19, _) => Self::Silent,
            _ => Self::Healthy,
        }
    }

    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::ForbidsAKind => "with a forbidden kind",
            Self::RefusesWatches => "refusing watches",
            Self::StallsInLists => "stalling in lists",
            Self::Silent => "silent",
        }
    }

    /// Whether it lets its types be watched, as most do. Others have to be asked for discovery by and by.
    pub(super) fn tells_types(self) -> bool {
        self == Self::Healthy
    }

    /// How many of its `kinds` can be followed: the streams that have to become live.
    pub(super) fn followed(self, kinds: usize) -> usize {
        match self {
            Self::Healthy => kinds,
            Self::ForbidsAKind => kinds - 1,
            Self::RefusesWatches | Self::StallsInLists | Self::Silent => 0,
        }
    }

    /// How many of its `kinds` can be listed.
    pub(super) fn listed(self, kinds: usize) -> usize {
        match self {
            Self::Healthy | Self::RefusesWatches => kinds,
            Self::ForbidsAKind => kinds - 1,
            Self::StallsInLists | Self::Silent => 0,
        }
    }
}

/// How many objects there are of a kind, where the first has `most`: few kinds have many, and most have few.
pub(super) fn objects(most: usize, kind: usize) -> usize {
    (most / (kind + 1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_twenty_is_in_each_kind_of_trouble() {
        let count = |role| (0..1000).filter(|&number| Role::of(number) == role).count();
        assert_eq!(Role::ALL.map(count), [850, 50, 50, 25, 25]);
        let few = |role| (0..20).filter(|&number| Role::of(number) == role).count();
        assert_eq!(Role::ALL.map(few), [17, 1, 1, 1, 0]);
    }

    #[test]
    fn what_has_to_become_live_can_be_listed() {
        for role in Role::ALL {
            assert!(role.followed(40) <= role.listed(40), "{role:?}");
        }
        assert_eq!(Role::ForbidsAKind.followed(1), 0);
    }

    #[test]
    fn every_kind_has_an_object_and_the_first_has_most() {
        assert_eq!([0, 1, 2, 39].map(|kind| objects(60, kind)), [60, 30, 20, 1]);
        assert_eq!(objects(1, 39), 1);
    }
}
