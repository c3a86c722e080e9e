//! Editing a run of blocks: which blocks go, which are written.

use crate::{Block, Damaged, IdSet, MAX_IDS};

/// A changed block below this many ids is joined with its successor, if the two fit into [`JOINED`].
const SMALL: usize = MAX_IDS / 4;
/// Joined blocks leave a quarter free, so that the next few ids do not split them again.
const JOINED: usize = MAX_IDS / 4 * 3;

/// What an edit changes in a store: delete `removed`, then insert or replace `written`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The first ids of blocks that are gone.
    pub removed: Vec<i64>,
    /// Blocks that are new or have other content under the same first id.
    pub written: Vec<Block>,
}

/// All ids of a run.
pub fn ids(run: &[Block]) -> Result<IdSet, Damaged> {
    let mut all = Vec::with_capacity(run.iter().map(|block| block.count as usize).sum());
    for block in run {
        let ids = block.decode()?;
        if all.last().is_some_and(|&last| last >= block.first) {
            return Err(overlap(block));
        }
        all.extend_from_slice(ids.as_slice());
    }
    Ok(IdSet::from_increasing(all))
}

/// Removes `gone` from a run and adds `new` to it.
///
/// `run` may be part of a longer one: the blocks from the one at or before the least id of the edit to the one after the
/// greatest, in order. Ids that are there already, or not there to be removed, change nothing.
pub fn edit(run: &[Block], new: &IdSet, gone: &IdSet) -> Result<Edit, Damaged> {
    let pieces = merge_small(edit_pieces(run, new, gone)?)?;
    Ok(compare(run, pieces))
}

/// A stretch of the run after the edit.
enum Piece<'a> {
    Untouched(&'a Block),
    Edited(Vec<i64>),
}

impl Piece<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Untouched(block) => block.count as usize,
            Self::Edited(ids) => ids.len(),
        }
    }

    fn into_ids(self) -> Result<Vec<i64>, Damaged> {
        match self {
            Self::Untouched(block) => Ok(block.decode()?.as_slice().to_vec()),
            Self::Edited(ids) => Ok(ids),
        }
    }
}

/// Gives each block the part of the edit that lies between its first id and that of its successor.
fn edit_pieces<'a>(run: &'a [Block], new: &IdSet, gone: &IdSet) -> Result<Vec<Piece<'a>>, Damaged> {
    if run.is_empty() {
        return Ok(vec![Piece::Edited(
            new.difference(gone).as_slice().to_vec(),
        )]);
    }
    let mut pieces = Vec::with_capacity(run.len());
    let (mut new, mut gone) = (new.as_slice(), gone.as_slice());
    for (index, block) in run.iter().enumerate() {
        let next = run.get(index + 1);
        if next.is_some_and(|next| next.first <= block.first) {
            return Err(overlap(block));
        }
        let here_new = take_below(&mut new, next);
        let here_gone = take_below(&mut gone, next);
        pieces.push(if here_new.is_empty() && here_gone.is_empty() {
            Piece::Untouched(block)
        } else {
            let added: IdSet = here_new.iter().copied().collect();
            let removed: IdSet = here_gone.iter().copied().collect();
            let ids = block.decode()?.difference(&removed).union(&added);
            Piece::Edited(ids.as_slice().to_vec())
        });
    }
    Ok(pieces)
}

/// Splits off the ids below the first of `next`; all of them if there is no next block.
fn take_below<'a>(ids: &mut &'a [i64], next: Option<&Block>) -> &'a [i64] {
    let count = next.map_or(ids.len(), |next| ids.partition_point(|&id| id < next.first));
    let (here, rest) = ids.split_at(count);
    *ids = rest;
    here
}

/// Joins an edited piece that became small with what follows it.
fn merge_small(pieces: Vec<Piece<'_>>) -> Result<Vec<Piece<'_>>, Damaged> {
    let mut merged: Vec<Piece<'_>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match merged.pop() {
            Some(Piece::Edited(mut ids))
                if ids.len() < SMALL && ids.len() + piece.len() <= JOINED =>
            {
                ids.extend(piece.into_ids()?);
                merged.push(Piece::Edited(ids));
            }
            Some(previous) => merged.extend([previous, piece]),
            None => merged.push(piece),
        }
    }
    Ok(merged)
}

/// What differs between the old blocks and the pieces.
fn compare(run: &[Block], pieces: Vec<Piece<'_>>) -> Edit {
    let mut edit = Edit::default();
    let mut kept = Vec::with_capacity(run.len());
    for piece in pieces {
        match piece {
            Piece::Untouched(block) => kept.push(block.first),
            Piece::Edited(ids) => {
                // Ids grow, so full blocks with a short last one are what a run looks like anyway.
                for ids in ids.chunks(MAX_IDS) {
                    let block = Block::encode(ids).expect("a chunk of increasing ids");
                    kept.push(block.first);
                    edit.written.push(block);
                }
            }
        }
    }
    let old = |block: &Block| run.iter().find(|old| old.first == block.first);
    edit.written.retain(|block| old(block) != Some(block));
    edit.removed = run
        .iter()
        .map(|block| block.first)
        .filter(|first| !kept.contains(first))
        .collect();
    edit
}

