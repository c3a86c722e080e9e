//! Each program of the bench as it is run by hand, at the smallest size: it begins, ends, and its report can be read and tells of work that was done. How
//! long that took is nobody's business here.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use armadex_databases::{Engine, Server, Setup};
use armadex_e2e::Tools;
use serde_json::{Value, json};
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

/// What is at a path of the report, in which `*` is everything that is there.
fn at<'a>(report: &'a Value, path: &str) -> Vec<&'a Value> {
    path.split('/').fold(vec![report], |found, part| {
        let within = found.into_iter().map(|value| match (value, part) {
            (Value::Array(all), "*") => all.iter().collect(),
            (Value::Object(all), "*") => all.values().collect(),
            _ => Vec::from_iter(value.pointer(&format!("/{part}"))),
        });
        within.flatten().collect()
    })
}

/// There are numbers at each of these paths, and this is true of all of them.
fn each(report: &Value, paths: &[&str], holds: fn(f64) -> bool) -> Result<()> {
    for path in paths {
        let found = at(report, path);
        let all_hold = found
            .iter()
            .all(|number| number.as_f64().is_some_and(holds));
        ensure!(!found.is_empty() && all_hold, "{path} of {report}");
    }
    Ok(())
}

fn is_zero(number: f64) -> bool {
    number == 0.0
}

fn is_more(number: f64) -> bool {
    number > 0.0
}

#[tokio::test]
async fn the_store_is_measured() -> Result<()> {
    the_store_is_measured_on("sqlite").await
}

#[tokio::test]
async fn the_store_is_measured_on_postgresql() -> Result<()> {
    if !there_is(Engine::Postgres)? {
        return Ok(());
    }
    the_store_is_measured_on("postgres").await
}

#[tokio::test]
async fn the_store_is_measured_on_mariadb() -> Result<()> {
    if !there_is(Engine::Mysql)? {
        return Ok(());
    }
    the_store_is_measured_on("mysql").await
}

/// Whether a server can be started here, as the bench does for itself whichever is named. If not, it is said that the test was not run.
fn there_is(engine: Engine) -> Result<bool> {
    Ok(Server::for_test(engine, &Setup::default())?.is_some())
}

async fn the_store_is_measured_on(store: &str) -> Result<()> {
    let report = report(&format!("store --store {store} --count 200 --report-only")).await?;
    ensure!(report[0]["store"] == store, "{report}");
    ensure!(report[0]["pods"] == 200, "{report}");
    ensure!(at(&report, "0/written/*").len() == 3, "{report}");
    let rates = [
        "0/pruned/per_second",
        "0/written/*/per_second",
        "0/list/per_second",
    ];
    each(&report, &rates, is_more)?;
    each(&report, &["0/fresh_bytes", "0/disk_bytes"], is_more)?;
    let rows = |name: &str| {
        let pages = at(&report, "0/pages/*");
        let page = pages.into_iter().find(|page| page["query"] == name);
        page.map(|page| page["rows"][0].clone())
    };
    let (all, none) = ("label that all have", "label without a match");
    let few = "label that 100 have";
    ensure!(rows(all) == Some(200.into()), "{all}: {report}");
    ensure!(rows(few) == Some(100.into()), "{few}: {report}");
    ensure!(rows(none) == Some(0.into()), "{none}: {report}");
    Ok(())
}

#[tokio::test]
async fn the_catalogue_is_measured() -> Result<()> {
    let report = report("catalogue --clusters 8 --kinds 8 --sets 1,4 --changes 2").await?;
    let sets = [0, 1].map(|number| report[number]["sets"].as_u64());
    ensure!(sets == [Some(1), Some(4)], "{report}");
    let measured = ["*/first_reading_milliseconds", "*/*/p50_milliseconds"];
    each(&report, &measured, is_more)?;
    ensure!(at(&report, measured[1]).len() == 2 * 5, "{report}");
    Ok(())
}

