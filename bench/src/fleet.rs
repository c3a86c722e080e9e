//! Many small clusters at once: how long it takes until all their streams are live and what that costs, cluster by cluster, while
//! searches go on; then all of them leave, and their rows are purged.
//!
//! Every PediaCluster points at the same real member, so that the member's own cost is that of one. What a figure may be is said in
//! `report`; a run that misses one ends with an error unless it is told to report only.

mod clusters;
mod report;
mod samples;
mod searches;
mod stage;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use armadex_e2e::progress::note;
use armadex_e2e::{Harness, Options};
use clap::Args;

use crate::process::cpu_seconds;
use crate::{log, table};
use clusters::Clusters;
use report::Report;
use samples::{Sample, Sampler};
use searches::Searches;
use stage::Stage;

/// Far above what any machine needs for a thousand clusters; a run that does not get there is an error, not a result.
const LIMIT: Duration = Duration::from_secs(900);
/// What to measure on.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// PediaClusters, all of one member.
    #[arg(long, default_value_t = 1000)]
    clusters: usize,
    /// Kinds that each of them syncs.
    #[arg(long, default_value_t = 12)]
    kinds: usize,
    /// Objects that each of them brings, about.
    #[arg(long, default_value_t = 350)]
    objects: usize,
    /// Seconds that are left for things to settle: connections that nobody uses any more are closed after 90.
    #[arg(long, default_value_t = 100)]
    settle: u64,
    /// Seconds that the fleet is looked at while nothing happens.
    #[arg(long, default_value_t = 20)]
    idle: u64,
    #[command(flatten)]
    form: table::Form,
}

/// Starts a fleet, measures, prints, and stops it.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    let kinds = clusters::KINDS.len();
    ensure!(
        (1..=kinds).contains(&flags.kinds),
        "--kinds takes 1 to {kinds}"
    );
    ensure!(flags.idle > 0, "--idle takes 1 or more");
    let fleet = Harness::start(Options {
        members: 1,
        ..Options::default()
    })
    .await?;
    let report = measure(&fleet, &flags).await?;
    fleet.finish().await;
    table::finish(&report, &report.rows(), flags.form)
}

async fn measure(fleet: &Harness, flags: &Flags) -> Result<Report> {
    let stage = Stage::set(fleet, flags.kinds, flags.objects).await?;
    let clusters = Clusters {
        host: fleet.host().client().await?,
        count: flags.clusters,
        template: stage.template.clone(),
    };
    let mut report = Report {
        clusters: flags.clusters,
        kinds: flags.kinds,
        objects_per_cluster: stage.objects,
        ..Report::default()
    };
    report.before_mib = stage.resident_mib()?;
    onboard(&stage, &clusters, &mut report).await?;
    note(format_args!("settling for {} s", flags.settle));
    tokio::time::sleep(Duration::from_secs(flags.settle)).await;
    report.idle_cores = idle(&stage, Duration::from_secs(flags.idle)).await?;
    report.settled_mib = stage.resident_mib()?;
    offboard(&stage, &clusters, &mut report).await?;
    let log = stage.log();
    report.log_lines = log.lines().count();
    report.warnings = log::warnings(&log);
    report.slow_statements = log::slow_statements(&log);
    report.peak_mib = stage.peak_mib()?;
    Ok(report)
}

async fn onboard(stage: &Stage, clusters: &Clusters, report: &mut Report) -> Result<()> {
    let streams = report.clusters * report.kinds;
    let rows = report.clusters * report.objects_per_cluster;
    let before = stage.requests().await?;
    let searches = Searches::start(stage.searches.clone());
    let mut sampler = Sampler::start(&stage.armadex, report.kinds).await?;
    let begun = Instant::now();
    let created = clusters.create().await?;
    report.created_seconds = created.as_secs_f64();
    sampler
        .until(LIMIT, |Sample { live, added, .. }| {
            *live >= streams && *added >= rows
        })
        .await
        .context("not every stream became live")?;
    report.live_wall_seconds = begun.elapsed().as_secs_f64();
    report.searches_on_boarding = searches.finish().await?;
    report.live_cpu_seconds = sampler.cpu();
    report.cpu_by_tenth = samples::tenths(sampler.samples(), streams, rows);
    report.live_mib = stage.resident_mib()?;
    report.requests_per_cluster =
        stage::per_cluster(&before, &stage.requests().await?, clusters.count);
    Ok(())
}

/// Cores that are busy while nothing happens.
async fn idle(stage: &Stage, time: Duration) -> Result<f64> {
    let pid = stage.armadex.record().pid;
    let (begun, before) = (Instant::now(), cpu_seconds(pid)?);
    tokio::time::sleep(time).await;
    Ok((cpu_seconds(pid)? - before) / begun.elapsed().as_secs_f64())
}

async fn offboard(stage: &Stage, clusters: &Clusters, report: &mut Report) -> Result<()> {
    let rows = report.clusters * report.objects_per_cluster;
    let searches = Searches::start(stage.searches.clone());
    let mut sampler = Sampler::start(&stage.armadex, report.kinds).await?;
    let begun = Instant::now();
    clusters.delete().await?;
    clusters.wait_until_gone(LIMIT).await?;
    report.gone_seconds = begun.elapsed().as_secs_f64();
    sampler
        .until(LIMIT, |Sample { purged, .. }| *purged >= rows)
        .await
        .context("not every row was purged")?;
    report.purge_wall_seconds = begun.elapsed().as_secs_f64();
    report.searches_purging = searches.finish().await?;
    report.purge_cpu_seconds = sampler.cpu();
    Ok(())
}
