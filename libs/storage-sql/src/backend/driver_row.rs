//! Rows as the drivers hand them over, whichever the database.

use armadex_storage::StoreError;
use sqlx::{ColumnIndex, Decode};

use super::Row;
use super::error::broken;

impl<R> Row for R
where
    R: sqlx::Row,
    usize: ColumnIndex<R>,
    i64: for<'r> Decode<'r, R::Database>,
    String: for<'r> Decode<'r, R::Database>,
    Option<String>: for<'r> Decode<'r, R::Database>,
    Vec<u8>: for<'r> Decode<'r, R::Database>,
{
    fn int(&self, column: usize) -> Result<i64, StoreError> {
        value(self, column)
    }

    fn text(&self, column: usize) -> Result<String, StoreError> {
        value(self, column)
    }

    fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        value(self, column)
    }

    fn blob(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        value(self, column)
    }
}

/// Statements say by themselves of which types their columns are.
fn value<'r, R, T>(row: &'r R, column: usize) -> Result<T, StoreError>
where
    R: sqlx::Row,
    usize: ColumnIndex<R>,
    T: Decode<'r, R::Database>,
{
    let value = row.try_get_unchecked(column);
    value.map_err(|err| broken(format!("column {column} of an answer: {err}")))
}
