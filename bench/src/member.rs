//! Many members of many kinds, some of them in trouble: what Armadex asks of them, logs and holds.
//!
//! The members are played by this process (`scripted`, behind the sockets of `server`), over TLS and HTTP/2; a real control plane has their
//! PediaClusters, and the real program does the rest. After the healthy ones are live and things have settled there are two windows: one
//! with a trickle of changes and one in which nothing happens. What a figure may be is said in `report`.

mod documents;
mod ledger;
mod report;
mod request;
mod role;
mod scripted;
mod server;
mod stage;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use armadex_e2e::progress::note;
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options, wait_until};
use clap::Args;

use crate::{log, open_files, table};
use ledger::Ledger;
use report::{Plan, Report, Window};
use role::Role;
use scripted::Members;
use server::Playing;
use stage::Stage;

/// Far above what any machine needs; a run that does not get there is an error, not a result.
const LIMIT: Duration = Duration::from_secs(900);
/// Changes that were made last are on their way for so long at most.
const FRESH_WITHIN: Duration = Duration::from_secs(10);
/// Connections of a member: probes and discovery, lists, watches of 80 kinds each; with room for some that begin anew.
const SOCKETS_EACH: u64 = 5;
/// A kind's number has two digits.
const MOST_KINDS: usize = 100;

/// What to measure on.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// PediaClusters, each of a member of its own.
    #[arg(long, default_value_t = 1000)]
    clusters: usize,
    /// Kinds of each.
    #[arg(long, default_value_t = 40)]
    kinds: usize,
    /// Objects of the first kind; the second has half as many, the third a third.
    #[arg(long, default_value_t = 60)]
    objects: usize,
    /// None is in trouble.
    #[arg(long)]
    healthy: bool,
    /// Processes that share them, over a PostgreSQL that is started for it; one alone has its store in a file, and all other parts in it.
    #[arg(long, default_value_t = 1)]
    replicas: usize,
    /// Changes in a second, over all members, in the first window.
    #[arg(long, default_value_t = 20)]
    trickle: u64,
    /// Seconds that are left for things to settle: connections that nobody uses any more are closed after 90.
    #[arg(long, default_value_t = 100)]
    settle: u64,
    /// Seconds of each of the two windows.
    #[arg(long, default_value_t = 30)]
    window: u64,
    #[command(flatten)]
    form: table::Form,
}

/// Plays the members, measures, prints, and stops everything.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    ensure!(flags.clusters > 0, "--clusters takes 1 or more");
    ensure!(
        (2..=MOST_KINDS).contains(&flags.kinds),
        "--kinds takes 2 to {MOST_KINDS}: one of them is forbidden in some members"
    );
    ensure!(flags.window > 0, "--window takes 1 or more");
    ensure!(flags.replicas > 0, "--replicas takes 1 or more");
    let fleet = Harness::start(Options {
        store: (flags.replicas > 1).then_some(StoreKind::Postgres),
        ..Options::default()
    });
    let fleet = fleet.await?;
    let report = measure(&fleet, &flags).await?;
    fleet.finish().await;
    table::finish(&report, &report.rows(), flags.form)
}

async fn measure(fleet: &Harness, flags: &Flags) -> Result<Report> {
    open_files::allow(flags.clusters as u64 * SOCKETS_EACH + 100)?;
    let role = match flags.healthy {
        true => |_| Role::Healthy,
        false => Role::of,
    };
    let members = Members::new(flags.clusters, role, flags.kinds, flags.objects);
    let playing = Playing::start(members).await?;
    let stage = Stage::set(fleet, flags.replicas).await?;
    let mut report = Report {
        plan: plan(&playing.members),
        ..Report::default()
    };
    report.before_mib = stage.resident_mib()?;
    become_live(&stage, &playing, &mut report).await?;
    let live = Instant::now();
    playing.trickle(flags.trickle);
    note(format_args!("settling for {} s", flags.settle));
    tokio::time::sleep(Duration::from_secs(flags.settle)).await;
    let time = Duration::from_secs(flags.window);
    report.trickling = window(&stage, &playing, time).await?;
    playing.trickle(0);
    report.changes = changes(&stage, &playing).await?;
    report.quiet_after_seconds = live.elapsed().as_secs_f64();
    report.quiet = window(&stage, &playing, time).await?;
    report.sockets = stage.sockets()?;
    report.quiet_mib = stage.resident_mib()?;
    report.peak_mib = stage.peak_mib()?;
    let ledger = &playing.members.ledger;
    report.lists_begun = ledger.lists_begun.load(Ordering::Relaxed);
    report.lists_ended = ledger.lists_ended.load(Ordering::Relaxed);
    report.lists_expired = ledger.lists_expired.load(Ordering::Relaxed);
    report.not_understood = ledger.unknown.load(Ordering::Relaxed);
    report.live_at_the_end = playing.members.live();
    report.warnings = log::warnings(&stage.log());
    Ok(report)
}

fn plan(members: &Members) -> Plan {
    Plan {
        members: Role::ALL.map(|role| (role, members.count(role))).into(),
        kinds: members.kinds,
        streams: members.streams(),
        lists: members.lists(),
        rows: members.rows(),
    }
}

/// From the first PediaCluster to the last watch of the healthy members and the last row.
async fn become_live(stage: &Stage, playing: &Playing, report: &mut Report) -> Result<()> {
    let Plan { streams, rows, .. } = report.plan;
    let cpu = stage.cpu_seconds()?;
    let begun = Instant::now();
    report.created_seconds = stage.create(playing).await?.as_secs_f64();
    let all_live = wait_until("all healthy members are live", LIMIT, || async {
        Ok(playing.members.live() >= streams)
    });
    let told = || {
        let ledger = &playing.members.ledger;
        let ended = ledger.lists_ended.load(Ordering::Relaxed);
        let live = playing.members.live();
        format!("{live} of {streams} streams are live, {ended} lists have ended")
    };
    all_live.await.with_context(told)?;
    report.live_seconds = begun.elapsed().as_secs_f64();
    stage.until_stored(rows, LIMIT).await?;
    report.stored_seconds = begun.elapsed().as_secs_f64();
    report.live_cpu_seconds = stage.cpu_seconds()? - cpu;
    report.live_mib = stage.resident_mib()?;
    Ok(())
}

/// What is asked, logged and computed in this time.
async fn window(stage: &Stage, playing: &Playing, time: Duration) -> Result<Window> {
    let ledger = &playing.members.ledger;
    let (before, cpu, logged) = (ledger.counts(), stage.cpu_seconds()?, stage.log().len());
    let begun = Instant::now();
    tokio::time::sleep(time).await;
    let seconds = begun.elapsed().as_secs_f64();
    let log = stage.log();
    Ok(Window {
        seconds,
        cores: (stage.cpu_seconds()? - cpu) / seconds,
        requests: ledger::since(&before, ledger.counts()),
        log_lines: log.get(logged..).unwrap_or_default().lines().count(),
    })
}

/// Changes that were made, and those that are stored when there was time for it.
async fn changes(stage: &Stage, playing: &Playing) -> Result<(u64, u64)> {
    let Ledger { changes, .. } = &playing.members.ledger;
    let made = changes.load(Ordering::Relaxed);
    // What is missing is for the report to tell.
    let _ = wait_until("every change is stored", FRESH_WITHIN, || async {
        Ok(stage.changed().await? >= made)
    })
    .await;
    Ok((made, stage.changed().await?))
}
