//! What was measured of the store, beside what is to be reached (`aims`). What pages look at, which no machine changes, is held by
//! `libs/storage-sql/tests/budgets.rs`. Pure.

use std::time::Duration;

use serde::Serialize;

use super::aims;
use super::queries::PAGES;
use crate::table::{self, Row, told};

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
        let written = self.written.iter().enumerate();
        rows.extend(written.map(|(number, work)| match number {
            0 => at_least(work.row(), work.per_second, aims::first_write(self.store)),
            _ => work.row(),
        }));
        rows.extend(self.upkeep.iter().map(Work::row));
        rows.push(self.list.row());
        for page in &self.pages {
            rows.extend(page.rows_of_table(self.store));
        }
        let milliseconds = self.get_milliseconds;
        let get = told("get", format!("{milliseconds:.2} ms"));
        rows.push(at_most(get, milliseconds, aims::get(self.store), "ms"));
        for (what, bytes, most) in [
            ("bytes per object on disk, fresh", self.fresh_bytes, None),
            ("the same with what was superseded", self.disk_bytes, None),
            (
                "the same once that is past",
                self.settled_bytes,
                aims::settled_bytes(self.store),
            ),
        ] {
            let row = told(what, bytes.to_string());
            rows.push(at_most(row, bytes as f64, most, "bytes"));
        }
        rows
    }
}

/// How much dearer pages and one object are in the largest store of a kind than in the smallest, where stores of several sizes were measured.
pub(super) fn growth(reports: &[Report]) -> Vec<Row> {
    let kinds = reports.chunk_by(|one, next| one.store == next.store);
    let rows = kinds.filter_map(|of_kind| {
        let small = of_kind.iter().min_by_key(|report| report.pods)?;
        let large = of_kind.iter().max_by_key(|report| report.pods)?;
        (small.pods < large.pods).then(|| large.rows_beside(small))
    });
    rows.flatten().collect()
}

impl Report {
    fn rows_beside(&self, small: &Self) -> Vec<Row> {
        let times = |what: &str, small_takes: f64, large_takes: f64, is_level: bool| {
            let what = format!(
                "{}, {what}, {} pods beside {}",
                self.store, self.pods, small.pods
            );
            let times = large_takes / small_takes;
            match is_level {
                true => table::at_most(&what, times, aims::GROWTH, "times", 1),
                false => told(&what, format!("{times:.1} times")),
            }
        };
        let pages = self.pages.iter().zip(&small.pages);
        let both =
            pages.filter(|(large, small)| large.refused.is_none() && small.refused.is_none());
        let pages = both.flat_map(|(large, small)| {
            let level = aims::is_level(large.query);
            let page = |index: usize| {
                let what = format!("{}, page of {}", large.query, PAGES[index]);
                let [small, large] = [small, large].map(|page| page.milliseconds[index]);
                times(&what, small, large, level)
            };
            (0..PAGES.len()).map(page).collect::<Vec<_>>()
        });
        let get = times("get", small.get_milliseconds, self.get_milliseconds, true);
        pages.chain([get]).collect()
    }
}

/// With an aim, where it has one.
fn at_most(row: Row, measured: f64, most: Option<f64>, unit: &str) -> Row {
    match most {
        Some(most) => Row {
            aim: format!("at most {most} {unit}"),
            met: measured <= most,
            ..row
        },
        None => row,
    }
}

fn at_least(row: Row, per_second: f64, least: Option<f64>) -> Row {
    match least {
        Some(least) => Row {
            aim: format!("at least {least}/s"),
            met: per_second >= least,
            ..row
        },
        None => row,
    }
}

impl Page {
    fn rows_of_table(&self, store: &str) -> Vec<Row> {
        if let Some(refused) = &self.refused {
            return vec![told(self.query, format!("refused: {refused}"))];
        }
        let page = |index: usize| {
            let (found, looked_at) = (self.rows[index], self.looked_at[index]);
            let what = format!("{}, page of {}", self.query, PAGES[index]);
            let milliseconds = self.milliseconds[index];
            let row = told(
                &what,
                format!("{milliseconds:.1} ms, {found} rows, {looked_at} looked at"),
            );
            let most = aims::page(store, self.query, PAGES[index]);
            at_most(row, milliseconds, most, "ms")
        };
        let count = format!("{:.1} ms, {}", self.count_milliseconds, self.counted);
        let mut rows: Vec<_> = (0..PAGES.len()).map(page).collect();
        rows.push(told(&format!("{}, count", self.query), count));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::missed;

    #[test]
    fn what_was_reached_and_is_no_more_is_missed() {
        let slow = |query| Page {
            query,
            milliseconds: [1.5, 4.5],
            ..Page::default()
        };
        let mut report = Report {
            store: "mysql",
            written: vec![Work::new("written"), Work::new("again")],
            pages: vec![slow("page"), slow("newest"), slow("label without a match")],
            get_milliseconds: 0.5,
            settled_bytes: 2_000,
            ..Report::default()
        };
        report.written[0].add(100, Duration::from_millis(10));
        assert_eq!(
            missed(&report.rows()),
            [
                "written was 0.01 s, 10000/s instead of at least 12000/s",
                "newest, page of 100 was 4.5 ms, 0 rows, 0 looked at instead of at most 4 ms",
            ]
        );
        report.store = "sqlite";
        let of_a_file = missed(&report.rows());
        assert_eq!(of_a_file.len(), 3, "{of_a_file:#?}");
    }

    #[test]
    fn what_is_dearer_in_a_large_store_is_missed_where_it_has_an_index() {
        let of = |store, pods, milliseconds| {
            let page = |query| Page {
                query,
                milliseconds,
                ..Page::default()
            };
            let refused = Some("too many".to_owned());
            let unsorted = Page {
                refused: refused.filter(|_| pods > 100_000),
                ..page("first by uid, which has no index")
            };
            Report {
                store,
                pods,
                pages: vec![page("page"), page("newest of 1 %"), unsorted],
                get_milliseconds: 0.3,
                ..Report::default()
            }
        };
        let reports = [
            of("sqlite", 40_000, [2.0, 1.0]),
            of("sqlite", 1_000_000, [3.0, 2.5]),
            of("sqlite", 400_000, [9.0, 9.0]),
            of("mysql", 40_000, [2.0, 1.0]),
        ];
        let rows = growth(&reports);
        assert_eq!(
            rows.len(),
            5,
            "two of each page that is not refused, and a get"
        );
        assert_eq!(
            missed(&rows),
            [
                "sqlite, page, page of 100, 1000000 pods beside 40000 was 2.5 times instead of at most 2.0 times"
            ]
        );
    }
}
