//! How many objects a cluster may have in the store, all its types together: how many a member has is for the member to say.
//!
//! What streams write is counted as they write it. That is an estimate (a type that is closed is not counted off, and versions of a resource are each
//! counted), and who would go by it looks at the store first: see [`super::writer`]. A look is shared by all streams of the cluster for a moment.

use std::collections::BTreeSet;
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

/// Whose objects are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type<'t> {
    pub(super) id: TypeId,
    pub(super) gvr: &'t GroupVersionResource,
}

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
    /// Resources whose versions are there beside each other: all of their objects count.
    apart: BTreeSet<(String, String)>,
    /// What was seen last, where a stream goes by it, or may soon.
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

    /// The store was seen to have these at this time. Of a cluster that is nearly full streams are about to ask for them: what they write of another version of a
    /// resource counts, and does not fill it.
    pub(crate) fn are(&self, states: &[StreamState], at: Instant) {
        let mut counted = lock(&self.counted);
        let look = Look::new(states, &counted.apart, at);
        counted.all = look.all();
        let is_nearly_full = beyond(counted.all) >= self.most;
        counted.look = is_nearly_full.then_some(look);
    }

    /// Of these resources each version is there to stay, from the next look on.
    pub(crate) fn have_versions(&self, of: &BTreeSet<(String, String)>) {
        lock(&self.counted).apart.clone_from(of);
    }

    /// What there is of the cluster and of this type, if that was seen a moment ago and fills it.
    pub(super) fn known(&self, of: Type<'_>, now: Instant) -> Option<Stored> {
        let mut counted = lock(&self.counted);
        let look = counted.look.as_mut();
        let look = look.filter(|look| now.duration_since(look.at) < GOOD_FOR)?;
        let (all, (own, beside)) = (look.all(), look.of(of));
        counted.all = all;
        let most = self.most;
        (all >= most).then_some(Stored {
            most,
            all,
            own,
            beside,
        })
    }

    /// This came of a batch of this type.
    pub(super) fn wrote(&self, of: Type<'_>, written: Written) {
        let mut counted = lock(&self.counted);
        counted.all = after(counted.all, written);
        if let Some(look) = &mut counted.look {
            look.wrote(of, written);
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
    /// Resources by name, in the order of their numbers.
    resources: Vec<(String, String)>,
}

#[derive(Debug)]
struct Counts {
    id: TypeId,
    /// The same for all versions of a resource, unless they are apart.
    resource: usize,
    objects: u64,
}

impl Look {
    fn new(states: &[StreamState], apart: &BTreeSet<(String, String)>, at: Instant) -> Self {
        let mut states: Vec<_> = states.iter().collect();
        states.sort_by(|one, other| name(&one.resource.gvr).cmp(&name(&other.resource.gvr)));
        let resources = states.chunk_by(|one, other| {
            let (one, other) = (name(&one.resource.gvr), name(&other.resource.gvr));
            one == other && !apart.contains(&owned(one))
        });
        let types = resources
            .clone()
            .enumerate()
            .flat_map(|(resource, versions)| {
                versions.iter().map(move |state| Counts {
                    id: state.id,
                    resource,
                    objects: state.objects,
                })
            });
        let types = types.collect();
        let resources = resources.map(|versions| owned(name(&versions[0].resource.gvr)));
        Self {
            at,
            types,
            resources: resources.collect(),
        }
    }

    /// While another version of a resource takes the place of the one that is stored, both are there, of the same objects: those of the fullest one count. Of
    /// versions that are apart each counts.
    fn all(&self) -> u64 {
        let same = |one: &Counts, other: &Counts| one.resource == other.resource;
        let objects = self.types.chunk_by(same).map(fullest);
        objects.fold(0, u64::saturating_add)
    }

    /// Of this type, and of the fullest other version of its resource.
    fn of(&mut self, of: Type<'_>) -> (u64, u64) {
        let &mut Counts {
            id,
            resource,
            objects,
        } = self.counts(of);
        let is_beside = |counts: &&Counts| counts.resource == resource && counts.id != id;
        let beside = self.types.iter().filter(is_beside);
        (objects, fullest(beside))
    }

    fn wrote(&mut self, of: Type<'_>, written: Written) {
        let counts = self.counts(of);
        counts.objects = after(counts.objects, written);
    }

    /// One that came after the look had nothing then; what another version of its resource has are the objects that it will have.
    fn counts(&mut self, Type { id, gvr }: Type<'_>) -> &mut Counts {
        let known = self.types.iter().position(|counts| counts.id == id);
        let place = known.unwrap_or_else(|| {
            let resource = self.number(gvr);
            let is_before = |counts: &Counts| counts.resource <= resource;
            let place = self.types.partition_point(is_before);
            let new = Counts {
                id,
                resource,
                objects: 0,
            };
            self.types.insert(place, new);
            place
        });
        &mut self.types[place]
    }

    /// That of a resource, which is there from now on.
    fn number(&mut self, gvr: &GroupVersionResource) -> usize {
        let named = |(group, resource): &(String, String)| (&**group, &**resource) == name(gvr);
        self.resources.iter().position(named).unwrap_or_else(|| {
            self.resources.push(owned(name(gvr)));
            self.resources.len() - 1
        })
    }
}

fn name(gvr: &GroupVersionResource) -> (&str, &str) {
    (&gvr.group, &gvr.resource)
}

fn owned((group, resource): (&str, &str)) -> (String, String) {
    (group.to_owned(), resource.to_owned())
}

fn fullest<'a>(versions: impl IntoIterator<Item = &'a Counts>) -> u64 {
    let objects = versions.into_iter().map(|counts| counts.objects);
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
    own: u64,
    /// Those of the fullest other version of its resource, which are the same objects.
    beside: u64,
}

