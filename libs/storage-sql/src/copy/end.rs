//! Where a table begins and ends, and how many rows it has.

use armadex_storage::StoreError;

use crate::backend::{Lane, SharedDatabase, row};
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

/// How many rows a table has. Reads all of it.
pub(super) async fn count(database: &SharedDatabase, table: &Table) -> Result<i64, StoreError> {
    let mut transaction = database.read(Lane::Whole).await?;
    let statement = table.count(database.dialect());
    let counted = row(&mut *transaction, statement, |row| row.int(0)).await?;
    transaction.rollback().await?;
    Ok(counted.unwrap_or(0))
}
