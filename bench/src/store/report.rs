//! What was measured of the store. Nothing here has a bound: `libs/storage-sql/tests/budgets.rs` holds what pages look at, which no
//! machine changes. Pure.

use std::time::Duration;

use serde::Serialize;

use super::queries::PAGES;
use crate::table::{Row, told};

/// What was measured.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) store: &'static str,
    pub(super) pods: usize,
    pub(super) clusters: usize,
    /// Of one, on average, as it is stored but for packing.
    pub(super) body_bytes: usize,
    pub(super) pruned: Work,
    pub(super) written: Vec<Work>,
    pub(super) upkeep: Vec<Work>,
    pub(super) list: Work,
    pub(super) pages: Vec<Page>,
    pub(super) get_milliseconds: f64,
    /// For each object, once they are written.
    pub(super) fresh_bytes: u64,
    /// For each object, with the versions that were superseded.
    pub(super) disk_bytes: u64,
    /// For each object, when these have gone; a server keeps the room for what comes.
    pub(super) settled_bytes: u64,
}

/// Something that was done to all pods.
#[derive(Debug, Default, Serialize)]
pub(super) struct Work {
    what: &'static str,
    seconds: f64,
    per_second: f64,
    #[serde(skip)]
    count: usize,
    /// Of this process.
    pub(super) own_cpu_seconds: f64,
    /// Of the server, where there is one.
    pub(super) server_cpu_seconds: f64,
}

/// A query.
#[derive(Debug, Default, Serialize)]
pub(super) struct Page {
    pub(super) query: &'static str,
    /// Why so many objects are not searched so, where they are not.
    pub(super) refused: Option<String>,
    pub(super) milliseconds: [f64; PAGES.len()],
    pub(super) rows: [usize; PAGES.len()],
    pub(super) looked_at: [u64; PAGES.len()],
    pub(super) counted: String,
    pub(super) count_milliseconds: f64,
}

impl Work {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            ..Self::default()
        }
    }

    /// It was done to so many more.
    pub(super) fn add(&mut self, count: usize, took: Duration) {
        self.count += count;
        self.seconds += took.as_secs_f64();
        self.per_second = self.count as f64 / self.seconds;
    }

    fn row(&self) -> Row {
        let Self {
            what,
            seconds,
            per_second,
            own_cpu_seconds,
            server_cpu_seconds,
            ..
        } = self;
        let cpu = match (*own_cpu_seconds, *server_cpu_seconds) {
            (0.0, 0.0) => String::new(),
            (own, 0.0) => format!(", {own:.2} s of processor"),
            (own, server) => {
                format!(", {own:.2} s of processor and {server:.2} s of the server's")
            }
        };
        told(what, format!("{seconds:.2} s, {per_second:.0}/s{cpu}"))
    }
}

impl Report {
    /// Each figure.
    pub(super) fn rows(&self) -> Vec<Row> {
        let Self {
            pods,
            clusters,
            body_bytes,
            ..
        } = self;
        let size = format!("{pods} of {body_bytes} bytes on average, clusters: {clusters}");
        let mut rows = vec![
            told("store", self.store.to_owned()),
            told("pods", size),
            self.pruned.row(),
        ];
        rows.extend(self.written.iter().map(Work::row));
        rows.extend(self.upkeep.iter().map(Work::row));
        rows.push(self.list.row());
        for page in &self.pages {
            rows.extend(page.rows_of_table());
        }
        rows.push(told("get", format!("{:.2} ms", self.get_milliseconds)));
        for (what, bytes) in [
            ("bytes per object on disk, fresh", self.fresh_bytes),
            ("the same with what was superseded", self.disk_bytes),
            ("the same once that is past", self.settled_bytes),
        ] {
            rows.push(told(what, bytes.to_string()));
        }
        rows
    }
}

impl Page {
    fn rows_of_table(&self) -> Vec<Row> {
        if let Some(refused) = &self.refused {
            return vec![told(self.query, format!("refused: {refused}"))];
        }
        let page = |index: usize| {
            let (found, looked_at) = (self.rows[index], self.looked_at[index]);
            let what = format!("{}, page of {}", self.query, PAGES[index]);
            let milliseconds = self.milliseconds[index];
            told(
                &what,
                format!("{milliseconds:.1} ms, {found} rows, {looked_at} looked at"),
            )
        };
        let count = format!("{:.1} ms, {}", self.count_milliseconds, self.counted);
        let mut rows: Vec<_> = (0..PAGES.len()).map(page).collect();
        rows.push(told(&format!("{}, count", self.query), count));
        rows
    }
}
