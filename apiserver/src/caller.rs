//! Who is asking, and whether they may.

pub(crate) mod attributes;
pub(crate) mod authn;
pub(crate) mod authz;
pub(crate) mod identity;
pub(crate) mod impersonation;
mod kept;
pub(crate) mod review;
pub(crate) mod turns;
