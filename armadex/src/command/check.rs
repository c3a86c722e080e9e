//! `armadex check`: whether the store is sound.

use std::io::Write as _;

use anyhow::Context as _;
use armadex_storage_sql::Location;
use clap::Args;
use tokio::runtime::Handle;

use crate::store::StoreFlags;

/// Compare the index and the counters of a store with its objects, and leave.
///
/// Everything is read, in one snapshot, so a busy store is slowed down by it. A store that is not sound can be made anew: stop Armadex, move the
/// database away, and start again; everything in it comes from the members.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
}

/// Checks, prints what was found, and fails if anything is wrong.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.location()?;
    if let Location::Sqlite(path) = &location {
        // Opening would make it, and an empty store is sound.
        anyhow::ensure!(
            path.exists(),
            "there is no store at {location}: name the file with --store"
        );
    }
    let store = flags.store.open(&Handle::current()).await?;
    let report = store.check().await;
    store.shutdown().await;
    let report = report.with_context(|| format!("cannot check {location}"))?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{location}: {} objects in {} namespaces, {} index entries, {} faults",
        report.objects,
        report.namespaces,
        report.entries,
        report.faults.len()
    )?;
    for fault in &report.faults {
        writeln!(out, "  {fault}")?;
    }
    anyhow::ensure!(report.faults.is_empty(), "{location} is not sound");
    Ok(())
}
