//! `armadex store renew`: makes a store that was restored another one.

use std::io::Write as _;

use anyhow::Context as _;
use clap::Args;

use crate::store::StoreFlags;

/// Give a store another incarnation, so that nobody takes what he remembers of it for what it has, and leave.
///
/// For a database of a server that was restored from a backup, or whose replica took over and had lost commits, while no process had it open: then nobody has seen what is
/// lost, and its revisions are handed out once more. Run this before anything is started. Clients list once; streams of members go on from where the
/// restored store has them. Where there is no store, none is made, and one of an earlier release is refused: `armadex migrate` comes first. A process that runs meanwhile sees such a loss by itself. A SQLite file that
/// is copied back is known by the mark beside it. A snapshot of its volume or file system brings that mark back too: after one, run this before starting.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
}

/// Renews and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.existing().await?;
    let renewed = armadex_storage_sql::renew(&location).await;
    let revision = renewed.with_context(|| format!("cannot renew {location}"))?;
    writeln!(
        std::io::stdout().lock(),
        "{location}: another incarnation from revision {revision} on"
    )?;
    Ok(())
}
