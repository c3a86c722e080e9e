//! What a watch knows: the objects of its last complete list and the changes since. A new list
//! replaces the old one when it is complete, so an API that flaps takes nothing away. Pure.

use std::{collections::BTreeMap, sync::Arc};

use kube::{core::DynamicObject, runtime::watcher::Event};

use super::object::{Found, ObjectName};
use crate::{Room, Share};
use armadex_control_plane::Trouble;

/// A watch that was listed and then fails is told after so many failures in a row: some seconds, and five minutes where each try is left without
/// an answer. An API that restarts is not worth a word. What no waiting helps against is told at once.
const TOLD_AFTER: u32 = 4;

/// More changed objects than this at once are told as one change of everything.
const MANY: usize = 256;

/// Whether the objects of a watch are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They were listed at least once.
    Listed,
    /// They are being listed for the first time.
    Listing,
    /// They could not be listed so far; it is tried again.
    Failing(Trouble),
}

/// What has become different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    Nothing,
    These(Vec<ObjectName>),
    Everything,
}

/// What a watch asks the API server for, as RBAC calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
}

/// State of one watch.
#[derive(Debug, Default)]
pub(super) struct State {
    objects: BTreeMap<ObjectName, Arc<Found>>,
    listing: BTreeMap<ObjectName, Arc<Found>>,
    listed: bool,
    failure: Option<Failure>,
    /// What they take of the room that there is for them. A list that goes on has as much beside it: it takes their place.
    share: Share,
    bytes: usize,
    listing_bytes: usize,
    /// Of what is there before a list, the bytes of what has come in it again.
    listing_again: usize,
    /// Bytes of one that is not known at all, for want of room for its name, of those of the list, and of the one that goes on.
    unkept: Option<usize>,
    listing_unkept: Option<usize>,
    /// An object of the list, and of the one that goes on, had no room beside those that were there before, of which some are gone at its end.
    cramped: bool,
    listing_cramped: bool,
}

/// Failures in a row.
#[derive(Debug)]
struct Failure {
    verb: Verb,
    trouble: Trouble,
    times: u32,
    told: bool,
}

impl State {
    /// Of nothing yet. What there is no room for is known by its name alone, or not at all.
    pub(super) fn within(room: Arc<Room>) -> Self {
        Self {
            share: Share::new(room),
            ..Self::default()
        }
    }

    pub(super) fn readiness(&self) -> Readiness {
        match &self.failure {
            _ if self.listed => Readiness::Listed,
            Some(failure) => Readiness::Failing(failure.trouble.clone()),
            None => Readiness::Listing,
        }
    }

