//! The command line: what every subcommand shares. Each subcommand's own flags are in its file under `command`.

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::command::{
    all, apiserver, audit, controllers, crds, install, kubeconfig, migrate, policy, rbac, store,
    synchro, uninstall,
};

/// The index of an armada of Kubernetes clusters.
///
/// Armadex finds the clusters that a multi-cluster platform manages, keeps a live copy of their resources in a database, and serves
/// it as a Kubernetes API. It is installed next to a control plane (Karmada, or any kube-apiserver): `install` what it needs
/// there with a policy that brings clusters in, run `all`, and search the fleet with kubectl.
#[derive(Debug, Parser)]
#[command(version, about, long_about, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  armadex install --kubeconfig host.kubeconfig --policies karmada
  armadex all --kubeconfig host.kubeconfig --store sqlite:armadex.db
  armadex kubeconfig --kubeconfig host.kubeconfig --output fleet.kubeconfig
  kubectl --kubeconfig fleet.kubeconfig --context clusterpedia get pods -A";

/// How log lines are written; they go to standard error.
#[derive(Debug, Args)]
pub(crate) struct LogFlags {
    /// Form of the log lines.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "text",
        env = "ARMADEX_LOG_FORMAT"
    )]
    pub(crate) log_format: LogFormat,
    /// What is logged: a level (off, error, warn, info, debug, trace), `target=level` pairs, or both, separated by commas.
    #[arg(long, global = true, default_value = "info", env = "ARMADEX_LOG", value_parser = log_level)]
    pub(crate) log_level: String,
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Refuses a word that is no level: a filter would take it for the name of a target, and nothing else would be logged.
fn log_level(text: &str) -> Result<String, String> {
    for part in text.split(',').map(str::trim) {
        let is_level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(part));
        if !is_level && !part.contains('=') {
            return Err(format!(
                "{part:?} is no level: expected one of {}, or target=level",
                LEVELS.join(", ")
            ));
        }
    }
    tracing_subscriber::EnvFilter::try_new(text)
        .map(|_| text.to_owned())
        .map_err(|err| err.to_string())
}

/// Form of the log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One readable line for each event.
    Text,
    /// One JSON object for each event.
    Json,
}

/// The subcommands, each in a file of its own, and described by its flags.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    All(all::Flags),
    Apiserver(apiserver::Flags),
    Synchro(synchro::Flags),
    Controllers(controllers::Flags),
    Install(install::Flags),
    Uninstall(uninstall::Flags),
    Migrate(migrate::Flags),
    Audit(audit::Flags),
    Store(store::Flags),
    /// The same as `store check`.
    #[command(hide = true)]
    Check(store::check::Flags),
    Crds(crds::Flags),
    Policy(policy::Flags),
    Rbac(rbac::Flags),
    Kubeconfig(kubeconfig::Flags),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// What stands on a variant would take the place of all that stands on its flags.
    #[test]
    fn the_help_of_a_subcommand_says_what_its_flags_say() {
        let mut cli = Cli::command();
        cli.build();
        for path in [
            "all",
            "install",
            "uninstall",
            "migrate",
            "audit",
            "store check",
            "store copy",
            "policy render",
            "policy test",
            "rbac",
        ] {
            let found = path
                .split(' ')
                .try_fold(&cli, |command, name| command.find_subcommand(name));
            let found = found.expect(path);
            assert!(found.get_about().is_some(), "{path}");
            assert!(found.get_long_about().is_some(), "{path}");
        }
    }

    #[test]
    fn a_level_that_is_none_is_refused_by_name() {
        for good in [
            "info",
            "DEBUG",
            "warn,sqlx=off",
            "armadex_synchro=trace",
            "off",
        ] {
            assert_eq!(log_level(good), Ok(good.to_owned()));
        }
        for (bad, word) in [
            ("inof", "inof"),
            ("info,verbose", "verbose"),
            ("", "\"\""),
            ("sqlx=loud", "loud"),
        ] {
            let refused = log_level(bad).expect_err(bad);
            assert!(bad == "sqlx=loud" || refused.contains(word), "{refused}");
        }
    }
}
