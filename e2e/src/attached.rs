//! Clusters that somebody else runs, known by a folder of kubeconfigs: `host.kubeconfig`, one for each member, and beside them the file
//! `address`, by which the control plane reaches this machine.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::folder::{Folder, check_member_name};

/// How a control plane reaches what runs here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// The name or address of this machine, as the control plane knows it.
    pub name: String,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            name: "localhost".to_owned(),
        }
    }
}

impl Reach {
    /// Where to listen so that it can be reached, and on nothing more where that is this machine alone.
    #[must_use]
    pub fn listen(&self) -> IpAddr {
        let address = self.name.parse::<IpAddr>();
        let is_here =
            self.name == "localhost" || address.is_ok_and(|address| address.is_loopback());
        IpAddr::V4(match is_here {
            true => Ipv4Addr::LOCALHOST,
            false => Ipv4Addr::UNSPECIFIED,
        })
    }
}

/// Takes the clusters of `from` into `folder`, and nothing out of it.
pub(crate) fn adopt(folder: &Folder, from: &Path) -> Result<Reach> {
    let entries = std::fs::read_dir(from)
        .with_context(|| format!("no clusters to attach to in {}", from.display()))?;
    for entry in entries {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        match file.strip_suffix(".kubeconfig") {
            Some("host") => drop(Cluster::adopt(folder, "host", &path)?),
            Some(name) if check_member_name(name).is_ok() => {
                drop(Cluster::adopt(folder, name, &path)?);
            }
            Some(_) | None => {}
        }
    }
    ensure!(
        Cluster::exists(folder, "host"),
        "no host.kubeconfig in {}",
        from.display()
    );
    let path = from.join("address");
    let name = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "{} has to say how the control plane reaches this machine",
            path.display()
        )
    })?;
    Ok(Reach {
        name: name.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_reached_from_elsewhere_listens_everywhere() {
        let listen = |name: &str| {
            let name = name.to_owned();
            Reach { name }.listen().to_string()
        };
        assert_eq!(listen("localhost"), "127.0.0.1");
        assert_eq!(listen("127.0.0.1"), "127.0.0.1");
        assert_eq!(listen("172.18.0.1"), "0.0.0.0");
        assert_eq!(listen("armadex.example.com"), "0.0.0.0");
    }

    #[test]
    fn a_folder_without_a_control_plane_is_no_fleet() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::new(to.path()).unwrap();
        folder.create().unwrap();
        let error = adopt(&folder, from.path()).unwrap_err().to_string();
        assert!(error.starts_with("no host.kubeconfig"), "{error}");
        let error = adopt(&folder, &from.path().join("none")).unwrap_err();
        assert!(error.to_string().starts_with("no clusters"), "{error}");
    }
}
