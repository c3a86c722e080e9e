//! `armadex migrate`: brings the schema of a store up to date.

use anyhow::Context as _;
use clap::Args;

use crate::store::StoreFlags;

/// Bring the store's schema up to date and leave.
///
/// Every process does this by itself when it starts; run it beforehand where processes may not change the schema. Migrations only go
/// forward: make a copy of the database first if you may want to go back.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
}

/// Migrates and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.location()?;
    armadex_storage_sql::migrate(&location)
        .await
        .with_context(|| format!("cannot migrate {location}"))?;
    tracing::info!(store = %location, "the schema is up to date");
    Ok(())
}
