//! Writing: one task, one transaction at a time, from batches to rows.

pub(crate) mod catalog_change;
pub(crate) mod clusters;
pub(crate) mod counters;
pub(crate) mod diff;
pub(crate) mod index;
pub(crate) mod label_keys;
pub(crate) mod numbers;
pub(crate) mod places;
pub(crate) mod prepare;
pub(crate) mod publish;
pub(crate) mod purge;
pub(crate) mod session;
pub(crate) mod stage;
pub(crate) mod writer;
