//! One row of a Table: what it is printed from, and what it says beside its cells.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Error;

use super::values;

/// What a printer prints from.
pub(crate) struct Row<'a> {
    /// `metadata.name`.
    pub(crate) name: &'a str,
    /// `metadata.creationTimestamp`.
    pub(crate) created: Option<Timestamp>,
    /// The object as it is served.
    pub(crate) object: &'a [u8],
    /// The time that ages are told from.
    pub(crate) now: Timestamp,
}

impl<'a> Row<'a> {
    /// The whole object as a value.
    pub(super) fn read<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        values::read(self.object)
    }
}

/// What a row says about its object beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    None,
    /// A pod that has run to its end.
    Succeeded,
    /// A pod that has failed.
    Failed,
}

/// Shown for a text that is not there.
pub(super) const NONE: &str = "<none>";
/// Shown for an optional field that was not set.
pub(super) const UNSET: &str = "<unset>";
