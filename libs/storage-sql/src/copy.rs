//! From one database to another, whichever they are: every table as it is, so numbers, revisions, positions of streams and the index are the same.
//!
//! Rows go in the order of their keys, a bounded number in a transaction, which notes how far the copy is: whoever is stopped anywhere goes on from there. The
//! copy serves nobody before it is whole. Nobody may write to what is read: where somebody has, the copy is given up. In the end the copy has the
//! incarnation of what was read, which gets another one.

mod end;
mod error;
mod pace;
mod progress;
mod range;
mod source;
mod target;

pub use error::CopyError;
pub use pace::{Copied, CopyStep, Pace};

use crate::location::Location;
use crate::open::schema_standing;
use crate::sql::copy::{Cells, End, TABLES, Table};
use crate::sql::statement::Param;
use pace::Tell;
use progress::Progress;
use range::Range;
use source::{Chunk, Found, Source};
use target::{Begun, Target};

/// Copies a store, or goes on with a copy of it.
pub async fn copy(
    from: &Location,
    to: &Location,
    pace: &Pace,
    tell: &mut (dyn FnMut(CopyStep) + Send),
) -> Result<Copied, CopyError> {
    check_schemas(from, to).await?;
    let source = Source::open(from).await?;
    let copied = copy_from(&source, to, pace, tell).await;
    source.close().await;
    copied
}

/// The second is not the first, and is of this binary's schema or of none; the first is of this binary's schema. Neither is brought up to date: who works with it
/// might end. Whoever would be refused for TO's sake need not change FROM before.
async fn check_schemas(from: &Location, to: &Location) -> Result<(), CopyError> {
    let place = to.to_string();
    if from == to {
        return Err(CopyError::NotEmpty { place });
    }
    let standing = schema_standing(to).await;
    let standing = standing.map_err(|source| CopyError::To {
        place: place.clone(),
        source,
    })?;
    if standing.is_ahead() {
        return Err(CopyError::Newer { place });
    }
    if standing.is_behind() {
        return Err(CopyError::Older { place });
    }
    let place = from.to_string();
    let standing = schema_standing(from).await;
    let standing = standing.map_err(|source| CopyError::From {
        place: place.clone(),
        source,
    })?;
    if standing.version.is_none() {
        return Err(CopyError::Nothing { place });
    }
    if standing.is_ahead() {
        return Err(CopyError::Newer { place });
    }
    match standing.is_behind() {
        true => Err(CopyError::Behind { place }),
        false => Ok(()),
    }
}

/// TO is opened, and made if it is not there, when nothing of FROM is in the way any more.
async fn copy_from(
    source: &Source,
    to: &Location,
    pace: &Pace,
    tell: Tell<'_>,
) -> Result<Copied, CopyError> {
    source.rest(pace, tell).await?;
    let found = source.standing().await?;
    if found.0.head.revision == 0 && source.end(&TABLES[0], End::First).await?.is_none() {
        let place = source.place().to_owned();
        return Err(CopyError::Nothing { place });
    }
    let target = Target::open(to).await?;
    let copying = Copying {
        source,
        target: &target,
        pace,
        names: (source.place().to_owned(), to.to_string()),
    };
    let copied = copying.run(found, tell).await;
    target.close().await;
    copied
}

/// A copy that goes on.
struct Copying<'a> {
    source: &'a Source,
    target: &'a Target,
    pace: &'a Pace,
    /// FROM and TO, as they are called in errors.
    names: (String, String),
}

impl Copying<'_> {
    async fn run(&self, (standing, key): Found, tell: Tell<'_>) -> Result<Copied, CopyError> {
        let (progress, was_whole) = match self.target.begin(standing, &key).await? {
            Begun::Copying(begun) => (self.copy(begun, tell).await?, false),
            Begun::Whole(progress) => (progress, true),
        };
        Ok(Copied {
            revision: progress.from.head.revision,
            rows: progress.rows,
            was_whole,
        })
    }

    /// All that is left to be copied, to the last step.
    async fn copy(&self, begun: Progress, tell: Tell<'_>) -> Result<Progress, CopyError> {
        let mut progress = begun;
        for number in progress.table..TABLES.len() {
            self.copy_table(number, &mut progress, tell).await?;
        }
        tell(CopyStep::Counting);
        self.count(&progress).await?;
        if !self.source.retire(&progress).await? {
            return Err(self.changed());
        }
        self.target.finish(&progress).await?;
        Ok(progress)
    }

    /// As many rows are there as are read, of each table.
    async fn count(&self, progress: &Progress) -> Result<(), CopyError> {
        for table in &TABLES {
            let (there, copied) = tokio::join!(self.source.count(table), self.target.count(table));
            let (there, copied) = (there?, copied?);
            if there != copied {
                let (standing, _) = self.source.standing().await?;
                if !progress.is_of(&standing) {
                    return Err(self.changed());
                }
                return Err(CopyError::Differs {
                    place: self.names.1.clone(),
                    table: table.name,
                    there,
                    copied,
                });
            }
        }
        Ok(())
    }

    /// The next rows are read while the last ones are written.
    async fn copy_table(
        &self,
        number: usize,
        progress: &mut Progress,
        tell: Tell<'_>,
    ) -> Result<(), CopyError> {
        let table = &TABLES[number];
        let first = self.source.end(table, End::First).await?;
        let last = self.source.end(table, End::Last).await?;
        let range = Range::of(first.as_deref(), last.as_deref());
        let after = self.target.last(number, progress).await?;
        let read = self.read(progress, table, after.as_deref(), None);
        let mut rows = read.await?;
        while let Some(last) = rows.last() {
            let after = &last[..table.key];
            let next = Progress {
                table: number,
                rows: progress.rows + rows.len() as u64,
                ..progress.clone()
            };
            let stored = self.target.store(table, &rows, progress, &next);
            let read = self.read(progress, table, Some(after), Some(rows.len()));
            let (stored, read) = tokio::join!(stored, read);
            stored?;
            *progress = next;
            tell(CopyStep::Rows {
                table: table.name,
                number: number + 1,
                tables: TABLES.len(),
                share: range.share(last),
                rows: progress.rows,
            });
            rows = read?;
        }
        Ok(())
    }

    async fn read(
        &self,
        progress: &Progress,
        table: &Table,
        after: Option<&[Param]>,
        last: Option<usize>,
    ) -> Result<Vec<Cells>, CopyError> {
        let (look, bytes) = (self.pace.look(last), self.pace.bytes);
        let chunk = self.source.chunk(progress, table, after, (look, bytes));
        match chunk.await? {
            Chunk::Rows(rows) => Ok(rows),
            Chunk::Changed => Err(self.changed()),
        }
    }

    fn changed(&self) -> CopyError {
        let (from, to) = self.names.clone();
        CopyError::Changed { from, to }
    }
}

#[cfg(test)]
mod tests;
