//! The store alone: pods are pruned, written, written again and changed, and then read in every way that has an aim in
//! docs/performance.md.
//!
//! The pods are those of the generator that fills members. Their words are other ones than those that the store's dictionaries were
//! trained on. No control plane and no other process is there; the figures are the store's alone.

mod pods;
mod queries;
mod report;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use armadex_model::query::Start;
use armadex_model::{ClusterName, Query, ResourceType};
use armadex_storage::{Batch, Change, ClusterId, Object, PageBudget, Rules, Search, Sink, Stream};
use armadex_storage_sql::{Options, SqlStore};
use clap::Args;

use crate::table;
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
    /// Pods.
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    #[command(flatten)]
    form: table::Form,
}

/// Writes, reads and prints.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    let report = measure(flags.count).await?;
    table::finish(&report, &report.rows(), flags.form)
}

async fn measure(count: usize) -> Result<Report> {
    ensure!(count > 0, "--count takes 1 or more");
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("store.db");
    let store = SqlStore::sqlite(&path, &Options::default()).await?;
    let (pods, pruning) = pods::pruned(count)?;
    let bytes: usize = pods.iter().map(|pod| pod.body.len()).sum();
    let mut report = Report {
        pods: count,
        body_bytes: bytes / count,
        pruned: Written::new("pruned", count, pruning),
        ..Report::default()
    };
    report.written = write(&store, pods).await?;
    report.list = list(&store, count).await?;
    for (name, query) in queries::all() {
        report
            .pages
            .push(measure_query(&store, name, &query).await?);
    }
    store.shutdown().await;
    report.disk_bytes = std::fs::metadata(&path)?.len() / count as u64;
    Ok(report)
}

async fn write(store: &SqlStore, mut pods: Vec<Object>) -> Result<Vec<Written>> {
    let (cluster, stream) = open(store, &queries::pods()).await?;
    let (first, second) = pods.split_at(pods.len() / 2);
    let begun = Instant::now();
    // As two streams would; they share one cluster here.
    tokio::try_join!(
        write_all(store, cluster, &stream, first),
        write_all(store, cluster, &stream, second)
    )?;
    let new = Written::new(
        "written, in two halves at once",
        pods.len(),
        begun.elapsed(),
    );
    let begun = Instant::now();
    write_all(store, cluster, &stream, &pods).await?;
    let same = Written::new("written again as they are", pods.len(), begun.elapsed());
    for pod in &mut pods {
        pod.resource_version.push('0');
    }
    let begun = Instant::now();
    write_all(store, cluster, &stream, &pods).await?;
    let changed = Written::new("changed, same labels", pods.len(), begun.elapsed());
    Ok(vec![new, same, changed])
}

async fn open(store: &SqlStore, resource: &ResourceType) -> Result<(ClusterId, Stream)> {
    let cluster = ClusterName::new("member1")?;
    let cluster = store.join(&cluster, "incarnation", "").await?;
    let stream = store.open(cluster, resource, RULES).await?;
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
async fn list(store: &SqlStore, count: usize) -> Result<Written> {
    let query = Query::all(queries::pods().gvr);
    let budget = budget(PAGES[0]);
    let (mut start, mut rows) = (Start::Beginning, 0);
    let begun = Instant::now();
    loop {
        let page = store.page(&query, &start, budget).await?;
        rows += page.rows.len();
        match page.next {
            Some(position) => start = Start::After(position),
            None => break,
        }
    }
    ensure!(rows == count, "{rows} of {count} pods were listed");
    Ok(Written::new("listed", rows, begun.elapsed()))
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
        let report = measure(2_000).await.expect("a store");
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
        assert!(report.disk_bytes > 500);
    }
}
