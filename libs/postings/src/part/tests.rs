//! Runs that are edited as a store does it: only the blocks around each part are loaded, and only what the edit says is written.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::ids;

/// A store of one run.
#[derive(Default)]
struct Stored {
    capacity: Capacity,
    blocks: BTreeMap<i64, Block>,
    /// How many blocks the last edit loaded, one that two parts need counted twice.
    loaded: usize,
}

impl Stored {
    fn apply(&mut self, new: IdSet, gone: IdSet) {
        let parts = cut(new, gone);
        let windows: Vec<Vec<Block>> = parts.iter().map(|part| self.around(part)).collect();
        self.loaded = windows.iter().map(Vec::len).sum();
        let mut loaded = windows.concat();
        loaded.sort_by_key(|block| block.first);
        loaded.dedup();
        let Edit { removed, written } = edit(&loaded, &parts, self.capacity).expect("not damaged");
        for first in removed {
            self.blocks
                .remove(&first)
                .expect("only stored blocks are removed");
        }
        for block in written {
            assert_ne!(self.blocks.insert(block.first, block.clone()), Some(block));
        }
    }

    fn add(&mut self, ids: impl IntoIterator<Item = i64>) {
        self.apply(set(ids), IdSet::new());
    }

    fn remove(&mut self, ids: impl IntoIterator<Item = i64>) {
        self.apply(IdSet::new(), set(ids));
    }

    /// What the documentation of [`Part`] asks for.
    fn around(&self, part: &Part) -> Vec<Block> {
        let before = |id: i64| self.blocks.range(..id).next_back().map(|(&first, _)| first);
        let holding = part.low().checked_add(1).and_then(before);
        let from = match (holding, part.shrinks()) {
            (Some(first), true) => before(first).or(holding),
            (holding, _) => holding,
        };
        let from = from.unwrap_or(i64::MIN);
        let upto = self.blocks.range(from..=part.high());
        let next = self.blocks.range(part.high() + 1..).next();
        upto.chain(next).map(|(_, block)| block.clone()).collect()
    }

    fn run(&self) -> Vec<Block> {
        self.blocks.values().cloned().collect()
    }

    fn ids(&self) -> IdSet {
        ids(&self.run()).expect("not damaged")
    }

    /// The least two neighbours that are too small to be apart.
    fn crumbs(&self) -> Option<(u32, u32)> {
        let counts: Vec<u32> = self.blocks.values().map(|block| block.count).collect();
        let pairs = counts.windows(2).map(|pair| (pair[0], pair[1]));
        pairs
            .filter(|&(a, b)| (a + b) as usize <= self.capacity.joined())
            .min()
    }
}

fn set(ids: impl IntoIterator<Item = i64>) -> IdSet {
    ids.into_iter().collect()
}

/// The same order of the same ids each time: every number below `count` once.
fn scattered(count: i64) -> impl Iterator<Item = i64> {
    const STEP: i64 = 7_919;
    assert_ne!(count % STEP, 0, "the step must be prime to the count");
    (0..count).map(move |index| index * STEP % count)
}

