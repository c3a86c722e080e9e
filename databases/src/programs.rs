//! Where the programs of a server are, and as whom they run.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::engine::Engine;

/// Debian keeps the programs of PostgreSQL out of `$PATH`, by version.
const POSTGRES: &str = "/usr/lib/postgresql";
/// Where programs for administrators are, which are not in everybody's `$PATH`.
const ADMINISTRATORS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A program's file.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.extend(ADMINISTRATORS.map(PathBuf::from));
    // Before $PATH: all of one version, the newest.
    places.splice(0..0, versions());
    places
        .into_iter()
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}

/// A program's file, which must be there.
pub(crate) fn path_of(name: &str) -> Result<String> {
    let found = find(name).with_context(|| format!("{name} is not installed: make databases"))?;
    Ok(found.display().to_string())
}

/// The folders of all versions of PostgreSQL, newest first.
fn versions() -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(POSTGRES)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by(|one, other| other.cmp(one));
    versions.into_iter().map(|(_, path)| path).collect()
}

/// The first program of a server that is not there.
pub(crate) fn missing(engine: Engine) -> Option<&'static str> {
    let mut programs = engine.programs().iter().copied();
    programs.find(|program| find(program).is_none())
}

/// A user of this machine, by the numbers that the kernel knows it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) group: String,
}

impl User {
    /// From a line of `/etc/passwd`, if it is that of `name`.
    fn parse(line: &str, name: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let is_it = fields.next()? == name;
        let (id, group) = (fields.nth(1)?.to_owned(), fields.next()?.to_owned());
        is_it.then_some(Self { id, group })
    }
}

/// As whom a server runs that was started by root, which neither wants to run as.
pub(crate) fn user_instead_of_root(engine: Engine) -> Result<Option<User>> {
    let status = std::fs::read_to_string("/proc/self/status").context("who runs this?")?;
    if !is_root(&status) {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").context("no list of users")?;
    let called = |name| users.lines().find_map(|line| User::parse(line, name));
    let user = engine.users().into_iter().find_map(called);
    user.map(Some)
        .context("root may not run a database server, and there is no user to do so")
}

/// Of the four numbers the second counts: the effective one.
fn is_root(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name() {
        let line = "postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash";
        let user = User {
            id: "101".into(),
            group: "104".into(),
        };
        assert_eq!(User::parse(line, "postgres"), Some(user));
        assert_eq!(User::parse(line, "post"), None);
    }

    #[test]
    fn root_is_told_by_its_effective_number() {
        assert!(is_root("Name:\tx\nUid:\t1000\t0\t0\t0\n"));
        assert!(!is_root("Uid:\t0\t1000\t0\t0\nGid:\t0\t0\t0\t0\n"));
    }
}
