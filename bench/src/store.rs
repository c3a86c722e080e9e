//! The store alone, on each database: pods are pruned, written, written again and changed, and then read in every way that has an aim in
//! docs/performance.md.
//!
//! The pods are those of the generator that fills members. Their words are other ones than those that the store's dictionaries were
//! trained on. No control plane is there, and no other process but the server of a database, whose processor time is told beside ours.

mod backing;
mod meter;
mod pods;
mod queries;
mod report;
mod server_time;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use armadex_model::query::Start;
use armadex_model::{ClusterName, Query, ResourceType};
use armadex_storage::{Batch, Change, ClusterId, Object, PageBudget, Rules, Search, Sink, Stream};
use armadex_storage_sql::{Options, SqlStore, open_with};
use clap::Args;

use crate::table;
use backing::{Backing, Kind};
use meter::Meter;
use queries::PAGES;
use report::{Page, Report, Written};

/// Changes of one write.
const BATCH: usize = 500;
/// Times that each page is read.
const TIMES: u32 = 20;
/// A page has no more bytes than this.
const PAGE_BYTES: usize = 4 << 20;
const RULES: Rules = Rules(1);

/// What to measure on.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Pods: one measurement for each number.
    #[arg(long, value_delimiter = ',', default_value = "20000")]
    count: Vec<usize>,
    /// Where: one measurement for each. Servers are started for it, from the programs that `make databases` installs.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sqlite")]
    store: Vec<Choice>,
    /// How long superseded versions are kept, in seconds: what the update leaves behind is on the disk for that long.
    #[arg(long, value_name = "SECONDS", default_value_t = 60 * 60)]
    watch_window: u64,
    #[command(flatten)]
    form: table::Form,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    /// A file.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mysql,
    /// All of them, one after the other.
    All,
}

impl Choice {
    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Sqlite => &[Kind::Sqlite],
            Self::Postgres => &[Kind::Postgres],
            Self::Mysql => &[Kind::Mysql],
            Self::All => &[Kind::Sqlite, Kind::Postgres, Kind::Mysql],
        }
    }
}

/// Writes, reads and prints.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    let kinds = flags.store.iter().flat_map(|choice| choice.kinds());
    let options = Options {
        watch_window: Duration::from_secs(flags.watch_window),
        ..Options::default()
    };
    let mut reports = Vec::new();
    for &kind in kinds {
        for &count in &flags.count {
            reports.push(measure(kind, count, &options).await?);
        }
    }
    let rows: Vec<_> = reports.iter().flat_map(Report::rows).collect();
    table::finish(&reports, &rows, flags.form)
}

async fn measure(kind: Kind, count: usize, options: &Options) -> Result<Report> {
    ensure!(count > 0, "--count takes 1 or more");
    let place = tokio::task::spawn_blocking(move || Backing::new(kind)).await??;
    let empty = place.bytes()?;
    let store = open_with(&place.location()?, options).await?;
    let (pods, pruning) = pods::pruned(count)?;
    let bytes: usize = pods.iter().map(|pod| pod.body.len()).sum();
    let mut report = Report {
        store: kind.name(),
        pods: count,
        body_bytes: bytes / count,
        pruned: Written::new("pruned", count, pruning),
        ..Report::default()
    };
    report.written.push(write_new(&store, &place, &pods).await?);
    // What is in a log is in the file once that is closed.
    store.shutdown().await;
    report.fresh_bytes = (place.bytes()? - empty) / count as u64;
    let store = open_with(&place.location()?, options).await?;
    let written = write_again(&store, &place, pods).await?;
    report.written.extend(written);
    report.list = list(&store, &place, count).await?;
    for (name, query) in queries::all() {
        report
            .pages
            .push(measure_query(&store, name, &query).await?);
    }
    store.shutdown().await;
    report.disk_bytes = (place.bytes()? - empty) / count as u64;
    Ok(report)
}

async fn write_new(store: &SqlStore, place: &Backing, pods: &[Object]) -> Result<Written> {
    let (cluster, stream) = open(store, &queries::pods()).await?;
    let (first, second) = pods.split_at(pods.len() / 2);
    let meter = Meter::start(place)?;
    // As two streams would; they share one cluster here.
    tokio::try_join!(
        write_all(store, cluster, &stream, first),
        write_all(store, cluster, &stream, second)
    )?;
    meter.done("written, in two halves at once", pods.len())
}

