//! What is asked: the path, the form that is accepted, the place to continue from.

pub(crate) mod negotiate;
pub(crate) mod protobuf;
pub(crate) mod seal;
pub(crate) mod target;
pub(crate) mod token;
