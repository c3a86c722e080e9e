//! The store alone, on each database: pods are pruned, written, written again and changed, and then read in every way that has an aim in
//! docs/performance.md. Then what is past goes, as it does when the watch window is over.
//!
//! The pods are those of the generator that fills members, in clusters of 20,000; no more than eight clusters' are in memory. Their words are
//! other ones than those that the built-in dictionaries were trained on. The store learns from them as it does in a fleet, when it looks after
//! itself: in between, if the first write takes long enough, and before they are changed. No control plane is there, and no other process but the server of a database, whose processor time is told beside ours.

mod aims;
mod backing;
mod meter;
mod pods;
mod queries;
mod report;
pub(crate) mod server_time;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use armadex_model::query::Start;
use armadex_model::{ClusterName, Query};
use armadex_storage::{
    Batch, Change, ClusterId, Object, PageBudget, Rules, Search, Sink, StoreError, Stream,
};
use armadex_storage_sql::{Options, SqlStore, open_with};
use clap::Args;
use futures::future::try_join_all;

use crate::table;
use backing::Backing;
pub(crate) use backing::Kind;
use meter::Meter;
use queries::PAGES;
use report::{Page, Report, Work};

/// Changes of one write.
const BATCH: usize = 500;
/// Clusters that are written at once when they are new, as those of a fleet that comes.
const AT_ONCE: usize = 8;
/// Times that each page is read.
const TIMES: u32 = 20;
/// A page has no more bytes than this.
const PAGE_BYTES: usize = 4 << 20;
const RULES: Rules = Rules::of_all(1);
/// Rows of a step of the periodic work, as a synchro asks for them.
const REMOVED: u32 = 2_000;
/// Of so many pods of a cluster one is asked for by its name.
const GET_EVERY: usize = 37;

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
pub(crate) enum Choice {
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
    /// What is meant by it.
    pub(crate) fn kinds(self) -> &'static [Kind] {
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
    let mut rows: Vec<_> = reports.iter().flat_map(Report::rows).collect();
    rows.extend(report::growth(&reports));
    table::finish(&reports, &rows, flags.form)
}

async fn measure(kind: Kind, count: usize, options: &Options) -> Result<Report> {
    ensure!(count > 0, "--count takes 1 or more");
    let place = tokio::task::spawn_blocking(move || Backing::new(kind)).await??;
    let empty = place.bytes()?;
    let clusters = pods::clusters(count);
    let mut report = Report {
        store: kind.name(),
        pods: count,
        clusters: clusters.len(),
        ..Report::default()
    };
    let store = open_with(&place.location()?, options).await?;
    write_new(&store, &place, &clusters, &mut report).await?;
    // What is in a log is in the file once that is closed.
    store.shutdown().await;
    report.fresh_bytes = (place.bytes()? - empty) / count as u64;
    let store = open_with(&place.location()?, options).await?;
    write_again(&store, &place, &clusters, &mut report).await?;
    report.list = list(&store, &place, count).await?;
    for (name, query) in queries::all() {
        report
            .pages
            .push(measure_query(&store, name, &query).await?);
    }
    report.get_milliseconds = get(&store, &clusters[0]).await?;
    store.shutdown().await;
    report.disk_bytes = (place.bytes()? - empty) / count as u64;
    let options = Options {
        watch_window: Duration::ZERO,
        ..options.clone()
    };
    let store = open_with(&place.location()?, &options).await?;
    let past = upkeep(&store, &place, "what is past is removed", count).await?;
    report.upkeep.push(past);
    store.shutdown().await;
    report.settled_bytes = (place.bytes()? - empty) / count as u64;
    Ok(report)
}

async fn write_new(
    store: &SqlStore,
    place: &Backing,
    clusters: &[pods::Cluster],
    report: &mut Report,
) -> Result<()> {
    report.pruned = Work::new("pruned");
    let mut written = Work::new("written, up to eight clusters at once");
    let mut bytes = 0;
    for group in clusters.chunks(AT_ONCE) {
        let mut streams = Vec::with_capacity(group.len());
        for cluster in group {
            let (pods, pruning) = cluster.pruned()?;
            report.pruned.add(pods.len(), pruning);
            bytes += pods.iter().map(|pod| pod.body.len()).sum::<usize>();
            let (id, stream) = open(store, cluster.name()).await?;
            streams.push((id, stream, pods));
        }
        let meter = Meter::start(place)?;
        for round in 0..AT_ONCE {
            let writes = streams.iter().map(|(id, stream, pods)| {
                let part = pods.len().div_ceil(AT_ONCE);
                let pods = pods.chunks(part).nth(round).unwrap_or_default();
                write_all(store, *id, stream, pods)
            });
            try_join_all(writes).await?;
            // As a synchro does now and then: what comes later is packed with what is learnt by then.
            store.purge(REMOVED, Duration::ZERO).await?;
        }
        let count = streams.iter().map(|(.., pods)| pods.len()).sum();
        meter.done(&mut written, count)?;
    }
    report.body_bytes = bytes / report.pods;
    report.written.push(written);
    Ok(())
}

