//! `armadex store`: what there is to ask of a store, and to do for it, without any other process.

pub(crate) mod check;
mod compact;
mod stats;

use clap::{Args, Subcommand};

/// Ask what is in a store, check it, mend it, make it smaller.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare the index and the counters with the objects, and mend them.
    Check(check::Flags),
    /// Tell what is stored, and what it costs, by type and cluster.
    Stats(stats::Flags),
    /// Write a SQLite file anew, without free space.
    Compact(compact::Flags),
}

/// Runs one of them to its end.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    match flags.command {
        Command::Check(flags) => check::run(flags).await,
        Command::Stats(flags) => stats::run(flags).await,
        Command::Compact(flags) => compact::run(flags).await,
    }
}
