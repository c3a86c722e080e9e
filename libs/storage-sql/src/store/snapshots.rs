//! The state of the catalogue that this process knows, brought up to date by whoever meets a newer head. Once, for all who wait; and to its end, for a first
//! reading takes seconds where there are hundreds of thousands of streams, and who asks may have less patience.

use std::sync::Arc;

use arc_swap::ArcSwap;
use armadex_storage::StoreError;
use tokio_util::sync::CancellationToken;

use crate::backend::Transaction;
use crate::backend::error::{broken, closed};
use crate::catalog::Snapshot;
use crate::catalog::delta::Delta;
use crate::sql::head::HeadRow;

/// Rows that are worked into a state beside the async threads: a millisecond of it.
const MANY: usize = 1000;

/// What is known, seen from a transaction that has read a head.
enum Known {
    /// It is what this transaction shows, but for health, which may be newer.
    Current(Arc<Snapshot>),
    /// The transaction shows more.
    Behind,
    /// It shows what came or went after the transaction began.
    Ahead,
}

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

    /// What is known is read anew by whoever reads next.
    pub(super) fn forget(&self) {
        self.known.store(Arc::default());
    }

    /// Whether somebody brings up to date what is not known yet as of this head.
    pub(super) fn is_under_way(&self, head: &HeadRow) -> bool {
        matches!(self.known_at(head), Known::Behind) && self.refreshing.try_lock().is_err()
    }

    /// Returns when nobody is at it any more who is at it now.
    pub(super) async fn refreshed(&self) {
        drop(self.refreshing.lock().await);
    }

    /// The catalogue as of this transaction, which has read this head. None where what is known shows what came or went since: a list of the
    /// transaction's revision would not be like others of that revision, and a transaction that begins now fits.
    pub(super) async fn current(
        self: &Arc<Self>,
        transaction: Box<dyn Transaction>,
        head: &HeadRow,
    ) -> Result<(Box<dyn Transaction>, Option<Arc<Snapshot>>), StoreError> {
        match self.known_at(head) {
            Known::Current(known) => return Ok((transaction, Some(known))),
            Known::Ahead => return Ok((transaction, None)),
            Known::Behind => {}
        }
        let refreshing = Arc::clone(&self.refreshing).lock_owned().await;
        match self.known_at(head) {
            Known::Current(known) => return Ok((transaction, Some(known))),
            Known::Ahead => return Ok((transaction, None)),
            Known::Behind => {}
        }
        let (this, head) = (Arc::clone(self), head.clone());
        let refresh = tokio::spawn(async move {
            let _refreshing = refreshing;
            let refresh = this.refresh(transaction, head);
            this.stop.run_until_cancelled(refresh).await
        });
        let refreshed = refresh.await.map_err(|err| broken(err.to_string()))?;
        let (transaction, fresh) = refreshed.unwrap_or_else(|| Err(closed()))?;
        Ok((transaction, Some(fresh)))
    }

    fn known_at(&self, head: &HeadRow) -> Known {
        let known = self.known.load_full();
        if known.incarnation != head.incarnation || known.version < head.catalog {
            return Known::Behind;
        }
        match known.shown_at <= head.revision {
            true => Known::Current(known),
            false => Known::Ahead,
        }
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
        let shown_at = match delta.is_structural() {
            true => head.revision,
            false => known.shown_at,
        };
        let mut fresh = match delta.rows() < MANY {
            true => known.apply(delta)?,
            false => {
                let applied = tokio::task::spawn_blocking(move || known.apply(delta));
                applied.await.map_err(|err| broken(err.to_string()))??
            }
        };
        fresh.shown_at = shown_at;
        let fresh = Arc::new(fresh);
        self.known.store(Arc::clone(&fresh));
        Ok((transaction, fresh))
    }
}

#[cfg(test)]
mod tests;