/// How a list begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// As any other. Of the type there may be so many as far as the list has as many, however many others there are: it had them before, or another version of
    /// its resource has them.
    Whole { may_have: u64 },
    /// For what it does not have, which is swept: nothing of it is written while there are so many.
    ToSweep,
    /// Not at all: it would be read in vain.
    Not,
}

impl Stored {
    /// How a list of so many begins, if the member says how many it has.
    pub(super) fn begins(self, size: Option<u64>) -> Begins {
        let may_have = self.own.max(self.beside);
        match size {
            // There is nothing to write.
            Some(0) => Begins::Whole { may_have },
            // What is stored is more than the member has, so some of it goes. Of who does not say, a list may be read over and over and bring nothing.
            Some(size) if self.is_beyond() && size < self.own => Begins::ToSweep,
            _ if self.is_beyond() => Begins::Not,
            Some(size) if size > may_have && self.with(size) > self.most => Begins::Not,
            Some(_) | None => Begins::Whole { may_have },
        }
    }

    /// Whether there are more than there may be.
    pub(super) fn is_above(self) -> bool {
        self.all > self.most
    }

    /// Whether there are so many more that nothing is written but what leaves. A tenth is let in, since each stream that finds the cluster full has written a
    /// batch by then, and tries again by and by; and a list of what is stored already has others among them, whose place is swept at its end.
    pub(super) fn is_beyond(self) -> bool {
        self.all > beyond(self.most)
    }

    /// What there is when the type has so many.
    fn with(self, own: u64) -> u64 {
        let others = self.all.saturating_sub(self.own.max(self.beside));
        others.saturating_add(own.max(self.beside))
    }
}

#[cfg(test)]
mod tests {
    use armadex_model::ResourceType;

    use super::*;

    const PODS: TypeId = TypeId(1);
    const THINGS: TypeId = TypeId(2);
    const NEW_THINGS: TypeId = TypeId(3);
    /// Of another group, by the same name.
    const OTHERS: TypeId = TypeId(4);

    fn written(added: u64, deleted: u64) -> Written {
        Written {
            added,
            deleted,
            changed: 3,
            unchanged: 4,
            bytes: 500,
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
            is_beside: false,
        }
    }

    fn gvr(id: TypeId) -> GroupVersionResource {
        match id {
            PODS => GroupVersionResource::new("", "v1", "pods"),
            THINGS => GroupVersionResource::new("shop.example", "v1", "things"),
            NEW_THINGS => GroupVersionResource::new("shop.example", "v2", "things"),
            _ => GroupVersionResource::new("other.example", "v1", "things"),
        }
    }

