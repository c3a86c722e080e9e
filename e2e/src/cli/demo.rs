//! `demo`: from nothing to rows of two members in kubectl, and then on until Ctrl-C.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::deploy;
use armadex_e2e::progress::{note, result};
use armadex_e2e::scenario;
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{ControlPlaneKind, Folder, Harness, Options, Tools, wait_for};
use tokio::signal::unix::{SignalKind, signal};

use super::readme;

const MEMBERS: usize = 2;
/// Enough for several pages of a terminal, little enough to be there at once.
const OBJECTS: usize = 400;
/// On-boarding follows a Ready member within seconds; the limit is for a busy machine.
const ROWS_LIMIT: Duration = Duration::from_secs(120);
/// How soon the kubeconfig follows a member that joined or left.
const FOLLOW: Duration = Duration::from_secs(2);
/// Rows that are shown of each member.
const SHOWN: usize = 6;

/// Runs the demo. Signals are taken in hand only when there is something to stop: a build ends by Ctrl-C as builds do.
pub(crate) async fn run(folder: &Folder, attach: Option<PathBuf>) -> Result<()> {
    Tools::ensure()?;
    build()?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let started = Instant::now();
    tokio::select! {
        outcome = show(folder, attach, started) => outcome,
        _ = interrupt.recv() => { stopped(); Ok(()) }
        _ = terminate.recv() => { stopped(); Ok(()) }
    }
}

/// What was under way is dropped by now, and with it the fleet.
fn stopped() {
    note("stopped: nothing of the demo runs any more");
}

async fn show(folder: &Folder, attach: Option<PathBuf>, started: Instant) -> Result<()> {
    let options = Options {
        members: MEMBERS,
        folder: Some(folder.root().to_owned()),
        attach_to: attach,
        ..Options::default()
    };
    let fleet = Harness::start(options).await?;
    let _armadex = on_board(&fleet).await?;
    readme::write(folder, fleet.tools(), fleet.control_plane().kind())?;
    let rows = wait_for("rows of every member", ROWS_LIMIT, || first_rows(&fleet)).await?;
    present(&fleet, &rows, started);
    follow(&fleet).await
}

/// Builds both programs of the demo in one go: with the same features, nothing is built twice.
fn build() -> Result<()> {
    if std::env::var_os("ARMADEX_BIN").is_some() {
        return Ok(());
    }
    note("building armadex");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("e2e lies in the workspace")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--profile",
            "demo",
            "--locked",
            "--package",
            "armadex",
            "--package",
            "armadex-e2e",
        ])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "armadex does not build");
    Ok(())
}

async fn on_board(fleet: &Harness) -> Result<Armadex> {
    note("installing the CRDs, starting armadex, applying the policy");
    let armadex = scenario::on_board_by(fleet, &deploy::policy()?, &[]).await?;
    if fleet.control_plane().kind() == ControlPlaneKind::Attached {
        return Ok(armadex);
    }
    note("joining the members and seeding them");
    for name in fleet.folder().members()? {
        fleet.join(&name).await?;
        let plan = Plan {
            count: OBJECTS,
            seed: 0,
        };
        seed::put(&fleet.member(&name)?, plan).await?;
    }
    Ok(armadex)
}

/// What kubectl prints once it prints pods of every member.
async fn first_rows(fleet: &Harness) -> Result<Option<String>> {
    armadex::write_kubeconfig(fleet).await?;
    let rows = fleet
        .fleet_kubectl("clusterpedia")
        .run(&["get", "pods", "--all-namespaces"])
        .await?;
    let members = fleet.folder().members()?;
    Ok(members
        .iter()
        .all(|name| rows_of(&rows, name).next().is_some())
        .then_some(rows))
}

/// The rows whose second column, the cluster, is `member`: kubectl puts the namespace before it when it lists all of them.
fn rows_of<'a>(rows: &'a str, member: &'a str) -> impl Iterator<Item = &'a str> {
    rows.lines()
        .filter(move |row| row.split_whitespace().nth(1) == Some(member))
}

fn present(fleet: &Harness, rows: &str, started: Instant) {
    let alias = readme::alias(fleet.folder(), fleet.tools());
    result(format_args!(
        "\n$ {alias}\n$ kf --context clusterpedia get pods -A"
    ));
    result(rows.lines().next().unwrap_or_default());
    for member in fleet.folder().members().unwrap_or_default() {
        rows_of(rows, &member).take(SHOWN).for_each(result);
        result(format_args!(
            "... {} rows of {member}",
            rows_of(rows, &member).count()
        ));
    }
    result(format_args!(
        "\n{:.0} s from start to rows; the control plane is {}.",
        started.elapsed().as_secs_f32(),
        fleet.control_plane().kind()
    ));
    result("Try, in another terminal:\n");
    let kind = fleet.control_plane().kind();
    result(readme::commands(fleet.folder(), fleet.tools(), kind));
    result("Ctrl-C stops everything.");
}

/// Keeps the fleet's kubeconfig in step with the members until the demo is stopped.
async fn follow(fleet: &Harness) -> Result<()> {
    let mut known = BTreeSet::new();
    loop {
        match pedia_clusters(fleet).await {
            Ok(names) if names != known => {
                note(format_args!(
                    "members in the fleet: {}",
                    names
                        .iter()
                        .map(String::as_str)
                        .collect::<Vec<_>>()
                        .join(", ")
                ));
                armadex::write_kubeconfig(fleet).await?;
                known = names;
            }
            Ok(_) => {}
            Err(error) => note(format_args!("cannot list the members: {error:#}")),
        }
        tokio::time::sleep(FOLLOW).await;
    }
}

async fn pedia_clusters(fleet: &Harness) -> Result<BTreeSet<String>> {
    let names = fleet
        .kubectl("host")
        .run(&["get", "pediaclusters", "--output", "name"])
        .await?;
    Ok(names
        .lines()
        .filter_map(|line| Some(line.rsplit_once('/')?.1.to_owned()))
        .collect())
}
