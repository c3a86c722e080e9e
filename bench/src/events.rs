//! What events cost the store: written for the first time, and made and expired again and again. Each twice by turns: as they are indexed, and with an index of the
//! fields that tell every one of them apart as well.
//!
//! The store alone, in a file. What the events are of is what a kubelet tells of pods.

mod made;
mod report;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use armadex_model::query::Start;
use armadex_model::{ClusterName, Query};
use armadex_storage::{Batch, Change, ClusterId, PageBudget, Rules, Search, Sink, Stream};
use armadex_storage_sql::{Location, Options, SqlStore, open_with};
use clap::Args;
use futures::future::try_join_all;

use crate::table::{self, Row};
use made::Maker;
use report::{Report, Searched, Spent};

const RULES: Rules = Rules::of_all(1);
/// Changes of one write.
const BATCH: usize = 500;
/// Each way is measured so often.
const TIMES: usize = 2;
/// kubectl's own pages.
const PAGE: PageBudget = PageBudget {
    rows: 500,
    bytes: 4 << 20,
};

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Clusters.
    #[arg(long, default_value_t = 100)]
    clusters: usize,
    /// Events that each has at any time.
    #[arg(long, default_value_t = 2_000)]
    count: usize,
    /// Times that some of all clusters expire at once, and as many new ones come.
    #[arg(long, default_value_t = 50)]
    rounds: usize,
    /// Those of a cluster that expire in a round.
    #[arg(long, default_value_t = 10)]
    expire: usize,
    #[command(flatten)]
    form: table::Form,
}

/// Writes, reads and prints.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    let some = [flags.clusters, flags.count, flags.rounds, flags.expire];
    ensure!(!some.contains(&0), "each number is 1 or more");
    ensure!(
        flags.rounds * flags.expire <= flags.count,
        "--rounds times --expire is at most --count: what is made meanwhile does not expire"
    );
    let mut reports = Vec::new();
    for turn in 0..2 * TIMES {
        reports.push(measure(&flags, turn % 2 == 0).await?);
    }
    let rows: Vec<Row> = reports.iter().flat_map(Report::rows).collect();
    table::finish(&reports, &rows, flags.form)
}

/// A cluster of the fleet.
struct Cluster {
    maker: Maker,
    id: ClusterId,
    stream: Stream,
}

impl Cluster {
    async fn join(store: &SqlStore, number: usize, all_indexed: bool) -> Result<Self> {
        let name = ClusterName::new(&format!("member-{number:03}"))?;
        let id = store.join(&name, "incarnation", "bench").await?;
        Ok(Self {
            id,
            stream: store.open(id, "bench", &made::events(), RULES).await?,
            maker: Maker::new(&name, all_indexed),
        })
    }

    fn puts(&self, numbers: std::ops::Range<usize>) -> Result<Vec<Change>> {
        let events = numbers.map(|number| self.maker.event(number));
        events.map(|event| Ok(Change::Put(event?))).collect()
    }

    fn batch(&self, changes: Vec<Change>) -> Batch {
        Batch {
            cluster: self.id,
            resource: self.stream.resource,
            rules: RULES,
            epoch: self.stream.epoch,
            whole: true,
            changes,
            position: None,
        }
    }
}

async fn measure(flags: &Flags, all_indexed: bool) -> Result<Report> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store.db");
    let store = open_with(&Location::Sqlite(path.clone()), &Options::default()).await?;
    let store = Arc::new(store);
    let clusters = (0..flags.clusters).map(|number| Cluster::join(&store, number, all_indexed));
    let clusters = try_join_all(clusters).await?;
    let first = first_write(&store, &clusters, flags.count).await?;
    let churn = churn(&store, &clusters, flags).await?;
    let searches = searches(&store, &clusters[0].maker, flags.count - 1).await?;
    let shares = store.stats().await?.shares;
    store.shutdown().await;
    Ok(Report {
        all_indexed,
        events: flags.clusters * flags.count,
        first_write: first.of_each(flags.clusters * flags.count),
        churn: churn.of_each(flags.clusters * flags.rounds * flags.expire),
        searches,
        blocks: shares.iter().map(|share| share.blocks).sum(),
        entries: shares.iter().map(|share| share.entries).sum(),
        file_bytes: bytes(&path)?,
    })
}

fn bytes(path: &Path) -> Result<u64> {
    let file = std::fs::metadata(path);
    Ok(file
        .with_context(|| format!("no {}", path.display()))?
        .len())
}

/// One cluster after the other.
async fn first_write(store: &SqlStore, clusters: &[Cluster], count: usize) -> Result<Spent> {
    let mut spent = Spent::default();
    for cluster in clusters {
        for begin in (0..count).step_by(BATCH) {
            let batch = cluster.batch(cluster.puts(begin..count.min(begin + BATCH))?);
            spent.add_what(store.write(batch)).await?;
        }
    }
    Ok(spent)
}

/// Of all clusters at once, the oldest each time.
async fn churn(store: &SqlStore, clusters: &[Cluster], flags: &Flags) -> Result<Spent> {
    let mut spent = Spent::default();
    for begin in (0..flags.rounds).map(|round| round * flags.expire) {
        let mut batches = Vec::new();
        for cluster in clusters {
            let made = flags.count + begin;
            let mut changes = cluster.puts(made..made + flags.expire)?;
            let expired = begin..begin + flags.expire;
            changes.extend(expired.map(|number| Change::Delete(cluster.maker.key(number))));
            batches.push(store.write(cluster.batch(changes)));
        }
        spent.add_what(try_join_all(batches)).await?;
    }
    Ok(spent)
}

/// As `kubectl describe` asks for what was told of an event's pod, and by the pod's uid alone.
async fn searches(store: &SqlStore, maker: &Maker, number: usize) -> Result<Vec<Searched>> {
    let mut searches = Vec::new();
    for (name, fields) in [
        ("as kubectl describe asks", &made::DESCRIBED[..]),
        ("by the uid alone", &[made::UID]),
    ] {
        let query = Query {
            fields: maker.clauses(number, fields)?,
            ..Query::all(made::events().gvr)
        };
        searches.push(search(store, name, &query).await?);
    }
    Ok(searches)
}

async fn search(store: &SqlStore, name: &'static str, query: &Query) -> Result<Searched> {
    let mut searched = Searched::new(name);
    let mut start = Start::Beginning;
    loop {
        let page = store.page(query, &start, PAGE).await?;
        searched.add(page.rows.len(), page.looked_at);
        match page.next {
            Some(position) => start = Start::After(position),
            None => return Ok(searched),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_index_of_what_tells_events_apart_has_more_entries_and_the_same_answers() {
        let flags = Flags {
            clusters: 2,
            count: 90,
            rounds: 3,
            expire: 10,
            form: table::Form::default(),
        };
        let all = measure(&flags, true).await.expect("a store");
        let own = measure(&flags, false).await.expect("a store");
        assert!(all.entries > own.entries, "{all:?} {own:?}");
        for report in [all, own] {
            let rows = report.searches.iter().map(|searched| searched.rows);
            assert_eq!(Vec::from_iter(rows), [3, 3]);
        }
    }
}