#[tokio::test]
async fn events_are_measured() -> Result<()> {
    let report = report("events --clusters 2 --count 40 --rounds 2 --expire 5").await?;
    let entries = [0, 1, 2, 3].map(|number| report[number]["entries"].as_u64());
    ensure!(entries[0] > entries[1], "{report}");
    ensure!(entries[..2] == entries[2..], "{report}");
    let work = ["*/first_write/written_bytes", "*/churn/written_bytes"];
    each(&report, &work, is_more)?;
    each(
        &report,
        &["*/searches/*/rows", "*/searches/*/looked_at"],
        is_more,
    )
}

#[tokio::test]
async fn the_footprint_is_measured() -> Result<()> {
    let report = report("footprint --count 100").await?;
    let objects = report["objects"].as_u64();
    ensure!(objects >= Some(200), "{report}");
    let work = ["list_pods", "list_bytes", "store_bytes_per_object"];
    each(&report, &work, is_more)?;
    each(&report, &["restart_lists"], is_zero)
}

#[tokio::test]
async fn a_fleet_that_comes_and_goes_is_measured() -> Result<()> {
    let least = "fleet --clusters 2 --objects 20 --settle 0 --idle 1 --report-only";
    let report = report(least).await?;
    ensure!(report["clusters"] == 2, "{report}");
    ensure!(
        report["objects_per_cluster"].as_u64() >= Some(20),
        "{report}"
    );
    each(&report, &["purge_wall_seconds"], is_more)?;
    // What is asked of the member, among others.
    each(
        &report,
        &["requests_per_cluster/member: LIST pods"],
        is_more,
    )?;
    for searches in ["searches_on_boarding", "searches_purging"] {
        each(&report, &[&format!("{searches}/failures")], is_zero)?;
        let answered = format!("{searches}/queries/*/count");
        each(&report, &[&answered], is_more)?;
        ensure!(at(&report, &answered).len() == 3, "{report}");
    }
    Ok(())
}

#[tokio::test]
async fn a_first_sync_is_measured() -> Result<()> {
    let report = report("sync --members 2 --count 100 --report-only").await?;
    ensure!(report[0]["store"] == "sqlite", "{report}");
    ensure!(report[0]["pods"] == 200, "{report}");
    let work = ["0/sync/requests", "0/sync/written", "0/sync_peak_mib"];
    each(&report, &work, is_more)
}

#[tokio::test]
async fn changes_are_measured() -> Result<()> {
    let report =
        report("churn --members 2 --count 100 --rate 100 --seconds 2 --report-only").await?;
    let changes = &report[0]["changes"];
    let work = [
        "freshness/count",
        "freshness/p50",
        "at_rate",
        "most",
        "peak_mib",
    ];
    each(changes, &work, is_more)
}

#[tokio::test]
async fn a_restart_is_measured() -> Result<()> {
    let report = report("restart --members 2 --count 100 --report-only").await?;
    let restarted = &report[0]["restarted"];
    each(restarted, &["found_seconds"], is_more)?;
    each(restarted, &["lists"], is_zero)
}

/// Members of whom each kind of trouble is there: of every forty at least one.
const MEMBERS_OF_ALL_KINDS: u32 = 40;

#[tokio::test]
async fn members_in_trouble_are_measured() -> Result<()> {
    let least = format!(
        "member --clusters {MEMBERS_OF_ALL_KINDS} --kinds 2 --objects 4 --settle 0 --window 5 --report-only"
    );
    let report = report(&least).await?;
    let plan = &report["plan"];
    each(plan, &["streams", "lists", "rows", "members/*"], is_more)?;
    ensure!(at(plan, "members/*").len() == 5, "roles: {plan}");
    members_are_let_be(&report)?;
    ensure!(report["live_at_the_end"] == plan["streams"], "{report}");
    for lists in ["lists_begun", "lists_ended"] {
        ensure!(report[lists] == plan["lists"], "{lists}: {report}");
    }
    each(&report, &["lists_expired", "not_understood"], is_zero)?;
    let changes = &report["changes"];
    each(changes, &["0"], is_more)?;
    ensure!(changes[0] == changes[1], "changes: {report}");
    Ok(())
}

