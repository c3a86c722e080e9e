//! A cluster that is put back to where it was, or made anew: its etcd is stopped with it and its data are exchanged.
//!
//! For clusters with an etcd of their own: the control plane of a fleet of [`Options::is_restored`](crate::Options), whose members keep their objects elsewhere, and the second
//! member of any.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cluster::Cluster;
use crate::etcd;
use crate::harness::Harness;
use crate::record::Record;

/// What the etcd of a cluster had.
#[derive(Debug)]
pub struct Backup(PathBuf);

/// Copies what a cluster has. It does not answer meanwhile, and nothing of it is lost.
pub async fn back_up(fleet: &Harness, cluster: &Cluster) -> Result<Backup> {
    let name = format!("backup-{}", cluster.name);
    let backup = Backup(fleet.folder().etcd(&name));
    exchange(fleet, cluster, |data| copy(data, &backup.0)).await?;
    Ok(backup)
}

/// Puts a cluster back to where it was.
pub async fn restore(fleet: &Harness, cluster: &Cluster, backup: &Backup) -> Result<()> {
    exchange(fleet, cluster, |data| {
        std::fs::remove_dir_all(data)?;
        copy(&backup.0, data)
    })
    .await
}

/// Makes a cluster anew, with nothing in it, under its address and with its certificates.
pub async fn empty(fleet: &Harness, cluster: &Cluster) -> Result<()> {
    exchange(fleet, cluster, |data| Ok(std::fs::remove_dir_all(data)?)).await
}

/// Does something with the data while nobody has them open.
async fn exchange(
    fleet: &Harness,
    cluster: &Cluster,
    work: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let (folder, etcd) = (fleet.folder(), etcd::of(&cluster.name));
    cluster.kill_all();
    let record = Record::find(&folder.run(), &etcd);
    let record = record.with_context(|| format!("there is no {etcd}"))?;
    record.kill();
    work(&folder.etcd(&etcd))?;
    etcd::start_at(folder, fleet.tools(), &etcd, &cluster.etcd().url).await?;
    cluster.start(fleet.tools()).await
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let name = path.file_name().context("an entry has a name")?;
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
