//! Each program of the bench as it is run by hand, at the smallest size: it begins, ends, and its report can be read. What the figures are is nobody's
//! business here.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use armadex_e2e::Tools;
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// Far above what any of them needs.
const LIMIT: Duration = Duration::from_secs(300);

/// Each is a process that chooses ports without the others.
static TURN: Mutex<()> = Mutex::const_new(());

/// What a program prints when it is asked for JSON; what it says meanwhile goes where this program's own words go.
async fn report(arguments: &str) -> Result<Value> {
    let _turn = TURN.lock().await;
    // Built once, which takes longer than any measurement.
    Tools::ensure()?;
    let output = Command::new(env!("CARGO_BIN_EXE_armadex-bench"))
        .args(arguments.split(' '))
        .arg("--json")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output();
    let output = timeout(LIMIT, output).await;
    let output = output.with_context(|| format!("{arguments:?} does not end"))??;
    let status = output.status;
    ensure!(status.success(), "{arguments:?}: {status}, see above");
    serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?}: no JSON"))
}

#[tokio::test]
async fn the_store_is_measured() -> Result<()> {
    let report = report("store --count 200 --report-only").await?;
    ensure!(report[0]["pods"] == 200, "{report}");
    let pages = report[0]["pages"].as_array();
    ensure!(pages.is_some_and(|pages| !pages.is_empty()), "{report}");
    Ok(())
}

#[tokio::test]
async fn the_catalogue_is_measured() -> Result<()> {
    let report = report("catalogue --clusters 8 --kinds 8 --sets 1,4 --changes 2").await?;
    let sets = [0, 1].map(|number| report[number]["sets"].as_u64());
    ensure!(sets == [Some(1), Some(4)], "{report}");
    Ok(())
}

#[tokio::test]
async fn events_are_measured() -> Result<()> {
    let report = report("events --clusters 2 --count 40 --rounds 2 --expire 5").await?;
    let entries = [0, 1, 2, 3].map(|number| report[number]["entries"].as_u64());
    ensure!(entries[0] > entries[1], "{report}");
    ensure!(entries[..2] == entries[2..], "{report}");
    Ok(())
}

#[tokio::test]
async fn the_footprint_is_measured() -> Result<()> {
    let report = report("footprint --count 100").await?;
    let objects = report["objects"].as_u64();
    ensure!(objects >= Some(200), "{report}");
    ensure!(report["list_pods"].as_u64() > Some(0), "{report}");
    Ok(())
}

#[tokio::test]
async fn a_fleet_that_comes_and_goes_is_measured() -> Result<()> {
    let least = "fleet --clusters 2 --objects 20 --settle 0 --idle 1 --report-only";
    let report = report(least).await?;
    ensure!(report["clusters"] == 2, "{report}");
    ensure!(
        report["purge_wall_seconds"].as_f64() > Some(0.0),
        "{report}"
    );
    Ok(())
}

/// With one of each kind of trouble but silence.
#[tokio::test]
async fn members_in_trouble_are_measured() -> Result<()> {
    let least = "member --clusters 20 --kinds 2 --objects 4 --settle 0 --window 1 --report-only";
    let report = report(least).await?;
    let streams = &report["plan"]["streams"];
    ensure!(streams.as_u64() > Some(0), "{report}");
    ensure!(report["live_at_the_end"] == *streams, "{report}");
    Ok(())
}

/// Each attacker by itself would take longer; together they take a round.
#[tokio::test]
async fn a_hostile_round_is_measured() -> Result<()> {
    let report = report("hostile --count 100 --seconds 3 --rounds 1 --report-only").await?;
    let rounds = report.as_array().context("rounds")?;
    ensure!(rounds.len() == 2, "{report}");
    let attackers = rounds[1]["attackers"].as_array();
    ensure!(attackers.is_some_and(|all| all.len() > 5), "{report}");
    Ok(())
}
