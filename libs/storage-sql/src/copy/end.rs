//! Where a table begins and ends.

use armadex_storage::StoreError;

use crate::backend::{Lane, SharedDatabase};
use crate::sql::copy::{Cells, End, Table};

/// The first key of a table or the last one, if it has a row.
pub(super) async fn end(
    database: &SharedDatabase,
    table: &Table,
    end: End,
) -> Result<Option<Cells>, StoreError> {
    let mut transaction = database.read(Lane::Search).await?;
    let mut found = None;
    transaction
        .fetch(table.end(database.dialect(), end), &mut |row| {
            found = Some(table.decode_key(row)?);
            Ok(())
        })
        .await?;
    transaction.rollback().await?;
    Ok(found)
}
