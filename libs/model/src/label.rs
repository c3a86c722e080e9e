//! Label selector requirements, as Kubernetes defines them.

pub(crate) mod parse;
mod requirement;
mod syntax;

pub use parse::{InvalidSelector, parse};
pub use requirement::{Operator, Requirement};

/// Whether this may be the key of a label.
#[must_use]
pub fn is_key(text: &str) -> bool {
    syntax::key_fault(text).is_none()
}

/// Whether this may be the value of a label.
#[must_use]
pub fn is_value(text: &str) -> bool {
    syntax::value_fault(text).is_none()
}
