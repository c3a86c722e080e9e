//! `armadex-e2e`: control planes, members and the demo, for people.

mod cli;

use clap::Parser;

fn main() -> std::process::ExitCode {
    armadex_e2e::install_crypto();
    armadex_e2e::ports::leave_those_of_tests();
    match cli::run(cli::Arguments::parse()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            armadex_e2e::progress::note(format_args!("error: {error:#}"));
            std::process::ExitCode::FAILURE
        }
    }
}
