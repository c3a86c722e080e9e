//! `down`: ends what runs in a folder, the demo of another terminal first.

use std::time::Duration;

use anyhow::{Result, bail};
use armadex_e2e::process::stop_all;
use armadex_e2e::progress::result;
use armadex_e2e::{Folder, OWNER, Record};

/// The demo gives Armadex 15 s to close its store.
const OWNER_LIMIT: Duration = Duration::from_secs(30);

/// Stops the demo, which stops its fleet, then whatever is left.
pub(crate) fn run(folder: &Folder) -> Result<()> {
    let before = Record::all(&folder.run())
        .iter()
        .filter(|record| record.is_alive())
        .count();
    if let Some(owner) = Record::find(&folder.run(), OWNER) {
        owner.stop(OWNER_LIMIT);
    }
    stop_all(folder);
    if Record::all(&folder.run()).iter().any(Record::is_alive) {
        bail!("some processes in {} did not end", folder.root().display());
    }
    result(format_args!(
        "{before} processes stopped; the logs stay in {}",
        folder.root().join("logs").display()
    ));
    Ok(())
}
