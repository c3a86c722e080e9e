//! The clusters of each name, as the cases know them.

use super::map::{KINDS, Model};
use crate::{ClusterId, Health, MemberPosition, Stream};

/// The clusters of one name.
#[derive(Default)]
pub(super) struct Called {
    /// How many incarnations there were.
    pub(super) incarnations: u32,
    pub(super) present: Option<Joined>,
    /// Those that have left and may come back, the last to join at the end.
    pub(super) away: Vec<Joined>,
}

/// An incarnation of a cluster that has joined.
pub(super) struct Joined {
    pub(super) id: ClusterId,
    pub(super) incarnation: u32,
    /// Which of [`MEMBERS`] it is read from.
    pub(super) member: &'static str,
    /// One for each of [`KINDS`].
    pub(super) kinds: [Kind; KINDS.len()],
    pub(super) health: Option<Health>,
    /// It is away, and a purge without grace has had a step since.
    pub(super) may_be_gone: bool,
}

/// What is known of one type of a cluster.
#[derive(Default)]
pub(super) struct Kind {
    /// `None`: it is closed, or nobody has opened it since the cluster came back.
    pub(super) stream: Option<Stream>,
    /// It is shown.
    pub(super) is_open: bool,
    pub(super) position: Option<MemberPosition>,
    /// What it has while it is not shown, and may be shown again.
    pub(super) kept: Model,
}

impl Called {
    /// The present one is hidden.
    pub(super) fn leaves(&mut self, cluster: &str, model: &mut Model) {
        let Some(mut left) = self.present.take() else {
            return;
        };
        for (number, kind) in left.kinds.iter_mut().enumerate() {
            kind.stream = None;
            let rows = model.extract_if(.., |(of, path), _| *of == number && path.0 == cluster);
            kind.kept.extend(rows);
        }
        self.away.push(left);
        self.away.sort_by_key(|away| away.id);
    }
}

impl Joined {
    pub(super) fn new(id: ClusterId, incarnation: u32, member: &'static str) -> Self {
        Self {
            id,
            incarnation,
            member,
            kinds: <[Kind; KINDS.len()]>::default(),
            health: None,
            may_be_gone: false,
        }
    }

    /// Whether all that it has was read from this member.
    pub(super) fn is_of(&self, member: &str) -> bool {
        let positions = self.kinds.iter().filter_map(|kind| kind.position.as_ref());
        let mut members = positions.map(|position| position.member == member);
        members.next().is_some_and(|same| same) && members.all(|same| same)
    }
}

impl Kind {
    /// Its rows wait until somebody writes to it.
    pub(super) fn hidden(self) -> Self {
        Self {
            is_open: false,
            ..self
        }
    }
}
