//! Building a module's programs once, into a cache outside the tree.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::lines;
use super::module::Module;
use crate::progress::{Counter, note};

/// Lines of the compiler that are repeated in an error.
const LAST_LINES: usize = 20;
/// The modules of a kube-apiserver are some 200 MB, which take half an hour at 1 Mbit/s.
pub(super) const FETCHING: Duration = Duration::from_secs(1800);
/// Two cores build a kube-apiserver and its kin in some 10 minutes; a machine that is busy with other things gets six times that.
const BUILDING: Duration = Duration::from_secs(3600);

/// The directory with the programs of `module`, built unless an earlier run did.
pub(super) fn ensure(module: &Module, cache: &Path) -> Result<PathBuf> {
    let directory = cache.join(format!("{}-v{}", module.name, module.version));
    if holds_all(&directory, module) {
        return Ok(directory);
    }
    std::fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let lock = File::create(cache.join(format!("{}.lock", module.name)))?;
    lock.lock().context("cannot lock the cache of tools")?;
    if !holds_all(&directory, module) {
        build(module, &directory)?;
    }
    Ok(directory)
}

fn holds_all(directory: &Path, module: &Module) -> bool {
    module
        .programs
        .iter()
        .all(|program| directory.join(program.name).is_file())
}

/// Builds beside the final place and moves over when whole: a build that was cut off leaves nothing that looks finished.
fn build(module: &Module, directory: &Path) -> Result<()> {
    let (name, version) = (module.name, module.version);
    note(format_args!(
        "building {name} v{version} into {} (once)",
        directory.display()
    ));
    let total = count_packages(module)?;
    let partial = PathBuf::from(format!("{}.partial", directory.display()));
    let mut command = go(&module.folder(), module.tags);
    command
        .args(["build", "-v", "-trimpath", "-ldflags"])
        .arg(module.linker_flags());
    command
        .arg("-o")
        .arg(format!("{}/", partial.display()))
        .args(packages(module));
    std::fs::create_dir_all(&partial)?;
    run(
        command,
        Counter::new(format!("{name} v{version}, packages"), total),
        |line| !line.starts_with("go: "),
    )?;
    for program in module.programs {
        let built = program
            .package
            .rsplit('/')
            .find(|part| !is_major(part))
            .unwrap_or(program.name);
        std::fs::rename(partial.join(built), partial.join(program.name))?;
    }
    std::fs::rename(&partial, directory)
        .with_context(|| format!("cannot make {}", directory.display()))
}

/// Go names a program after the last part of its package that is not a major version.
fn is_major(part: &str) -> bool {
    part.strip_prefix('v')
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn packages(module: &Module) -> impl Iterator<Item = &'static str> {
    module.programs.iter().map(|program| program.package)
}

/// How many packages a cold build compiles. Fetches the modules on the way.
fn count_packages(module: &Module) -> Result<usize> {
    note(format_args!("  {}: fetching modules", module.name));
    let mut command = go(&module.folder(), module.tags);
    command
        .args(["list", "-deps"])
        .args(packages(module))
        .stderr(Stdio::inherit())
        .stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .context("cannot run go: Go 1.26 or later is needed")?;
    let output = child.stdout.take().expect("it was piped a line above");
    let mut packages = 0;
    let ended = lines::follow(child, output, FETCHING, |_| packages += 1);
    let ended = ended.with_context(|| format!("go list for e2e/tools/{}", module.name))?;
    if !ended.success() {
        bail!("go list failed for e2e/tools/{}", module.name);
    }
    Ok(packages)
}

/// `go` in the folder of a go.mod, deaf to workspaces and flags of the user that would change what is built.
pub(super) fn go(folder: &Path, tags: &str) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env(
            "GOFLAGS",
            format!("-mod=readonly -buildvcs=false -tags={tags}"),
        )
        .stdin(Stdio::null());
    command
}

/// Runs a command that prints a line for each thing done, and counts the lines that `counts` says are such.
fn run(mut command: Command, mut counter: Counter, counts: impl Fn(&str) -> bool) -> Result<()> {
    let mut child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot run go")?;
    let stderr = child.stderr.take().expect("it was piped a line above");
    let mut last = Vec::new();
    let ended = lines::follow(child, stderr, BUILDING, |line| {
        counter.add(usize::from(counts(&line)));
        last.push(line);
        if last.len() > LAST_LINES {
            last.remove(0);
        }
    });
    if !ended.context("go build")?.success() {
        bail!("go build failed:\n{}", last.join("\n"));
    }
    counter.finish();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_as_go_names_them() {
        for module in [
            Module::etcd(),
            Module::kubernetes(),
            Module::helm(),
            Module::prometheus(),
        ] {
            for package in packages(&module) {
                let last = package.rsplit('/').find(|part| !is_major(part)).unwrap();
                assert!(!last.is_empty(), "{package}");
            }
        }
        assert!(is_major("v3"));
        assert!(!is_major("version"));
    }
}
