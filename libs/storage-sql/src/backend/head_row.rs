//! Reading the head row, which every database of ours has.

use armadex_storage::StoreError;

use super::error::broken;
use super::{Connection, row};
use crate::sql::head::{self, HeadRow};

/// The head as of this transaction.
pub(crate) async fn read(connection: &mut dyn Connection) -> Result<HeadRow, StoreError> {
    let head = row(connection, head::select(), head::decode).await?;
    head.ok_or_else(|| broken("it has no head row"))
}
