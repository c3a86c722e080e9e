//! Definitions of kinds of other people, as CRDs: files of their Go modules, in the versions that a go.mod pins and with the sums beside it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::build::{FETCHING, go};
use super::lines;
use super::module::{folder, pinned};
use crate::progress::note;

/// Below `e2e/tools`.
const FOLDER: &str = "crds";
const GO_MOD: &str = include_str!("../../tools/crds/go.mod");

/// A module, where its definitions lie, and those that are wanted.
struct Source {
    module: &'static str,
    folder: &'static str,
    files: &'static [&'static str],
}

const SOURCES: [Source; 2] = [
    Source {
        module: "github.com/prometheus-operator/prometheus-operator",
        folder: "example/prometheus-operator-crd",
        files: &[
            "monitoring.coreos.com_prometheusrules.yaml",
            "monitoring.coreos.com_servicemonitors.yaml",
        ],
    },
    Source {
        module: "github.com/cert-manager/cert-manager",
        folder: "deploy/crds",
        files: &["cert-manager.io_certificates.yaml"],
    },
];

/// The files, fetched unless they are in the cache.
pub(super) fn ensure(cache: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for source in &SOURCES {
        let place = cache.join(source.place());
        for file in source.files {
            let path = place.join(file);
            if !path.is_file() {
                source.fetch(&place)?;
            }
            all.push(path);
        }
    }
    Ok(all)
}

impl Source {
    /// Below the cache, with the version.
    fn place(&self) -> String {
        let version = pinned(GO_MOD, self.module);
        let name = self.module.rsplit('/').next().unwrap_or(self.module);
        format!("{FOLDER}/{name}-v{version}")
    }

    /// Each file is moved to its place when it is whole.
    fn fetch(&self, place: &Path) -> Result<()> {
        note(format_args!("fetching CRDs of {} (once)", self.module));
        let unpacked = download(self.module)?.join(self.folder);
        std::fs::create_dir_all(place)?;
        for file in self.files {
            let partial = tempfile::NamedTempFile::new_in(place)?;
            let from = unpacked.join(file);
            std::fs::copy(&from, partial.path()).with_context(|| from.display().to_string())?;
            partial.persist(place.join(file))?;
        }
        Ok(())
    }
}

/// Where Go has unpacked the module, whose sum it has compared.
fn download(module: &str) -> Result<PathBuf> {
    let mut command = go(&folder(FOLDER), "");
    command.args(["mod", "download", "-json", module]);
    command.stderr(Stdio::inherit()).stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .context("cannot run go: Go 1.26 or later is needed")?;
    let output = child.stdout.take().expect("it was piped a line above");
    let mut said = String::new();
    let ended = lines::follow(child, output, FETCHING, |line| said += &line)?;
    let said: Value = serde_json::from_str(&said).unwrap_or_default();
    let error = said["Error"].as_str().unwrap_or("go mod download failed");
    ensure!(ended.success(), "{module}: {error}");
    let unpacked = said["Dir"].as_str().context("no folder of a module")?;
    Ok(unpacked.into())
}
