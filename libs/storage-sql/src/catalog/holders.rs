//! Clusters that have a type, in the order in which they are walked: what every page needs to know, and what does not change from page to page.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use armadex_model::ClusterName;
use armadex_model::label::{Operator, Requirement};

/// The most clusters of all sets that are kept, at 40 bytes each: 26 MB, for 64 sets of ten thousand clusters. Most types are in all clusters, which is one
/// set; a search over several types asks for those of each, page after page.
const MOST_CLUSTERS: usize = 640_000;

/// So many sets are kept of however large a fleet: 64 MB of one of a hundred thousand clusters.
const FEWEST_SETS: usize = 16;

/// And no more of however small a one: each that is new is compared with all.
const MOST_SETS: usize = 256;

/// The most selections of clusters by their labels that are remembered, whoever asks for how many.
const MOST_SELECTIONS: usize = 64;

/// No selection of longer requirements is remembered, though it is answered: whoever asks chooses how long they are.
const LONGEST_SELECTION: usize = 16 << 10;

/// Some clusters, by name and by number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Holders {
    by_name: Vec<(ClusterName, i64)>,
    /// The number of a cluster, and its place by name; by number.
    by_id: Vec<(i64, usize)>,
}

impl Holders {
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The cluster at a place.
    pub(crate) fn get(&self, at: usize) -> Option<(&ClusterName, i64)> {
        self.by_name.get(at).map(|(name, id)| (name, *id))
    }

    /// The place of the cluster with a number.
    pub(crate) fn at(&self, id: i64) -> Option<usize> {
        let found = self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.by_id[found].1)
    }

    /// How many come before a name.
    pub(crate) fn before(&self, name: &str) -> usize {
        self.by_name
            .partition_point(|(other, _)| other.as_str() < name)
    }
}

/// From clusters in the order of their names.
impl FromIterator<(ClusterName, i64)> for Holders {
    fn from_iter<T: IntoIterator<Item = (ClusterName, i64)>>(clusters: T) -> Self {
        let by_name = Vec::from_iter(clusters);
        debug_assert!(by_name.is_sorted());
        let by_id = by_name.iter().enumerate().map(|(at, (_, id))| (*id, at));
        let mut by_id = Vec::from_iter(by_id);
        by_id.sort_unstable();
        Self { by_name, by_id }
    }
}

/// What is asked for: the clusters of a type, those of them whose labels meet all of these requirements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) resource: i32,
    pub(super) labels: Arc<[Requirement]>,
}

impl Asked {
    fn goes_by_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    fn is_long(&self) -> bool {
        let requirements = self.labels.iter();
        requirements.map(bytes).sum::<usize>() > LONGEST_SELECTION
    }
}

/// What the text of a requirement takes, its strings and what holds them.
fn bytes(requirement: &Requirement) -> usize {
    let string = |text: &String| size_of::<String>() + text.len();
    let values = match &requirement.operator {
        Operator::In(values) | Operator::NotIn(values) => values.iter().map(string).sum(),
        _ => 0,
    };
    string(&requirement.key) + values
}

/// The clusters that were asked for, made when they are asked for first. Types that the same clusters have share them.
#[derive(Debug, Default)]
pub(super) struct KnownHolders {
    known: RwLock<HashMap<Asked, Arc<Kept>>>,
    /// How often any were asked for, of this state or another.
    clock: Arc<AtomicU64>,
}

/// A set of clusters, and when it was asked for last.
#[derive(Debug)]
struct Kept {
    holders: Arc<Holders>,
    asked: AtomicU64,
}

