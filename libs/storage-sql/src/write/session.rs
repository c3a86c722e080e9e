//! What a transaction of the writer works with.

use std::time::{Duration, Instant};

use armadex_postings::Capacity;

use crate::backend::Connection;
use crate::backend::incarnation::Committed;
use crate::sql::dialect::Dialect;
use crate::write::Portions;
use crate::write::catalog_change::CatalogChange;
use crate::write::label_keys::LabelKeys;
use crate::write::lease::Lease;
use crate::write::left_off::LeftOff;
use crate::write::numbers::ObjectIds;
use crate::write::past::PastKnown;
use crate::write::shown::Shown;
use crate::write::unanswered::Unanswered;

/// What a transaction needs besides its work.
pub(crate) struct Session<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    pub(crate) dialect: Dialect,
    pub(crate) object_ids: &'a mut ObjectIds,
    /// Which labels are posted.
    pub(crate) labels: &'a mut LabelKeys,
    pub(crate) portions: &'a Portions,
    /// How long superseded versions and tombstones are kept.
    pub(crate) watch_window: Duration,
    /// How much of that is kept at most, and what is known of it.
    pub(crate) past: &'a mut PastKnown,
    /// On the work that one process does at a time.
    pub(crate) lease: &'a mut Lease,
    /// Where this process left its streams.
    pub(crate) left_off: &'a mut LeftOff,
    /// What this process asked for and was not answered.
    pub(crate) unanswered: &'a Unanswered,
    /// By this process's own clock.
    pub(crate) instant: Instant,
    /// Seconds since 1970.
    pub(crate) now: i64,
    /// How far this process committed; how far this transaction leads the head, from then on.
    pub(crate) committed: Committed,
    /// What readers will have to learn.
    pub(crate) catalog: CatalogChange,
    /// What lists show otherwise from now on, though no object was written.
    pub(crate) shown: Shown,
}

impl Session<'_> {
    /// How full index blocks become.
    pub(crate) fn capacity(&self) -> Capacity {
        Capacity::new(self.portions.ids_in_block)
    }
}
