//! A control plane that is put back to where it was, or made anew: its etcd is stopped with it and its data are exchanged.
//!
//! For a fleet of [`Options::is_restored`](crate::Options), whose members keep their objects elsewhere.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::etcd;
use crate::harness::Harness;
use crate::record::Record;

/// What the etcd of a control plane had.
#[derive(Debug)]
pub struct Backup(PathBuf);

/// Copies what the control plane has. It does not answer meanwhile, and nothing of it is lost.
pub async fn back_up(fleet: &Harness) -> Result<Backup> {
    let backup = Backup(fleet.folder().etcd("backup"));
    exchange(fleet, |data| copy(data, &backup.0)).await?;
    Ok(backup)
}

/// Puts the control plane back to where it was.
pub async fn restore(fleet: &Harness, backup: &Backup) -> Result<()> {
    exchange(fleet, |data| {
        std::fs::remove_dir_all(data)?;
        copy(&backup.0, data)
    })
    .await
}

/// Makes the control plane anew, with nothing in it, under its address and with its certificates.
pub async fn empty(fleet: &Harness) -> Result<()> {
    exchange(fleet, |data| Ok(std::fs::remove_dir_all(data)?)).await
}

/// Does something with the data while nobody has them open.
async fn exchange(fleet: &Harness, work: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let (folder, host) = (fleet.folder(), fleet.host());
    host.kill_all();
    let record = Record::find(&folder.run(), etcd::OF_HOST);
    let record = record.context("this fleet was not started to be restored")?;
    record.kill();
    work(&folder.etcd(etcd::OF_HOST))?;
    etcd::start_at(folder, fleet.tools(), etcd::OF_HOST, &host.etcd().url).await?;
    host.start(fleet.tools()).await
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
