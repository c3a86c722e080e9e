//! What a large fleet costs those who read: one change of its catalogue, and the page that comes after it.
//!
//! The store alone, in a file. Clusters are told apart by the types that they have as members are that differ by a definition or a version:
//! each of so many sets (`--sets`) lacks two kinds of its own. One cluster has them all, and an object of each.

mod fill;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use armadex_model::Query;
use armadex_model::query::Start;
use armadex_storage::{Health, PageBudget, Search, Sink};
use armadex_storage_sql::{Location, Options, SqlStore, open_with};
use clap::Args;
use serde::Serialize;

use crate::process::resident_mib;
use crate::table::{self, Row, told};
use fill::{Fleet, RULES};

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Clusters.
    #[arg(long, default_value_t = 10_000)]
    clusters: usize,
    /// Kinds of most clusters.
    #[arg(long, default_value_t = 100)]
    kinds: usize,
    /// Distinct sets of types that clusters have: one measurement for each number.
    #[arg(long, value_delimiter = ',', default_value = "1,1000")]
    sets: Vec<usize>,
    /// Changes of each sort.
    #[arg(long, default_value_t = 50)]
    changes: usize,
    #[command(flatten)]
    form: table::Form,
}

/// What was measured of a fleet.
#[derive(Debug, Default, Serialize)]
struct Report {
    sets: usize,
    filled_seconds: f64,
    first_reading_milliseconds: f64,
    /// That the process holds more after it.
    first_reading_mib: f64,
    /// Until the catalogue is known that shows the health of a cluster.
    health: Spread,
    /// Until the catalogue is known that shows a stream.
    stream: Spread,
    /// The first page of another kind after that.
    page_after_stream: Spread,
    /// The same page once more.
    page: Spread,
    /// A page of each kind, one after the other.
    page_of_each: Spread,
}

/// Times of one sort.
#[derive(Debug, Default, Serialize)]
struct Spread {
    p50_milliseconds: f64,
    slowest_milliseconds: f64,
}

/// Fills, changes, reads and prints.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    let mut reports = Vec::new();
    for &sets in &flags.sets {
        let fleet = Fleet {
            clusters: flags.clusters,
            kinds: flags.kinds,
            sets,
        };
        reports.push(measure(&fleet, flags.changes).await?);
    }
    let rows: Vec<Row> = reports.iter().flat_map(Report::rows).collect();
    table::finish(&reports, &rows, flags.form)
}

async fn measure(fleet: &Fleet, changes: usize) -> Result<Report> {
    ensure!(changes > 0, "--changes takes 1 or more");
    fleet.check()?;
    let folder = tempfile::tempdir()?;
    let location = Location::Sqlite(folder.path().join("store.db"));
    let begun = Instant::now();
    let store = open_with(&location, &Options::default()).await?;
    fleet.fill(&store).await?;
    store.shutdown().await;
    drop(store);
    let filled_seconds = begun.elapsed().as_secs_f64();
    let store = open_with(&location, &Options::default()).await?;
    let pid = i32::try_from(std::process::id())?;
    let held = resident_mib(pid)?;
    let (_, first) = timed(store.catalog()).await?;
    let first_reading_mib = resident_mib(pid)? - held;
    let report = Report {
        sets: fleet.sets,
        filled_seconds,
        first_reading_milliseconds: milliseconds(first),
        first_reading_mib,
        health: health(&store, fleet, changes).await?,
        page_of_each: pages(&store, fleet).await?,
        ..streams(&store, fleet, changes).await?
    };
    store.shutdown().await;
    Ok(report)
}

/// One cluster after the other becomes ill.
async fn health(store: &SqlStore, fleet: &Fleet, changes: usize) -> Result<Spread> {
    let health = Health {
        healthy: false,
        reason: "no answer".to_owned(),
    };
    let mut took = Vec::new();
    for number in 0..changes {
        let cluster = fleet.join(store, number).await?;
        store.set_health(cluster, "bench", &health, None).await?;
        took.push(timed(store.catalog()).await?.1);
    }
    Spread::of(took)
}

