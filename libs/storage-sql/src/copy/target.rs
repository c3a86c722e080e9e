//! The store that is written: it serves nobody until all of it is there. Each transaction writes rows and how far the copy is with them.

use armadex_storage::StoreError;

use super::end::{count, end};
use super::error::CopyError;
use super::progress::Progress;
use crate::backend::error::broken;
use crate::backend::incarnation;
use crate::backend::{Connection, SharedDatabase, head_row, identity, row, rows, schema};
use crate::form::term::HASH_KEY_BYTES;
use crate::location::Location;
use crate::open;
use crate::options::Options;
use crate::sql::copy::{Cells, End, PREFILLED, Standing, TABLES, Table};
use crate::sql::head::HeadRow;
use crate::sql::statement::Param;
use crate::sql::{head, history, meta};

/// What is written down under this name.
const PROGRESS: &str = "copy";

/// The store that is written.
pub(super) struct Target {
    place: String,
    database: SharedDatabase,
}

/// What was found where a copy is to be.
enum Found {
    New,
    Begun(Progress),
    Whole(Progress),
    AnotherCopy,
    Other,
}

/// A copy that is to be made.
#[derive(Debug)]
pub(super) enum Begun {
    /// It goes on from here.
    Copying(Progress),
    /// All is there, and neither of the two was written since.
    Whole(Progress),
}

impl Target {
    pub(super) async fn open(location: &Location) -> Result<Self, CopyError> {
        let place = location.to_string();
        let database = open::database(location, &Options::default()).await;
        let database = database.map_err(|source| CopyError::To {
            place: place.clone(),
            source,
        })?;
        Ok(Self { place, database })
    }

    /// Begins the copy of a store with this key that stands like this, or goes on with one.
    pub(super) async fn begin(
        &self,
        from: Standing,
        key: &[u8; HASH_KEY_BYTES],
    ) -> Result<Begun, CopyError> {
        let begun = async {
            let mut transaction = self.database.write().await?;
            // First, for it holds the head: what somebody is about to write there is waited for, and seen.
            let closed = head::raise_serves(schema::UNFINISHED);
            let found = match transaction.execute(closed).await? {
                0 => look_at_copy(&mut *transaction, key).await?,
                _ => look_at_store(&mut *transaction, &from, key).await?,
            };
            if matches!(found, Found::New) {
                let progress = Progress {
                    from,
                    next: incarnation::draw(),
                    table: 0,
                    rows: 0,
                };
                make_room(&mut *transaction, key, &progress).await?;
                transaction.commit().await?;
                return Ok(Found::Begun(progress));
            }
            transaction.rollback().await?;
            Ok(found)
        };
        let place = self.place.clone();
        match begun.await.map_err(|err| self.failed(err))? {
            Found::Begun(progress) => Ok(Begun::Copying(progress)),
            Found::Whole(progress) => Ok(Begun::Whole(progress)),
            Found::AnotherCopy => Err(CopyError::AnotherCopy { place }),
            Found::New | Found::Other => Err(CopyError::NotEmpty { place }),
        }
    }

    /// The last key of a table that a copy is at, or comes to: that one is empty, unless somebody writes who began before the copy did.
    pub(super) async fn last(
        &self,
        number: usize,
        progress: &Progress,
    ) -> Result<Option<Cells>, CopyError> {
        let found = end(&self.database, &TABLES[number], End::Last).await;
        let found = found.map_err(|err| self.failed(err))?;
        if found.is_some() && !progress.has_begun(number) {
            return Err(CopyError::NotEmpty {
                place: self.place.clone(),
            });
        }
        Ok(found)
    }

    /// Writes rows of a table, and how far the copy is with them if it was so far as is known.
    pub(super) async fn store(
        &self,
        table: &Table,
        rows: &[Cells],
        known: &Progress,
        next: &Progress,
    ) -> Result<(), CopyError> {
        let stored = async {
            let dialect = self.database.dialect();
            let mut transaction = self.database.write().await?;
            let swap = meta::swap(PROGRESS, &known.to_bytes(), &next.to_bytes());
            if transaction.execute(swap).await? == 0 {
                transaction.rollback().await?;
                return Ok(false);
            }
            for piece in dialect.pieces_of(rows, bytes) {
                transaction.execute(table.insert(dialect, piece)).await?;
            }
            transaction.commit().await?;
            self.database.catch_up().await;
            Ok(true)
        };
        let stored = stored.await.map_err(|err| self.failed(err))?;
        self.ours(stored)
    }