    fn known(objects: &ClusterObjects, id: TypeId, now: Instant) -> Option<Stored> {
        objects.known(Type { id, gvr: &gvr(id) }, now)
    }

    fn wrote(objects: &ClusterObjects, id: TypeId, written: Written) {
        objects.wrote(Type { id, gvr: &gvr(id) }, written);
    }

    fn pods(objects: u64) -> StreamState {
        state(PODS, ("", "v1", "pods"), objects)
    }

    fn things(id: TypeId, version: &str, objects: u64) -> StreamState {
        state(id, ("shop.example", version, "things"), objects)
    }

    fn stored(most: u64, all: u64, own: u64) -> Stored {
        Stored {
            most,
            all,
            own,
            beside: 0,
        }
    }

    #[test]
    fn what_comes_and_goes_is_counted() {
        let objects = ClusterObjects::new(10);
        objects.are(&[pods(7)], Instant::now());
        wrote(&objects, PODS, written(2, 0));
        assert!(!objects.fill_it());
        wrote(&objects, PODS, written(4, 2));
        assert!(objects.fill_it());
        assert!(!objects.overflow_it(), "11 of 10 are a tenth more");
        wrote(&objects, PODS, written(1, 0));
        assert!(objects.overflow_it());
        wrote(&objects, PODS, written(0, 50));
        wrote(&objects, PODS, written(9, 0));
        assert!(!objects.fill_it(), "there are never fewer than none");
    }

