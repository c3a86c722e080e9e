//! Where this process left its streams. Nobody else moves a stream of its epoch, so one that stands elsewhere is in a database that has lost what was
//! committed: a replica that took over and was behind, or a backup. The head alone does not tell, for another process may have led it past what
//! this one remembers.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use armadex_storage::{MemberPosition, Phase};

use crate::sql::stream::StreamRow;

/// Streams that are remembered, some 70 bytes each: ten thousand clusters of a hundred types. What is forgotten is held before it is written to.
const MOST: usize = 1 << 20;

/// Where there is no room for more, one in so many is forgotten: of a process with more streams than that most stay known.
const ONE_IN: usize = 8;

/// A cluster and a type.
type Key = (i64, i32);

/// How a stream stands: its epoch, and a hash of its position and of how many objects it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    epoch: i64,
    hash: u64,
}

/// What this process has committed of its streams.
#[derive(Debug, Default)]
pub(crate) struct LeftOff {
    committed: HashMap<Key, Standing>,
    /// Those of them that somebody else may be about to take: a transaction that moved them had to be undone.
    disputed: HashSet<Key>,
    /// What the transaction that is under way makes of some.
    pending: Vec<(Key, Standing)>,
}

impl LeftOff {
    /// Whether a stream is to be held before anything of it is read. It is not where it is remembered where this process, as the writer of an epoch, left it: it has
    /// had the answer to its last commit then, and none is under way. Nor does anybody else seem to want it.
    pub(crate) fn is_to_be_held(&self, key: Key, epoch: i64) -> bool {
        let known = self.committed.get(&key);
        let is_known = known.is_some_and(|known| known.epoch == epoch);
        !is_known || self.disputed.contains(&key)
    }

    /// Whether a stream stands where this process left it, as far as that is remembered.
    pub(crate) fn agrees(&self, stream: &StreamRow) -> bool {
        let known = self.committed.get(&(stream.cluster, stream.resource));
        let found = standing(stream.epoch, stream.position.as_ref(), stream.objects);
        known.is_none_or(|known| known.epoch != found.epoch || *known == found)
    }

    /// The transaction moves a stream.
    pub(crate) fn moves(
        &mut self,
        key: Key,
        epoch: i64,
        position: Option<&MemberPosition>,
        objects: i64,
    ) {
        self.pending.push((key, standing(epoch, position, objects)));
    }

    /// The transaction is committed.
    pub(crate) fn settle(&mut self) {
        let is_new = |(key, _): &&(Key, Standing)| !self.committed.contains_key(key);
        if self.committed.len() + self.pending.iter().filter(is_new).count() > MOST {
            self.forget_some();
        }
        for (key, _) in &self.pending {
            self.disputed.remove(key);
        }
        self.committed.extend(self.pending.drain(..));
    }

    fn forget_some(&mut self) {
        let mut at = 0;
        self.committed.retain(|_, _| {
            at += 1;
            at % ONE_IN != 0
        });
        let committed = &self.committed;
        self.disputed.retain(|key| committed.contains_key(key));
    }

    /// The transaction was undone before its commit: its streams stand where they were left, or are somebody else's by now.
    pub(crate) fn undo(&mut self) {
        let moved = self.pending.drain(..).map(|(key, _)| key);
        let known = moved.filter(|key| self.committed.contains_key(key));
        self.disputed.extend(known);
    }

    /// What was found of these streams does not go together. Whether some of them were not held, and may be somebody else's by now: all of them are the next time.
    pub(crate) fn dispute(&mut self, streams: &[StreamRow]) -> bool {
        let known = streams.iter().filter_map(|stream| {
            let key = (stream.cluster, stream.resource);
            (!self.is_to_be_held(key, stream.epoch)).then_some(key)
        });
        let known = Vec::from_iter(known);
        let are_some = !known.is_empty();
        self.disputed.extend(known);
        are_some
    }

    /// The commit failed; whether it was carried out is not known.
    pub(crate) fn forget(&mut self) {
        for (key, _) in self.pending.drain(..) {
            self.committed.remove(&key);
            self.disputed.remove(&key);
        }
    }
}

