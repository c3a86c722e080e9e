//! Label selector requirements, as Kubernetes defines them.

pub(crate) mod parse;
mod requirement;
mod syntax;

pub use parse::{InvalidSelector, parse};
pub use requirement::{Operator, Requirement};
