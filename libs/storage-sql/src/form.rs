//! The stored form of things: bodies compressed, dictionaries for that, terms as numbers, resource versions that sort, ids of namespaces. Pure.

pub(crate) mod codec;
pub(crate) mod dictionaries;
pub(crate) mod namespace_id;
pub(crate) mod term;
pub(crate) mod version;