fn standing(epoch: i64, position: Option<&MemberPosition>, objects: i64) -> Standing {
    let mut hasher = DefaultHasher::new();
    let position = position.map(|position| {
        let is_live = position.phase == Phase::Live;
        (&position.resource_version, &position.member, is_live)
    });
    (position, objects).hash(&mut hasher);
    Standing {
        epoch,
        hash: hasher.finish(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(resource_version: &str) -> MemberPosition {
        MemberPosition {
            resource_version: resource_version.into(),
            member: "uid".into(),
            phase: Phase::Live,
        }
    }

    fn row(epoch: i64, position: Option<MemberPosition>, objects: i64) -> StreamRow {
        StreamRow {
            cluster: 1,
            resource: 2,
            is_open: true,
            is_kept: false,
            is_beside: false,
            epoch,
            position,
            rules: 0,
            objects,
        }
    }

    #[test]
    fn a_stream_of_ones_own_epoch_stands_where_it_was_left() {
        let mut left = LeftOff::default();
        let found = row(7, Some(at("9")), 3);
        assert!(left.agrees(&found), "nothing is known of it");
        left.moves((1, 2), 7, Some(&at("9")), 3);
        assert!(left.agrees(&row(7, None, 0)), "not committed yet");
        assert!(left.is_to_be_held((1, 2), 7));
        left.settle();
        assert!(left.agrees(&found));
        assert!(!left.is_to_be_held((1, 2), 7) && left.is_to_be_held((1, 2), 8));
        for other in [
            row(7, Some(at("8")), 3),
            row(7, Some(at("9")), 2),
            row(7, None, 3),
        ] {
            assert!(!left.agrees(&other), "{other:?}");
        }
        assert!(left.agrees(&row(8, Some(at("8")), 3)), "it is another's");
    }

    #[test]
    fn what_may_or_may_not_have_been_committed_is_not_relied_on() {
        let mut left = LeftOff::default();
        left.moves((1, 2), 7, Some(&at("9")), 3);
        left.settle();
        left.moves((1, 2), 7, Some(&at("10")), 4);
        left.forget();
        for found in [row(7, Some(at("9")), 3), row(7, Some(at("10")), 4)] {
            assert!(left.agrees(&found));
        }
        assert!(left.is_to_be_held((1, 2), 7));
    }

    /// Each moves in turn, as bookmarks do it.
    #[test]
    fn of_more_streams_than_are_remembered_most_stay_known() {
        let mut left = LeftOff::default();
        let all = i64::try_from(MOST + MOST / 8).expect("few");
        let mut held = 0;
        for round in 0..2 {
            for group in 0..all / 1024 {
                let keys = (0..1024).map(|at| (group * 1024 + at, 2));
                for key in keys {
                    held += usize::from(round > 0 && left.is_to_be_held(key, 7));
                    left.moves(key, 7, None, round);
                }
                left.settle();
                assert!(left.committed.len() <= MOST);
            }
        }
        assert!(held * 2 < MOST, "{held} were held");
    }

    #[test]
    fn what_was_undone_is_held_the_next_time_and_stands_where_it_was_left() {
        let mut left = LeftOff::default();
        left.moves((1, 2), 7, Some(&at("9")), 3);
        left.settle();
        left.moves((1, 2), 7, Some(&at("10")), 4);
        left.moves((1, 3), 7, Some(&at("10")), 4);
        left.undo();
        assert!(left.is_to_be_held((1, 2), 7));
        assert!(left.agrees(&row(7, Some(at("9")), 3)));
        assert!(!left.agrees(&row(7, Some(at("8")), 3)), "it is lost");
        assert_eq!(left.disputed.len(), 1, "nothing is known of the other one");
        assert!(!left.dispute(&[row(7, None, 0), row(8, None, 0)]), "held");
        left.moves((1, 2), 7, Some(&at("10")), 4);
        left.settle();
        assert!(!left.is_to_be_held((1, 2), 7));
        assert!(left.dispute(&[row(8, None, 0), row(7, None, 0)]));
        assert!(left.is_to_be_held((1, 2), 7));
    }
}
