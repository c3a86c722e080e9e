//! How many types a cluster may begin with. Each that is new is a row of the store and is known to every process until it is purged, and what a member
//! serves is for the member to say: one that invents others every few seconds is to fill nothing, and one that tells the same by turns is to
//! list nothing for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use armadex_model::GroupVersionResource;
use rand::seq::IteratorRandom;
use tokio::time::Instant;

use crate::lock::lock;

/// In this time a cluster may begin with as many as it may have: all of them at once, or of those of an operator that is installed.
const IN: Duration = Duration::from_secs(60 * 60);
/// And with so many times as many of those that it began with before: a list of what is synced that is narrowed and widened, a member that is lost
/// and reached again, with types that the store refuses.
const AGAIN: usize = 10;

/// Of one cluster, for as long as it is looked after.
#[derive(Debug)]
pub(crate) struct NewTypes {
    most: usize,
    state: Mutex<State>,
}

/// What a plan would begin with.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// Those that are new.
    pub(crate) new: Vec<GroupVersionResource>,
    /// How many of them may begin.
    pub(crate) places: usize,
    /// Other versions of what is known.
    pub(crate) versions: BTreeSet<GroupVersionResource>,
}

#[derive(Debug)]
struct State {
    new: Room,
    /// For other versions of what is known: all types of a member that has just been connected may be upgraded.
    others: Room,
    /// For those that took room within the hour.
    again: Room,
    /// Those, and when they did: nothing takes it twice.
    took: BTreeMap<GroupVersionResource, Instant>,
    /// Some of those that wait, the first for the longest.
    line: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    gvr: GroupVersionResource,
    /// The last answer told of it. Where the next does not either, it has lost its place: its group may have failed for a moment.
    is_told: bool,
}

/// Room that comes back by and by, all of it in an hour.
#[derive(Debug)]
struct Room {
    most: usize,
    /// What one takes of the time.
    each: Duration,
    /// When all of it will be there.
    all_at: Instant,
}

impl Room {
    fn new(most: usize) -> Self {
        let parts = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        Self {
            most,
            each: (IN / parts).max(Duration::from_nanos(1)),
            all_at: Instant::now(),
        }
    }

    /// Takes so much, or what there is; gives how much that was.
    fn take(&mut self, wanted: usize, now: Instant) -> usize {
        let missing = self.all_at.saturating_duration_since(now);
        let missing = missing.as_nanos().div_ceil(self.each.as_nanos());
        let missing = usize::try_from(missing).unwrap_or(usize::MAX);
        let taken = self.most.saturating_sub(missing).min(wanted);
        let parts = u32::try_from(taken).unwrap_or(u32::MAX);
        self.all_at = self.all_at.max(now) + self.each * parts;
        taken
    }
}

impl NewTypes {
    /// So many at the most, and in an hour.
    pub(crate) fn new(most: usize) -> Self {
        let state = State {
            new: Room::new(most),
            others: Room::new(most),
            again: Room::new(most.saturating_mul(AGAIN)),
            took: BTreeMap::new(),
            line: Vec::new(),
        };
        Self {
            most,
            state: Mutex::new(state),
        }
    }

    /// How many types a cluster may have.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Which of these begin now.
    pub(crate) fn let_in(&self, wants: &Wants) -> BTreeSet<GroupVersionResource> {
        let mut begin = self.begin(wants.new.iter(), wants.places);
        let versions = wants.versions.iter();
        begin.extend(versions.filter(|version| self.replaces(version)).cloned());
        begin
    }

