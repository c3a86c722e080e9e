//! One block and its codec.
//!
//! A block of the ids `a < b < c` is the number `a`, the count 3 and the bytes `varint(b - a) varint(c - b)`: the first id and the
//! count are columns of the store, so that it can find and count without decoding.

use crate::{IdSet, varint};

/// The most ids in one block: about 300 bytes when ids were handed out together, one page when they are far apart.
pub const MAX_IDS: usize = 256;

/// How many ids a block is filled with. Blocks of any length up to [`MAX_IDS`] are read all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity(usize);

impl Capacity {
    /// So many ids, but 2 at least and at most [`MAX_IDS`].
    #[must_use]
    pub fn new(ids: usize) -> Self {
        Self(ids.clamp(2, MAX_IDS))
    }

    /// The most ids of a block.
    pub(crate) fn ids(self) -> usize {
        self.0
    }

    /// Neighbours that hold at most this many ids together become one block.
    ///
    /// Half a block: the halves of a block that was split stay apart from any neighbour, so that no edit needs to look further than
    /// the next block, and a joined block takes as many ids again before it is split. Any two neighbours hold more than this, so that
    /// a run never has more than four times the blocks that it needs.
    pub(crate) fn joined(self) -> usize {
        self.0 / 2
    }
}

impl Default for Capacity {
    fn default() -> Self {
        Self::new(MAX_IDS)
    }
}

/// Some ids of one run, encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The least id.
    pub first: i64,
    /// How many ids, 1 to [`MAX_IDS`].
    pub count: u32,
    /// The distances from each id to the next.
    pub bytes: Vec<u8>,
}

/// Stored bytes that cannot have been written by this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged posting block at id {first}: {reason}")]
pub struct Damaged {
    /// The block's first id.
    pub first: i64,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Block {
    /// Encodes at most [`MAX_IDS`] ids; `None` for an empty or a longer slice, or one that does not strictly increase.
    #[must_use]
    pub fn encode(ids: &[i64]) -> Option<Self> {
        let (&first, _) = ids.split_first()?;
        if ids.len() > MAX_IDS {
            return None;
        }
        let mut bytes = Vec::with_capacity(ids.len());
        for pair in ids.windows(2) {
            let distance = pair[1].checked_sub(pair[0]).filter(|&d| d > 0)?;
            varint::write(&mut bytes, distance.unsigned_abs());
        }
        Some(Self {
            first,
            count: u32::try_from(ids.len()).expect("at most MAX_IDS"),
            bytes,
        })
    }

    /// The ids.
    pub fn decode(&self) -> Result<IdSet, Damaged> {
        decode(self.first, self.count, &self.bytes)
    }
}

/// Decodes a block from its stored parts. Any input gives ids or an error, never a panic and never more than [`MAX_IDS`] ids.
pub fn decode(first: i64, count: u32, bytes: &[u8]) -> Result<IdSet, Damaged> {
    let damaged = |reason| Damaged { first, reason };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count == 0 || count > MAX_IDS {
        return Err(damaged("its count is out of range"));
    }
    let mut ids = Vec::with_capacity(count);
    ids.push(first);
    let mut last = first;
    let mut rest = bytes;
    while ids.len() < count {
        let distance = varint::read(&mut rest).ok_or_else(|| damaged("its bytes are cut off"))?;
        last = i64::try_from(distance)
            .ok()
            .filter(|&d| d > 0)
            .and_then(|d| last.checked_add(d))
            .ok_or_else(|| damaged("its ids do not increase"))?;
        ids.push(last);
    }
    if !rest.is_empty() {
        return Err(damaged("bytes are left over"));
    }
    Ok(IdSet::from_increasing(ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn any_increasing_ids_survive_the_codec(ids in proptest::collection::btree_set(any::<i64>(), 1..=MAX_IDS)) {
            let ids: Vec<i64> = ids.into_iter().collect();
            // Distances above 63 bits do not occur: ids are positive in a store.
            prop_assume!(ids.windows(2).all(|p| p[1].checked_sub(p[0]).is_some()));
            let block = Block::encode(&ids).expect("increasing");
            let decoded = block.decode().expect("whole");
            prop_assert_eq!(decoded.as_slice(), ids.as_slice());
        }

        #[test]
        fn any_bytes_give_a_set_or_an_error(first: i64, count in 0..400_u32, bytes: Vec<u8>) {
            if let Ok(ids) = decode(first, count, &bytes) {
                let distinct: BTreeSet<i64> = ids.as_slice().iter().copied().collect();
                prop_assert_eq!(distinct.len(), count as usize);
                prop_assert_eq!(distinct.first(), Some(&first));
            }
        }
    }

    #[test]
    fn what_is_not_a_block_is_refused() {
        assert_eq!(Block::encode(&[]), None);
        assert_eq!(Block::encode(&[2, 2]), None);
        assert_eq!(Block::encode(&[2, 1]), None);
        let long: Vec<i64> = (0..257).collect();
        assert_eq!(Block::encode(&long), None);
    }

    #[track_caller]
    fn refused(count: u32, bytes: &[u8], reason: &str) {
        assert_eq!(decode(7, count, bytes).expect_err("damaged").reason, reason);
    }

    #[test]
    fn damage_is_named() {
        refused(0, &[], "its count is out of range");
        refused(257, &[1; 256], "its count is out of range");
        refused(3, &[1], "its bytes are cut off");
        refused(2, &[0], "its ids do not increase");
        refused(1, &[1], "bytes are left over");
    }
}
