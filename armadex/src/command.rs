//! The subcommands: one file each, with its flags and its `run`.

pub(crate) mod all;
pub(crate) mod apiserver;
pub(crate) mod audit;
pub(crate) mod controllers;
pub(crate) mod crds;
pub(crate) mod kubeconfig;
pub(crate) mod migrate;
pub(crate) mod store;
pub(crate) mod synchro;

use crate::cli::Command;

/// Runs one subcommand to its end.
pub(crate) async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::All(flags) => all::run(flags).await,
        Command::Apiserver(flags) => apiserver::run(flags).await,
        Command::Synchro(flags) => synchro::run(flags).await,
        Command::Controllers(flags) => controllers::run(flags).await,
        Command::Migrate(flags) => migrate::run(flags).await,
        Command::Audit(flags) => audit::run(flags).await,
        Command::Store(flags) => store::run(flags).await,
        Command::Check(flags) => store::check::run(flags).await,
        Command::Crds(flags) => crds::run(flags).await,
        Command::Kubeconfig(flags) => kubeconfig::run(flags).await,
    }
}
