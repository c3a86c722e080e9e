//! What several tests need: a store in memory, a certificate authority, and reviewers with fixed answers.

mod authority;
mod memory;
mod reviewers;

pub(crate) use authority::{Authority, extension_authentication};
pub(crate) use memory::{Memory, resource};
pub(crate) use reviewers::{FixedTokens, Rules};
