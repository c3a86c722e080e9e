//! The way from a member to a search, with members that lie in memory: the first sync, pods that change, a restart. On each database.
//!
//! The members are played by this process (`stock`), over TLS and HTTP/2, on the same machine; what that costs is told apart. A real control plane has
//! their PediaClusters, and the real program does the rest, in two processes.

mod churn;
mod playing;
mod report;
mod stage;
mod stock;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use armadex_e2e::progress::note;
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options};
use clap::Args;

use crate::store::{Choice, Kind};
use crate::table;
use churn::Churn;
use playing::Playing;
use report::{Changes, Report, Restarted};
use stage::Stage;
use stock::Stock;

/// Changes in a second around a restart: enough for some to come while nobody listens.
const AROUND: usize = 200;

/// What to measure on.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Where: one measurement for each. Servers are started for it, from the programs that `make databases` installs.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sqlite")]
    store: Vec<Choice>,
    /// Members.
    #[arg(long, default_value_t = 2)]
    members: usize,
    /// Pods of each member.
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    #[command(flatten)]
    form: table::Form,
}

/// What to change as well.
#[derive(Debug, Args)]
pub(crate) struct ChurnFlags {
    #[command(flatten)]
    flags: Flags,
    /// Changes in a second, over all members, while some are looked for.
    #[arg(long, default_value_t = 1_000)]
    rate: usize,
    /// Seconds of that, and as many of changes as fast as they are taken.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

/// What is done after the first sync.
#[derive(Clone, Copy)]
enum After {
    Nothing,
    Churn { rate: usize, length: Duration },
    Restart,
}

/// Measures the first sync alone.
pub(crate) async fn sync(flags: Flags) -> Result<()> {
    run(flags, After::Nothing).await
}

/// Measures changes.
pub(crate) async fn churn(flags: ChurnFlags) -> Result<()> {
    let ChurnFlags {
        flags,
        rate,
        seconds,
    } = flags;
    ensure!(
        rate >= flags.members,
        "--rate takes one for each member or more"
    );
    ensure!(seconds > 0, "--seconds takes 1 or more");
    let length = Duration::from_secs(seconds);
    run(flags, After::Churn { rate, length }).await
}

/// Measures a restart.
pub(crate) async fn restart(flags: Flags) -> Result<()> {
    run(flags, After::Restart).await
}

async fn run(flags: Flags, after: After) -> Result<()> {
    ensure!(
        flags.members > 0 && flags.count > 0,
        "--members and --count take 1 or more"
    );
    let mut reports = Vec::new();
    for &kind in flags.store.iter().flat_map(|choice| choice.kinds()) {
        reports.push(measure(kind, &flags, after).await?);
    }
    let rows: Vec<_> = reports.iter().flat_map(Report::rows).collect();
    table::finish(&reports, &rows, flags.form)
}

async fn measure(kind: Kind, flags: &Flags, after: After) -> Result<Report> {
    let fleet = Harness::start(Options {
        store: Some(kind.into()),
        ..Options::default()
    })
    .await?;
    note(format_args!("making {} members", flags.members));
    let playing = Playing::start(Stock::new(flags.members, flags.count)?).await?;
    let mut stage = Stage::set(&fleet).await?;
    let mut report = Report {
        store: kind.name(),
        members: flags.members,
        pods: playing.stock.pods(),
        ..Report::default()
    };
    let before = stage.spent(&fleet, &playing)?;
    report.sync_seconds = stage.sync(&playing).await?.as_secs_f64();
    report.sync = stage.spent(&fleet, &playing)?.since(before);
    report.sync_peak_mib = stage.peak_mib()?;
    match after {
        After::Nothing => {}
        After::Churn { rate, length } => {
            report.changes = Some(changes(&fleet, &stage, &playing, (rate, length)).await?);
        }
        After::Restart => report.restarted = Some(restarted(&mut stage, &playing).await?),
    }
    stage.stop()?;
    fleet.finish().await;
    Ok(report)
}

async fn changes(
    fleet: &Harness,
    stage: &Stage,
    playing: &Playing,
    (rate, length): (usize, Duration),
) -> Result<Changes> {
    let churn = Churn::start(playing, Some(rate), length);
    let before = stage.spent(fleet, playing)?;
    let freshness = churn::freshness(stage, playing, length).await?;
    let at_rate = churn.end().await + freshness.count;
    let spent = stage.spent(fleet, playing)?.since(before);
    all_are_found(stage, playing).await?;
    note(format_args!("{at_rate} changes; now as fast as they go"));
    let (begun, before) = (Instant::now(), stage.spent(fleet, playing)?);
    let most = Churn::start(playing, None, length).end().await;
    all_are_found(stage, playing).await?;
    Ok(Changes {
        rate,
        freshness,
        at_rate,
        at_rate_spent: spent,
        most,
        most_seconds: begun.elapsed().as_secs_f64(),
        most_spent: stage.spent(fleet, playing)?.since(before),
        peak_mib: stage.peak_mib()?,
    })
}

/// Waits until what each member tells last is found, and so all that it told before.
async fn all_are_found(stage: &Stage, playing: &Playing) -> Result<()> {
    let stock = &playing.stock;
    for member in 0..stock.members() {
        let path = stage::path(member, &stock.named(member, 0)?);
        let last = stock.change(member, 0).await;
        stage.until_found(&path, last.version).await?;
    }
    Ok(())
}

async fn restarted(stage: &mut Stage, playing: &Playing) -> Result<Restarted> {
    let stock = &playing.stock;
    let path = stage::path(0, &stock.named(0, 0)?);
    // Of before the loss: what is stored of a member is so in order.
    let known = stock.change(0, 0).await;
    stage.until_found(&path, known.version).await?;
    let lists = stock.asked.lists.load(Ordering::Relaxed);
    let churn = Churn::start(
        playing,
        Some(AROUND.max(stock.members())),
        Duration::from_secs(10),
    );
    stage.synchro.kill();
    let missed = stock.change(0, 0).await;
    let begun = Instant::now();
    let mut synchro = stage.synchro.clone();
    let (started, found) =
        tokio::join!(synchro.restart(), stage.until_found(&path, missed.version));
    started?;
    let found = found?;
    stage.synchro = synchro;
    churn.end().await;
    Ok(Restarted {
        found_seconds: (found - begun).as_secs_f64(),
        lists: stock.asked.lists.load(Ordering::Relaxed) - lists,
    })
}

impl From<Kind> for StoreKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::Sqlite,
            Kind::Postgres => Self::Postgres,
            Kind::Mysql => Self::Mariadb,
        }
    }
}
