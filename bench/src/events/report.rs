//! What was measured of events. Nothing here has a bound. Pure but for what the kernel says of this process.

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::process;
use crate::table::{Row, told};

/// What was measured of one store.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) all_indexed: bool,
    pub(super) events: usize,
    /// Of one event.
    pub(super) first_write: Spent,
    /// Of one that is made and one that expires.
    pub(super) churn: Spent,
    pub(super) searches: Vec<Searched>,
    /// Of the index, in the end.
    pub(super) blocks: u64,
    pub(super) entries: u64,
    pub(super) file_bytes: u64,
}

/// What this process used up.
#[derive(Debug, Default, Serialize)]
pub(super) struct Spent {
    cpu_milliseconds: f64,
    written_bytes: f64,
}

impl Spent {
    fn so_far() -> Result<Self> {
        let own = i32::try_from(std::process::id()).context("process ids are positive i32")?;
        Ok(Self {
            cpu_milliseconds: process::cpu_seconds(own)? * 1000.0,
            written_bytes: process::written_bytes(own)? as f64,
        })
    }

    /// Does something, and adds what that uses up.
    pub(super) async fn add_what<T, E>(
        &mut self,
        done: impl Future<Output = Result<T, E>>,
    ) -> Result<()>
    where
        anyhow::Error: From<E>,
    {
        let before = Self::so_far()?;
        done.await?;
        let after = Self::so_far()?;
        self.cpu_milliseconds += after.cpu_milliseconds - before.cpu_milliseconds;
        self.written_bytes += after.written_bytes - before.written_bytes;
        Ok(())
    }

    /// For each of so many.
    pub(super) fn of_each(&self, count: usize) -> Self {
        Self {
            cpu_milliseconds: self.cpu_milliseconds / count as f64,
            written_bytes: self.written_bytes / count as f64,
        }
    }

    fn row(&self, what: &str) -> Row {
        let (cpu, bytes) = (self.cpu_milliseconds, self.written_bytes);
        told(
            what,
            format!("{cpu:.3} ms of processor, {bytes:.0} bytes written"),
        )
    }
}

/// A search, with all its pages.
#[derive(Debug, Serialize)]
pub(super) struct Searched {
    name: &'static str,
    pub(super) rows: usize,
    looked_at: u64,
    pages: usize,
}

impl Searched {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            rows: 0,
            looked_at: 0,
            pages: 0,
        }
    }

    pub(super) fn add(&mut self, rows: usize, looked_at: u64) {
        self.rows += rows;
        self.looked_at += looked_at;
        self.pages += 1;
    }

    fn row(&self) -> Row {
        let Self {
            name,
            rows,
            looked_at,
            pages,
        } = self;
        told(
            name,
            format!("{rows} rows, {looked_at} looked at, {pages} pages"),
        )
    }
}

impl Report {
    /// Each figure.
    pub(super) fn rows(&self) -> Vec<Row> {
        let Self {
            all_indexed,
            events,
            first_write,
            churn,
            searches,
            blocks,
            entries,
            file_bytes,
        } = self;
        let way = match all_indexed {
            true => "with what tells each apart",
            false => "as they are indexed",
        };
        let index = format!("{blocks} blocks, {entries} entries");
        let file = format!("{:.1} MB", *file_bytes as f64 / 1e6);
        let mut rows = vec![
            told("events", format!("{events}, {way}")),
            first_write.row("first write of one"),
            churn.row("one made and one expired"),
        ];
        rows.extend(searches.iter().map(Searched::row));
        rows.extend([told("index", index), told("file", file)]);
        rows
    }
}
