//! From bytes of a member to changes for the store: lines and items, events, converted and pruned objects, batches, and what may be held on the way.

pub(crate) mod batch;
pub(crate) mod budget;
pub(crate) mod convert;
pub(crate) mod event;
pub(crate) mod involved;
pub(crate) mod items;
pub(crate) mod lines;
pub(crate) mod memory;
pub(crate) mod prune;
pub(crate) mod unfinished;