/// One cluster after the other loses a kind.
async fn streams(store: &SqlStore, fleet: &Fleet, changes: usize) -> Result<Report> {
    let (mut stream, mut after, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..changes {
        // The first one keeps what pages find.
        let lost = fleet.kind(number % fleet.kinds);
        let read = Query::all(fleet.kind((number + 1) % fleet.kinds).gvr);
        let cluster = fleet.join(store, number + 1).await?;
        let resource = store.open(cluster, "bench", &lost, RULES).await?.resource;
        store.catalog().await?;
        store.close(cluster, "bench", resource).await?;
        stream.push(timed(store.catalog()).await?.1);
        after.push(timed(page(store, &read)).await?.1);
        again.push(timed(page(store, &read)).await?.1);
    }
    Ok(Report {
        stream: Spread::of(stream)?,
        page_after_stream: Spread::of(after)?,
        page: Spread::of(again)?,
        ..Report::default()
    })
}

/// Each kind is read, twice: what may be kept of the first time is.
async fn pages(store: &SqlStore, fleet: &Fleet) -> Result<Spread> {
    let mut took = Vec::new();
    for number in 0..2 * fleet.kinds {
        let query = Query::all(fleet.kind(number % fleet.kinds).gvr);
        let (_, page) = timed(page(store, &query)).await?;
        if number >= fleet.kinds {
            took.push(page);
        }
    }
    Spread::of(took)
}

/// A page of one object, which is in the first cluster.
async fn page(store: &SqlStore, query: &Query) -> Result<(), armadex_storage::StoreError> {
    let budget = PageBudget {
        rows: 1,
        bytes: 1 << 20,
    };
    store.page(query, &Start::Beginning, budget).await?;
    Ok(())
}

async fn timed<T, E>(done: impl Future<Output = Result<T, E>>) -> Result<(T, Duration), E> {
    let begun = Instant::now();
    let value = done.await?;
    Ok((value, begun.elapsed()))
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

impl Spread {
    fn of(mut took: Vec<Duration>) -> Result<Self> {
        took.sort_unstable();
        let slowest = took.last().context("nothing was measured")?;
        Ok(Self {
            p50_milliseconds: milliseconds(took[took.len() / 2]),
            slowest_milliseconds: milliseconds(*slowest),
        })
    }

    fn told(&self, what: &str) -> Row {
        let Self {
            p50_milliseconds: p50,
            slowest_milliseconds: slowest,
        } = self;
        told(what, format!("{p50:.2} / {slowest:.2} ms"))
    }
}

impl Report {
    fn rows(&self) -> Vec<Row> {
        let Self {
            sets,
            filled_seconds,
            first_reading_milliseconds,
            first_reading_mib,
            health,
            stream,
            page_after_stream,
            page,
            page_of_each,
        } = self;
        vec![
            told("distinct sets of types", sets.to_string()),
            told("filled", format!("{filled_seconds:.1} s")),
            told(
                "first reading",
                format!("{first_reading_milliseconds:.0} ms"),
            ),
            told("held by it", format!("{first_reading_mib:.1} MiB")),
            health.told("health of a cluster, p50 / slowest"),
            stream.told("a stream that comes or goes"),
            page_after_stream.told("the first page of another kind after it"),
            page.told("the same page once more"),
            page_of_each.told("a page of each kind by turns"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_set_of_types_is_had_by_some_cluster() {
        let fleet = Fleet {
            clusters: 12,
            kinds: 8,
            sets: 6,
        };
        let folder = tempfile::tempdir().expect("a folder");
        let location = Location::Sqlite(folder.path().join("store.db"));
        let store = open_with(&location, &Options::default())
            .await
            .expect("a store");
        fleet.fill(&store).await.expect("filled");
        let catalog = store.catalog().await.expect("a catalogue");
        let sets: std::collections::BTreeSet<_> = catalog
            .clusters
            .values()
            .map(|entry| &entry.resources)
            .collect();
        assert_eq!((catalog.clusters.len(), sets.len()), (12, 6));
        store.shutdown().await;
        let report = measure(&fleet, 3).await.expect("a report");
        assert!(report.stream.p50_milliseconds > 0.0);
    }
}