fn id_sets(max: usize) -> impl Strategy<Value = BTreeSet<i64>> {
    prop_oneof![
        proptest::collection::btree_set(1..3_000_i64, 0..max),
        proptest::collection::btree_set(1..90_000_i64, 0..40),
        (1..90_000_i64, 0..max as i64).prop_map(|(from, count)| (from..from + count).collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_run_of_blocks_is_a_set_without_crumbs(
        capacity in prop_oneof![Just(2), Just(4), Just(5), Just(MAX_IDS)],
        edits in proptest::collection::vec((id_sets(700), id_sets(900)), 1..20)
    ) {
        let mut stored = Stored { capacity: Capacity::new(capacity), ..Stored::default() };
        let mut model = BTreeSet::new();
        for (new, gone) in edits {
            model.retain(|id| !gone.contains(id));
            model.extend(&new);
            stored.apply(set(new), set(gone));
            prop_assert_eq!(stored.ids(), model.iter().copied().collect());
            prop_assert_eq!(stored.crumbs(), None);
        }
    }

    #[test]
    fn the_parts_of_an_edit_are_few_in_order_and_lose_nothing(new in id_sets(300), gone in id_sets(300)) {
        let parts = cut(set(new.clone()), set(gone.clone()));
        prop_assert!(parts.len() <= MAX_PARTS);
        prop_assert!(parts.iter().all(|part| part.low() <= part.high()));
        prop_assert!(parts.windows(2).all(|pair| pair[0].high() + GAP < pair[1].low()));
        let all = |ids: fn(&Part) -> &IdSet| parts.iter().flat_map(|part| ids(part).as_slice().to_vec()).collect::<BTreeSet<_>>();
        prop_assert_eq!(all(|part| &part.new), new);
        prop_assert_eq!(all(|part| &part.gone), gone);
    }
}

/// 20,000 ids need 79 blocks.
const MANY: i64 = 20_000;

#[test]
fn ids_that_are_appended_fill_their_blocks() {
    for batch in [1, 7, 500, 20_000] {
        let mut stored = Stored::default();
        let ids: Vec<i64> = (1..=MANY).collect();
        for batch in ids.chunks(batch) {
            stored.add(batch.iter().copied());
        }
        assert_eq!(stored.blocks.len(), 79, "in batches of {batch}");
    }
}

#[test]
fn ids_in_any_order_take_at_most_twice_the_blocks() {
    for batch in [1, 2, 7, 100, 500, 3_000] {
        let mut stored = Stored::default();
        let ids: Vec<i64> = scattered(MANY).collect();
        for batch in ids.chunks(batch) {
            stored.add(batch.iter().copied());
        }
        assert_eq!(stored.ids().len(), 20_000);
        let blocks = stored.blocks.len();
        assert!(blocks <= 2 * 79, "{blocks} in batches of {batch}");
    }
}

#[test]
fn ids_in_descending_order_take_at_most_twice_the_blocks() {
    let mut stored = Stored::default();
    for id in (1..=MANY).rev() {
        stored.add([id]);
    }
    let blocks = stored.blocks.len();
    assert!(blocks <= 2 * 79, "{blocks}");
}

/// What remains of a full run after its ids went one by one in an order, except for every 250th.
#[track_caller]
fn thinned_out(order: impl Iterator<Item = i64>) {
    let mut stored = Stored::default();
    stored.add(0..MANY);
    for id in order.filter(|id| id % 250 != 0) {
        stored.remove([id]);
        assert_eq!(stored.crumbs(), None, "after {id}");
    }
    assert_eq!(stored.ids(), (0..MANY).step_by(250).collect());
    assert_eq!(stored.blocks.len(), 1);
}

#[test]
fn a_run_that_is_thinned_out_shrinks_in_any_order() {
    thinned_out(0..MANY);
    thinned_out((0..MANY).rev());
    thinned_out(scattered(MANY));
    thinned_out((0..MANY).step_by(2).chain((1..MANY).step_by(2)));
}

#[test]
fn a_run_whose_objects_come_and_go_keeps_its_size() {
    let mut stored = Stored::default();
    stored.add(0..MANY);
    for (old, new) in scattered(MANY).zip(MANY..) {
        stored.apply(set([new]), set([old]));
        assert_eq!(stored.crumbs(), None);
    }
    assert_eq!(stored.ids(), (MANY..2 * MANY).collect());
    assert!(stored.blocks.len() <= 2 * 79);
}

#[test]
fn an_expiry_and_an_addition_load_four_blocks_of_a_hundred() {
    let mut stored = Stored::default();
    stored.add(1..=25_600);
    stored.apply(set([25_601]), set([300]));
    assert_eq!(stored.loaded, 4);
    assert_eq!(stored.blocks.len(), 101);
}

#[test]
fn appending_writes_only_the_tail() {
    let mut stored = Stored::default();
    stored.add(1..=500);
    let edit = edit(
        &stored.run(),
        &cut(set([501]), IdSet::new()),
        Capacity::default(),
    )
    .expect("sound");
    assert_eq!(edit.removed, [] as [i64; 0]);
    assert_eq!(edit.written.len(), 1);
    assert_eq!(edit.written[0].first, 257);
}

#[test]
fn a_full_tail_starts_a_new_block_and_stays_unwritten() {
    let mut stored = Stored::default();
    stored.add(1..=256);
    let edit = edit(
        &stored.run(),
        &cut(set([300]), IdSet::new()),
        Capacity::default(),
    )
    .expect("sound");
    assert_eq!(edit.written, [Block::encode(&[300]).expect("one id")]);
}

#[test]
fn a_full_block_is_split_into_halves() {
    let mut stored = Stored::default();
    stored.add((2..=512).step_by(2));
    stored.add([512, 5]);
    let counts: Vec<u32> = stored.blocks.values().map(|block| block.count).collect();
    assert_eq!(counts, [128, 129]);
}

#[test]
fn small_blocks_are_joined_with_either_neighbour() {
    let mut stored = Stored::default();
    stored.add((1..=256).chain(1_000..1_050));
    assert_eq!(stored.blocks.len(), 2);
    stored.remove(1..=240);
    assert_eq!(stored.blocks.keys().collect::<Vec<_>>(), [&241]);
    stored.add(1_050..1_300);
    assert_eq!(stored.blocks.len(), 2);
    stored.remove(241..=256);
    stored.remove(1_020..1_290);
    assert_eq!(stored.blocks.len(), 1);
    assert_eq!(stored.ids(), (1_000..1_020).chain(1_290..1_300).collect());
}

#[test]
fn an_edit_that_changes_nothing_writes_nothing() {
    let mut stored = Stored::default();
    stored.add(1..=10);
    let edit = edit(
        &stored.run(),
        &cut(set([3]), set([12])),
        Capacity::default(),
    );
    assert_eq!(edit, Ok(Edit::default()));
    assert_eq!(cut(IdSet::new(), IdSet::new()), []);
}

#[test]
fn overlapping_blocks_are_damage() {
    let block = Block::encode(&[1, 5]).expect("two ids");
    let inside = Block::encode(&[3]).expect("one id");
    assert!(ids(&[block.clone(), inside]).is_err());
    let twice = [block.clone(), block];
    assert!(edit(&twice, &cut(set([9]), set([1])), Capacity::default()).is_err());
}