    /// How many rows a table has.
    pub(super) async fn count(&self, table: &Table) -> Result<i64, CopyError> {
        let counted = count(&self.database, table).await;
        counted.map_err(|err| self.failed(err))
    }

    /// All of it is there: from now on it serves, as what was copied was. How far the copy was stays written down, for who copies once more because nobody
    /// told them that it was whole.
    pub(super) async fn finish(&self, progress: &Progress) -> Result<(), CopyError> {
        let finished = async {
            let mut transaction = self.database.write().await?;
            let dialect = self.database.dialect();
            let from = &progress.from.head;
            let has = row(&mut *transaction, history::types(), history::decode).await?;
            let serves = match has.is_some() || from.history < from.pruned {
                true => schema::serves_with_history(dialect),
                false => schema::serves(dialect),
            };
            let head = HeadRow {
                serves,
                ..from.clone()
            };
            let replaced = head::replace(schema::UNFINISHED, &head);
            if transaction.execute(replaced).await? == 0 {
                transaction.rollback().await?;
                return Ok(false);
            }
            transaction.commit().await?;
            self.database
                .note_committed(&head.incarnation, head.revision);
            Ok(true)
        };
        let finished = finished.await.map_err(|err| self.failed(err))?;
        self.ours(finished)
    }

    pub(super) async fn close(&self) {
        self.database.close().await;
    }

    /// Nobody else has made the step.
    fn ours(&self, done: bool) -> Result<(), CopyError> {
        match done {
            true => Ok(()),
            false => Err(CopyError::Overtaken {
                place: self.place.clone(),
            }),
        }
    }

    fn failed(&self, source: StoreError) -> CopyError {
        CopyError::To {
            place: self.place.clone(),
            source,
        }
    }
}

/// What serves nobody is a copy that is not whole.
async fn look_at_copy(
    connection: &mut dyn Connection,
    key: &[u8; HASH_KEY_BYTES],
) -> Result<Found, StoreError> {
    let written = row(connection, meta::select(PROGRESS), |row| row.blob(0)).await?;
    let written = written.ok_or_else(|| broken("it says nothing of the copy that it is"))?;
    let is_same = identity::hash_key(connection).await? == *key;
    Ok(match Progress::parse(&written).filter(|_| is_same) {
        Some(progress) => Found::Begun(progress),
        None => Found::AnotherCopy,
    })
}

/// What serves is a store, which may be empty, or the very copy that is asked for.
async fn look_at_store(
    connection: &mut dyn Connection,
    from: &Standing,
    key: &[u8; HASH_KEY_BYTES],
) -> Result<Found, StoreError> {
    let head = head_row::read(connection).await?;
    let written = row(connection, meta::select(PROGRESS), |row| row.blob(0)).await?;
    let is_same = identity::hash_key(connection).await? == *key;
    let copied = written.and_then(|written| Progress::parse(&written));
    if let Some(progress) = copied.filter(|copied| is_same && copied.is_whole(from, &head)) {
        return Ok(Found::Whole(progress));
    }
    for table in TABLES
        .iter()
        .filter(|table| !PREFILLED.contains(&table.name))
    {
        let page = table.page(connection.dialect(), None, 1);
        if !rows(connection, page, |_| Ok(())).await?.is_empty() {
            return Ok(Found::Other);
        }
    }
    Ok(match head.revision {
        0 => Found::New,
        _ => Found::Other,
    })
}

/// What was drawn for a store of its own goes.
async fn make_room(
    connection: &mut dyn Connection,
    key: &[u8; HASH_KEY_BYTES],
    progress: &Progress,
) -> Result<(), StoreError> {
    let dialect = connection.dialect();
    for table in TABLES
        .iter()
        .filter(|table| PREFILLED.contains(&table.name))
    {
        connection.execute(table.clear(dialect)).await?;
    }
    connection.execute(identity::replace_hash_key(key)).await?;
    let written = meta::insert(PROGRESS, &progress.to_bytes());
    connection.execute(written).await.map(drop)
}

/// What it takes to send a row, but for a few numbers.
fn bytes(row: &Cells) -> usize {
    let sizes = row.iter().map(|value| match value {
        Param::Text(text) => text.len(),
        Param::Blob(bytes) => bytes.len(),
        _ => 0,
    });
    sizes.sum()
}
