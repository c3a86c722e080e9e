//! The state of the catalogue that this process knows, brought up to date by whoever meets a newer head. Once, for all who wait; and to its end, for a first
//! reading takes seconds where there are hundreds of thousands of streams, and who asks may have less patience.

use std::sync::Arc;

use arc_swap::ArcSwap;
use armadex_storage::StoreError;
use tokio_util::sync::CancellationToken;

use crate::backend::Transaction;
use crate::backend::error::{broken, closed};
use crate::catalog::{Delta, Snapshot};
use crate::sql::head::HeadRow;

/// Rows that are worked into a state beside the async threads: a millisecond of it.
const MANY: usize = 1000;

pub(super) struct Snapshots {
    known: ArcSwap<Snapshot>,
    /// Held while it is brought up to date.
    refreshing: Arc<tokio::sync::Mutex<()>>,
    /// Cancelled when the store is closed.
    stop: CancellationToken,
}

impl Snapshots {
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self {
            known: ArcSwap::default(),
            refreshing: Arc::default(),
            stop,
        }
    }

    /// Whether somebody brings up to date what is not known yet as of this head.
    pub(super) fn is_under_way(&self, head: &HeadRow) -> bool {
        self.known_at(head).is_none() && self.refreshing.try_lock().is_err()
    }

    /// Returns when nobody is at it any more who is at it now.
    pub(super) async fn refreshed(&self) {
        drop(self.refreshing.lock().await);
    }

    /// The catalogue as of this transaction, which has read this head, or newer.
    pub(super) async fn current(
        self: &Arc<Self>,
        transaction: Box<dyn Transaction>,
        head: &HeadRow,
    ) -> Result<(Box<dyn Transaction>, Arc<Snapshot>), StoreError> {
        if let Some(known) = self.known_at(head) {
            return Ok((transaction, known));
        }
        let refreshing = Arc::clone(&self.refreshing).lock_owned().await;
        if let Some(known) = self.known_at(head) {
            return Ok((transaction, known));
        }
        let (this, head) = (Arc::clone(self), head.clone());
        let refresh = tokio::spawn(async move {
            let _refreshing = refreshing;
            let refresh = this.refresh(transaction, head);
            this.stop.run_until_cancelled(refresh).await
        });
        let refreshed = refresh.await.map_err(|err| broken(err.to_string()))?;
        refreshed.unwrap_or_else(|| Err(closed()))
    }

    fn known_at(&self, head: &HeadRow) -> Option<Arc<Snapshot>> {
        let known = self.known.load_full();
        let is_current = known.incarnation == head.incarnation && known.version >= head.catalog;
        is_current.then_some(known)
    }

    async fn refresh(
        &self,
        mut transaction: Box<dyn Transaction>,
        head: HeadRow,
    ) -> Result<(Box<dyn Transaction>, Arc<Snapshot>), StoreError> {
        let known = self.known.load_full();
        let is_past = known.incarnation != head.incarnation || known.version < head.floor;
        let known = if is_past { Arc::default() } else { known };
        let delta = Delta::read(&mut *transaction, known.version, &head).await?;
        let fresh = match delta.rows() < MANY {
            true => known.apply(delta)?,
            false => {
                let applied = tokio::task::spawn_blocking(move || known.apply(delta));
                applied.await.map_err(|err| broken(err.to_string()))??
            }
        };
        let fresh = Arc::new(fresh);
        self.known.store(Arc::clone(&fresh));
        Ok((transaction, fresh))
    }
}

#[cfg(test)]
mod tests;