/// As they are, and with another version each, what a store learns of them in between.
async fn write_again(
    store: &SqlStore,
    place: &Backing,
    clusters: &[pods::Cluster],
    report: &mut Report,
) -> Result<()> {
    let mut same = Work::new("written again as they are");
    for cluster in clusters {
        let (pods, _) = cluster.pruned()?;
        let (id, stream) = open(store, cluster.name()).await?;
        let meter = Meter::start(place)?;
        write_all(store, id, &stream, &pods).await?;
        meter.done(&mut same, pods.len())?;
    }
    let learnt = upkeep(store, place, "a dictionary is trained", report.pods).await?;
    let mut changed = Work::new("changed, same labels");
    for cluster in clusters {
        let (mut pods, _) = cluster.pruned()?;
        for pod in &mut pods {
            pod.resource_version.push('0');
        }
        let (id, stream) = open(store, cluster.name()).await?;
        let meter = Meter::start(place)?;
        write_all(store, id, &stream, &pods).await?;
        meter.done(&mut changed, pods.len())?;
    }
    report.written.extend([same, changed]);
    report.upkeep.push(learnt);
    Ok(())
}

/// The periodic work, to its end.
async fn upkeep(
    store: &SqlStore,
    place: &Backing,
    what: &'static str,
    count: usize,
) -> Result<Work> {
    let mut work = Work::new(what);
    let meter = Meter::start(place)?;
    while !store.purge(REMOVED, Duration::ZERO).await?.finished {}
    meter.done(&mut work, count)?;
    Ok(work)
}

async fn open(store: &SqlStore, cluster: &ClusterName) -> Result<(ClusterId, Stream)> {
    let cluster = store.join(cluster, "incarnation", "").await?;
    let stream = store.open(cluster, "", &queries::pods(), RULES).await?;
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

/// One pod by its name; milliseconds.
async fn get(store: &SqlStore, cluster: &pods::Cluster) -> Result<f64> {
    let (pods, _) = cluster.pruned()?;
    let keys = pods.into_iter().map(|pod| pod.key);
    let keys: Vec<_> = keys.step_by(GET_EVERY).collect();
    let resource = queries::pods().gvr;
    let begun = Instant::now();
    for key in &keys {
        let found = store.get(cluster.name(), &resource, key).await?;
        ensure!(found.is_some(), "{} is not found", key.name);
    }
    Ok(begun.elapsed().as_secs_f64() * 1000.0 / keys.len() as f64)
}

/// All pods, page by page.
async fn list(store: &SqlStore, place: &Backing, count: usize) -> Result<Work> {
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
    let mut listed = Work::new("listed");
    meter.done(&mut listed, rows)?;
    Ok(listed)
}

async fn measure_query(store: &SqlStore, name: &'static str, query: &Query) -> Result<Page> {
    let mut measured = Page {
        query: name,
        ..Page::default()
    };
    for (index, rows) in PAGES.into_iter().enumerate() {
        let begun = Instant::now();
        for _ in 0..TIMES {
            let page = match store.page(query, &Start::Beginning, budget(rows)).await {
                Ok(page) => page,
                Err(StoreError::Unsupported { what }) => {
                    measured.refused = Some(what);
                    return Ok(measured);
                }
                Err(error) => return Err(error.into()),
            };
            measured.rows[index] = page.rows.len();
            measured.looked_at[index] = page.looked_at;
        }
        let took = begun.elapsed() / TIMES;
        measured.milliseconds[index] = took.as_secs_f64() * 1000.0;
    }
    let begun = Instant::now();
    let counted = store
        .count(query)
        .await
        .with_context(|| format!("count of {name}"))?;
    measured.counted = format!("{counted:?}");
    measured.count_milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
    Ok(measured)
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
        // What is gone leaves room in a file that is so small.
        assert!(report.settled_bytes > 400 && report.settled_bytes <= report.disk_bytes);
        assert!(report.get_milliseconds > 0.0);
    }
}
