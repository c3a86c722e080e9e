//! Places where programs may lie already, and what version they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::lines;
use super::module::{Module, Program, Version};

/// A program tells its version in moments; one that has to be read from a slow disk first gets a minute.
const ASKING: Duration = Duration::from_secs(60);

/// The places in the order in which they are looked at: what the user names before what happens to be there.
pub(super) fn all() -> Vec<PathBuf> {
    let named = ["ARMADEX_E2E_BIN", "KUBEBUILDER_ASSETS"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    named
        .chain(std::env::split_paths(&path))
        .filter(|place| place.is_absolute())
        .collect()
}

/// The version of the module's programs in `place`; `None` when one is not there; an error when they will not do.
pub(super) fn version_of(place: &Path, module: &Module) -> Result<Option<Version>> {
    if !module
        .programs
        .iter()
        .all(|program| place.join(program.name).is_file())
    {
        return Ok(None);
    }
    let versions = module
        .programs
        .iter()
        .map(|program| ask(place, program, ASKING))
        .collect::<Result<Vec<_>>>()?;
    let first = versions[0];
    ensure!(
        first >= module.oldest,
        "{first} is older than {}",
        module.oldest
    );
    ensure!(
        versions.iter().all(|version| version.is_minor_of(first)),
        "its programs are of several versions"
    );
    Ok(Some(first))
}

fn ask(place: &Path, program: &Program, limit: Duration) -> Result<Version> {
    let mut child = Command::new(place.join(program.name))
        .args(program.version)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} does not run", program.name))?;
    let output = child.stdout.take().expect("it was piped a line above");
    let mut text = String::new();
    lines::follow(child, output, limit, |line| {
        text.push_str(&line);
        text.push('\n');
    })
    .with_context(|| format!("{} {}", program.name, program.version.join(" ")))?;
    Version::find(&text).with_context(|| format!("{} tells no version", program.name))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn ask_shell(version: &'static [&'static str], limit: Duration) -> Result<Version> {
        let shell = Program {
            name: "sh",
            package: "",
            version,
        };
        ask(Path::new("/bin"), &shell, limit)
    }

    #[test]
    fn a_version_is_found_in_whatever_line() {
        let says = &["-c", "echo etcd; echo 'Version: 3.7.3'"];
        let version = ask_shell(says, Duration::from_secs(60));
        assert_eq!(version.unwrap().to_string(), "3.7.3");
    }

    #[test]
    fn a_program_that_does_not_tell_its_version_is_ended_and_named() {
        let started = Instant::now();
        let asked = ask_shell(&["-c", "exec sleep 600"], Duration::from_millis(200));
        let said = format!("{:#}", asked.unwrap_err());
        assert!(
            said.starts_with("sh -c exec sleep 600: it did not end"),
            "{said}"
        );
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
