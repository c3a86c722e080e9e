//! The process that keeps a server: a shell that takes orders, and ends the server and removes its folder when this process is gone.
//!
//! The parent death signal would be no help, since it is tied to the thread that started the child.

use std::fs::{OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::engine::Engine;
use crate::programs::{User, as_root, own_user};

const SHELL: &str = "/bin/sh";

/// A shell that keeps one server.
#[derive(Debug)]
pub(crate) struct Keeper {
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    user: Option<User>,
}

impl Keeper {
    /// Starts the shell, which makes a folder that `user` can read, with `data` and `tmp` in it that `user` has.
    pub(crate) fn start(engine: Engine, user: Option<&User>) -> Result<Self> {
        Self::start_in(Command::new(SHELL), engine, user, "")
    }

    /// The same with a shell that root runs, whoever this is: for a server with a disk, which root alone can mount. Where this process is no root, it is the user's own, and writes
    /// the files of the server by itself.
    pub(crate) fn start_as_root(engine: Engine, user: &User) -> Result<Self> {
        let is_own = own_user()?.id == user.id;
        let owner = if is_own { &user.id } else { "" };
        Self::start_in(as_root(SHELL)?, engine, Some(user), owner)
    }

    fn start_in(
        mut shell: Command,
        engine: Engine,
        user: Option<&User>,
        owner: &str,
    ) -> Result<Self> {
        let (stop, crash) = engine.signals();
        // A process group of its own: Ctrl-C of a terminal reaches only its owner.
        let mut shell = shell
            .process_group(0)
            .args(["-c", include_str!("keeper.sh"), "keeper"])
            .args([user.map_or("", |user| &user.id), stop, crash])
            .arg(user.map_or("", |user| &user.group))
            .arg(owner)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {SHELL}"))?;
        let orders = shell.stdin.take();
        let answers = shell.stdout.take().context("a pipe was asked for")?;
        let mut keeper = Self {
            shell,
            orders,
            answers: BufReader::new(answers),
            folder: PathBuf::new(),
            user: user.cloned(),
        };
        keeper.folder = keeper.answer().context("no folder for a server")?.into();
        Ok(keeper)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file that the server can read and nobody else: what this process runs for it is no file that the server could have changed.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        let written = || -> Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(content)?;
            if let Some(user) = &self.user {
                chown(&path, None, Some(user.group.parse()?))?;
                file.set_permissions(Permissions::from_mode(0o640))?;
            }
            Ok(())
        };
        written().with_context(|| format!("cannot write {name} of a server"))
    }

    /// The end of what the server wrote, for an error that is read without the folder at hand.
    pub(crate) fn last_words(&self) -> String {
        const LINES: usize = 30;
        let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// Gives an order, and an error with the server's log if it cannot be carried out.
    pub(crate) fn order(&mut self, order: &str) -> Result<()> {
        let orders = self.orders.as_mut().context("the keeper has ended")?;
        writeln!(orders, "{order}").context("the server's keeper takes no orders")?;
        let answer = self.answer()?;
        if answer != "done" {
            bail!(
                "{order}: {answer}; the server's log:\n{}",
                self.last_words()
            );
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line)?;
        if read == 0 {
            bail!("the server's keeper is gone");
        }
        Ok(line.trim_end().to_owned())
    }
}

/// Waits until the server has ended and its folder is gone.
impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        // The shell ends by itself within its own limit; a failure to wait leaves nothing to do.
        let _ = self.shell.wait();
    }
}
