//! The demo as people run it: from nothing to rows, a member that joins and leaves, and an end by Ctrl-C whenever that comes.

use std::fs::File;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::scenario::SOON;
use armadex_e2e::{Folder, Kubectl, Record, Tools, armadex, log, seats, wait_until};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// From nothing to rows: two control planes start on what may be a busy machine.
const ROWS: Duration = Duration::from_secs(180);
/// Armadex has 15 s to close its store, and the rest is ended at once.
const END: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_runs_from_nothing_to_ctrl_c_whenever_that_comes() -> Result<()> {
    // The demo is another program, whose own seats are free.
    let _seat = seats::take().await?;
    let place = tempfile::tempdir()?;
    for (process, signal) in [
        ("etcd", Signal::INT),
        ("member1-apiserver", Signal::TERM),
        ("armadex-all", Signal::INT),
    ] {
        ends_in_peace_while_it_starts(place.path(), process, signal).await?;
    }
    nothing_is_left_of_one_that_is_killed(place.path()).await?;
    members_join_and_leave(place.path()).await
}

/// A demo in a folder of its own.
pub(crate) struct Demo {
    folder: Folder,
    child: Child,
}

impl Demo {
    fn start(place: &Path) -> Result<Self> {
        Self::start_with(place, &[])
    }

    /// One of clusters that run already.
    pub(crate) fn attach(place: &Path, clusters: &Path) -> Result<Self> {
        let clusters = clusters.to_str().context("a path that is text")?;
        Self::start_with(place, &["--attach", clusters])
    }

    fn start_with(place: &Path, arguments: &[&str]) -> Result<Self> {
        let folder = Folder::new(place.join("demo"))?;
        let said = File::create(place.join("said"))?;
        let child = command(&folder, &[&["demo"], arguments].concat())?
            .process_group(0)
            .stdout(said.try_clone()?)
            .stderr(said)
            .spawn()?;
        Ok(Self { folder, child })
    }

    fn said(&self) -> Result<String> {
        let place = self.folder.root().parent().context("it has a parent")?;
        Ok(std::fs::read_to_string(place.join("said"))?)
    }

    /// Waits until a process of the fleet runs.
    async fn runs(&self, process: &str) -> Result<()> {
        let run = self.folder.run();
        wait_until(&format!("{process} is started"), ROWS, || async {
            Ok(Record::find(&run, process).is_some_and(|record| record.is_alive()))
        })
        .await
        .with_context(|| self.said().unwrap_or_default())
    }

    /// Waits until it shows rows; all that it said until then.
    pub(crate) async fn shows_rows(&self) -> Result<String> {
        wait_until("the demo shows rows", ROWS, || async {
            Ok(self.said()?.contains("Ctrl-C stops everything."))
        })
        .await
        .with_context(|| self.said().unwrap_or_default())?;
        self.said()
    }

    /// To all of its group, as a terminal does.
    async fn signal(&mut self, signal: Signal) -> Result<ExitStatus> {
        let pid = self.child.id().context("the demo has ended")?;
        let pid = Pid::from_raw(i32::try_from(pid)?).context("a process id")?;
        kill_process_group(pid, signal)?;
        let ended = timeout(END, self.child.wait()).await;
        Ok(ended.with_context(|| format!("{signal:?} does not end the demo"))??)
    }

    /// Ends it as Ctrl-C does.
    pub(crate) async fn stop(mut self, signal: Signal) -> Result<()> {
        let records = self.fleet();
        let status = self.signal(signal).await?;
        let said = self.said()?;
        ensure!(status.success(), "{status} after {signal:?}: {said}");
        ensure!(
            said.contains("stopped: nothing of the demo runs any more"),
            "{said}"
        );
        let left: Vec<_> = records.iter().filter(|record| record.is_alive()).collect();
        ensure!(left.is_empty(), "still running: {left:?}");
        // And what was started after the signal came, or is in nobody's records.
        let left = processes_that_name(self.folder.root())?;
        ensure!(left.is_empty(), "still running: {left:#?}");
        Ok(())
    }

