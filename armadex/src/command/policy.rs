//! `armadex policy`: what a ClusterImportPolicy makes of objects in files, without a control plane.

mod excerpt;
mod files;
mod found;
mod given;
mod made;
mod printed;
mod refusal;
mod render;
mod room;
mod stored;
mod test;

use clap::{Args, Subcommand};

pub(super) use found::{objects_of, policies_of};
pub(super) use given::lies_in_namespaces;

/// Try a ClusterImportPolicy on objects in files, without a control plane.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Command,
}

/// Each is described by its flags.
#[derive(Debug, Subcommand)]
enum Command {
    Render(render::Flags),
    Test(test::Flags),
}

/// Runs one of them to its end. Nothing is waited for but files.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<()> {
    match &flags.command {
        Command::Render(flags) => render::run(flags),
        Command::Test(flags) => test::run(flags),
    }
}
