//! How many objects a cluster may have in the store, all its types together: how many a member has is for the member to say.
//!
//! What streams write is counted as they write it. That is an estimate (a type that is closed is not counted off, and versions of a resource are each
//! counted), and who would go by it looks at the store first: see [`super::writer`]. A look is shared by all streams of the cluster for a moment.

use std::sync::Mutex;
use std::time::Duration;

use armadex_model::GroupVersionResource;
use armadex_storage::{StreamState, TypeId, Written};
use tokio::sync::MutexGuard;
use tokio::time::Instant;

use crate::lock::lock;

/// A tenth more than there may be.
const BEYOND: u64 = 10;
/// For so long a look is good enough for all, with what they have written since. Of a full cluster each of a thousand streams asks within its minutes, and to
/// look is to read a row for each of them: that is 12 looks in a minute at the most, however many ask.
const GOOD_FOR: Duration = Duration::from_secs(5);

/// The objects of one cluster.
#[derive(Debug)]
pub(crate) struct ClusterObjects {
    most: u64,
    counted: Mutex<Counted>,
    /// Whose turn it is to look at the store. Who waits for it finds what was seen.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Counted {
    all: u64,
    /// What was seen last, where a stream goes by it.
    look: Option<Look>,
}

impl ClusterObjects {
    /// None yet, of so many; 0: of any number.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most: if most == 0 { u64::MAX } else { most },
            counted: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// So many may be there.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Waits until nobody else looks at the store.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The store was seen to have these at this time. Of a cluster that is full streams are about to ask for them.
    pub(crate) fn are(&self, states: &[StreamState], at: Instant) {
        let look = Look::new(states, at);
        let mut counted = lock(&self.counted);
        counted.all = look.all();
        counted.look = (counted.all >= self.most).then_some(look);
    }

    /// The same for a stream that asked, and what that is of its type.
    pub(super) fn saw(&self, states: &[StreamState], id: TypeId, at: Instant) -> Stored {
        let look = Look::new(states, at);
        let (all, own) = (look.all(), look.own(id).unwrap_or_default());
        let look = Some(look);
        *lock(&self.counted) = Counted { all, look };
        self.stored(all, own)
    }

    /// What there is of the cluster and of this type, if that was seen a moment ago.
    pub(super) fn known(&self, id: TypeId, now: Instant) -> Option<Stored> {
        let mut counted = lock(&self.counted);
        let look = counted.look.as_ref();
        let look = look.filter(|look| now.duration_since(look.at) < GOOD_FOR)?;
        let (all, own) = (look.all(), look.own(id)?);
        counted.all = all;
        Some(self.stored(all, own))
    }

    fn stored(&self, all: u64, own: u64) -> Stored {
        let most = self.most;
        Stored { most, all, own }
    }

    /// This came of a batch of this type.
    pub(super) fn wrote(&self, id: TypeId, written: Written) {
        let mut counted = lock(&self.counted);
        counted.all = after(counted.all, written);
        let look = counted.look.as_mut();
        if !look.is_some_and(|look| look.wrote(id, written)) {
            counted.look = None;
        }
    }

    /// Whether there is room for no more, as far as is known.
    pub(crate) fn fill_it(&self) -> bool {
        lock(&self.counted).all >= self.most
    }

    /// Whether there are so many more than there may be that it matters what a batch adds.
    pub(super) fn overflow_it(&self) -> bool {
        lock(&self.counted).all > beyond(self.most)
    }
}

/// What was seen of a cluster, with what was written since.
#[derive(Debug)]
struct Look {
    at: Instant,
    /// Versions of one resource stand side by side.
    types: Vec<Counts>,
}

#[derive(Debug)]
struct Counts {
    id: TypeId,
    /// The same for all versions of a resource.
    resource: u32,
    objects: u64,
}

impl Look {
    fn new(states: &[StreamState], at: Instant) -> Self {
        let mut states: Vec<_> = states.iter().collect();
        states.sort_by(|one, other| name(one).cmp(&name(other)));
        let resources = states.chunk_by(|one, other| name(one) == name(other));
        let types = (0..).zip(resources).flat_map(|(resource, versions)| {
            versions.iter().map(move |state| Counts {
                id: state.id,
                resource,
                objects: state.objects,
            })
        });
        let types = types.collect();
        Self { at, types }
    }

    /// While another version of a resource takes the place of the one that is stored, both are there, of the same objects: those of the fuller one count.
    fn all(&self) -> u64 {
        let same = |one: &Counts, other: &Counts| one.resource == other.resource;
        let objects = self.types.chunk_by(same).map(fuller);
        objects.fold(0, u64::saturating_add)
    }

    /// Of this type, in whichever version there are more; `None` where it was not there.
    fn own(&self, id: TypeId) -> Option<u64> {
        let same = |one: &Counts, other: &Counts| one.resource == other.resource;
        let mut resources = self.types.chunk_by(same);
        let is_of = |versions: &&[Counts]| versions.iter().any(|counts| counts.id == id);
        resources.find(is_of).map(fuller)
    }

