//! Places where programs may lie already, and what version they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::module::{Module, Program, Version};

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
        .map(|program| ask(place, program))
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

fn ask(place: &Path, program: &Program) -> Result<Version> {
    let output = Command::new(place.join(program.name))
        .args(program.version)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} does not run", program.name))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Version::find(&text).with_context(|| format!("{} tells no version", program.name))
}