    /// Why what is known may be out of date, once that is worth telling.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        let told = self.failure.as_ref().filter(|failure| failure.told);
        let told = told.map(|failure| failure.trouble.clone());
        told.or_else(|| self.lacks_some())
    }

    /// Why some objects are not known although they are there.
    pub(super) fn lacks_some(&self) -> Option<Trouble> {
        let words = "there is no room for some, not even for their names: what policies read has too many objects";
        self.unkept.map(|_| Trouble::unavailable(words))
    }

    /// Whether another list would find more than this one did.
    pub(super) fn wants_a_list(&self) -> bool {
        self.unkept.is_some() || self.cramped
    }

    /// Bytes that an object would have that there is no room for.
    pub(super) fn wants(&self) -> Option<usize> {
        let named = self.objects.values().find_map(|found| found.object.wants());
        named.or(self.unkept)
    }

    pub(super) fn objects(&self) -> Vec<Arc<Found>> {
        self.objects.values().cloned().collect()
    }

    pub(super) fn get(&self, name: &ObjectName) -> Option<Arc<Found>> {
        self.objects.get(name).cloned()
    }

    /// Takes in an event.
    pub(super) fn step(&mut self, event: Event<DynamicObject>) -> Touched {
        let healed = self.proves(&event) && self.heal();
        let touched = self.take(event);
        if healed { Touched::Everything } else { touched }
    }

    /// A watch that was answered, and goes on, works.
    pub(super) fn held(&mut self) -> Touched {
        if self.heal() {
            Touched::Everything
        } else {
            Touched::Nothing
        }
    }

    /// Whether what failed works again. A list that begins is no success yet, a list that succeeds says nothing of a watch, and a watch that brings
    /// something may have broken by the next time: [`held`](Self::held) says that it has not.
    fn proves(&self, event: &Event<DynamicObject>) -> bool {
        let is_of_list = |failure: &Failure| failure.verb != Verb::Watch;
        matches!(event, Event::InitDone) && self.failure.as_ref().is_some_and(is_of_list)
    }

    /// Forgets the failures; says whether they were told.
    fn heal(&mut self) -> bool {
        self.failure.take().is_some_and(|failure| failure.told)
    }

    fn take(&mut self, event: Event<DynamicObject>) -> Touched {
        match event {
            Event::Init => {
                self.listing.clear();
                self.listing_bytes = 0;
                self.listing_again = 0;
                self.listing_unkept = None;
                self.listing_cramped = false;
                Touched::Nothing
            }
            Event::InitApply(object) => {
                match self.known_or(object.into()) {
                    Ok(found) => drop(self.listing.insert(found.name.clone(), found)),
                    Err(bytes) => self.listing_unkept = Some(bytes),
                }
                Touched::Nothing
            }
            Event::InitDone => self.replace(),
            Event::Apply(object) => {
                let found = Found::from(object);
                let name = found.name.clone();
                self.take_out(&name);
                match self.fit(self.bytes, found) {
                    Ok(found) => {
                        self.bytes += found.bytes();
                        self.objects.insert(name.clone(), found);
                    }
                    Err(bytes) if self.unkept.replace(bytes).is_none() => {
                        return Touched::Everything;
                    }
                    Err(_) => {}
                }
                Touched::These(vec![name])
            }
            Event::Delete(object) => {
                let name = ObjectName::from(&object);
                self.take_out(&name);
                Touched::These(vec![name])
            }
        }
    }

    /// Takes in a failure; it touches everything when it becomes one that is told.
    pub(super) fn fail(&mut self, verb: Verb, trouble: Trouble) -> Touched {
        let before = self.failure.as_ref().map_or(0, |before| before.times);
        let helpless = !trouble.kind.is_outage();
        self.note(verb, trouble, helpless || before + 1 >= TOLD_AFTER)
    }

    /// Takes in that an object can't be read. Whoever reads it says whether that lasts too long by now.
    pub(super) fn unread(&mut self, trouble: Trouble, overdue: bool) -> Touched {
        self.note(Verb::Get, trouble, overdue)
    }

    fn note(&mut self, verb: Verb, trouble: Trouble, overdue: bool) -> Touched {
        let before = self.failure.take();
        let times = before
            .as_ref()
            .map_or(1, |before| before.times.saturating_add(1));
        let told = !self.listed || overdue;
        let same = before.is_some_and(|before| before.told && before.trouble == trouble);
        self.failure = Some(Failure {
            verb,
            trouble,
            times,
            told,
        });
        if told && !same {
            Touched::Everything
        } else {
            Touched::Nothing
        }
    }

    /// What is as it was stays the very same value: by that whoever has looked at it knows it again, and a list takes no room beside the one before. What is new has the
    /// room that is left by what was there before, be it that it comes again or not: else names that come early would put out those that are known.
    fn known_or(&mut self, found: Found) -> Result<Arc<Found>, usize> {
        let known = self.objects.get(&found.name).cloned();
        self.listing_again += known.as_ref().map_or(0, |known| known.bytes());
        let others = self.listing_bytes + self.bytes.saturating_sub(self.listing_again);
        let same = known.as_ref().filter(|known| ***known == found);
        let found = match same {
            Some(same) => same.clone(),
            None => {
                let bytes = found.bytes();
                let fitting = self.fit(others, found);
                let fits = fitting
                    .as_ref()
                    .is_ok_and(|fitting| fitting.bytes() == bytes);
                self.listing_cramped |= !fits;
                let fitting = fitting?;
                known.filter(|known| *known == fitting).unwrap_or(fitting)
            }
        };
        self.listing_bytes += found.bytes();
        Ok(found)
    }

    /// As much of an object as there is room for beside others of so many bytes; the bytes that it has, if there is none for its name.
    fn fit(&mut self, others: usize, found: Found) -> Result<Arc<Found>, usize> {
        let bytes = found.bytes();
        if self.takes(others + bytes) {
            return Ok(Arc::new(found));
        }
        let named = found.without_room();
        match self.takes(others + named.bytes()) {
            true => Ok(Arc::new(named)),
            false => Err(bytes),
        }
    }

    fn takes(&mut self, bytes: usize) -> bool {
        self.share.take(bytes.max(self.bytes))
    }

    fn take_out(&mut self, name: &ObjectName) {
        if let Some(before) = self.objects.remove(name) {
            self.bytes -= before.bytes();
            self.share.resize(self.bytes);
        }
    }

    fn replace(&mut self) -> Touched {
        let before = std::mem::replace(&mut self.objects, std::mem::take(&mut self.listing));
        self.bytes = std::mem::take(&mut self.listing_bytes);
        self.share.resize(self.bytes);
        let lacked = std::mem::replace(&mut self.unkept, self.listing_unkept.take());
        let first = !std::mem::replace(&mut self.listed, true);
        let turned = lacked.is_some() != self.unkept.is_some();
        let is_gone = |name: &&ObjectName| !self.objects.contains_key(*name);
        let mut touched: Vec<ObjectName> = before.keys().filter(is_gone).cloned().collect();
        self.cramped = std::mem::take(&mut self.listing_cramped) && !touched.is_empty();
        let is_other = |(name, now): &(&ObjectName, &Arc<Found>)| {
            let known = before.get(*name);
            known.is_none_or(|known| !Arc::ptr_eq(known, now))
        };
        let others = self.objects.iter().filter(is_other);
        touched.extend(others.map(|(name, _)| name.clone()));
        match touched.len() {
            _ if first || turned => Touched::Everything,
            0 => Touched::Nothing,
            1..=MANY => Touched::These(touched),
            _ => Touched::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use armadex_control_plane::TroubleKind;

    fn object(name: &str, value: u32) -> DynamicObject {
        serde_json::from_value(json!({
            "metadata": {"namespace": "ns", "name": name, "managedFields": [{"manager": "x"}]},
            "value": value,
        }))
        .unwrap()
    }

    fn names(names: &[&str]) -> Touched {
        let named = |name: &&str| ObjectName {
            namespace: "ns".into(),
            name: (*name).into(),
        };
        Touched::These(names.iter().map(named).collect())
    }

    fn list(state: &mut State, objects: &[(&str, u32)]) -> Touched {
        assert_eq!(state.step(Event::Init), Touched::Nothing);
        for (name, value) in objects {
            assert_eq!(
                state.step(Event::InitApply(object(name, *value))),
                Touched::Nothing
            );
        }
        state.step(Event::InitDone)
    }

    fn known(state: &State) -> Vec<String> {
        state
            .objects()
            .iter()
            .map(|found| found.name.name.clone())
            .collect()
    }

    /// And no more is held at its end than there is room for.
    #[test]
    fn what_a_list_tells_early_puts_out_nothing_that_is_known() {
        let bytes = Found::from(object("a", 1)).bytes();
        let mut state = State::within(Room::of(2 * bytes));
        list(&mut state, &[("m", 1), ("n", 1)]);
        list(&mut state, &[("a", 1), ("b", 1), ("m", 1), ("n", 1)]);
        assert_eq!(known(&state), ["m", "n"]);
        assert!(state.lacks_some().is_some() && state.bytes <= 2 * bytes);
        list(&mut state, &[("a", 1), ("n", 1)]);
        list(&mut state, &[("a", 1), ("n", 1)]);
        assert_eq!(known(&state), ["a", "n"]);
        assert_eq!(state.lacks_some(), None);
    }

    #[test]
    fn what_there_is_no_room_for_is_known_by_its_name_until_there_is() {
        let one = Found::from(object("a", 1));
        let room = 2 * one.bytes() + one.clone().without_room().bytes();
        let mut state = State::within(Room::of(room));
        let whole = |state: &State| {
            let objects = state.objects();
            let whole = objects
                .iter()
                .map(|found| found.object.lacks_some().is_none());
            Vec::from_iter(whole)
        };
        list(&mut state, &[("a", 1), ("b", 1), ("c", 1)]);
        assert_eq!(whole(&state), [true, true, false]);
        state.step(Event::Apply(object("b", 2)));
        state.step(Event::Apply(object("c", 2)));
        assert_eq!(whole(&state), [true, true, false], "b is one of two");
        list(&mut state, &[("a", 3), ("b", 3), ("c", 3)]);
        assert_eq!(
            whole(&state),
            [true, true, false],
            "they take their own places"
        );
        state.step(Event::Delete(object("a", 3)));
        state.step(Event::Apply(object("c", 4)));
        assert_eq!(whole(&state), [true, true]);
    }

    /// Whoever does not ask for another list would have it cut for as long as it does not change.
    #[test]
    fn what_had_no_room_beside_what_went_in_the_same_list_is_whole_after_another_one() {
        let one = Found::from(object("a", 1));
        let mut state = State::within(Room::of(one.bytes() + one.clone().without_room().bytes()));
        let is_whole = |state: &State| {
            let objects = state.objects();
            objects
                .iter()
                .all(|found| found.object.lacks_some().is_none())
        };
        list(&mut state, &[("m", 1)]);
        assert!(is_whole(&state) && !state.wants_a_list());
        list(&mut state, &[("a", 1)]);
        assert!(!is_whole(&state) && state.wants_a_list());
        list(&mut state, &[("a", 1)]);
        assert!(is_whole(&state) && !state.wants_a_list());
        list(&mut state, &[("a", 1), ("b", 1)]);
        assert!(!is_whole(&state) && !state.wants_a_list(), "nothing went");
    }

    #[test]
    fn what_there_is_no_room_for_by_its_name_either_is_told_until_a_list_has_all() {
        let one = Found::from(object("a", 1));
        let room = one.bytes() + one.clone().without_room().bytes();
        let mut state = State::within(Room::of(room));
        let all = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
        assert_eq!(list(&mut state, &all), Touched::Everything);
        assert_eq!(known(&state), ["a", "b"]);
        assert_eq!(state.trouble(), state.lacks_some());
        assert!(state.trouble().is_some());
        assert_eq!(state.readiness(), Readiness::Listed);
        assert_eq!(list(&mut state, &all), Touched::Nothing);
        // What went has its room until the end of the list that lacks it.
        assert_eq!(list(&mut state, &all[1..3]), names(&["a"]));
        assert_eq!(list(&mut state, &all[1..3]), Touched::Everything);
        assert_eq!((known(&state).len(), state.trouble()), (2, None));
        let another = Event::Apply(object("e", 1));
        assert_eq!(state.step(another.clone()), Touched::Everything);
        assert_eq!(state.step(another), names(&["e"]));
        assert_eq!(known(&state), ["b", "c"]);
    }

    #[test]
    fn a_list_counts_when_it_is_complete() {
        let mut state = State::default();
        assert_eq!(state.readiness(), Readiness::Listing);
        state.step(Event::Init);
        state.step(Event::InitApply(object("a", 1)));
        assert_eq!(
            (known(&state).len(), state.readiness()),
            (0, Readiness::Listing)
        );
        assert_eq!(state.step(Event::InitDone), Touched::Everything);
        assert_eq!(
            (known(&state).len(), state.readiness()),
            (1, Readiness::Listed)
        );
    }

    #[test]
    fn a_second_list_tells_what_differs_and_what_is_gone() {
        let mut state = State::default();
        list(&mut state, &[("a", 1), ("b", 1), ("c", 1)]);
        assert_eq!(
            list(&mut state, &[("a", 1), ("b", 1), ("c", 1)]),
            Touched::Nothing
        );
        assert_eq!(
            list(&mut state, &[("b", 2), ("c", 1), ("d", 1)]),
            names(&["a", "b", "d"])
        );
        assert_eq!(known(&state), ["b", "c", "d"]);
    }

    #[test]
    fn what_a_second_list_finds_unchanged_is_the_same_value() {
        let mut state = State::default();
        list(&mut state, &[("a", 1), ("b", 1)]);
        let before = state.objects();
        list(&mut state, &[("a", 1), ("b", 2)]);
        let same: Vec<bool> = state
            .objects()
            .iter()
            .zip(&before)
            .map(|(now, before)| Arc::ptr_eq(now, before))
            .collect();
        assert_eq!(same, [true, false]);
    }

    #[test]
    fn a_list_that_goes_on_holds_nothing_twice() {
        let mut state = State::default();
        list(&mut state, &[("a", 1), ("b", 1)]);
        state.step(Event::Init);
        for (name, value) in [("a", 1), ("b", 2)] {
            state.step(Event::InitApply(object(name, value)));
        }
        let held = state.listing.values().chain(state.objects.values());
        let held: BTreeSet<_> = held.map(Arc::as_ptr).collect();
        assert_eq!(held.len(), 3, "b is another one");
    }

    #[test]
    fn an_api_that_flaps_takes_nothing_away() {
        let mut state = State::default();
        list(&mut state, &[("a", 1)]);
        assert_eq!(
            state.fail(Verb::Watch, Trouble::unavailable("down")),
            Touched::Nothing
        );
        state.step(Event::Init);
        assert_eq!(
            state.fail(Verb::Watch, Trouble::unavailable("still down")),
            Touched::Nothing
        );
        assert_eq!(
            (known(&state).len(), state.readiness()),
            (1, Readiness::Listed)
        );
    }

    fn forbidden() -> Trouble {
        Trouble {
            kind: TroubleKind::Forbidden,
            message: "forbidden".into(),
        }
    }

    #[test]
    fn a_watch_that_breaks_is_told_at_once_if_no_waiting_helps_and_else_after_a_while() {
        let mut state = State::default();
        list(&mut state, &[("a", 1)]);
        assert_eq!(state.fail(Verb::Watch, forbidden()), Touched::Everything);
        assert_eq!(state.fail(Verb::Watch, forbidden()), Touched::Nothing);
        assert_eq!(state.trouble(), Some(forbidden()));
        assert_eq!(state.readiness(), Readiness::Listed);

        let mut state = State::default();
        list(&mut state, &[]);
        let down = Trouble::unavailable("down");
        let told: Vec<bool> = (0..5)
            .map(|_| state.fail(Verb::Watch, down.clone()) == Touched::Everything)
            .collect();
        assert_eq!(told, [false, false, false, true, false]);
    }

    #[test]
    fn a_broken_watch_is_whole_again_when_what_failed_works() {
        let broken = |verb| {
            let mut state = State::default();
            list(&mut state, &[("a", 1)]);
            state.fail(verb, forbidden());
            state
        };
        let mut lists = broken(Verb::List);
        assert_eq!(list(&mut lists, &[("a", 1)]), Touched::Everything);
        assert_eq!(lists.trouble(), None);

        let mut watches = broken(Verb::Watch);
        assert_eq!(list(&mut watches, &[("a", 1)]), Touched::Nothing);
        assert_eq!(watches.trouble(), Some(forbidden()));
        let change = Event::Apply(object("a", 2));
        assert_eq!(watches.step(change), names(&["a"]));
        assert_eq!(watches.trouble(), Some(forbidden()), "it may break again");
        assert_eq!(watches.held(), Touched::Everything);
        assert_eq!(
            (watches.trouble(), watches.held()),
            (None, Touched::Nothing)
        );
    }

    #[test]
    fn a_failure_before_the_first_list_is_told_once() {
        let mut state = State::default();
        let down = Trouble::unavailable("down");
        assert_eq!(state.fail(Verb::List, down.clone()), Touched::Everything);
        state.step(Event::Init);
        assert_eq!(state.fail(Verb::List, down.clone()), Touched::Nothing);
        assert_eq!(state.readiness(), Readiness::Failing(down));
    }

    #[test]
    fn changes_name_their_object_and_managed_fields_are_dropped() {
        let mut state = State::default();
        list(&mut state, &[]);
        assert_eq!(state.step(Event::Apply(object("a", 1))), names(&["a"]));
        let name = ObjectName {
            namespace: "ns".into(),
            name: "a".into(),
        };
        let found = state.get(&name).unwrap();
        let expected = json!({"metadata": {"namespace": "ns", "name": "a"}, "value": 1});
        assert_eq!(found.object.read(), expected);
        assert!(!format!("{found:?}").contains("value"), "{found:?}");
        assert_eq!(state.step(Event::Delete(object("a", 1))), names(&["a"]));
        assert_eq!(state.get(&name), None);
    }
}
