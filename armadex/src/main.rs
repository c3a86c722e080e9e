//! The `armadex` binary: reads the command line, sets up logs and the TLS provider, and hands over to one subcommand.

mod admin;
mod api_group;
mod background;
mod cli;
mod command;
mod continuity;
mod control_plane;
mod credentials;
mod expiry;
mod failure;
mod feature_gates;
mod kubeconfig;
mod leader;
mod logging;
mod memory;
mod metrics;
mod open_files;
mod process;
mod registration;
mod service;
mod shutdown;
mod store;
mod token;
mod visible;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    logging::init(&cli.log);
    open_files::allow_many();
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        tracing::error!("another TLS provider was installed first");
        return ExitCode::FAILURE;
    }
    let format = cli.log.log_format;
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            failure::tell(&error, format);
            ExitCode::FAILURE
        }
    }
}

/// A thread that looks up a name, or a disk that does not answer, holds nobody up who was told to stop: what they do is nothing that would be missed.
fn run(cli: cli::Cli) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(command::run(cli.command));
    runtime.shutdown_background();
    done
}
