//! The folder of a running fleet: what people and scripts read at the top, what the harness needs below `state/`.
//!
//! Takes a root path; gives every path the other modules use, so that the layout is told in one place.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Names that files of the folder itself take, so no member may have them.
const RESERVED: [&str; 3] = ["host", "fleet", "clusterpedia"];
/// Karmada's own limit for the name of a cluster.
const LONGEST_NAME: usize = 48;

/// A fleet's folder. Cheap to clone; holds a path and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder at `root`, made absolute because child processes get its paths as arguments.
    pub fn new(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let root = std::path::absolute(root)
            .with_context(|| format!("no absolute path for {}", root.display()))?;
        Ok(Self { root })
    }

    /// The root itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The kubeconfig straight to the apiserver of `cluster` (`host` or a member).
    #[must_use]
    pub fn kubeconfig(&self, cluster: &str) -> PathBuf {
        self.root.join(format!("{cluster}.kubeconfig"))
    }

    /// The kubeconfig whose contexts are the fleet and its members as Armadex serves them.
    #[must_use]
    pub fn fleet_kubeconfig(&self) -> PathBuf {
        self.root.join("fleet.kubeconfig")
    }

    /// The kubeconfig of an account that Armadex itself runs as, with its token in a file beside it.
    #[must_use]
    pub fn account_kubeconfig(&self, account: &str) -> PathBuf {
        self.root.join(format!("state/{account}.kubeconfig"))
    }

    /// The SQLite database of Armadex.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.root.join("store.db")
    }

    /// The passwords of stores that are databases on servers, a file for each kind of server.
    #[must_use]
    pub fn store_passwords(&self) -> PathBuf {
        self.root.join("state/store-passwords")
    }

    /// The names by which a control plane finds Services, as a hosts file.
    #[must_use]
    pub fn names(&self) -> PathBuf {
        self.root.join("state/names")
    }

    /// What the pods of a cluster have on disk.
    #[must_use]
    pub fn pods(&self) -> PathBuf {
        self.root.join("state/pods")
    }

    /// One log file per process.
    #[must_use]
    pub fn log(&self, process: &str) -> PathBuf {
        self.root.join("logs").join(format!("{process}.log"))
    }

    /// The records of running processes.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.root.join("state/run")
    }

    /// Keys, certificates and the description of one cluster.
    #[must_use]
    pub fn cluster(&self, name: &str) -> PathBuf {
        self.root.join("state/clusters").join(name)
    }

    /// The data of one etcd.
    #[must_use]
    pub fn etcd(&self, name: &str) -> PathBuf {
        self.root.join("state").join(name)
    }

    /// What kind of control plane this is, and where its etcd listens.
    #[must_use]
    pub fn control_plane(&self) -> PathBuf {
        self.root.join("state/control-plane.json")
    }

    /// Makes the folder and its parts.
    pub fn create(&self) -> Result<()> {
        for part in [
            "logs",
            "state/run",
            "state/clusters",
            "state/store-passwords",
        ] {
            let path = self.root.join(part);
            std::fs::create_dir_all(&path)
                .with_context(|| format!("cannot make {}", path.display()))?;
        }
        Ok(())
    }

    /// Removes what an earlier fleet left, so that a new one starts from nothing. Only names of this layout are touched:
    /// a folder given by mistake keeps its files.
    pub fn clear(&self) -> Result<()> {
        let Ok(entries) = std::fs::read_dir(&self.root) else {
            return Ok(());
        };
        for entry in entries {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name == "logs" || name == "state" {
                std::fs::remove_dir_all(&path)?;
            } else if name.ends_with(".kubeconfig") || name.starts_with("store.db") {
                std::fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// The names of all clusters started in this folder, the control plane excepted, in order.
    pub fn members(&self) -> Result<Vec<String>> {
        let path = self.root.join("state/clusters");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&path)
            .with_context(|| format!("no fleet in {}", self.root.display()))?
        {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "host" {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Refuses a member name that Karmada or this folder's layout cannot carry.
pub fn check_member_name(name: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = name.bytes().all(|byte| plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain);
    ensure!(
        label,
        "{name:?} is not a DNS label: lower-case letters, digits and dashes"
    );
    ensure!(
        name.len() <= LONGEST_NAME,
        "{name:?} is longer than {LONGEST_NAME} characters"
    );
    ensure!(
        !RESERVED.contains(&name),
        "{name:?} is taken by a file of the folder itself"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_members_are_refused() {
        for name in [
            "",
            "-a",
            "a-",
            "A",
            "a_b",
            "a.b",
            "../x",
            "host",
            "fleet",
            &"a".repeat(49),
        ] {
            assert!(check_member_name(name).is_err(), "{name:?}");
        }
        for name in ["member1", "a", "eu-west-1", &"a".repeat(48)] {
            assert!(check_member_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn clearing_leaves_foreign_files_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path()).unwrap();
        folder.create().unwrap();
        for name in ["host.kubeconfig", "store.db", "store.db-wal", "notes.txt"] {
            std::fs::write(root.path().join(name), "x").unwrap();
        }
        folder.clear().unwrap();
        let left: Vec<_> = std::fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["notes.txt"]);
    }
}
