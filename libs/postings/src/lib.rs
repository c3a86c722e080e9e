//! Posting blocks: which objects carry a term, as short runs of delta-coded object ids.
//!
//! A *run* is the blocks of one term in one namespace, in order; together they hold a strictly increasing list of ids. Editing a
//! run needs only the blocks around the ids of the edit and gives back only those that changed, so that a store reads and writes no
//! more than it must. Nothing here does input or output,
//! and nothing panics on damaged bytes: they are a [`Damaged`] error.

mod block;
mod part;
mod run;
mod set;
mod varint;

pub use block::{Block, Capacity, Damaged, MAX_IDS, decode};
pub use part::{Part, cut, edit};
pub use run::{Edit, ids};
pub use set::IdSet;
