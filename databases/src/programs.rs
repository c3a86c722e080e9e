//! Where the programs of a server are, and as whom they run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::engine::Engine;

/// Debian keeps the programs of PostgreSQL out of `$PATH`, by version.
const POSTGRES: &str = "/usr/lib/postgresql";
/// Where programs for administrators are, which are not in everybody's `$PATH`.
const ADMINISTRATORS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

const ROOT: &str = "0";

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
    if own_user()?.id != ROOT {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").context("no list of users")?;
    let called = |name| users.lines().find_map(|line| User::parse(line, name));
    let user = engine.users().into_iter().find_map(called);
    user.map(Some)
        .context("root may not run a database server, and there is no user to do so")
}

/// Who runs this.
pub(crate) fn own_user() -> Result<User> {
    let status = std::fs::read_to_string("/proc/self/status").context("who runs this?")?;
    effective(&status).context("the kernel does not say who runs this")
}

/// A program that root runs: whoever this is, or by a `sudo` that asks for no password.
pub(crate) fn as_root(program: &str) -> Result<Command> {
    if own_user()?.id == ROOT {
        return Ok(Command::new(program));
    }
    let mut sudo = Command::new("sudo");
    sudo.args(["-n", program]);
    Ok(sudo)
}

/// Of four numbers each the second counts: the effective one.
fn effective(status: &str) -> Option<User> {
    let of = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line?.split_whitespace().nth(1).map(str::to_owned)
    };
    Some(User {
        id: of("Uid:")?,
        group: of("Gid:")?,
    })
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
    fn a_user_is_told_by_its_effective_numbers() {
        let told = |status| {
            let user = effective(status)?;
            Some([user.id, user.group])
        };
        let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t7\t8\t9\t9\n";
        assert_eq!(told(status), Some(["0".to_owned(), "8".to_owned()]));
        assert_eq!(told("Name:\tx\n"), None);
    }
}
