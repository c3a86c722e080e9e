//! What several tests need: a real store with contents, a certificate authority, a host that is asked by a real client, and reviewers with
//! fixed answers.

mod authority;
mod contents;
mod host;
mod reviewers;
mod still;
mod watched;

pub(crate) use authority::{Authority, extension_authentication};
pub(crate) use contents::{Contents, resource};
pub(crate) use host::{Posted, host};
pub(crate) use reviewers::{FixedTokens, Rules};
pub(crate) use watched::{Gate, Watched};
