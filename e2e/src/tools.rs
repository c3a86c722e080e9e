//! The programs that the harness drives: found in a fit version, or built once from their Go modules.
//!
//! A module's programs are taken whole from one place, so that an apiserver and its controller manager are of one version.
//! CRDs of other people's kinds are files of such modules.

mod build;
mod definitions;
mod lines;
mod module;
mod place;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::progress::note;
use module::Module;

/// Another helm than the one that is found: one of a release that is not looked for.
const HELM: &str = "ARMADEX_E2E_HELM";

/// Where each program is.
#[derive(Debug, Clone)]
pub struct Tools {
    /// etcd.
    pub etcd: PathBuf,
    /// kube-apiserver.
    pub kube_apiserver: PathBuf,
    /// kube-controller-manager, of the same version.
    pub kube_controller_manager: PathBuf,
    /// kubectl.
    pub kubectl: PathBuf,
}

impl Tools {
    /// Finds all programs, building what is not found. Says what it does while it takes long.
    pub fn ensure() -> Result<Self> {
        let etcd = directory(&Module::etcd())?;
        let kubernetes = directory(&Module::kubernetes())?;
        Ok(Self {
            etcd: etcd.join("etcd"),
            kube_apiserver: kubernetes.join("kube-apiserver"),
            kube_controller_manager: kubernetes.join("kube-controller-manager"),
            kubectl: kubernetes.join("kubectl"),
        })
    }
}

/// helm, found or built as the others, unless one is named: no fleet needs it.
pub fn helm() -> Result<PathBuf> {
    match set(HELM) {
        Some(named) => {
            std::fs::canonicalize(&named).with_context(|| format!("${HELM} is {}", named.display()))
        }
        None => Ok(directory(&Module::helm())?.join("helm")),
    }
}

/// promtool, likewise.
pub fn promtool() -> Result<PathBuf> {
    Ok(directory(&Module::prometheus())?.join("promtool"))
}

/// The CRDs of other people's kinds that the chart makes objects of.
pub fn definitions() -> Result<Vec<PathBuf>> {
    definitions::ensure(&known_cache()?)
}

/// The programs called `names`, if one of the places holds them all.
#[must_use]
pub fn find_together(names: &[&str]) -> Option<PathBuf> {
    place::all()
        .into_iter()
        .chain(cache())
        .find(|place| names.iter().all(|name| place.join(name).is_file()))
}

/// Where built programs are kept: `$ARMADEX_E2E_CACHE`, else below the user's cache folder.
#[must_use]
pub fn cache() -> Option<PathBuf> {
    let user = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("ARMADEX_E2E_CACHE").or_else(|| Some(user()?.join("armadex/e2e-tools")))
}

/// The path that a variable has, if it has any.
fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The directory that holds all programs of `module`.
fn directory(module: &Module) -> Result<PathBuf> {
    if let Some(found) = place::all().into_iter().find(|place| is_fit(place, module)) {
        return Ok(found);
    }
    build::ensure(module, &known_cache()?)
}

fn known_cache() -> Result<PathBuf> {
    cache().context("neither ARMADEX_E2E_CACHE, XDG_CACHE_HOME nor HOME is set")
}

/// Whether `place` holds every program of `module` in one version that is new enough.
fn is_fit(place: &Path, module: &Module) -> bool {
    match place::version_of(place, module) {
        Ok(Some(version)) => {
            note(format_args!(
                "  {} {version} from {}",
                module.name,
                place.display()
            ));
            true
        }
        Ok(None) => false,
        Err(reason) => {
            note(format_args!(
                "  {}: not taken from {}: {reason:#}",
                module.name,
                place.display()
            ));
            false
        }
    }
}
