//! Every statement of the store, as pure functions. One file for each table or path; nothing here runs a statement.

pub(crate) mod audit;
pub(crate) mod catalog;
pub(crate) mod cluster_labels;
pub(crate) mod copy;
pub(crate) mod counter;
pub(crate) mod dialect;
pub(crate) mod dictionary;
pub(crate) mod gone;
pub(crate) mod head;
pub(crate) mod history;
pub(crate) mod lease;
mod lists;
pub(crate) mod mend;
pub(crate) mod meta;
pub(crate) mod milestone;
pub(crate) mod namespace;
pub(crate) mod object;
pub(crate) mod owner;
mod param;
pub(crate) mod pieces;
pub(crate) mod post;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod statement;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod unposted;

#[cfg(test)]
pub(crate) mod samples;
