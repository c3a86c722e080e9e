//! Starting programs so that none is left behind.
//!
//! Every program gets a process group of its own (Ctrl-C of the terminal reaches only its owner, which stops things in
//! order), a log file and a [`Record`]. A [`Guard`] ends what is still recorded when its owner dies without a word.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::folder::Folder;
use crate::record::Record;

/// Runs a program that finds names in a file in the place of `/etc/hosts`.
const WITH_NAMES: [&str; 6] = [
    "--mount",
    "--propagation=private",
    "sh",
    "-euc",
    r#"mount --bind "$1" /etc/hosts; shift; exec "$@""#,
    "sh",
];

/// What to start.
#[derive(Debug, Clone)]
pub struct Program {
    /// The name of the process: that of its record and of its log file.
    pub name: String,
    /// The file to execute.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables added to the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether it has nothing else in its environment, as what runs in an image.
    pub is_alone: bool,
}

/// How a program ended, once it has.
pub type Exit = JoinHandle<std::io::Result<ExitStatus>>;

impl Program {
    /// A program without additions to its environment.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>, arguments: Vec<String>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            arguments,
            environment: Vec::new(),
            is_alone: false,
        }
    }

    /// The same that finds names in this file, if one is given, in the place of `/etc/hosts`: it can only run as root then.
    #[must_use]
    pub fn finding(self, names: Option<&Path>) -> Self {
        let Some(names) = names else {
            return self;
        };
        let own = [names, &self.path].map(|path| path.display().to_string());
        let words = WITH_NAMES.iter().map(|&word| word.to_owned());
        Self {
            arguments: words.chain(own).chain(self.arguments).collect(),
            path: "unshare".into(),
            ..self
        }
    }

    /// Starts it, recorded in `folder`; it lives until it is stopped through its record.
    pub fn start(&self, folder: &Folder) -> Result<Record> {
        Ok(self.start_followed(folder)?.0)
    }

    /// The same for whoever wants to know how it ends.
    pub fn start_followed(&self, folder: &Folder) -> Result<(Record, Exit)> {
        let log = open_log(&folder.log(&self.name))?;
        let mut command = in_own_group(&self.path);
        if self.is_alone {
            command.env_clear();
        }
        let child = command
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .current_dir(folder.root())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        let pid = i32::try_from(child.id()).context("process ids are positive i32")?;
        // Before it is waited for: one that has ended is there until then.
        let record = Record::write(&folder.run(), &self.name, pid);
        let exit = reap(child);
        let record = record.with_context(|| last_words(folder, &self.name))?;
        Ok((record, exit))
    }
}

/// The end of a process' log, for an error that is read without the folder at hand.
#[must_use]
pub fn last_words(folder: &Folder, process: &str) -> String {
    const LINES: usize = 15;
    let path = folder.log(process);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(LINES)..].join("\n");
    format!("the last lines of {}:\n{tail}", path.display())
}

fn open_log(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn in_own_group(path: &Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(path);
    command.process_group(0);
    command
}

/// Waits for a child on a thread of its own, so that no zombie stays. The thread ends with the child.
fn reap(mut child: Child) -> Exit {
    std::thread::spawn(move || child.wait())
}

/// Ends everything recorded in a folder when its owner is gone, be it by panic, abort or SIGKILL.
///
/// It is a shell that reads from a pipe which only the owner holds: the kernel closes the pipe with the owner. The parent
/// death signal is no help here, since it is tied to the thread that started the child.
#[derive(Debug)]
pub struct Guard {
    shell: Child,
}

/// Reads until the pipe closes, then kills each recorded process but the owner (who may have let go of the pipe to end in peace) whose
/// start time is still the recorded one (field 22 of its stat line; the programs' names hold no spaces).
const GUARD: &str = r#"
cat >/dev/null
for record in "$1"/*; do
    [ -f "$record" ] || continue
    read -r pid started < "$record"
    [ "$pid" = "$2" ] && continue
    set -- "$1" "$2" $(cat "/proc/$pid/stat" 2>/dev/null)
    [ "${24}" = "$started" ] && kill -KILL "$pid"
    set -- "$1" "$2"
done
"#;

impl Guard {
    /// Watches over `folder` until dropped.
    pub fn start(folder: &Folder) -> Result<Self> {
        Self::start_for(folder, std::process::id())
    }

    fn start_for(folder: &Folder, owner: u32) -> Result<Self> {
        let shell = in_own_group(Path::new("/bin/sh"))
            .arg("-c")
            .arg(GUARD)
            .arg("guard")
            .arg(folder.run())
            .arg(owner.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start /bin/sh")?;
        Ok(Self { shell })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The shell ends by itself within moments; a failure to wait leaves nothing to do.
        let _ = self.shell.wait();
    }
}

/// Stops everything recorded in `folder` but this process: Armadex first and in peace, so that its store is closed; then
/// the control planes, whose data go with them, at once.
pub fn stop_all(folder: &Folder) {
    const GRACE: Duration = Duration::from_secs(15);
    const KILLED: Duration = Duration::from_secs(10);
    let own = i64::from(std::process::id());
    let (own, others): (Vec<_>, Vec<_>) = Record::all(&folder.run())
        .into_iter()
        .partition(|record| i64::from(record.pid) == own);
    // Or the guard would take it for something that was left.
    own.iter().for_each(Record::forget);
    let (ours, theirs): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|record| record.name.starts_with("armadex"));
    ours.iter().for_each(Record::start_stop);
    ours.iter().for_each(|record| record.stop(GRACE));
    theirs.iter().for_each(Record::start_kill);
    for record in theirs {
        // SIGKILL is not refused; a process in the kernel's hands for this long is left to it.
        let _ = record.wait_until_gone(KILLED);
        record.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(folder: &Folder) -> Record {
        Program::new("sleeper", "/bin/sleep", vec!["600".to_owned()])
            .start(folder)
            .unwrap()
    }

    fn folder() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path()).unwrap();
        folder.create().unwrap();
        (root, folder)
    }

    #[test]
    fn everything_recorded_is_stopped_and_forgotten() {
        let (_root, folder) = folder();
        let record = sleeper(&folder);
        assert!(record.is_alive());
        stop_all(&folder);
        assert!(!record.is_alive());
        assert_eq!(Record::all(&folder.run()), []);
    }

    #[test]
    fn the_guard_ends_what_its_owner_left() {
        let (_root, folder) = folder();
        let guard = Guard::start(&folder).unwrap();
        let record = sleeper(&folder);
        drop(guard);
        assert!(record.wait_until_gone(Duration::from_secs(5)));
    }

    #[test]
    fn the_guard_leaves_its_owner_alone() {
        let (_root, folder) = folder();
        let owner = sleeper(&folder);
        let left = Program::new("left", "/bin/sleep", vec!["600".to_owned()]);
        let left = left.start(&folder).unwrap();
        let owner_pid = u32::try_from(owner.pid).unwrap();
        drop(Guard::start_for(&folder, owner_pid).unwrap());
        assert!(left.wait_until_gone(Duration::from_secs(5)));
        assert!(owner.is_alive());
        owner.kill();
    }

    #[test]
    fn a_program_that_cannot_run_is_an_error_that_names_it() {
        let (_root, folder) = folder();
        let error = Program::new("none", "/no/such/program", Vec::new())
            .start(&folder)
            .unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/program"));
    }
}
