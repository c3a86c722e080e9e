//! `armadex store`: what there is to ask of a store, and to do for it, without any other process.

pub(crate) mod check;
mod compact;
mod copy;
mod renew;
mod stats;

use clap::{Args, Subcommand};

/// Ask what is in a store, check it, mend it, make it smaller, move it, make it another one after a restore.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Command,
}

/// Each is described by its flags.
#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Flags),
    Stats(stats::Flags),
    Compact(compact::Flags),
    Copy(copy::Flags),
    Renew(renew::Flags),
}

/// Runs one of them to its end.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    match flags.command {
        Command::Check(flags) => check::run(flags).await,
        Command::Stats(flags) => stats::run(flags).await,
        Command::Compact(flags) => compact::run(flags).await,
        Command::Copy(flags) => copy::run(flags).await,
        Command::Renew(flags) => renew::run(flags).await,
    }
}
