//! The store as one user sees it: each search is made when it is that user's turn.
//!
//! A search keeps a connection of the store and a core busy until its page is complete. A user who asks for many at once waits for his
//! own, and whoever asks for one waits for no line. What else is asked of the store is short.
//!
//! A search that has begun is not broken off when its client goes away: the database would go on with it, and its turn would be given away
//! meanwhile.

use std::sync::Arc;

use armadex_model::Query;
use armadex_model::query::Start;
use armadex_storage::{Page, PageBudget, Search, StoreError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::request::seal::Seal;
use crate::turns::{Asker, TurnSizes, Turns};

/// As many at the same time as the store has connections for, so that nobody waits there in the order of arrival, and half of them for
/// one user. The requests in flight bound who waits.
pub(crate) fn turn_sizes(connections: usize) -> TurnSizes {
    TurnSizes {
        at_once: connections.max(1),
        at_once_per_asker: (connections / 2).max(1),
        in_line: usize::MAX,
        in_line_per_asker: usize::MAX,
    }
}

/// The searches of one user.
pub(crate) struct Searches {
    pub(crate) store: Arc<dyn Search>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) asker: Asker,
    /// Of what clients are given to carry.
    pub(crate) seal: Arc<Seal>,
    /// The searches that are being made.
    pub(crate) tasks: TaskTracker,
    /// Breaks them off when the server stops.
    pub(crate) ending: CancellationToken,
}

impl Searches {
    pub(super) async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        let (store, query, start) = (Arc::clone(&self.store), query.clone(), start.clone());
        self.search(async move { store.page(&query, &start, budget).await })
            .await
    }

    /// Whether the store may be behind what was read elsewhere.
    pub(super) fn follows(&self) -> bool {
        self.store.follows()
    }

    /// A page, and how many rows there are.
    pub(super) async fn counted_page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<(Page, Option<u64>), StoreError> {
        let (store, query, start) = (Arc::clone(&self.store), query.clone(), start.clone());
        self.search(async move { store.counted_page(&query, &start, budget).await })
            .await
    }

    async fn search<T: Send + 'static>(
        &self,
        search: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        in_turn(
            &self.turns,
            &self.asker,
            (&self.tasks, &self.ending),
            search,
        )
        .await
    }
}

/// Waits for a turn and reads, in a task of its own, which has the turn until the store is done, or `ending` breaks it off.
pub(crate) async fn in_turn<T: Send + 'static>(
    turns: &Arc<Turns>,
    asker: &Asker,
    (tasks, ending): (&TaskTracker, &CancellationToken),
    read: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    // No line for the store is ever full.
    let turn = turns.wait(asker).await;
    let ending = ending.clone();
    let reading = tasks.spawn(async move {
        let found = ending.run_until_cancelled_owned(read).await;
        drop(turn);
        found.unwrap_or_else(|| Err(broken_off("the server stops")))
    });
    let found = reading.await;
    found.unwrap_or_else(|error| Err(broken_off(error)))
}

fn broken_off(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unavailable {
        reason: "a search broke off".to_owned(),
        source: cause.into(),
    }
}

#[cfg(test)]
mod tests;