    /// `false` where it does not know the type.
    fn wrote(&mut self, id: TypeId, written: Written) -> bool {
        let counts = self.types.iter_mut().find(|counts| counts.id == id);
        let Some(counts) = counts else {
            return false;
        };
        counts.objects = after(counts.objects, written);
        true
    }
}

fn name(state: &StreamState) -> (&str, &str) {
    let GroupVersionResource {
        group, resource, ..
    } = &state.resource.gvr;
    (group, resource)
}

fn fuller(versions: &[Counts]) -> u64 {
    let objects = versions.iter().map(|counts| counts.objects);
    objects.max().unwrap_or_default()
}

fn after(objects: u64, written: Written) -> u64 {
    let Written { added, deleted, .. } = written;
    objects.saturating_add(added).saturating_sub(deleted)
}

/// A tenth more.
fn beyond(most: u64) -> u64 {
    most.saturating_add(most / BEYOND)
}

/// What the store has of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// So many there may be.
    most: u64,
    all: u64,
    /// Those of the type that is asked about.
    pub(super) own: u64,
}

/// What becomes of those objects of a type that a batch does not tell of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rest {
    /// They stay, as beside a watch.
    Stays,
    /// They go at the end of a list that did not have them.
    IsSwept {
        /// How many the type had before the list.
        before: u64,
        /// How many the list has had so far.
        seen: u64,
    },
}

/// How much of a batch may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// All of it.
    Within,
    /// What leaves: there is place for the rest once the list was swept.
    UntilSwept,
    /// What leaves, and its stream stops.
    Beyond,
}

impl Stored {
    /// Whether a list of so many leads to its end: they are no more than the type has, or than there is place for beside the others. Where nothing is added before the
    /// sweep, that has to take something away.
    pub(super) fn has_place_for(self, size: u64) -> bool {
        let no_more = match self.all <= self.most_until_swept() {
            true => size <= self.own,
            false => size < self.own,
        };
        no_more || self.with(size) <= self.most
    }

    /// Whether there are no more than there may be, or than there were, once what is to go has gone.
    pub(super) fn fits(self, rest: Rest) -> bool {
        match rest {
            Rest::Stays => self.all <= self.most,
            Rest::IsSwept { before, seen } => seen <= before || self.with(seen) <= self.most,
        }
    }

    /// What of a batch may be written. A tenth more than there may be is let in, since each stream that finds the cluster full has written a batch by then, and tries
    /// again by and by. What a list will have swept is there as long as it lasts; lists that never come to their end leave no more than that.
    pub(super) fn bound(self, rest: Rest) -> Bound {
        let will_fit = matches!(rest, Rest::IsSwept { .. }) && self.fits(rest);
        match will_fit {
            _ if self.all <= beyond(self.most) => Bound::Within,
            true if self.all <= self.most_until_swept() => Bound::Within,
            true => Bound::UntilSwept,
            false => Bound::Beyond,
        }
    }

    /// Whether so many more are there than there may be that a watch adds nothing.
    pub(super) fn is_beyond(self) -> bool {
        self.bound(Rest::Stays) == Bound::Beyond
    }

    /// What there is when the type has so many.
    fn with(self, own: u64) -> u64 {
        self.all.saturating_sub(self.own).saturating_add(own)
    }

    /// As many once more, for what a list replaces.
    fn most_until_swept(self) -> u64 {
        beyond(self.most).saturating_add(self.most)
    }
}

#[cfg(test)]
mod tests {
    use armadex_model::ResourceType;

    use super::*;

    const PODS: TypeId = TypeId(1);
    const THINGS: TypeId = TypeId(2);
    const NEW_THINGS: TypeId = TypeId(3);

    fn written(added: u64, deleted: u64) -> Written {
        Written {
            added,
            deleted,
            changed: 3,
            unchanged: 4,
        }
    }

    fn state(
        id: TypeId,
        (group, version, resource): (&str, &str, &str),
        objects: u64,
    ) -> StreamState {
        StreamState {
            id,
            resource: ResourceType {
                gvr: GroupVersionResource::new(group, version, resource),
                kind: "Kind".into(),
                namespaced: true,
                singular: String::new(),
                short_names: vec![],
                categories: vec![],
            },
            position: None,
            objects,
        }
    }

    fn pods(objects: u64) -> StreamState {
        state(PODS, ("", "v1", "pods"), objects)
    }

    fn things(id: TypeId, version: &str, objects: u64) -> StreamState {
        state(id, ("shop.example", version, "things"), objects)
    }

    fn stored(most: u64, all: u64, own: u64) -> Stored {
        Stored { most, all, own }
    }