    #[test]
    fn a_look_is_good_enough_for_a_moment_and_knows_what_was_written_since() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        assert_eq!(known(&objects, PODS, now), None);
        objects.are(&[pods(4), things(THINGS, "v1", 7)], now);
        assert_eq!(known(&objects, PODS, now), Some(stored(10, 11, 4)));
        wrote(&objects, PODS, written(1, 0));
        wrote(&objects, THINGS, written(0, 2));
        let just_before = now + GOOD_FOR - Duration::from_millis(1);
        assert_eq!(known(&objects, PODS, just_before), Some(stored(10, 10, 5)));
        assert_eq!(known(&objects, THINGS, now), Some(stored(10, 10, 5)));
        assert_eq!(known(&objects, PODS, now + GOOD_FOR), None);
    }

    #[test]
    fn a_type_that_is_newer_than_a_look_had_nothing_then() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        objects.are(&[pods(4), things(THINGS, "v1", 7)], now);
        assert_eq!(known(&objects, OTHERS, now), Some(stored(10, 11, 0)));
        wrote(&objects, OTHERS, written(3, 0));
        wrote(&objects, OTHERS, written(2, 1));
        assert_eq!(known(&objects, OTHERS, now), Some(stored(10, 15, 4)));
        assert_eq!(known(&objects, THINGS, now), Some(stored(10, 15, 7)));
    }

    #[test]
    fn a_version_that_is_newer_than_a_look_has_the_objects_of_the_others() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        objects.are(&[things(THINGS, "v1", 7), pods(4)], now);
        let things = |own, beside| Stored {
            beside,
            ..stored(10, 11, own)
        };
        let new = known(&objects, NEW_THINGS, now).expect("a look");
        assert_eq!(new, things(0, 7));
        assert_eq!(new.begins(Some(7)), Begins::Whole { may_have: 7 });
        wrote(&objects, NEW_THINGS, written(4, 0));
        assert_eq!(known(&objects, NEW_THINGS, now), Some(things(4, 7)));
        assert_eq!(known(&objects, THINGS, now), Some(things(7, 4)));
        assert_eq!(known(&objects, PODS, now), Some(stored(10, 11, 4)));
    }

    #[test]
    fn what_is_there_is_kept_where_somebody_is_about_to_ask_for_it() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        objects.are(&[pods(10)], now);
        assert_eq!(known(&objects, PODS, now), Some(stored(10, 10, 10)));
        objects.are(&[pods(9)], now);
        assert_eq!(known(&objects, PODS, now), None);
    }

    #[test]
    fn a_look_that_tells_of_room_is_good_enough_for_what_does_not_take_it() {
        let (objects, now) = (ClusterObjects::new(100), Instant::now());
        objects.are(&[pods(35), things(THINGS, "v1", 60)], now);
        wrote(&objects, NEW_THINGS, written(10, 0));
        assert!(objects.fill_it(), "each version is counted");
        assert_eq!(known(&objects, NEW_THINGS, now), None);
        assert!(!objects.fill_it(), "they are the same objects");
        wrote(&objects, PODS, written(5, 0));
        assert_eq!(known(&objects, PODS, now), Some(stored(100, 100, 40)));
    }

    #[test]
    fn of_the_versions_of_a_resource_the_one_with_most_objects_counts() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        let (v1, v2) = (things(THINGS, "v1", 6), things(NEW_THINGS, "v2", 5));
        let same_name = state(TypeId(4), ("other.example", "v1", "things"), 1);
        objects.are(&[v2, pods(4), same_name, v1], now);
        assert_eq!(known(&objects, PODS, now), Some(stored(10, 11, 4)));
        let things = |all, own, beside| Stored {
            beside,
            ..stored(10, all, own)
        };
        assert_eq!(known(&objects, THINGS, now), Some(things(11, 6, 5)));
        assert_eq!(known(&objects, NEW_THINGS, now), Some(things(11, 5, 6)));
        wrote(&objects, NEW_THINGS, written(2, 0));
        assert_eq!(known(&objects, THINGS, now), Some(things(12, 6, 7)));
    }

    #[test]
    fn of_versions_that_are_there_to_stay_all_objects_count() {
        let (objects, now) = (ClusterObjects::new(10), Instant::now());
        let (group, resource) = owned(name(&things(THINGS, "v1", 0).resource.gvr));
        objects.have_versions(&[(group, resource)].into());
        objects.are(&[things(THINGS, "v1", 6), things(NEW_THINGS, "v2", 5)], now);
        assert!(objects.fill_it());
        objects.have_versions(&BTreeSet::new());
        objects.are(&[things(THINGS, "v1", 6), things(NEW_THINGS, "v2", 5)], now);
        assert!(!objects.fill_it());
    }

    #[test]
    fn a_list_begins_where_the_cluster_is_no_fuller_for_it_at_its_end() {
        use Begins::{Not, ToSweep};
        let sizes = [Some(0), Some(3), Some(4), Some(5), Some(6), None];
        let begins = |stored: Stored| sizes.map(|size| stored.begins(size));
        let whole = Begins::Whole { may_have: 4 };
        assert_eq!(
            begins(stored(10, 9, 4)),
            [whole, whole, whole, whole, Not, whole]
        );
        for all in [10, 11] {
            assert_eq!(
                begins(stored(10, all, 4)),
                [whole, whole, whole, Not, Not, whole]
            );
        }
        assert_eq!(
            begins(stored(10, 12, 4)),
            [whole, ToSweep, Not, Not, Not, Not]
        );
        // Of a type that is not there yet.
        let none = Begins::Whole { may_have: 0 };
        assert_eq!(begins(stored(10, 12, 0)), [none, Not, Not, Not, Not, Not]);
    }

    #[test]
    fn a_version_that_takes_the_place_of_another_adds_nothing() {
        let things = |all, own, beside| Stored {
            beside,
            ..stored(10, all, own)
        };
        let whole = Begins::Whole { may_have: 4 };
        assert_eq!(things(11, 0, 4).begins(Some(4)), whole);
        assert_eq!(things(11, 0, 4).begins(Some(5)), Begins::Not);
        assert_eq!(things(9, 0, 4).begins(Some(5)), whole, "five others");
        // What of it goes is none of the other version.
        assert_eq!(things(12, 2, 4).begins(Some(3)), Begins::Not);
        assert_eq!(things(12, 4, 2).begins(Some(3)), Begins::ToSweep);
    }

    #[test]
    fn a_tenth_more_is_above_and_what_is_more_than_that_beyond() {
        let is = |all| {
            (
                stored(10, all, 4).is_above(),
                stored(10, all, 4).is_beyond(),
            )
        };
        assert_eq!(
            [10, 11, 12].map(is),
            [(false, false), (true, false), (true, true)]
        );
    }

    #[test]
    fn without_a_limit_any_number_has_room() {
        let objects = ClusterObjects::new(0);
        objects.are(&[pods(u64::MAX - 1)], Instant::now());
        assert!(!objects.fill_it() && !objects.overflow_it());
    }
}
