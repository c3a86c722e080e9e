//! Who is asking, and whether they may.

pub(crate) mod attributes;
pub(crate) mod authn;
pub(crate) mod authz;
pub(crate) mod identity;
pub(crate) mod impersonation;
mod kept;
mod questions;
pub(crate) mod review;
