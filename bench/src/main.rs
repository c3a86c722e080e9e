//! Measures speed, memory and steadfastness of the real binary on real control planes, and prints what was seen as a table or as JSON.
//!
//! Not a test: `footprint` fails nowhere because a machine is slow. `fleet`, `hostile` and `member` have bounds, and end with an error
//! when one is broken. Results that are worth keeping go into `docs/performance.md` with the command and the machine.

mod catalogue;
mod events;
mod fleet;
mod footprint;
mod hostile;
mod log;
mod member;
mod open_files;
mod pedia_clusters;
mod percentiles;
mod process;
mod readers;
mod seeded;
mod served;
mod store;
mod sync;
mod table;

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
    /// What a large fleet costs those who read: a change of its catalogue and the page after it, in the store alone.
    Catalogue(catalogue::Flags),
    /// Pods that change in members that lie in memory: how fast a change is found at a rate of them, and how many are taken in a second.
    Churn(sync::ChurnFlags),
    /// What events cost the store, with and without an index of what tells each of them apart.
    Events(events::Flags),
    /// Many small clusters that come and go at once: wall time, CPU time per cluster, memory, warnings, and searches meanwhile.
    Fleet(fleet::Flags),
    /// Initial sync, listing everything and restart: wall time, CPU time and peak memory of each process.
    Footprint(footprint::Flags),
    /// Attackers of every kind at once while an ordinary client works: whether it is answered, what that costs, what is left behind.
    Hostile(hostile::Flags),
    /// Many members of many kinds, played by this process, some of them in trouble: what is asked of them, logged and held.
    Member(member::Flags),
    /// A SIGKILL in the middle of changes: what is listed again, and how soon the next change is found.
    Restart(sync::Flags),
    /// The store alone, without any other process: writing, writing again, listing, and each way to read a page.
    Store(store::Flags),
    /// The first sync of members that lie in memory, on each database: objects in a second, what they cost, and memory.
    Sync(sync::Flags),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Catalogue(flags) => catalogue::run(flags).await,
        Command::Churn(flags) => sync::churn(flags).await,
        Command::Events(flags) => events::run(flags).await,
        Command::Fleet(flags) => fleet::run(flags).await,
        Command::Footprint(flags) => footprint::run(flags).await,
        Command::Hostile(flags) => hostile::run(flags).await,
        Command::Member(flags) => member::run(flags).await,
        Command::Restart(flags) => sync::restart(flags).await,
        Command::Store(flags) => store::run(flags).await,
        Command::Sync(flags) => sync::sync(flags).await,
    }
}
