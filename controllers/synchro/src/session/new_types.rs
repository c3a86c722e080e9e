//! How many types a cluster may begin with. Each that is new is a row of the store and is known to every process until it is purged, and what a member
//! serves is for the member to say: one that invents others every few seconds is to fill nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use armadex_model::GroupVersionResource;
use tokio::time::Instant;

use crate::lock::lock;

/// In this time a cluster may begin with as many as it may have: all of them at once, or of those of an operator that is installed.
const IN: Duration = Duration::from_secs(60 * 60);

/// Of one cluster, for as long as it is looked after.
#[derive(Debug)]
pub(crate) struct NewTypes {
    most: usize,
    /// What one takes of the time.
    each: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When there will be room for `most` again.
    all_at: Instant,
    /// Those that took room, and when: nothing takes it twice within the hour.
    took: BTreeMap<GroupVersionResource, Instant>,
    /// Some of those that wait, the first for the longest.
    line: Vec<GroupVersionResource>,
}

impl NewTypes {
    /// So many at the most, and in an hour.
    pub(crate) fn new(most: usize) -> Self {
        let parts = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        let state = State {
            all_at: Instant::now(),
            took: BTreeMap::new(),
            line: Vec::new(),
        };
        Self {
            most,
            each: (IN / parts).max(Duration::from_nanos(1)),
            state: Mutex::new(state),
        }
    }

    /// How many types a cluster may have.
    pub(crate) fn most(&self) -> usize {
        self.most
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
        let mut begin: BTreeSet<_> = took.into_iter().take(places).collect();
        state.line.retain(|gvr| new.remove(gvr));
        let seats = self.most.saturating_sub(state.line.len());
        state.line.extend(new.into_iter().take(seats));
        let room = self.most.saturating_sub(self.missing(&state, now));
        let room = room.min(places - begin.len()).min(state.line.len());
        let first: Vec<_> = state.line.drain(..room).collect();
        for gvr in &first {
            self.take(&mut state, gvr, now);
        }
        begin.extend(first);
        begin
    }

    /// Whether another version of what is known begins now in its place. All types of a member that has just been connected may be upgraded, so there
    /// is room for twice as many.
    pub(crate) fn replaces(&self, gvr: &GroupVersionResource) -> bool {
        let now = Instant::now();
        let mut state = lock(&self.state);
        if state.took.contains_key(gvr) {
            return true;
        }
        let begins = self.missing(&state, now) < self.most.saturating_mul(2);
        if begins {
            self.take(&mut state, gvr, now);
        }
        begins
    }

    /// How much room was taken and is not back.
    fn missing(&self, state: &State, now: Instant) -> usize {
        let missing = state.all_at.saturating_duration_since(now);
        let missing = missing.as_nanos().div_ceil(self.each.as_nanos());
        usize::try_from(missing).unwrap_or(usize::MAX)
    }

    fn take(&self, state: &mut State, gvr: &GroupVersionResource, now: Instant) {
        state.all_at = state.all_at.max(now) + self.each;
        state.took.insert(gvr.clone(), now);
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
            sleep(types.each).await;
        }
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