impl KnownHolders {
    pub(super) fn of(&self, asked: Asked, make: impl FnOnce() -> Holders) -> Arc<Holders> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known.get(&asked) {
            kept.asked.store(now, Ordering::Relaxed);
            return Arc::clone(&kept.holders);
        }
        drop(known);
        let made = make();
        if asked.is_long() {
            return Arc::new(made);
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut sets: Vec<Arc<Kept>> = known.values().cloned().collect();
        sets.sort_unstable_by_key(Arc::as_ptr);
        sets.dedup_by_key(|set| Arc::as_ptr(set));
        let equal = sets.iter().find(|set| *set.holders == made);
        let kept = match equal {
            Some(equal) => Arc::clone(equal),
            None => {
                while !has_room(&sets, made.len())
                    && let Some(oldest) = take_oldest(&mut sets)
                {
                    known.retain(|_, kept| !Arc::ptr_eq(kept, &oldest));
                }
                Arc::new(Kept {
                    holders: Arc::new(made),
                    asked: AtomicU64::default(),
                })
            }
        };
        kept.asked.store(now, Ordering::Relaxed);
        let holders = Arc::clone(&kept.holders);
        if asked.goes_by_labels() {
            make_room_for_selection(&mut known);
        }
        known.insert(asked, kept);
        holders
    }

    /// Forgets the clusters of types that others have now.
    pub(super) fn forget(&mut self, types: &BTreeSet<i32>) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        known.retain(|asked, _| !types.contains(&asked.resource));
    }

    /// Forgets what was chosen by labels, for some cluster has others now.
    pub(super) fn forget_selections(&mut self) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        known.retain(|asked, _| !asked.goes_by_labels());
    }
}

/// Lets the one go that was asked for longest ago where there are as many as may be.
fn make_room_for_selection(known: &mut HashMap<Asked, Arc<Kept>>) {
    let selections = || known.iter().filter(|(asked, _)| asked.goes_by_labels());
    let oldest = selections().min_by_key(|(_, kept)| kept.asked.load(Ordering::Relaxed));
    if selections().count() >= MOST_SELECTIONS
        && let Some(oldest) = oldest.map(|(asked, _)| asked.clone())
    {
        known.remove(&oldest);
    }
}

/// Whether one more fits beside these.
fn has_room(sets: &[Arc<Kept>], clusters: usize) -> bool {
    let held: usize = sets.iter().map(|set| set.holders.len()).sum();
    sets.len() < FEWEST_SETS || (sets.len() < MOST_SETS && held + clusters <= MOST_CLUSTERS)
}

/// The one that was asked for longest ago. Others may be asked for meanwhile, of another state.
fn take_oldest(sets: &mut Vec<Arc<Kept>>) -> Option<Arc<Kept>> {
    let asked = |at: &usize| sets[*at].asked.load(Ordering::Relaxed);
    let oldest = (0..sets.len()).min_by_key(asked)?;
    Some(sets.swap_remove(oldest))
}

