//! The stored form of things: bodies compressed, terms as numbers, resource versions that sort. Pure.

pub(crate) mod codec;
pub(crate) mod term;
pub(crate) mod version;
