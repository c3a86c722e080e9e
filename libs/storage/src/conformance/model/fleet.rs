//! The clusters of each name, as the cases know them.

use std::collections::BTreeMap;

use armadex_model::ClusterLabels;

use super::map::{Changed, KINDS, Model};
use crate::{ClusterId, Health, MemberPosition, Stream};

/// All clusters, by name.
pub(super) type Fleet = BTreeMap<&'static str, Called>;
/// A type of a cluster that is present: its name, and a place in [`KINDS`].
pub(super) type At = (&'static str, usize);

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
    pub(super) labels: ClusterLabels,
    /// It has had a stream, or what a former one had.
    pub(super) is_settled: bool,
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

/// The cluster of this name, which is present.
pub(super) fn present<'a>(fleet: &'a Fleet, cluster: &str) -> &'a Joined {
    let present = fleet
        .get(cluster)
        .and_then(|called| called.present.as_ref());
    present.expect("a cluster that is present")
}

/// The same, to be changed.
pub(super) fn present_mut<'a>(fleet: &'a mut Fleet, cluster: &str) -> &'a mut Joined {
    let present = fleet
        .get_mut(cluster)
        .and_then(|called| called.present.as_mut());
    present.expect("a cluster that is present")
}

/// The labels of the cluster of this name, if it is present.
pub(super) fn labels_of(fleet: &Fleet, cluster: &str) -> ClusterLabels {
    let present = fleet
        .get(cluster)
        .and_then(|called| called.present.as_ref());
    present.map_or_else(ClusterLabels::default, |joined| joined.labels.clone())
}

/// A type of a cluster that is present.
pub(super) fn kind_of(fleet: &mut Fleet, (cluster, number): At) -> &mut Kind {
    &mut present_mut(fleet, cluster).kinds[number]
}

impl Called {
    /// One of this incarnation is present: as it was, if it was here before and is kept.
    pub(super) fn joins(&mut self, cluster: &str, mut new: Joined, model: &mut Model) {
        self.leaves(cluster, model);
        let same = |away: &Joined| away.incarnation == new.incarnation;
        let Some(back) = self.away.iter().position(same) else {
            self.incarnations = new.incarnation;
            self.present = Some(new);
            return;
        };
        let mut back = self.away.remove(back);
        if back.id == new.id {
            back.may_be_gone = false;
            let shown = back.kinds.iter_mut().filter(|kind| kind.is_open);
            shown.for_each(|kind| model.append(&mut kind.kept));
            self.present = Some(back);
        } else {
            assert!(back.may_be_gone, "{cluster} is lost");
            new.member = back.member;
            self.present = Some(new);
        }
    }

    /// The one that is present goes on with what the last one had that had anything, if that was the same member.
    pub(super) fn adopts(&mut self, cluster: &str, adopted: ClusterId) {
        let new = self.present.take().expect("a cluster that is present");
        let may_be = |away: &Joined| away.is_of(new.member);
        let expected = self
            .away
            .iter()
            .rposition(|away| may_be(away) && !away.may_be_gone);
        let found = self.away.iter().position(|away| away.id == adopted);
        assert!(
            found >= expected,
            "{cluster} did not take the last one over"
        );
        let Some(found) = found else {
            assert_eq!(adopted, new.id);
            self.present = Some(new);
            return;
        };
        let former = self.away.remove(found);
        assert!(may_be(&former), "{cluster} of {}", new.member);
        self.present = Some(Joined {
            incarnation: new.incarnation,
            kinds: former.kinds.map(Kind::hidden),
            labels: new.labels,
            may_be_gone: false,
            ..former
        });
    }

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
            labels: ClusterLabels::default(),
            is_settled: false,
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
    /// A batch was stored.
    pub(super) fn stores(
        &mut self,
        changed: Vec<Changed>,
        position: Option<MemberPosition>,
        model: &mut Model,
    ) {
        self.position = position;
        for (key, known) in changed {
            match known {
                Some(known) => drop(model.insert(key, known)),
                None => drop(model.remove(&key)),
            }
        }
    }

    /// The type is shown no more, and where its stream stood is forgotten.
    pub(super) fn closes(&mut self, (cluster, number): At, model: &mut Model) {
        *self = Self::default();
        model.retain(|(of, path), _| *of != number || path.0 != cluster);
    }

    /// Its rows wait until somebody writes to it.
    pub(super) fn hidden(self) -> Self {
        Self {
            is_open: false,
            ..self
        }
    }
}