    fn fleet(&self) -> Vec<Record> {
        Record::all(&self.folder.run())
    }
}

/// The command lines of this machine in which there is a path.
fn processes_that_name(path: &Path) -> Result<Vec<String>> {
    let (mut found, path) = (Vec::new(), path.display().to_string());
    for entry in std::fs::read_dir("/proc")? {
        // Of what ended meanwhile, and of what is no process, there is nothing to read.
        let line = std::fs::read(entry?.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&path) {
            found.push(line);
        }
    }
    Ok(found)
}

fn command(folder: &Folder, arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_armadex-e2e"));
    command
        .arg("--folder")
        .arg(folder.root())
        .args(arguments)
        .env("ARMADEX_BIN", armadex::binary()?)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    Ok(command)
}

/// Another terminal's command; gives whether it went well and what it said.
async fn tell(folder: &Folder, arguments: &[&str]) -> Result<(bool, String)> {
    let output = timeout(ROWS, command(folder, arguments)?.output()).await;
    let output = output.with_context(|| format!("{arguments:?} does not end"))??;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok((output.status.success(), said))
}

async fn ends_in_peace_while_it_starts(place: &Path, process: &str, signal: Signal) -> Result<()> {
    let demo = Demo::start(place)?;
    demo.runs(process).await?;
    demo.stop(signal).await
}

/// Nobody can be asked to tidy up by then but the guard.
async fn nothing_is_left_of_one_that_is_killed(place: &Path) -> Result<()> {
    let mut demo = Demo::start(place)?;
    demo.runs("host-apiserver").await?;
    let records = demo.fleet();
    let status = demo.signal(Signal::KILL).await?;
    ensure!(
        !status.success() && records.len() > 1,
        "{status}: {records:?}"
    );
    wait_until("the guard ends the rest", SOON, || async {
        let left: Vec<_> = records.iter().filter(|record| record.is_alive()).collect();
        ensure!(left.is_empty(), "still running: {left:?}");
        Ok(true)
    })
    .await
}

async fn members_join_and_leave(place: &Path) -> Result<()> {
    let demo = Demo::start(place)?;
    let folder = demo.folder.clone();
    let said = demo.shows_rows().await?;
    for words in [
        "rows of member1",
        "rows of member2",
        "$ alias kf='",
        "$ kf --context clusterpedia get pods -A",
        "s from start to rows",
    ] {
        ensure!(said.contains(words), "no {words:?} in {said}");
    }
    let (went_well, said) = tell(&folder, &["demo"]).await?;
    ensure!(!went_well && said.contains("a fleet runs in"), "{said}");
    for command in [
        &["join", "member3"][..],
        &["seed", "--count", "100", "--member", "member3"],
    ] {
        let (went_well, said) = tell(&folder, command).await?;
        ensure!(went_well, "{command:?}: {said}");
    }
    shows(&folder, "member3", true).await?;
    let (went_well, said) = tell(&folder, &["unjoin", "member3"]).await?;
    ensure!(went_well, "{said}");
    shows(&folder, "member3", false).await?;
    demo.stop(Signal::INT).await?;
    log::check(&folder, "armadex-all")
}

/// Waits until a member has rows in the fleet and a context of its own, or neither.
async fn shows(folder: &Folder, member: &str, expected: bool) -> Result<()> {
    let (tools, path) = (Tools::ensure()?, folder.fleet_kubeconfig());
    let fleet = Kubectl::new(&tools.kubectl, &path, "clusterpedia");
    wait_until(&format!("{member} is shown: {expected}"), SOON, || async {
        let pods = fleet.run(&["get", "pods", "--all-namespaces"]).await?;
        let contexts = fleet
            .run(&["config", "get-contexts", "--output=name"])
            .await?;
        let is_a_row = |row: &str| row.split_whitespace().nth(1) == Some(member);
        let rows = pods.lines().filter(|row| is_a_row(row)).count();
        let has_context = contexts.lines().any(|context| context == member);
        ensure!(
            (rows > 0, has_context) == (expected, expected),
            "{rows} rows; contexts {contexts}"
        );
        Ok(true)
    })
    .await
}
