//! `armadex store check`: whether the store is sound.

use std::io::Write as _;

use anyhow::{Context as _, ensure};
use armadex_storage_sql::{CheckReport, Location, SqlStore};
use clap::Args;

use crate::store::StoreFlags;
use crate::visible::visible_name;

/// Compare the index, the counters and the versions of a store with its objects, see whether these can be read, and leave.
///
/// Everything is read, in one snapshot, beside whoever works with the store; a busy one is slowed down by it. With --mend, what does not agree with the
/// objects is made from them anew, a namespace of a type at a time. An object that is damaged itself is removed, and comes back with the
/// next audit of its cluster (`armadex audit`), for everything in a store comes from the members.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
    /// Mend what is found, and check once more.
    #[arg(long)]
    mend: bool,
}

/// Checks, prints what was found, and fails if anything is wrong in the end.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.existing().await?;
    let store = flags.store.open_as_it_is().await?;
    let sound = check(&store, &location, flags.mend).await;
    store.shutdown().await;
    ensure!(sound?, "{location} is not sound");
    Ok(())
}

async fn check(store: &SqlStore, location: &Location, mend: bool) -> anyhow::Result<bool> {
    let checking = || format!("cannot check {location}");
    let report = store.check().await.with_context(checking)?;
    print(location, &report)?;
    if report.faults.is_empty() || !mend {
        return Ok(report.faults.is_empty());
    }
    let mended = store.mend().await;
    let mended = mended.with_context(|| format!("cannot mend {location}"))?;
    let (places, removed) = (mended.places, mended.removed);
    writeln!(
        std::io::stdout().lock(),
        "{location}: made the index of {places} places anew and removed {removed} damaged objects, which an audit of their cluster brings back"
    )?;
    let report = store.check().await.with_context(checking)?;
    print(location, &report)?;
    Ok(report.faults.is_empty())
}

fn print(location: &Location, report: &CheckReport) -> std::io::Result<()> {
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
        writeln!(out, "  {}", visible_name(fault))?;
    }
    Ok(())
}
