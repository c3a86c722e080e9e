//! What is told of the work: to users in the status of a PediaCluster and in Events, to operators in logs and metrics.

pub(crate) mod advice;
pub(crate) mod applied;
pub(crate) mod board;
pub(crate) mod keeper;
pub(crate) mod last_words;
mod left_out;
pub(crate) mod metrics;
pub(crate) mod outages;
pub(crate) mod pace;
pub(crate) mod refresh;
pub(crate) mod report;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod tally;
pub(crate) mod unproved;
