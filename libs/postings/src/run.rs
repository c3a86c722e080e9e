//! Editing one stretch of a run: which blocks go, which are written.

use std::iter::Peekable;
use std::slice::Iter;

use crate::{Block, Capacity, Damaged, IdSet};

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

/// Removes `gone` from neighbouring blocks, adds `new` to them, and appends what changes to `edit`.
///
/// The last block must be the run's last one, or one without an id of the edit.
pub(crate) fn edit_stretch(
    blocks: &[Block],
    new: &IdSet,
    gone: &IdSet,
    capacity: Capacity,
    edit: &mut Edit,
) -> Result<(), Damaged> {
    let pieces = join_small(edit_pieces(blocks, new, gone)?, capacity)?;
    compare(blocks, pieces, capacity, edit);
    Ok(())
}

/// A part of the stretch after the edit.
enum Piece<'a> {
    Untouched(&'a Block),
    Edited(Content),
}

/// The ids of a block after the edit, if it has not become too small or too large for one.
struct Content {
    ids: IdSet,
    /// Whether all new ids came after the run's last one.
    appended: bool,
}

impl Piece<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Untouched(block) => block.count as usize,
            Self::Edited(content) => content.ids.len(),
        }
    }

    fn into_ids(self) -> Result<IdSet, Damaged> {
        match self {
            Self::Untouched(block) => block.decode(),
            Self::Edited(content) => Ok(content.ids),
        }
    }

    /// Both as one.
    fn join(self, next: Self) -> Result<Self, Damaged> {
        Ok(Self::Edited(Content {
            ids: self.into_ids()?.union(&next.into_ids()?),
            appended: false,
        }))
    }
}

impl Content {
    /// The blocks to store. Ids at the run's end fill blocks to the brim, for nothing will be inserted there; elsewhere all blocks
    /// get the same room.
    fn blocks(&self, capacity: Capacity) -> impl Iterator<Item = Block> {
        let ids = self.ids.as_slice();
        let count = ids.len().div_ceil(capacity.ids());
        let bound = move |index: usize| match self.appended {
            true => (index * capacity.ids()).min(ids.len()),
            false => index * ids.len() / count,
        };
        (0..count).map(move |index| {
            let part = &ids[bound(index)..bound(index + 1)];
            Block::encode(part).expect("no more increasing ids than a block takes")
        })
    }
}

/// Gives each block the ids that lie between its first id and that of its successor.
fn edit_pieces<'a>(
    blocks: &'a [Block],
    new: &IdSet,
    gone: &IdSet,
) -> Result<Vec<Piece<'a>>, Damaged> {
    if blocks.is_empty() {
        return Ok(vec![Piece::Edited(Content {
            ids: new.clone(),
            appended: true,
        })]);
    }
    let mut pieces = Vec::with_capacity(blocks.len());
    let (mut new, mut gone) = (new.as_slice(), gone.as_slice());
    for (index, block) in blocks.iter().enumerate() {
        let next = blocks.get(index + 1).map(|next| next.first);
        if next.is_some_and(|next| next <= block.first) {
            return Err(overlap(block));
        }
        let (here_new, here_gone) = (take_below(&mut new, next), take_below(&mut gone, next));
        pieces.push(if here_new.is_empty() && here_gone.is_empty() {
            Piece::Untouched(block)
        } else {
            Piece::Edited(edit_block(block, here_new, here_gone, next.is_none())?)
        });
    }
    Ok(pieces)
}

fn edit_block(block: &Block, new: &[i64], gone: &[i64], is_last: bool) -> Result<Content, Damaged> {
    let old = block.decode()?;
    let gone = IdSet::from_increasing(gone.to_vec());
    let new = IdSet::from_increasing(new.to_vec());
    Ok(Content {
        appended: is_last && old.last() < new.first(),
        ids: old.difference(&gone).union(&new),
    })
}

/// Splits off the ids below `next`; all of them if there is no next block.
pub(crate) fn take_below<'a>(ids: &mut &'a [i64], next: Option<i64>) -> &'a [i64] {
    let count = next.map_or(ids.len(), |next| ids.partition_point(|&id| id < next));
    let (here, rest) = ids.split_at(count);
    *ids = rest;
    here
}

/// Joins neighbours that fit into half a block; what became empty goes.
fn join_small(pieces: Vec<Piece<'_>>, capacity: Capacity) -> Result<Vec<Piece<'_>>, Damaged> {
    let mut joined: Vec<Piece<'_>> = Vec::with_capacity(pieces.len());
    for piece in pieces.into_iter().filter(|piece| piece.len() > 0) {
        let fits = |before: &mut Piece<'_>| before.len() + piece.len() <= capacity.joined();
        let piece = match joined.pop_if(fits) {
            Some(before) => before.join(piece)?,
            None => piece,
        };
        joined.push(piece);
    }
    Ok(joined)
}

/// Adds what differs between the old blocks and the pieces, both of which are in order.
fn compare(blocks: &[Block], pieces: Vec<Piece<'_>>, capacity: Capacity, edit: &mut Edit) {
    let mut old = blocks.iter().peekable();
    for piece in pieces {
        match piece {
            Piece::Untouched(block) => {
                replaced(&mut old, block.first, &mut edit.removed);
            }
            Piece::Edited(content) => {
                for block in content.blocks(capacity) {
                    if replaced(&mut old, block.first, &mut edit.removed) != Some(&block) {
                        edit.written.push(block);
                    }
                }
            }
        }
    }
    edit.removed.extend(old.map(|block| block.first));
}

/// The old block with this first id; the ones before it that are still there are gone.
fn replaced<'a>(
    old: &mut Peekable<Iter<'a, Block>>,
    first: i64,
    removed: &mut Vec<i64>,
) -> Option<&'a Block> {
    while let Some(block) = old.next_if(|block| block.first < first) {
        removed.push(block.first);
    }
    old.next_if(|block| block.first == first)
}

fn overlap(block: &Block) -> Damaged {
    Damaged {
        first: block.first,
        reason: "it overlaps its neighbour",
    }
}
