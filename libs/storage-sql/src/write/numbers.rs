//! Handing out numbers: for clusters, types, epochs and objects.

use std::ops::Range;

use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::{Connection, row};
use crate::sql::head::{self, Numbered};

/// Object ids are taken from the store in ranges, so that few batches touch the shared row.
pub(crate) const OBJECT_IDS: i64 = 10_000;

/// Takes `count` numbers, one at least.
pub(crate) async fn take(
    connection: &mut dyn Connection,
    of: Numbered,
    count: i64,
) -> Result<Range<i64>, StoreError> {
    let touched = connection.execute(head::take_numbers(of, count)).await?;
    let next = row(connection, head::next_number(of), |r| r.int(0)).await?;
    match next {
        Some(next) if touched == 1 => Ok(next - count..next),
        _ => Err(broken(format!("it hands out no numbers for {of:?}"))),
    }
}

/// Is alone with handing out these numbers until the transaction ends: whoever took some just before has done by now what it took them for. One number goes unused, for
/// MySQL counts a row that stays as it is as written, by which a database that cannot be written to would seem to have been.
pub(crate) async fn hold_up(
    connection: &mut dyn Connection,
    of: Numbered,
) -> Result<(), StoreError> {
    take(connection, of, 1).await.map(drop)
}

/// The object ids that this process may use.
#[derive(Debug, Default)]
pub(crate) struct ObjectIds {
    left: Range<i64>,
    /// They were taken in this transaction.
    are_new: bool,
}

impl ObjectIds {
    /// The next `count` ids, which increase.
    pub(crate) async fn next(
        &mut self,
        connection: &mut dyn Connection,
        count: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let mut ids: Vec<i64> = self.left.by_ref().take(count).collect();
        let missing = i64::try_from(count - ids.len()).expect("a batch fits memory");
        if missing > 0 {
            self.left = take(connection, Numbered::Object, missing.max(OBJECT_IDS)).await?;
            self.are_new = true;
            ids.extend(self.left.by_ref().take(count - ids.len()));
        }
        Ok(ids)
    }

    /// The transaction was committed: the ids are this process's.
    pub(crate) fn settle(&mut self) {
        self.are_new = false;
    }

    /// The transaction may not have been committed. What it took is dropped, for another may have taken it since; what was taken before is this
    /// process's.
    pub(crate) fn forget(&mut self) {
        if std::mem::take(&mut self.are_new) {
            self.left = 0..0;
        }
    }
}
