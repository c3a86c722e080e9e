//! Reading the head row, which every database of ours has.

use armadex_storage::StoreError;

use super::error::broken;
use super::{Connection, Row, row};
use crate::sql::head::{self, HeadRow};

/// The head as of this transaction.
pub(crate) async fn read(connection: &mut dyn Connection) -> Result<HeadRow, StoreError> {
    let head = row(connection, head::select(), head::decode).await?;
    head.ok_or_else(missing)
}

/// The head in the answer to [`head::SELECT`].
pub(super) fn answered(rows: &[impl Row]) -> Result<HeadRow, StoreError> {
    head::decode(rows.first().ok_or_else(missing)?)
}

fn missing() -> StoreError {
    broken("it has no head row")
}
