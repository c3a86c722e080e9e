//! Posting blocks: which objects carry a term, as short runs of delta-coded object ids.
//!
//! A *run* is the blocks of one term in one namespace, in order; together they hold a strictly increasing list of ids. Editing a
//! run gives back only the blocks that changed, so that a store writes no more than it must. Nothing here does input or output,
//! and nothing panics on damaged bytes: they are a [`Damaged`] error.

mod block;
mod run;
mod set;
mod varint;

pub use block::{Block, Damaged, MAX_IDS, decode};
pub use run::{Edit, edit, ids};
pub use set::IdSet;
