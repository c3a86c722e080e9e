//! Where a store is, however that was said.

use armadex_storage_sql::Location;

/// A store and how many connections it may be opened with, if that was said.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) location: Location,
    pub(super) connections: Option<u32>,
}