fn overlap(block: &Block) -> Damaged {
    Damaged {
        first: block.first,
        reason: "it overlaps its neighbour",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// A store of one run, which sees only what an edit says.
    #[derive(Default)]
    struct Stored(BTreeMap<i64, Block>);

    impl Stored {
        /// Edits the whole run, or only the blocks around the edit, as a store does.
        fn apply(&mut self, new: &IdSet, gone: &IdSet, whole: bool) {
            let run = if whole {
                self.run()
            } else {
                self.around(new, gone)
            };
            let Edit { removed, written } = edit(&run, new, gone).expect("not damaged");
            for first in removed {
                self.0
                    .remove(&first)
                    .expect("only stored blocks are removed");
            }
            for block in written {
                assert_ne!(self.0.insert(block.first, block.clone()), Some(block));
            }
        }

        fn run(&self) -> Vec<Block> {
            self.0.values().cloned().collect()
        }

        fn around(&self, new: &IdSet, gone: &IdSet) -> Vec<Block> {
            let touched = new.union(gone);
            let (Some(least), Some(greatest)) = (touched.first(), touched.last()) else {
                return vec![];
            };
            let from = self
                .0
                .range(..=least)
                .next_back()
                .map_or(least, |(&first, _)| first);
            let to = self
                .0
                .range(greatest + 1..)
                .next()
                .map_or(greatest, |(&first, _)| first);
            self.0
                .range(from..=to)
                .map(|(_, block)| block.clone())
                .collect()
        }
    }

    fn id_sets(max: usize) -> impl Strategy<Value = BTreeSet<i64>> {
        prop_oneof![
            proptest::collection::btree_set(1..3000_i64, 0..max),
            (1..3000_i64, 0..max as i64).prop_map(|(from, count)| (from..from + count).collect()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_run_of_blocks_is_a_set(
            edits in proptest::collection::vec((id_sets(700), id_sets(900), any::<bool>()), 1..12)
        ) {
            let mut stored = Stored::default();
            let mut model = BTreeSet::new();
            for (new, gone, whole) in edits {
                let new: BTreeSet<i64> = new.difference(&gone).copied().collect();
                model.retain(|id| !gone.contains(id));
                model.extend(&new);
                stored.apply(&new.into_iter().collect(), &gone.into_iter().collect(), whole);
                let run = stored.run();
                prop_assert_eq!(ids(&run).expect("not damaged"), model.iter().copied().collect());
                prop_assert!(run.iter().all(|block| (1..=256).contains(&block.count)));
            }
        }
    }

    fn set(ids: impl IntoIterator<Item = i64>) -> IdSet {
        ids.into_iter().collect()
    }

    fn run(ids: impl IntoIterator<Item = i64>) -> Vec<Block> {
        edit(&[], &set(ids), &IdSet::new())
            .expect("no block")
            .written
    }

    #[test]
    fn appending_writes_only_the_tail() {
        let blocks = run(1..=500);
        assert_eq!(blocks.len(), 2);
        let edit = edit(&blocks, &set([501]), &IdSet::new()).expect("sound");
        assert_eq!(edit.removed, [] as [i64; 0]);
        assert_eq!(edit.written.len(), 1);
        assert_eq!(edit.written[0].first, 257);
    }

    #[test]
    fn a_full_tail_starts_a_new_block_and_stays_unwritten() {
        let edit = edit(&run(1..=256), &set([300]), &IdSet::new()).expect("sound");
        assert_eq!(edit.written, vec![Block::encode(&[300]).expect("one id")]);
    }

    #[test]
    fn small_blocks_are_joined() {
        let blocks = run((1..=256).chain(1000..1050));
        let edit = edit(&blocks, &IdSet::new(), &set(1..=240)).expect("sound");
        assert_eq!(edit.removed, [1, 257 + 743]);
        assert_eq!(edit.written.len(), 1);
        assert_eq!(edit.written[0].count, 66);
    }

    #[test]
    fn an_edit_that_changes_nothing_writes_nothing() {
        let blocks = run(1..=10);
        assert_eq!(edit(&blocks, &set([3]), &set([12])), Ok(Edit::default()));
    }

    #[test]
    fn overlapping_blocks_are_damage() {
        let block = Block::encode(&[1, 5]).expect("two ids");
        let inside = Block::encode(&[3]).expect("one id");
        assert!(ids(&[block.clone(), inside]).is_err());
        assert!(edit(&[block.clone(), block], &set([9]), &IdSet::new()).is_err());
    }
}
