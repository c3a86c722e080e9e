//! A running process as a file, so that any terminal can stop exactly it.
//!
//! A record holds the process id and the kernel's start time of the process: an id that was handed out again is never
//! signalled. Takes a folder of records; gives records, whether they live, and the means to end them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// How often a dying process is looked at.
const POLL: Duration = Duration::from_millis(20);

/// One process that was started in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The name of the process: that of its log file.
    pub name: String,
    /// Its process id.
    pub pid: i32,
    started: u64,
    file: PathBuf,
}

/// What memory a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Now.
    pub now_kib: u64,
    /// The most that it ever held.
    pub most_kib: u64,
}

impl Record {
    /// Records the running process `pid` below `run`.
    pub fn write(run: &Path, name: &str, pid: i32) -> Result<Self> {
        let stat =
            Stat::read(pid).with_context(|| format!("{name} (process {pid}) ended at once"))?;
        let record = Self {
            name: name.to_owned(),
            pid,
            started: stat.started,
            file: run.join(name),
        };
        std::fs::write(&record.file, format!("{pid} {}\n", stat.started))
            .with_context(|| format!("cannot write {}", record.file.display()))?;
        Ok(record)
    }

    /// All records below `run`; a file that is none is left out.
    #[must_use]
    pub fn all(run: &Path) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir(run) else {
            return Vec::new();
        };
        let mut records: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Self::read(&entry.path()))
            .collect();
        records.sort_by(|a, b| a.name.cmp(&b.name));
        records
    }

    /// The record of the process called `name`, if one was written.
    #[must_use]
    pub fn find(run: &Path, name: &str) -> Option<Self> {
        Self::read(&run.join(name))
    }

    fn read(file: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(file).ok()?;
        let (pid, started) = text.trim().split_once(' ')?;
        let name = file.file_name()?.to_str()?.to_owned();
        Some(Self {
            name,
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
            file: file.to_owned(),
        })
    }

    /// Whether this very process runs; a zombie does not, once its last thread is gone: until then it holds its ports.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.started == self.started && stat.runs())
    }

    /// The most memory that the process ever held, in KiB, while it lives.
    #[must_use]
    pub fn peak_rss_kib(&self) -> Option<u64> {
        self.kib("VmHWM:")
    }

    /// The memory that the process holds, while it lives.
    pub fn memory(&self) -> Result<Memory> {
        let kib = |line| {
            let found = self.kib(line);
            found.with_context(|| format!("{} has ended", self.name))
        };
        Ok(Memory {
            now_kib: kib("VmRSS:")?,
            most_kib: kib("VmHWM:")?,
        })
    }

    fn kib(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Asks the process to end, waits for `grace`, then ends it.
    pub fn stop(&self, grace: Duration) {
        self.signal(Signal::TERM);
        if !self.wait_until_gone(grace) {
            self.kill();
        }
        self.forget();
    }

    /// Ends the process at once, as a crash would, and waits until it is gone.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
        // SIGKILL cannot be refused; the wait is for the kernel to take the memory back.
        let _ = self.wait_until_gone(Duration::from_secs(10));
        self.forget();
    }

    /// Sends SIGKILL without waiting.
    pub fn start_kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Sends SIGTERM without waiting.
    pub fn start_stop(&self) {
        self.signal(Signal::TERM);
    }

    /// Has the process stand still: what it holds open stays open, and nobody is answered.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Waits until the process is gone; false if it still runs after `limit`.
    #[must_use]
    pub fn wait_until_gone(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while self.is_alive() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(POLL);
        }
        true
    }

    /// Removes the file of the record.
    pub fn forget(&self) {
        // Gone already is as good.
        let _ = std::fs::remove_file(&self.file);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // The only failure left is that it ended in between.
            let _ = kill_process(pid, signal);
        }
    }
}

/// The fields of `/proc/<pid>/stat` that matter here.
struct Stat {
    state: char,
    threads: u32,
    started: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field, the command in brackets, may hold anything: what follows its last bracket is plain.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        // The state is field 3 of the line, the threads are field 20 and the start time is field 22.
        let threads = fields.nth(16)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        Some(Self {
            state,
            threads,
            started,
        })
    }

    /// The first thread of a process that ends may be gone before the others.
    fn runs(&self) -> bool {
        self.state != 'Z' || self.threads > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_brackets_and_spaces_is_parsed() {
        let line =
            "42 (odd) name (x)) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 987654 11 12";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.state, stat.threads, stat.started), ('S', 9, 987_654));
    }

    #[test]
    fn a_zombie_whose_threads_are_not_all_gone_still_runs() {
        let runs = |state, threads| {
            let started = 1;
            let stat = Stat {
                state,
                threads,
                started,
            };
            stat.runs()
        };
        assert!(runs('S', 1) && runs('Z', 2));
        assert!(!runs('Z', 1) && !runs('Z', 0));
    }

    #[test]
    fn a_process_id_handed_out_again_is_not_taken_for_the_old_process() {
        let run = tempfile::tempdir().unwrap();
        let pid = i32::try_from(std::process::id()).unwrap();
        let record = Record::write(run.path(), "me", pid).unwrap();
        assert!(record.is_alive());
        std::fs::write(run.path().join("me"), format!("{pid} 1\n")).unwrap();
        let stale = Record::find(run.path(), "me").unwrap();
        assert!(!stale.is_alive());
        stale.kill();
    }
}
