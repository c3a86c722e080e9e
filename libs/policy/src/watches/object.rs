//! What is watched and what was seen of it, as values.

use serde_json::Value;

use crate::Gvr;

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Namespace; empty for kinds without.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchKey {
    /// Kind.
    pub gvr: Gvr,
    /// Which of its objects.
    pub scope: WatchScope,
}

/// Which objects of a kind are watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WatchScope {
    /// Every one.
    All,
    /// One; it need not exist.
    Object(ObjectName),
}

/// Something about a watch is other than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The watch.
    pub watch: WatchKey,
    /// The object; none when it is many of them, or the watch itself.
    pub object: Option<ObjectName>,
}

/// An object as it was last seen, without its managed fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its name.
    pub name: ObjectName,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The whole of it.
    pub object: Value,
}
