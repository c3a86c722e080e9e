//! Two members with many objects each: how long the first sync takes, what it costs, what a full list costs, and whether a restart
//! lists anything again.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::equality::{Kind, SEEDED_KINDS};
use armadex_e2e::scenario::{self, Apart};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, deploy};
use clap::Args;
use serde::Serialize;

use crate::process::{cpu_seconds, peak_mib};

const MEMBERS: [&str; 2] = ["member1", "member2"];
/// Far above what any machine needs; a run that does not get there is an error, not a result.
const LIMIT: Duration = Duration::from_secs(900);

/// What to measure on.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Objects in each of the two members.
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    objects: usize,
    sync_wall_seconds: f64,
    sync_cpu_seconds: f64,
    sync_peak_mib: f64,
    list_pods: usize,
    list_bytes: usize,
    list_wall_seconds: f64,
    list_cpu_seconds: f64,
    list_peak_mib: f64,
    store_bytes_per_object: f64,
    restart_wall_seconds: f64,
    restart_cpu_seconds: f64,
    restart_lists: f64,
}

/// Starts a fleet, measures, prints, and stops it.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    let fleet = Harness::start(Options {
        members: MEMBERS.len(),
        ..Options::default()
    })
    .await?;
    let report = measure(&fleet, flags.count).await?;
    fleet.finish().await;
    let text = if flags.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        table(&report)
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("cannot print the report")
}

async fn measure(fleet: &Harness, count: usize) -> Result<Report> {
    for name in MEMBERS {
        seed::put(&fleet.member(name)?, Plan { count, seed: 1 }).await?;
    }
    let Apart {
        mut synchro,
        apiserver,
        ..
    } = scenario::on_board_apart(fleet, &deploy::policy()?, &[]).await?;
    let mut report = Report::default();
    first_sync(fleet, &synchro, &mut report).await?;
    full_list(fleet, &apiserver, &mut report).await?;
    restart(fleet, &mut synchro, &mut report).await?;
    Ok(report)
}

async fn first_sync(fleet: &Harness, synchro: &Armadex, report: &mut Report) -> Result<()> {
    for name in MEMBERS {
        fleet.join(name).await?;
    }
    let begun = Instant::now();
    report.objects = scenario::wait_until_equal(fleet, &MEMBERS, &SEEDED_KINDS, LIMIT).await?;
    report.sync_wall_seconds = begun.elapsed().as_secs_f64();
    report.sync_cpu_seconds = cpu_seconds(synchro.record().pid)?;
    report.sync_peak_mib = peak_mib(synchro.record())?;
    let bytes = std::fs::metadata(fleet.folder().store())?.len();
    #[expect(clippy::cast_precision_loss, reason = "sizes far below 2^52")]
    let per_object = bytes as f64 / report.objects as f64;
    report.store_bytes_per_object = per_object;
    Ok(())
}

async fn full_list(fleet: &Harness, apiserver: &Armadex, report: &mut Report) -> Result<()> {
    let client = fleet.host().client().await?;
    let before = cpu_seconds(apiserver.record().pid)?;
    let begun = Instant::now();
    let request = http::Request::get(Kind::PODS.fleet_path()).body(Vec::new())?;
    let text = client
        .request_text(request)
        .await
        .context("cannot list all pods")?;
    report.list_wall_seconds = begun.elapsed().as_secs_f64();
    report.list_cpu_seconds = cpu_seconds(apiserver.record().pid)? - before;
    report.list_peak_mib = peak_mib(apiserver.record())?;
    report.list_bytes = text.len();
    let list: serde_json::Value = serde_json::from_str(&text)?;
    report.list_pods = list["items"].as_array().context("a list has items")?.len();
    Ok(())
}

async fn restart(fleet: &Harness, synchro: &mut Armadex, report: &mut Report) -> Result<()> {
    // What is not stored yet when it is killed is listed afterwards.
    scenario::wait_until_synced(fleet, &MEMBERS, LIMIT).await?;
    synchro.kill();
    let begun = Instant::now();
    synchro.restart().await?;
    scenario::wait_until_equal(fleet, &MEMBERS, &SEEDED_KINDS, LIMIT).await?;
    report.restart_wall_seconds = begun.elapsed().as_secs_f64();
    report.restart_cpu_seconds = cpu_seconds(synchro.record().pid)?;
    scenario::wait_until_watched(synchro, MEMBERS.len(), LIMIT).await?;
    report.restart_lists = synchro.counter(armadex::LISTS).await?;
    Ok(())
}

fn table(report: &Report) -> String {
    let Report {
        objects,
        sync_wall_seconds,
        sync_cpu_seconds,
        sync_peak_mib,
        list_pods,
        list_bytes,
        list_wall_seconds,
        list_cpu_seconds,
        list_peak_mib,
        store_bytes_per_object,
        restart_wall_seconds,
        restart_cpu_seconds,
        restart_lists,
    } = report;
    format!(
        "| what | measured |\n| --- | --- |\n\
         | objects, both members | {objects} |\n\
         | join to equality, wall, checks included | {sync_wall_seconds:.1} s |\n\
         | synchro, CPU | {sync_cpu_seconds:.1} s |\n\
         | synchro, peak RSS | {sync_peak_mib:.0} MiB |\n\
         | database file without its write-ahead log, bytes per object | {store_bytes_per_object:.0} |\n\
         | list of all {list_pods} pods, bytes | {list_bytes} |\n\
         | list, wall, through the aggregator | {list_wall_seconds:.2} s |\n\
         | list, CPU of the API server | {list_cpu_seconds:.2} s |\n\
         | API server, peak RSS | {list_peak_mib:.0} MiB |\n\
         | restart after SIGKILL to equality, wall, checks included | {restart_wall_seconds:.1} s |\n\
         | synchro after the restart, CPU | {restart_cpu_seconds:.1} s |\n\
         | lists asked of members after the restart | {restart_lists} |\n"
    )
}
