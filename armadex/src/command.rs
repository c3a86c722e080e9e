//! The subcommands: one file each, with its flags and its `run`.

pub(crate) mod all;
pub(crate) mod apiserver;
pub(crate) mod audit;
pub(crate) mod controllers;
pub(crate) mod crds;
pub(crate) mod install;
pub(crate) mod kubeconfig;
pub(crate) mod migrate;
pub(crate) mod policy;
pub(crate) mod rbac;
pub(crate) mod store;
pub(crate) mod synchro;
pub(crate) mod uninstall;

use crate::cli::Command;
use crate::shutdown;

/// Runs one subcommand to its end. Those that serve end in order at a signal, those that do one thing break off with an error.
pub(crate) async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::All(flags) => all::run(flags).await,
        Command::Apiserver(flags) => apiserver::run(flags).await,
        Command::Synchro(flags) => synchro::run(flags).await,
        Command::Controllers(flags) => controllers::run(flags).await,
        Command::Policy(flags) => policy::run(&flags),
        Command::Rbac(flags) => shutdown::unless_interrupted(rbac::run(&flags)).await,
        Command::Migrate(flags) => shutdown::unless_interrupted(migrate::run(flags)).await,
        Command::Audit(flags) => shutdown::unless_interrupted(audit::run(flags)).await,
        Command::Store(flags) => shutdown::unless_interrupted(store::run(flags)).await,
        Command::Check(flags) => shutdown::unless_interrupted(store::check::run(flags)).await,
        Command::Install(flags) => shutdown::unless_interrupted(install::run(flags)).await,
        Command::Uninstall(flags) => shutdown::unless_interrupted(uninstall::run(flags)).await,
        Command::Crds(flags) => crds::run(flags).await,
        Command::Kubeconfig(flags) => kubeconfig::run(flags).await,
    }
}
