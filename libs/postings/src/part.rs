//! Editing a run of which only the blocks around the edit are at hand.
//!
//! An edit is [`cut`] where its ids are far apart. A store loads the blocks around each part, each block once, and [`edit`] finds
//! out which of them each part needs: parts that share a block are edited together.

use std::ops::Range;

use crate::run::{edit_stretch, take_below};
use crate::{Block, Capacity, Damaged, Edit, IdSet, MAX_IDS};

/// Ids nearer than this stay together: handed out one after the other they fill two blocks, no more than a part of its own costs.
const GAP: i64 = 2 * MAX_IDS as i64;
/// The most parts of one edit. A part costs up to three blocks that may be loaded twice; an edit of more scattered ids than this
/// is shared by so many objects that a few blocks too many do not matter.
const MAX_PARTS: usize = 16;

/// The edit of ids that are near to each other.
///
/// It needs the block at or before [`low`](Self::low), the blocks up to [`high`](Self::high) and the next one, and one more at the
/// front if it [`shrinks`](Self::shrinks): a block that loses ids may be joined with its neighbour on either side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    new: IdSet,
    gone: IdSet,
}

impl Part {
    /// The least id.
    #[must_use]
    pub fn low(&self) -> i64 {
        let (new, gone) = (self.new.first(), self.gone.first());
        new.into_iter().chain(gone).min().unwrap_or(i64::MIN)
    }

    /// The greatest id.
    #[must_use]
    pub fn high(&self) -> i64 {
        self.new.last().max(self.gone.last()).unwrap_or(i64::MAX)
    }

    /// Whether ids are removed.
    #[must_use]
    pub fn shrinks(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Where the blocks that it needs are among all that were loaded.
    fn window(&self, loaded: &[Block]) -> Range<usize> {
        let upto = |id| loaded.partition_point(|block| block.first <= id);
        let before = if self.shrinks() { 2 } else { 1 };
        let start = upto(self.low()).saturating_sub(before);
        start..loaded.len().min(upto(self.high()) + 1)
    }
}

/// Cuts an edit at the widest gaps between its ids. An edit without ids has no parts.
#[must_use]
pub fn cut(new: IdSet, gone: IdSet) -> Vec<Part> {
    let touched = new.union(&gone);
    let cuts = match (touched.first(), touched.last()) {
        (Some(low), Some(high)) if high.saturating_sub(low) <= GAP => vec![],
        (Some(_), Some(_)) => cuts(touched.as_slice()),
        _ => return vec![],
    };
    if cuts.is_empty() {
        return vec![Part { new, gone }];
    }
    let (mut new, mut gone) = (new.as_slice(), gone.as_slice());
    let ends = cuts.into_iter().map(Some).chain([None]);
    ends.map(|end| Part {
        new: IdSet::from_increasing(take_below(&mut new, end).to_vec()),
        gone: IdSet::from_increasing(take_below(&mut gone, end).to_vec()),
    })
    .collect()
}

/// The ids after the widest gaps, in order.
fn cuts(touched: &[i64]) -> Vec<i64> {
    let mut gaps: Vec<(i64, i64)> = touched
        .windows(2)
        .map(|pair| (pair[1].saturating_sub(pair[0]), pair[1]))
        .filter(|&(gap, _)| gap > GAP)
        .collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    gaps.truncate(MAX_PARTS - 1);
    let mut cuts: Vec<i64> = gaps.into_iter().map(|(_, id)| id).collect();
    cuts.sort_unstable();
    cuts
}

/// Neighbouring blocks and all that is edited in them.
struct Stretch {
    blocks: Range<usize>,
    new: IdSet,
    gone: IdSet,
}

impl Stretch {
    fn join(self, next: &Self) -> Self {
        Self {
            blocks: self.blocks.start.min(next.blocks.start)..self.blocks.end.max(next.blocks.end),
            new: self.new.union(&next.new),
            gone: self.gone.union(&next.gone),
        }
    }
}

/// Edits a run by parts, given in order.
///
/// `loaded` are the blocks that the parts need, in order and each once; the whole run will do as well. Ids that are there already, or not
/// there to be removed, change nothing. An id that is removed and added is there afterwards.
pub fn edit<'a>(
    loaded: &[Block],
    parts: impl IntoIterator<Item = &'a Part>,
    capacity: Capacity,
) -> Result<Edit, Damaged> {
    let mut edit = Edit::default();
    for Stretch { blocks, new, gone } in stretches(loaded, parts) {
        edit_stretch(&loaded[blocks], &new, &gone, capacity, &mut edit)?;
    }
    Ok(edit)
}

/// Joins parts that share a block; of a run without blocks all parts are one.
fn stretches<'a>(loaded: &[Block], parts: impl IntoIterator<Item = &'a Part>) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for part in parts {
        let mut stretch = Stretch {
            blocks: part.window(loaded),
            new: part.new.clone(),
            gone: part.gone.clone(),
        };
        while let Some(before) =
            stretches.pop_if(|before| before.blocks.end > stretch.blocks.start || loaded.is_empty())
        {
            stretch = before.join(&stretch);
        }
        stretches.push(stretch);
    }
    stretches
}

#[cfg(test)]
mod tests;
