//! `armadex store compact`: writes a SQLite file anew.

use std::io::Write as _;

use anyhow::Context as _;
use armadex_storage_sql::{Compacted, Location};
use clap::Args;

use super::stats::bytes;
use crate::store::StoreFlags;

/// Write a SQLite file anew, without the space that was freed in it, and leave.
///
/// A file that this release made gives its space back by itself. One that an earlier release made does so from then on. Stop the synchro
/// meanwhile: nobody can write, for about a minute with ten gigabytes, and as much room again is needed beside the file. What the file
/// takes then is printed. While a process reads it, it stays as large as it was, which is an error.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
}

/// Compacts, prints what came of it and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.existing().await?;
    let compacted = armadex_storage_sql::compact(&location).await;
    let compacted = compacted.with_context(|| format!("cannot compact {location}"))?;
    let told = told(&location, compacted)?;
    writeln!(std::io::stdout().lock(), "{told}")?;
    Ok(())
}

fn told(location: &Location, compacted: Compacted) -> anyhow::Result<String> {
    let Compacted { before, after } = compacted;
    let after = after.with_context(|| {
        format!(
            "{location} is as large as before, {}: somebody reads it, and what takes its place lies in the log beside it until nobody does; end what \
             has it open and run this once more",
            bytes(before)
        )
    })?;
    let (before, after) = (bytes(before), bytes(after));
    Ok(format!("{location}: {after}, {before} before"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(after: Option<u64>) -> anyhow::Result<String> {
        let location = "sqlite:a.db".parse().expect("a location");
        let before = 12_345_678;
        told(&location, Compacted { before, after })
    }

    #[test]
    fn what_was_freed_is_told_and_what_is_still_read_is_an_error() {
        let done = of(Some(1_234_567)).expect("it is smaller");
        assert_eq!(done, "sqlite:a.db: 1.23 MB, 12.3 MB before");
        let refused = of(None).expect_err("it is as large").to_string();
        assert!(refused.starts_with("sqlite:a.db is as large as before, 12.3 MB:"));
    }
}