async fn write_again(
    store: &SqlStore,
    place: &Backing,
    mut pods: Vec<Object>,
) -> Result<[Written; 2]> {
    let (cluster, stream) = open(store, &queries::pods()).await?;
    let meter = Meter::start(place)?;
    write_all(store, cluster, &stream, &pods).await?;
    let same = meter.done("written again as they are", pods.len())?;
    for pod in &mut pods {
        pod.resource_version.push('0');
    }
    let meter = Meter::start(place)?;
    write_all(store, cluster, &stream, &pods).await?;
    let changed = meter.done("changed, same labels", pods.len())?;
    Ok([same, changed])
}

async fn open(store: &SqlStore, resource: &ResourceType) -> Result<(ClusterId, Stream)> {
    let cluster = ClusterName::new("member1")?;
    let cluster = store.join(&cluster, "incarnation", "").await?;
    let stream = store.open(cluster, "", resource, RULES).await?;
    Ok((cluster, stream))
}

async fn write_all(
    store: &SqlStore,
    cluster: ClusterId,
    stream: &Stream,
    pods: &[Object],
) -> Result<()> {
    for objects in pods.chunks(BATCH) {
        let batch = Batch {
            cluster,
            resource: stream.resource,
            rules: RULES,
            epoch: stream.epoch,
            whole: true,
            changes: objects.iter().cloned().map(Change::Put).collect(),
            position: None,
        };
        store.write(batch).await?;
    }
    Ok(())
}

/// All pods, page by page.
async fn list(store: &SqlStore, place: &Backing, count: usize) -> Result<Written> {
    let query = Query::all(queries::pods().gvr);
    let budget = budget(PAGES[0]);
    let (mut start, mut rows) = (Start::Beginning, 0);
    let meter = Meter::start(place)?;
    loop {
        let page = store.page(&query, &start, budget).await?;
        rows += page.rows.len();
        match page.next {
            Some(position) => start = Start::After(position),
            None => break,
        }
    }
    ensure!(rows == count, "{rows} of {count} pods were listed");
    meter.done("listed", rows)
}

async fn measure_query(store: &SqlStore, name: &'static str, query: &Query) -> Result<Page> {
    let mut took = [Duration::ZERO; PAGES.len()];
    let mut found = [(0, 0); PAGES.len()];
    for (index, rows) in PAGES.into_iter().enumerate() {
        let begun = Instant::now();
        for _ in 0..TIMES {
            let page = store.page(query, &Start::Beginning, budget(rows)).await?;
            found[index] = (page.rows.len(), page.looked_at);
        }
        took[index] = begun.elapsed() / TIMES;
    }
    let begun = Instant::now();
    let counted = store
        .count(query)
        .await
        .with_context(|| format!("count of {name}"))?;
    Ok(Page {
        query: name,
        milliseconds: took.map(|took| took.as_secs_f64() * 1000.0),
        rows: found.map(|(rows, _)| rows),
        looked_at: found.map(|(_, looked_at)| looked_at),
        counted: format!("{counted:?}"),
        count_milliseconds: begun.elapsed().as_secs_f64() * 1000.0,
    })
}

fn budget(rows: u32) -> PageBudget {
    PageBudget {
        rows,
        bytes: PAGE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_query_finds_what_its_name_says() {
        let report = measure(Kind::Sqlite, 2_000, &Options::default())
            .await
            .expect("a store");
        let rows = |name: &str| {
            let page = report.pages.iter().find(|page| page.query == name);
            page.expect("a query of this name").rows[0]
        };
        assert_eq!(rows("page"), 500);
        assert_eq!(rows("label without a match"), 0);
        assert_eq!(rows("label that all have"), 500);
        assert_eq!(rows("all but 1 % by a label"), 500);
        for name in ["label that 1 % has", "field that 1 % has", "newest of 1 %"] {
            assert!((5..60).contains(&rows(name)), "{name}: {}", rows(name));
        }
        assert!(report.disk_bytes > 500 && report.fresh_bytes > 400);
    }
}
