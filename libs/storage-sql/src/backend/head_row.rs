//! Reading the head row, which every database of ours has.

use armadex_storage::StoreError;

use super::error::broken;
use super::{Connection, Database, Lane, Row, Transaction, row};
use crate::sql::head::{self, HeadRow};

/// The head as of this transaction.
pub(crate) async fn read(connection: &mut dyn Connection) -> Result<HeadRow, StoreError> {
    let head = row(connection, head::select(), head::decode).await?;
    head.ok_or_else(missing)
}

/// A snapshot to read from, and the head as of it.
pub(crate) async fn begin(
    database: &dyn Database,
    lane: Lane,
) -> Result<(Box<dyn Transaction>, HeadRow), StoreError> {
    let mut found = None;
    let mut note = |row: &dyn Row| {
        found = Some(head::decode(row)?);
        Ok(())
    };
    let begun = database.read_with(lane, head::select(), &mut note);
    let transaction = begun.await?;
    Ok((transaction, found.ok_or_else(missing)?))
}

fn missing() -> StoreError {
    broken("it has no head row")
}
