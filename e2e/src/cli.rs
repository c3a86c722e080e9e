//! The command line: one file per command that is more than a call.

mod demo;
mod down;
mod readme;
mod seed;
mod up;

use std::path::PathBuf;

use anyhow::{Context, Result};
use armadex_e2e::progress::result;
use armadex_e2e::tools::{definitions, helm, promtool};
use armadex_e2e::{Folder, Harness, Tools, install_crypto};
use clap::{Parser, Subcommand};

/// Real control planes on this machine: a host with Karmada's Cluster API, members that join and leave it, and a demo of
/// Armadex among them. Everything listens on 127.0.0.1 and lives in one folder.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    /// The folder of the fleet: kubeconfigs, logs, the store.
    #[arg(long, env = "ARMADEX_DEMO_DIR", default_value = ".demo", global = true)]
    folder: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find the programs that are needed, or build them once.
    Tools,
    /// Run the demo until Ctrl-C: a fleet, Armadex, a policy, rows.
    Demo {
        /// A folder of kubeconfigs of clusters that run already (see e2e/kind/up.sh), instead of starting a fleet.
        #[arg(long, value_name = "FOLDER")]
        attach: Option<PathBuf>,
    },
    /// Start a control plane and members, without Armadex; they go on until `down`.
    Up {
        /// How many members to start and join.
        #[arg(long, default_value_t = 2)]
        members: usize,
    },
    /// Stop everything that was started in the folder, the demo included.
    Down,
    /// Join a member, starting it first if there is none of that name.
    Join {
        /// The member.
        name: String,
    },
    /// Take a member out of the fleet; its apiserver goes on.
    Unjoin {
        /// The member.
        name: String,
    },
    /// Replace the token by which the control plane reaches a member, and revoke the old one.
    Rotate {
        /// The member.
        name: String,
    },
    /// Put realistic objects into members, straight through etcd.
    Seed(seed::Options),
    /// The stand-in's controllers, as `up` starts them.
    #[command(hide = true)]
    StandIn,
}

/// Runs one command.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start a runtime")?;
    runtime.block_on(dispatch(arguments))
}

async fn dispatch(arguments: Arguments) -> Result<()> {
    install_crypto();
    let folder = Folder::new(&arguments.folder)?;
    match arguments.command {
        Command::Tools => tools(),
        Command::Demo { attach } => demo::run(&folder, attach).await,
        Command::Up { members } => up::run(&folder, members).await,
        Command::Down => down::run(&folder),
        Command::Join { name } => join(&folder, &name).await,
        Command::Unjoin { name } => unjoin(&folder, &name).await,
        Command::Rotate { name } => rotate(&folder, &name).await,
        Command::Seed(options) => seed::run(&folder, &options).await,
        Command::StandIn => up::stand_in(&folder).await,
    }
}

fn tools() -> Result<()> {
    let tools = Tools::ensure()?;
    let programs = [
        tools.etcd,
        tools.kube_apiserver,
        tools.kube_controller_manager,
        tools.kubectl,
        helm()?,
        promtool()?,
    ];
    for path in programs.into_iter().chain(definitions()?) {
        result(path.display());
    }
    Ok(())
}

async fn join(folder: &Folder, name: &str) -> Result<()> {
    let fleet = Harness::attach(folder)?;
    fleet.join(name).await?;
    result(format_args!(
        "{name} is joined to {}",
        fleet.control_plane().kind()
    ));
    Ok(())
}

async fn unjoin(folder: &Folder, name: &str) -> Result<()> {
    let fleet = Harness::attach(folder)?;
    fleet.unjoin(name).await?;
    result(format_args!("{name} left {}", fleet.control_plane().kind()));
    Ok(())
}

async fn rotate(folder: &Folder, name: &str) -> Result<()> {
    Harness::attach(folder)?.rotate(name).await?;
    result(format_args!(
        "{name} has a new token; the old one is revoked"
    ));
    Ok(())
}
