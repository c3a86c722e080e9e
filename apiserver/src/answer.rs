//! What is said: replies and errors, lists as they are read, objects and tables as bytes.

pub(crate) mod aside;
pub(crate) mod body;
pub(crate) mod budget;
pub(crate) mod document;
pub(crate) mod encode;
pub(crate) mod gzip;
pub(crate) mod lines;
pub(crate) mod listing;
pub(crate) mod object;
pub(crate) mod outbox;
pub(crate) mod pretty;
pub(crate) mod reply;
pub(crate) mod rewrite;
pub(crate) mod searches;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod yaml;