    /// Which of all that are new begin now, in so many places: first those that took room for it within the hour, then those that wait for the longest.
    pub(crate) fn begin<'a>(
        &self,
        new: impl Iterator<Item = &'a GroupVersionResource>,
        places: usize,
    ) -> BTreeSet<GroupVersionResource> {
        let now = Instant::now();
        let mut state = lock(&self.state);
        state.took.retain(|_, at| now.duration_since(*at) < IN);
        let (took, mut new): (BTreeSet<_>, BTreeSet<_>) =
            new.cloned().partition(|gvr| state.took.contains_key(gvr));
        let again = state.again.take(took.len().min(places), now);
        let mut begin: BTreeSet<_> = took.into_iter().take(again).collect();
        state.stand(&mut new, self.most);
        let told = state.told().min(places - begin.len());
        let room = state.new.take(told, now);
        let first = state
            .line
            .extract_if(.., |waiting| waiting.is_told)
            .take(room);
        let first: Vec<_> = first.map(|waiting| waiting.gvr).collect();
        state
            .took
            .extend(first.iter().map(|gvr| (gvr.clone(), now)));
        begin.extend(first);
        begin
    }

    /// Whether another version of what is known begins now in its place.
    pub(crate) fn replaces(&self, gvr: &GroupVersionResource) -> bool {
        let now = Instant::now();
        let mut state = lock(&self.state);
        if state.took.contains_key(gvr) {
            return state.again.take(1, now) > 0;
        }
        let begins = state.others.take(1, now) > 0;
        if begins {
            state.took.insert(gvr.clone(), now);
        }
        begins
    }
}

impl State {
    /// Lets those stand in the line that are told of, behind those that did until now. Where there is no place for all it is drawn who does: those
    /// that are there early by their names are there each time.
    fn stand(&mut self, told: &mut BTreeSet<GroupVersionResource>, most: usize) {
        self.line.retain_mut(|waiting| {
            let is_told = told.remove(&waiting.gvr);
            let was_told = std::mem::replace(&mut waiting.is_told, is_told);
            is_told || was_told
        });
        let seats = most.saturating_sub(self.told());
        let others = std::mem::take(told).into_iter();
        let stand: Vec<_> = match self.line.is_empty() {
            true => others.take(seats).collect(),
            false => others.choose_multiple(&mut rand::rng(), seats),
        };
        let stand = stand.into_iter().map(|gvr| Waiting { gvr, is_told: true });
        self.line.extend(stand);
    }

