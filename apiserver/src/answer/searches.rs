//! The store as one user sees it: each search is made when it is that user's turn.
//!
//! A search keeps a connection of the store and a core busy until its page is complete. A user who asks for many at once waits for his
//! own, and whoever asks for one waits for no line. What else is asked of the store is short.

use std::sync::Arc;

use armadex_model::Query;
use armadex_model::query::Start;
use armadex_storage::{Page, PageBudget, Search, StoreError};

use crate::turns::{Asker, TurnSizes, Turns};

/// As many at the same time as the store has connections for, so that nobody waits there in the order of arrival, and half of them for
/// one user. The requests in flight bound who waits.
pub(crate) const SEARCHES: TurnSizes = TurnSizes {
    at_once: 4,
    at_once_per_asker: 2,
    in_line: usize::MAX,
    in_line_per_asker: usize::MAX,
};

/// The searches of one user.
pub(crate) struct Searches {
    pub(crate) store: Arc<dyn Search>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) asker: Asker,
}

impl Searches {
    pub(super) async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        let _turn = self.turns.wait(&self.asker).await;
        self.store.page(query, start, budget).await
    }

    pub(super) async fn count(&self, query: &Query) -> Result<Option<u64>, StoreError> {
        let _turn = self.turns.wait(&self.asker).await;
        self.store.count(query).await
    }
}
