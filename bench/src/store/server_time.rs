//! Processor time of a database server: of the processes whose command names its folder, of their children, and of children that have ended.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::process;

/// Seconds so far.
pub(crate) fn seconds(folder: &Path) -> Result<f64> {
    let folder = folder.to_str().context("a path that is no text")?;
    let processes = std::fs::read_dir("/proc").context("no /proc")?;
    let pids: Vec<i32> = processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let named: BTreeSet<i32> = pids
        .iter()
        .copied()
        .filter(|pid| is_named(*pid, folder))
        .collect();
    ensure!(!named.is_empty(), "no server runs in {folder}");
    let is_ours =
        |pid: &i32| named.contains(pid) || parent(*pid).is_some_and(|pid| named.contains(&pid));
    // Whoever ends meanwhile is counted by whom it belonged to.
    let seconds = pids.iter().filter(|pid| is_ours(pid));
    Ok(seconds
        .filter_map(|pid| process::cpu_seconds_with_ended_children(*pid).ok())
        .sum())
}

fn is_named(pid: i32, folder: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(folder)
}

fn parent(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_process_is_found_by_what_its_command_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = seconds(folder.path());
        assert!(missing.is_err(), "nobody names it");
        let mut child = std::process::Command::new("sh")
            .args(["-c", "echo; read line"])
            .arg(folder.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("sh runs");
        // Who has been started has for a moment no command.
        let mut said = child.stdout.take().expect("a pipe");
        said.read_exact(&mut [0]).expect("it runs");
        let found = seconds(folder.path());
        child.kill().expect("killed");
        child.wait().expect("gone");
        assert!(found.expect("found") < 10.0);
    }
}