/// What is known goes along: whoever changes clusters or streams forgets what they change.
impl Clone for KnownHolders {
    fn clone(&self) -> Self {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Self {
            known: RwLock::new(known.clone()),
            clock: Arc::clone(&self.clock),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static NAMES: LazyLock<Vec<ClusterName>> = LazyLock::new(|| {
        let named = |at| ClusterName::new(&format!("c-{at:05}")).expect("a name");
        (0..100_000).map(named).collect()
    });

    fn of_type(resource: i32) -> Asked {
        Asked {
            resource,
            labels: Arc::default(),
        }
    }

    fn holders(ids: impl IntoIterator<Item = i64>) -> Holders {
        NAMES.iter().cloned().zip(ids).collect()
    }

    #[test]
    fn a_cluster_is_found_by_its_number() {
        let holders = holders([7, 3, 9]);
        assert_eq!(
            [7, 3, 9, 4].map(|id| holders.at(id)),
            [Some(0), Some(1), Some(2), None]
        );
        assert_eq!(
            holders.get(1).map(|(name, id)| (name.as_str(), id)),
            Some(("c-00001", 3))
        );
        assert_eq!(
            ["", "c-00001", "c-00001a", "d"].map(|name| holders.before(name)),
            [0, 1, 2, 3]
        );
    }

    #[test]
    fn what_is_known_of_types_is_made_once_shared_and_bounded() {
        let known = KnownHolders::default();
        let first = known.of(of_type(1), || holders([1, 2]));
        assert!(Arc::ptr_eq(
            &first,
            &known.of(of_type(1), || unreachable!("it is known"))
        ));
        assert!(Arc::ptr_eq(
            &first,
            &known.of(of_type(2), || holders([1, 2]))
        ));
        let clusters = |known: &KnownHolders| {
            let known = known.known.read().expect("whole");
            let mut sets = Vec::from_iter(known.values());
            sets.sort_unstable_by_key(|set| Arc::as_ptr(set));
            sets.dedup_by_key(|set| Arc::as_ptr(set));
            let clusters = sets.iter().map(|set| set.holders.len());
            (sets.len(), clusters.sum::<usize>())
        };
        // Of a fleet of ten thousand, then of one of a hundred thousand.
        let mut made = 0;
        for number in 3..100 {
            known.of(of_type(number), || holders(i64::from(number)..10_000));
            let (sets, clusters) = clusters(&known);
            assert!(clusters <= MOST_CLUSTERS, "{sets} of {clusters}");
            made = sets;
        }
        assert_eq!(made, 64);
        for number in 100..120 {
            known.of(of_type(number), || holders(i64::from(number)..100_000));
        }
        assert_eq!(clusters(&known).0, FEWEST_SETS);
        // Of small ones, of clusters that are few.
        for number in 200..600 {
            known.of(of_type(number), || holders([i64::from(number)]));
        }
        assert!((64..=MOST_SETS).contains(&clusters(&known).0));
    }

    /// As a search over several types asks for them, page after page.
    #[test]
    fn what_is_asked_for_in_a_circle_stays_known() {
        let known = KnownHolders::default();
        let mut made = 0;
        for number in (0..30).cycle().take(300) {
            known.of(of_type(number), || {
                made += 1;
                holders(i64::from(number)..10_000)
            });
        }
        assert_eq!(made, 30);
    }

    /// Which types are asked for first says nothing of which are asked for.
    #[test]
    fn what_is_asked_for_stays_known() {
        let known = KnownHolders::default();
        for other in 1..100 {
            // Room for sixteen.
            known.of(of_type(other), || holders(i64::from(other)..40_000));
            if other % 10 == 0 {
                let pods = || holders([0, 7]);
                let made = std::cell::Cell::new(false);
                known.of(of_type(0), || {
                    made.set(true);
                    pods()
                });
                assert_eq!(made.get(), other == 10, "after {other} others");
            }
        }
    }

    #[test]
    fn what_changes_is_forgotten_and_what_does_not_stays() {
        let mut known = KnownHolders::default();
        let [pods, nodes] = [1, 2].map(|resource| known.of(of_type(resource), || holders([1, 2])));
        assert!(Arc::ptr_eq(&pods, &nodes));
        known.forget(&BTreeSet::from([1]));
        assert!(Arc::ptr_eq(
            &nodes,
            &known.of(of_type(2), || unreachable!("it is known"))
        ));
        assert_eq!(known.of(of_type(1), || holders([1])).len(), 1);
    }

    #[test]
    fn selections_are_few_and_gone_with_the_labels_that_they_go_by() {
        let mut known = KnownHolders::default();
        let every = known.of(of_type(1), || holders([1, 2]));
        let selected = |number: usize| Asked {
            resource: 1,
            labels: Arc::new([Requirement::is_in("env", [number.to_string()])]),
        };
        let paged_by = known.of(selected(1000), || holders([1]));
        for number in 0..1000 {
            let id = 2 + i64::try_from(number).expect("few");
            let found = known.of(selected(number), || holders([id]));
            let again = known.of(selected(number), || unreachable!("it is known"));
            assert!(Arc::ptr_eq(&found, &again));
            let still = known.of(selected(1000), || unreachable!("it is asked for"));
            assert!(Arc::ptr_eq(&paged_by, &still));
        }
        let long = (0..1000).map(|number| format!("{number:060}"));
        let long = Asked {
            resource: 1,
            labels: Arc::new([Requirement::is_in("env", long)]),
        };
        known.of(long, || holders([7]));
        assert_eq!(
            known.known.read().expect("whole").len(),
            1 + MOST_SELECTIONS
        );
        known.forget_selections();
        assert_eq!(known.of(selected(999), || holders([1])).at(1), Some(0));
        let still = known.of(of_type(1), || unreachable!("it is known"));
        assert!(Arc::ptr_eq(&every, &still));
    }
}
