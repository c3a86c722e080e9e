//! `seed`: objects in bulk.

use anyhow::Result;
use armadex_e2e::progress::{note, result};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Folder, Harness};
use clap::Args;

/// What to put where.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many objects for each member.
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// Only this member; every one when absent.
    #[arg(long)]
    member: Option<String>,
    /// Another number gives other objects; the same one writes the same again.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Puts the objects into one member or all of them.
pub(crate) async fn run(folder: &Folder, options: &Options) -> Result<()> {
    let fleet = Harness::attach(folder)?;
    let names = match &options.member {
        Some(name) => vec![name.clone()],
        None => folder.members()?,
    };
    for name in names {
        note(format_args!("seeding {name}"));
        let done = seed::put(
            &fleet.member(&name)?,
            Plan {
                count: options.count,
                seed: options.seed,
            },
        )
        .await?;
        let (megabytes, seconds) = (done.bytes / 1_000_000, done.took.as_secs_f32());
        result(format_args!(
            "{name}: {} objects, {megabytes} MB in {seconds:.1} s",
            done.objects
        ));
    }
    Ok(())
}
