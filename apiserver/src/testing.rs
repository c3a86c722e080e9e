//! What several tests need: a store in memory, a certificate authority, a host that is asked by a real client, and reviewers with fixed answers.

mod authority;
mod host;
mod memory;
mod reviewers;

pub(crate) use authority::{Authority, extension_authentication};
pub(crate) use host::{Posted, host};
pub(crate) use memory::{Memory, resource};
pub(crate) use reviewers::{FixedTokens, Rules};
