//! What a container runs, as a program of this machine: in the place of its image, as its user, with its volumes and nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Container, Pod};

use super::environment::is_plain;
use super::node::Placed;
use crate::process::Program;

const SCRIPT: &str = include_str!("sandbox.sh");
/// Whoever the image says, where the pod says nothing: the nobody of Armadex's.
const USER: i64 = 65532;

/// What it takes to run a container.
pub(super) struct Parts<'a> {
    /// What runs in the place of its image.
    pub(super) program: &'a Path,
    /// An empty folder.
    pub(super) root: &'a Path,
    /// The folder of each volume.
    pub(super) volumes: &'a BTreeMap<String, PathBuf>,
    pub(super) environment: Vec<(String, String)>,
}

/// The program; an error for what only another kubelet knows.
pub(super) fn program(
    pod: &Pod,
    placed: &Placed,
    container: &Container,
    parts: Parts<'_>,
) -> Result<Program> {
    is_known(container)?;
    let mut arguments: Vec<String> = [
        "--mount",
        "--propagation=private",
        "sh",
        "-euc",
        SCRIPT,
        "sh",
    ]
    .map(str::to_owned)
    .to_vec();
    let paths = [parts.root, parts.program];
    arguments.extend(paths.map(|path| path.display().to_string()));
    arguments.extend(whose(pod, container)?);
    arguments.extend(mounts(container, parts.volumes)?);
    arguments.push("--".to_owned());
    for argument in container.args.iter().flatten() {
        is_plain(argument)?;
        arguments.push(argument.clone());
    }
    let name = format!("{}-{}", placed.name, container.name);
    let environment = parts.environment.into_iter();
    let environment = environment.map(|(name, value)| (name.into(), value.into()));
    Ok(Program {
        environment: environment.collect(),
        is_alone: true,
        ..Program::new(name, "/usr/bin/unshare", arguments)
    })
}

fn is_known(container: &Container) -> Result<()> {
    let Container {
        command,
        lifecycle,
        working_dir,
        volume_devices,
        ..
    } = container;
    ensure!(
        command.is_none(),
        "an image has one program here: command is not known"
    );
    ensure!(lifecycle.is_none(), "lifecycle is not known here");
    ensure!(working_dir.is_none(), "workingDir is not known here");
    ensure!(volume_devices.is_none(), "volumeDevices are not known here");
    Ok(())
}

/// `USER:GROUP`, further groups, and whether nothing but volumes may be written.
fn whose(pod: &Pod, container: &Container) -> Result<[String; 3]> {
    let spec = pod.spec.as_ref().context("a pod without a spec")?;
    let own = container.security_context.clone().unwrap_or_default();
    let of_pod = spec.security_context.clone().unwrap_or_default();
    let user = own.run_as_user.or(of_pod.run_as_user).unwrap_or(USER);
    let group = own.run_as_group.or(of_pod.run_as_group).unwrap_or(USER);
    let is_nobody = own.run_as_non_root.or(of_pod.run_as_non_root);
    ensure!(
        user != 0 || is_nobody != Some(true),
        "runAsNonRoot, and the user is root"
    );
    let further = of_pod.supplemental_groups.into_iter().flatten();
    let groups: Vec<String> = further
        .chain(of_pod.fs_group)
        .chain([group])
        .map(|group| group.to_string())
        .collect();
    let is_read_only = own.read_only_root_filesystem == Some(true);
    Ok([
        format!("{user}:{group}"),
        groups.join(","),
        is_read_only.to_string(),
    ])
}

fn mounts(container: &Container, volumes: &BTreeMap<String, PathBuf>) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for mount in container.volume_mounts.iter().flatten() {
        let is_whole = mount.sub_path.is_none() && mount.sub_path_expr.is_none();
        ensure!(is_whole, "subPath is not known here");
        let folder = volumes.get(&mount.name);
        let folder = folder.with_context(|| format!("there is no volume {}", mount.name))?;
        let way = if mount.read_only == Some(true) {
            "ro"
        } else {
            "rw"
        };
        all.extend([
            folder.display().to_string(),
            mount.mount_path.clone(),
            way.to_owned(),
        ]);
    }
    Ok(all)
}
