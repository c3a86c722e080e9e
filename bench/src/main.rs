//! Measures speed and memory of the real binary on real control planes, and prints what was seen as a table and as JSON.
//!
//! Not a test: nothing here fails because a machine is slow. Results that are worth keeping go into `docs/performance.md` with the
//! command and the machine.

mod footprint;
mod process;

use clap::{Parser, Subcommand};

/// Measures Armadex on real control planes.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Initial sync, listing everything and restart: wall time, CPU time and peak memory of each process.
    Footprint(footprint::Flags),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Footprint(flags) => footprint::run(flags).await,
    }
}
