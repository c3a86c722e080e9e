//! `armadex migrate`: brings the schema of a store up to date.

use std::io::Write as _;

use anyhow::Context as _;
use armadex_storage_sql::{PendingMigration, SchemaStanding};
use clap::Args;

use crate::store::StoreFlags;

/// Bring the store's schema up to date and leave.
///
/// Every process does this by itself when it starts; run it beforehand where processes may not change the schema. Migrations only go
/// forward: make a copy of the database first if you may want to go back. A store says which binaries it still serves: older ones
/// that it does not refuse it, and end if they are running. With --dry-run such a binary says so and fails, as it would when it starts.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
    /// Only print which migrations would be run. Nothing is changed, and no store is made.
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: a store that does not answer is told of and is no failure, for whether it serves this binary is not known then.
    #[arg(long, requires = "dry_run")]
    may_be_away: bool,
}

/// Migrates and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.location()?;
    if flags.dry_run {
        let standing = match armadex_storage_sql::schema_standing(&location).await {
            Err(away) if flags.may_be_away && away.is_transient() => {
                tracing::warn!(store = %location, error = %away, "whether the store serves this binary is not known: it does not answer");
                return Ok(());
            }
            standing => standing.with_context(|| format!("cannot look at {location}"))?,
        };
        let told = told(&location.to_string(), &standing);
        std::io::stdout().lock().write_all(told.as_bytes())?;
        return standing
            .check_served()
            .with_context(|| format!("{location} does not serve this binary"));
    }
    armadex_storage_sql::migrate(&location)
        .await
        .with_context(|| format!("cannot migrate {location}"))?;
    tracing::info!(store = %location, "the schema is up to date");
    Ok(())
}

fn told(location: &str, standing: &SchemaStanding) -> String {
    let SchemaStanding {
        version,
        newest,
        pending,
        serves: _,
    } = standing;
    let version = match version {
        Some(version) => format!("its schema has version {version}"),
        None => "it has no schema yet".to_owned(),
    };
    let mut told = format!("{location}: {version}, and this binary knows version {newest}\n");
    for PendingMigration { version, name } in pending {
        told.push_str(&format!("  would run {version} {name}\n"));
    }
    if pending.is_empty() {
        told.push_str("  nothing would be run\n");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_tells_what_would_be_run_on_what() {
        let pending = vec![PendingMigration {
            version: 4,
            name: "upkeep",
        }];
        let mut standing = SchemaStanding {
            version: Some(3),
            newest: 4,
            pending,
            serves: None,
        };
        assert_eq!(
            told("sqlite:store.db", &standing),
            "sqlite:store.db: its schema has version 3, and this binary knows version 4\n  would run 4 upkeep\n"
        );
        standing.pending.clear();
        assert!(told("sqlite:store.db", &standing).ends_with("nothing would be run\n"));
    }
}