/// What no machine changes, however slow it is and however short the windows are: without pauses between tries each of these would be many times as much.
fn members_are_let_be(report: &Value) -> Result<()> {
    /// What a member of two kinds is asked in a second. One that refuses its watches is asked most, and most while it is new: 3 requests, and soon half of that.
    const REQUESTS: f64 = 4.0;
    /// Of a member: that of its watches, that of its lists, which is closed later, and one that is being made.
    const SOCKETS: u32 = 3;
    /// The control plane's, the store's, those of the API and of the admin port.
    const OTHER_SOCKETS: u32 = 40;
    /// Of each member in trouble, over all of its time: two say that a kind is forbidden, twice each, and whoever is silent is told of once.
    const WARNINGS: f64 = 4.0;
    /// Of each member in trouble while nothing happens: one that is seldom, and what a slow disk makes the store say.
    const LINES: f64 = 3.0;
    let number = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
    let sum = |path: &str| {
        let found = at(report, path);
        ensure!(!found.is_empty(), "no {path} in {report}");
        Ok(found.into_iter().map(number).sum::<f64>())
    };
    let seconds = sum("quiet/seconds")?;
    let members = report["plan"]["members"].as_object();
    for (role, members) in members.context("roles")? {
        let asked = sum(&format!("quiet/requests/{role}/*"))?;
        let most = REQUESTS * seconds * number(members);
        ensure!(
            asked <= most,
            "{role}: {asked} requests instead of {most} in {report}"
        );
    }
    let most = f64::from(OTHER_SOCKETS + SOCKETS * MEMBERS_OF_ALL_KINDS);
    ensure!(sum("sockets")? <= most, "sockets: {report}");
    let in_trouble = sum("plan/members/*")? - sum("plan/members/healthy")?;
    ensure!(
        sum("warnings/*")? <= WARNINGS * in_trouble,
        "warnings: {report}"
    );
    let lines = sum("quiet/log_lines")?;
    ensure!(
        lines <= LINES * in_trouble,
        "{lines} lines while nothing happens: {report}"
    );
    Ok(())
}

/// Each attacker by itself would take longer; together they take a round.
#[tokio::test]
async fn a_hostile_round_is_measured() -> Result<()> {
    let report = report("hostile --count 100 --seconds 3 --rounds 1 --report-only").await?;
    let rounds = report.as_array().context("rounds")?;
    ensure!(rounds.len() == 2, "{report}");
    for round in rounds {
        ensure!(round["errors"] == json!([]), "errors of {round}");
    }
    ensure!(at(&report, "0/ordinary/*").len() == 3, "{report}");
    each(&report, &["0/ordinary/*/failed"], is_zero)?;
    each(&report, &["0/ordinary/*/milliseconds/*"], is_more)?;
    for left in at(&report, "*/calm/returned") {
        ensure!(left == true, "left behind: {report}");
    }
    let attackers = at(&report, "1/attackers/*");
    ensure!(attackers.len() > 5, "{report}");
    for attacker in attackers {
        ensure!(was_met(attacker), "{attacker}");
    }
    Ok(())
}

/// Whether the server met an attacker as far as it can have within such a round. Those who take room come two seconds later than the others, and on a busy
/// machine nobody has let them in by the end: that they tried is theirs. Of a connection with stalled streams nothing is heard before its end, which
/// comes later than that of the round.
fn was_met(attacker: &Value) -> bool {
    let proofs: &[&str] = match attacker["attack"].as_str() {
        Some("silent-sockets" | "half-open-handshakes" | "unfinished-heads") => {
            &["tried", "connected"]
        }
        Some("stalled-streams") => &["connected"],
        Some("deep-chains") => &["answered 401", "shown out"],
        Some("many-clauses" | "huge-offsets" | "large-ties") => &["answered 200", "answered 400"],
        _ => &["answered 200"],
    };
    let seen = attacker["seen"].as_object();
    seen.is_some_and(|seen| {
        let could_not = seen.keys().any(|deed| deed.starts_with("could not"));
        !could_not && proofs.iter().any(|proof| seen.contains_key(*proof))
    })
}
