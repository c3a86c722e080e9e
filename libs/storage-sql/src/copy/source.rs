//! The store that is read. Nobody may write to it meanwhile: that is looked for before, with each chunk, in the snapshot that it is read from, and in
//! the end, in the transaction that gives it another incarnation.

use armadex_storage::StoreError;

use super::end::{count, end};
use super::error::CopyError;
use super::pace::{CopyStep, Pace, Tell};
use super::progress::Progress;
use crate::backend::error::broken;
use crate::backend::{Connection, Lane, SharedDatabase, identity, row, rows, schema};
use crate::form::term::HASH_KEY_BYTES;
use crate::location::Location;
use crate::open;
use crate::options::Options;
use crate::sql::copy::{self, Cells, End, Standing, Table};
use crate::sql::statement::Param;
use crate::sql::{head, lease};

/// How often it is looked whether somebody does the periodic work.
const LOOKS: u32 = 60;

/// The store that is read.
pub(super) struct Source {
    place: String,
    database: SharedDatabase,
}

/// How it stands, and the key of its index.
pub(super) type Found = (Standing, [u8; HASH_KEY_BYTES]);

/// Rows, and whether they are of what was expected.
pub(super) enum Chunk {
    Rows(Vec<Cells>),
    /// Somebody has written since.
    Changed,
}

impl Source {
    pub(super) async fn open(location: &Location) -> Result<Self, CopyError> {
        let place = location.to_string();
        let database = open::database(location, &Options::default()).await;
        let database = database.map_err(|source| CopyError::From {
            place: place.clone(),
            source,
        })?;
        Ok(Self { place, database })
    }

    /// As it is called in errors.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Waits until it is known that nobody does the periodic work of the store, as each synchro does.
    pub(super) async fn rest(&self, pace: &Pace, tell: Tell<'_>) -> Result<(), CopyError> {
        let found = self.lease().await.map_err(|err| self.failed(err))?;
        if found.holder.is_empty() {
            return Ok(());
        }
        tell(CopyStep::Watching(pace.patience));
        for _ in 0..LOOKS {
            tokio::time::sleep(pace.patience / LOOKS).await;
            let now = self.lease().await.map_err(|err| self.failed(err))?;
            if now.holder.is_empty() {
                return Ok(());
            }
            if now.beat != found.beat {
                return Err(CopyError::InUse {
                    place: self.place.clone(),
                });
            }
        }
        Ok(())
    }

    /// How it stands.
    pub(super) async fn standing(&self) -> Result<Found, CopyError> {
        let found = async {
            let mut transaction = self.database.read(Lane::Search).await?;
            let found = standing(&mut *transaction).await?;
            schema::check(self.database.dialect(), found.head.serves)?;
            let key = identity::hash_key(&mut *transaction).await?;
            transaction.rollback().await?;
            Ok((found, key))
        };
        found.await.map_err(|err| self.failed(err))
    }

    /// The next rows of a table: at most so many, and of those that may be large no more than so many bytes, but one.
    pub(super) async fn chunk(
        &self,
        progress: &Progress,
        table: &Table,
        after: Option<&[Param]>,
        most: (u32, i64),
    ) -> Result<Chunk, CopyError> {
        let read = self.read(progress, table, after, most).await;
        read.map_err(|err| self.failed(err))
    }

    async fn read(
        &self,
        progress: &Progress,
        table: &Table,
        after: Option<&[Param]>,
        (look, bytes): (u32, i64),
    ) -> Result<Chunk, StoreError> {
        let dialect = self.database.dialect();
        // To say how large bodies are a server may have to read them.
        let mut transaction = self.database.read(Lane::Whole).await?;
        if !progress.is_of(&standing(&mut *transaction).await?) {
            transaction.rollback().await?;
            return Ok(Chunk::Changed);
        }
        let mut limit = i64::from(look);
        if let Some(sizes) = table.sizes(dialect, after, limit) {
            let sizes = rows(&mut *transaction, sizes, |row| row.int(1)).await?;
            limit = within(&sizes, bytes);
        }
        let mut found = Vec::new();
        let page = table.page(dialect, after, limit);
        transaction
            .fetch(page, &mut |row| {
                found.push(table.decode(row)?);
                Ok(())
            })
            .await?;
        transaction.rollback().await?;
        Ok(Chunk::Rows(found))
    }

    /// The first key of a table, or the last one.
    pub(super) async fn end(&self, table: &Table, at: End) -> Result<Option<Cells>, CopyError> {
        let found = end(&self.database, table, at).await;
        found.map_err(|err| self.failed(err))
    }

    /// How many rows a table has.
    pub(super) async fn count(&self, table: &Table) -> Result<i64, CopyError> {
        let counted = count(&self.database, table).await;
        counted.map_err(|err| self.failed(err))
    }

    /// Gives it its next incarnation, so that what becomes of it from now on and what becomes of its copy are never taken for the same, and whoever
    /// has it open begins anew. Whether it is still what was copied.
    pub(super) async fn retire(&self, progress: &Progress) -> Result<bool, CopyError> {
        let retired = async {
            let mut transaction = self.database.write().await?;
            // Holds the head: who has written and not said so yet is waited for, and seen.
            transaction.execute(head::advance(0)).await?;
            let found = standing(&mut *transaction).await?;
            if !progress.is_of(&found) {
                transaction.rollback().await?;
                return Ok(false);
            }
            let renewed = head::set_incarnation(&progress.next, &found.head.incarnation);
            transaction.execute(renewed).await?;
            transaction.commit().await?;
            let revision = found.head.revision;
            self.database.note_committed(&progress.next, revision);
            Ok(true)
        };
        retired.await.map_err(|err| self.failed(err))
    }

    pub(super) async fn close(&self) {
        self.database.close().await;
    }

    async fn lease(&self) -> Result<lease::LeaseRow, StoreError> {
        let mut transaction = self.database.read(Lane::Short).await?;
        let found = row(&mut *transaction, lease::select(), lease::decode).await?;
        transaction.rollback().await?;
        found.ok_or_else(|| broken("it has no row for its periodic work"))
    }

    fn failed(&self, source: StoreError) -> CopyError {
        CopyError::From {
            place: self.place.clone(),
            source,
        }
    }
}

async fn standing(connection: &mut dyn Connection) -> Result<Standing, StoreError> {
    let statement = copy::standing(connection.dialect());
    let found = row(connection, statement, copy::decode_standing).await?;
    found.ok_or_else(|| broken("it has no head row"))
}

/// How many rows of these sizes are taken: one at least.
fn within(sizes: &[i64], most: i64) -> i64 {
    let mut sum = 0_i64;
    let fits = sizes.iter().take_while(|&&size| {
        sum = sum.saturating_add(size);
        sum <= most
    });
    let count = fits.count().max(1);
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_are_taken_as_there_is_room_for_and_one_at_least() {
        assert_eq!(within(&[3, 3, 3], 6), 2);
        assert_eq!(within(&[9, 1], 6), 1);
        assert_eq!(within(&[], 6), 1);
    }
}
