//! Who may read a store's file: its owner alone. What a backup or an administrator has opened to everybody is told of, and stays as it is.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use armadex_storage::StoreError;
use tracing::warn;

/// What stands behind the path in the names of the files of a store.
const PARTS: [&str; 4] = ["", "-wal", "-shm", "-mark"];
/// To read and to write. Those of a group may be meant: a volume of Kubernetes with an `fsGroup` is the group's, file by file.
const EVERYBODY: u32 = 0o006;

/// Makes the file so that only its owner reads it, unless it is there. SQLite gives the log the same mode.
pub(super) fn make(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => Ok(()),
        Err(err) if err.kind() == ErrorKind::AlreadyExists => {
            tell(&open_to_everybody(path));
            Ok(())
        }
        Err(err) => Err(StoreError::Unavailable {
            reason: format!("{} cannot be created", path.display()),
            source: Box::new(err),
        }),
    }
}

/// The files of a store that everybody on the machine may read or write.
pub(super) fn open_to_everybody(path: &Path) -> Vec<PathBuf> {
    let files = PARTS.map(|part| {
        let mut name = OsString::from(path);
        name.push(part);
        PathBuf::from(name)
    });
    let is_open = |file: &PathBuf| {
        // One that is not there is nobody's.
        std::fs::metadata(file).is_ok_and(|found| found.mode() & EVERYBODY != 0)
    };
    files.into_iter().filter(is_open).collect()
}

fn tell(files: &[PathBuf]) {
    if files.is_empty() {
        return;
    }
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let names = names.join(" ");
    warn!("everybody on this machine may read or change what the store has: run chmod 600 {names}");
}