    #[test]
    fn what_comes_and_goes_is_counted() {
        let objects = ClusterObjects::new(10);
        objects.are(&[pods(7)], Instant::now());
        objects.wrote(PODS, written(2, 0));
        assert!(!objects.fill_it());
        objects.wrote(PODS, written(4, 2));
        assert!(objects.fill_it());
        assert!(!objects.overflow_it(), "11 of 10 are a tenth more");
        objects.wrote(PODS, written(1, 0));
        assert!(objects.overflow_it());
        objects.wrote(PODS, written(0, 50));
        objects.wrote(PODS, written(9, 0));
        assert!(!objects.fill_it(), "there are never fewer than none");
    }

    #[test]
    fn a_look_is_good_enough_for_a_moment_and_knows_what_was_written_since() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        assert_eq!(objects.known(PODS, now), None);
        let seen = objects.saw(&[pods(4), things(THINGS, "v1", 7)], PODS, now);
        assert_eq!(seen, stored(10, 11, 4));
        objects.wrote(PODS, written(1, 0));
        objects.wrote(THINGS, written(0, 2));
        let just_before = now + GOOD_FOR - Duration::from_millis(1);
        assert_eq!(objects.known(PODS, just_before), Some(stored(10, 10, 5)));
        assert_eq!(objects.known(THINGS, now), Some(stored(10, 10, 5)));
        assert_eq!(objects.known(PODS, now + GOOD_FOR), None);
        assert_eq!(objects.known(NEW_THINGS, now), None, "it came later");
        objects.wrote(NEW_THINGS, written(1, 0));
        assert_eq!(objects.known(PODS, now), None, "something else is there");
    }

    #[test]
    fn what_is_there_is_kept_where_somebody_is_about_to_ask_for_it() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        objects.are(&[pods(9)], now);
        assert_eq!(objects.known(PODS, now), None);
        objects.are(&[pods(10)], now);
        assert_eq!(objects.known(PODS, now), Some(stored(10, 10, 10)));
        objects.saw(&[pods(9)], PODS, now);
        assert_eq!(objects.known(PODS, now), Some(stored(10, 9, 9)));
    }

    #[test]
    fn of_the_versions_of_a_resource_the_one_with_most_objects_counts() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        let (v1, v2) = (things(THINGS, "v1", 6), things(NEW_THINGS, "v2", 5));
        let same_name = state(TypeId(4), ("other.example", "v1", "things"), 1);
        let states = [v2, pods(4), same_name, v1];
        assert_eq!(objects.saw(&states, PODS, now), stored(10, 11, 4));
        for id in [THINGS, NEW_THINGS] {
            assert_eq!(objects.known(id, now), Some(stored(10, 11, 6)));
        }
        objects.wrote(NEW_THINGS, written(2, 0));
        assert_eq!(objects.known(THINGS, now), Some(stored(10, 12, 7)));
    }

    #[test]
    fn whatever_a_member_says_has_place_where_the_cluster_is_no_fuller_for_it() {
        let has_place =
            |stored: Stored| [0, 4, 5, 6, u64::MAX].map(|size| stored.has_place_for(size));
        assert_eq!(
            has_place(stored(10, 10, 4)),
            [true, true, false, false, false]
        );
        assert_eq!(
            has_place(stored(10, 9, 4)),
            [true, true, true, false, false]
        );
        // Others alone are more than there may be; then so many are there that nothing is added before the sweep.
        assert_eq!(
            has_place(stored(10, 21, 4)),
            [true, true, false, false, false]
        );
        assert_eq!(
            has_place(stored(10, 22, 4)),
            [true, false, false, false, false]
        );
    }

    #[test]
    fn a_watch_may_add_up_to_a_tenth_and_a_list_as_much_as_will_be_left() {
        let watch = |all| stored(10, all, 4).bound(Rest::Stays);
        assert_eq!(
            [10, 11, 12].map(watch),
            [Bound::Within, Bound::Within, Bound::Beyond]
        );
        assert_eq!(
            [10, 11].map(|all| stored(10, all, 4).fits(Rest::Stays)),
            [true, false]
        );
        let list =
            |all, own, before, seen| stored(10, all, own).bound(Rest::IsSwept { before, seen });
        // Six others.
        assert_eq!(list(14, 8, 0, 4), Bound::Within);
        assert_eq!(list(14, 8, 0, 5), Bound::Beyond);
        assert_eq!(
            list(14, 8, 5, 5),
            Bound::Within,
            "it has no more than before"
        );
        assert_eq!(
            [21, 22].map(|all| list(all, all - 6, 0, 4)),
            [Bound::Within, Bound::UntilSwept]
        );
        assert_eq!(list(22, 16, 0, 5), Bound::Beyond);
    }

    #[test]
    fn without_a_limit_any_number_has_room() {
        let objects = ClusterObjects::new(0);
        objects.are(&[pods(u64::MAX - 1)], Instant::now());
        assert!(!objects.fill_it() && !objects.overflow_it());
    }
}
