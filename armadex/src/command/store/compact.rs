//! `armadex store compact`: writes a SQLite file anew.

use anyhow::Context as _;
use clap::Args;

use crate::store::StoreFlags;

/// Write a SQLite file anew, without the space that was freed in it, and leave.
///
/// A file that this release made gives its space back by itself. One that an earlier release made does so from then on. Stop the synchro
/// meanwhile: nobody can write, for about a minute with ten gigabytes, and as much room again is needed beside the file.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
}

/// Compacts and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.existing().await?;
    armadex_storage_sql::compact(&location)
        .await
        .with_context(|| format!("cannot compact {location}"))
}