    fn told(&self) -> usize {
        self.line.iter().filter(|waiting| waiting.is_told).count()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    fn gvrs(group: &str, names: std::ops::Range<usize>) -> Vec<GroupVersionResource> {
        let gvr = |name| GroupVersionResource::new(group, "v1", format!("r{name:06}"));
        names.map(gvr).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn an_operator_is_installed_at_once_and_what_is_invented_comes_by_and_by() {
        let types = NewTypes::new(1_000);
        assert_eq!(types.begin(gvrs("", 0..940).iter(), 1_000).len(), 940);
        let operator = gvrs("shop.example", 0..60);
        assert_eq!(
            types.begin(operator.iter(), 60).len(),
            60,
            "after all that a member has"
        );
        let mut invented = 0;
        for answer in 0..6 * 60 * 24 {
            let group = format!("g{answer}");
            invented += types.begin(gvrs(&group, 0..50).iter(), 1_000).len();
            sleep(Duration::from_secs(10)).await;
        }
        assert!((23_000..=24_000).contains(&invented), "{invented} in a day");
        sleep(2 * IN).await;
        let others = gvrs("others", 0..2_000);
        assert_eq!(
            types.begin(others.iter(), 2_000).len(),
            1_000,
            "and no more"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_and_comes_back_within_the_hour_does_not_wait() {
        let types = NewTypes::new(1_000);
        let all = gvrs("shop.example", 0..600);
        for _ in 0..5 {
            assert_eq!(types.begin(all.iter(), 1_000).len(), 600);
            assert_eq!(types.begin([].iter(), 1_000).len(), 0);
        }
        assert_eq!(
            types.begin(gvrs("others", 0..1_000).iter(), 1_000).len(),
            400
        );
        assert_eq!(
            types.begin(all.iter(), 100).len(),
            100,
            "in places that there are"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_invents_early_names_lets_others_in() {
        let types = NewTypes::new(10);
        assert_eq!(types.begin(gvrs("a", 0..10).iter(), 10).len(), 10);
        let late = gvrs("z", 0..1);
        let mut answers = 0;
        loop {
            let invented = gvrs("a", 10 + 5 * answers..15 + 5 * answers);
            let begun = types.begin(invented.iter().chain(&late), 10);
            if begun.contains(&late[0]) {
                break;
            }
            answers += 1;
            assert!(answers < 3, "{begun:?}");
            sleep(IN / 10).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_and_goes_by_turns_begins_no_more_often_than_that() {
        let types = NewTypes::new(1_000);
        let sets = [gvrs("a", 0..500), gvrs("b", 0..500)];
        let mut begun = 0;
        for answer in 0..600 {
            begun += types.begin(sets[answer % 2].iter(), 1_000).len();
            sleep(IN / 600).await;
        }
        assert!((10_000..=22_000).contains(&begun), "{begun} in an hour");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_new_has_room_beside_other_versions() {
        let types = NewTypes::new(100);
        let versions = gvrs("a", 0..1_000);
        let replaced = versions.iter().filter(|gvr| types.replaces(gvr)).count();
        assert_eq!(replaced, 100);
        assert_eq!(types.begin(gvrs("b", 0..100).iter(), 100).len(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn who_fills_the_line_with_early_names_lets_others_stand_in_it() {
        let types = NewTypes::new(10);
        let mut early = gvrs("a", 0..10);
        assert_eq!(types.begin(early.iter(), 10).len(), 10);
        let late = gvrs("z", 0..1);
        let mut invented = 10;
        for _ in 0..2_000 {
            // As many as there are places in the line.
            early = gvrs("a", invented..invented + 10);
            let begun = types.begin(early.iter().chain(&late), 10);
            if begun.contains(&late[0]) {
                return;
            }
            invented += begun.len();
            sleep(IN / 10).await;
        }
        panic!("it is never let in");
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_answer_leaves_out_keeps_its_place() {
        let types = NewTypes::new(10);
        assert_eq!(types.begin(gvrs("", 0..10).iter(), 10).len(), 10);
        let (first, others) = (gvrs("z", 0..1), gvrs("a", 0..5));
        assert!(types.begin(first.iter(), 10).is_empty());
        assert!(types.begin(others.iter(), 10).is_empty());
        sleep(IN / 10).await;
        let all = || others.iter().chain(&first);
        assert_eq!(types.begin(all(), 10), BTreeSet::from_iter(first.clone()));
    }

    #[tokio::test(start_paused = true)]
    async fn other_versions_have_room_of_their_own_that_ends() {
        let types = NewTypes::new(100);
        assert_eq!(types.begin(gvrs("", 0..100).iter(), 100).len(), 100);
        let replaced = |group: &str| {
            let versions = gvrs(group, 0..1_000);
            versions.iter().filter(|gvr| types.replaces(gvr)).count()
        };
        assert_eq!(replaced("a"), 100);
        assert_eq!(replaced("a"), 100, "again");
        assert_eq!(replaced("b"), 0);
        assert_eq!(types.begin(gvrs("c", 0..1).iter(), 100).len(), 0);
        sleep(IN).await;
        assert_eq!(replaced("b"), 100);
    }

    #[test]
    fn no_number_is_too_large_or_too_small() {
        for most in [0, 1, usize::MAX] {
            let types = NewTypes::new(most);
            let begun = types.begin(gvrs("", 0..2).iter(), usize::MAX);
            assert_eq!(begun.len(), most.min(2));
            assert!(types.begin(gvrs("a", 0..1).iter(), 0).is_empty());
            assert_eq!(types.replaces(&gvrs("b", 0..1)[0]), most > 0);
        }
    }
}
