//! `armadex apiserver`: serves the search API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use armadex_apiserver::{Certificate, Config, SelfMade};
use armadex_storage::Search as _;
use clap::Args;

use crate::admin::AdminFlags;
use crate::api_group::ApiGroupFlag;
use crate::control_plane::ControlPlaneFlags;
use crate::credentials::NamespaceFlag;
use crate::feature_gates::FeatureGateFlags;
use crate::process::Process;
use crate::registration::{self, Own, RegistrationFlags};
use crate::store::StoreFlags;
use crate::store::replica::ReplicaFlags;

/// Serve the search API, behind a kube-apiserver's aggregator or directly.
///
/// Callers are known by the aggregator's headers (only over a connection with its client certificate), by a client certificate of the
/// control plane, or by a token that the control plane reviews. Every request is authorised there, too.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    store: StoreFlags,
    #[command(flatten)]
    replica: ReplicaFlags,
    #[command(flatten)]
    admin: AdminFlags,
    #[command(flatten)]
    own: NamespaceFlag,
    #[command(flatten)]
    serving: ServingFlags,
    #[command(flatten)]
    gates: FeatureGateFlags,
}

/// Where and with which certificate the API is served.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServingFlags {
    /// Address of the search API, HTTPS.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    pub(crate) listen: SocketAddr,
    /// Serving certificate, PEM, with the chain; read again when it changes. Without it one is made at every start.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Key of the serving certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// Names and addresses in the certificate that is made.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "localhost,127.0.0.1,armadex-apiserver.clusterpedia-system.svc",
        conflicts_with = "tls_cert_file"
    )]
    self_made_names: Vec<String>,
    /// Where to write the CA of the certificate that is made: the `caBundle` of the APIService.
    #[arg(long, value_name = "FILE", conflicts_with = "tls_cert_file")]
    self_made_ca: Option<PathBuf>,
    /// Seconds that the search API goes on after a signal to stop, while `/readyz` says already that it will not: so long may it take until
    /// whoever sends requests here sends them elsewhere. Then requests that are under way have 15 seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=3600))]
    shutdown_delay: u32,
    #[command(flatten)]
    group: ApiGroupFlag,
    #[command(flatten)]
    registration: RegistrationFlags,
    #[command(flatten)]
    limits: LimitFlags,
}

/// What requests and connections may cost.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits of the search API")]
struct LimitFlags {
    /// Short requests served at the same time; more get 429 and try again. The last quarter is for users who have none.
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = at_least_one())]
    max_in_flight: u32,
    /// Lists served at the same time; more get 429 and try again. The last quarter is for users who have none.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one())]
    max_lists_in_flight: u32,
    /// Short requests of one user served at the same time. A user has the same part of the lists.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one())]
    max_in_flight_per_user: u32,
    /// MiB that are held for clients: pages that were read and answers that were not taken yet. More wait, then get 429. A quarter
    /// at most for one user or one connection, and the last quarter for users for whom nothing is held.
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(8..=4095))]
    max_held_mib: u32,
    /// Seconds from a request's head until its answer has been made. What has been made may be taken for --stall-timeout longer, in its
    /// whole length.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = at_least_one())]
    request_timeout: u32,
    /// Seconds that an answer is kept of which its client takes nothing.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = at_least_one())]
    stall_timeout: u32,
    /// Seconds that a connection is kept without a request.
    #[arg(long, value_name = "SECONDS", default_value_t = 90, value_parser = at_least_one())]
    idle_timeout: u32,
    /// Connections open at the same time, a quarter of them at most while nobody on them has proved who they are, and as many for one user.
    /// For another one, one of those is closed, or one that is idle.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = at_least_one())]
    max_connections: u32,
    /// Of these, kept for the aggregator: fewer than all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    reserved_connections: u32,
    /// Connections of one address on which nobody has proved who they are. All addresses have a quarter of --max-connections for such together.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one())]
    max_unproven_connections_per_address: u32,
}

fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

impl LimitFlags {
    fn apply(&self, config: &mut Config) -> anyhow::Result<()> {
        let Self {
            max_in_flight,
            max_lists_in_flight,
            max_in_flight_per_user,
            max_held_mib,
            request_timeout,
            stall_timeout,
            idle_timeout,
            max_connections,
            reserved_connections,
            max_unproven_connections_per_address,
        } = *self;
        ensure!(
            reserved_connections < max_connections,
            "--reserved-connections {reserved_connections} of --max-connections {max_connections} leave none for users: reserve fewer, or allow more"
        );
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        config.max_in_flight = max_in_flight as usize;
        config.max_lists_in_flight = max_lists_in_flight as usize;
        config.max_in_flight_per_user = max_in_flight_per_user as usize;
        config.max_held_bytes = (max_held_mib as usize) << 20;
        config.request_timeout = seconds(request_timeout);
        config.stall_timeout = seconds(stall_timeout);
        config.idle_timeout = seconds(idle_timeout);
        config.max_connections = max_connections as usize;
        config.reserved_connections = reserved_connections as usize;
        config.max_unproven_connections_per_address = max_unproven_connections_per_address as usize;
        Ok(())
    }
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let begun = Process::begin_to_search(&flags.control_plane, &flags.store, &flags.replica);
    let Some(mut process) = begun.await? else {
        return Ok(());
    };
    flags.gates.feature_gates.tell();
    start(&mut process, &flags.serving, &flags.own.namespace)?;
    process.run(flags.admin).await
}

/// Adds the API server, and what it keeps in this namespace of the control plane.
pub(crate) fn start(
    process: &mut Process,
    flags: &ServingFlags,
    namespace: &str,
) -> anyhow::Result<()> {
    let own = Own {
        group: &flags.group.api_group,
        namespace,
        names: &flags.self_made_names,
        listen: flags.listen,
        certificate: flags.tls_cert_file.as_deref(),
    };
    let certificate = match registration::start(process, &flags.registration, &own)? {
        Some(kept) => kept,
        None => certificate(flags)?,
    };
    let mut config = Config::new(flags.listen, certificate);
    flags.limits.apply(&mut config)?;
    config.group.clone_from(&flags.group.api_group);
    config.searches = process.store.searches();
    config.stopping = process.parts.cancel();
    let delay = Duration::from_secs(flags.shutdown_delay.into());
    process.parts.delay_last(delay);
    process.metrics.add_requests(Arc::clone(&config.counters));
    let (client, search) = (process.client.clone(), process.store.clone());
    // What the first request needs to know of a large fleet takes seconds to read. Who fails here fails again when it is asked for.
    let store = process.store.clone();
    tokio::spawn(async move { store.catalog().await.map(drop) });
    let server = armadex_apiserver::serve(config, search, client, process.parts.last());
    process.parts.start("API server", server);
    Ok(())
}

fn certificate(flags: &ServingFlags) -> anyhow::Result<Certificate> {
    if let (Some(certificate), Some(key)) = (&flags.tls_cert_file, &flags.tls_private_key_file) {
        return Ok(Certificate::Files {
            certificate: certificate.clone(),
            key: key.clone(),
        });
    }
    let made = SelfMade::for_names(&flags.self_made_names)
        .context("cannot make a certificate for --self-made-names")?;
    if let Some(path) = &flags.self_made_ca {
        std::fs::write(path, made.ca_pem())
            .with_context(|| format!("cannot write --self-made-ca {}", path.display()))?;
    }
    Ok(Certificate::SelfMade(made))
}

#[cfg(test)]
mod tests {
    use clap::{Arg, CommandFactory as _, Parser};

    use super::*;
    use crate::cli::Cli;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        limits: LimitFlags,
    }

    fn applied(flags: &[&str]) -> anyhow::Result<Config> {
        let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
        let address = "127.0.0.1:0".parse().expect("an address");
        let mut config = Config::new(address, Certificate::SelfMade(made));
        let line = std::iter::once(&"armadex").chain(flags);
        let limits = Line::try_parse_from(line).expect("flags").limits;
        limits.apply(&mut config)?;
        Ok(config)
    }

    fn config(flags: &[&str]) -> Config {
        applied(flags).expect("limits that leave room")
    }

    /// Every limit that has a flag, in the order of the flags.
    fn limits(config: &Config) -> [u64; 10] {
        let Config {
            listen: _,
            certificate: _,
            group: _,
            token_audiences: _,
            counters: _,
            // The store says how many connections it has for them.
            searches: _,
            // A program that ends has what its pod is given.
            shutdown_grace: _,
            stopping: _,
            max_in_flight,
            max_lists_in_flight,
            max_in_flight_per_user,
            max_held_bytes,
            request_timeout,
            stall_timeout,
            idle_timeout,
            max_connections,
            reserved_connections,
            max_unproven_connections_per_address,
        } = config;
        [
            *max_in_flight as u64,
            *max_lists_in_flight as u64,
            *max_in_flight_per_user as u64,
            *max_held_bytes as u64 >> 20,
            request_timeout.as_secs(),
            stall_timeout.as_secs(),
            idle_timeout.as_secs(),
            *max_connections as u64,
            *reserved_connections as u64,
            *max_unproven_connections_per_address as u64,
        ]
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_server() {
        let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
        let address = "127.0.0.1:0".parse().expect("an address");
        let config_without = Config::new(address, Certificate::SelfMade(made));
        assert_eq!(limits(&config(&[])), limits(&config_without));
        // Those on whom nobody has proved anything have a quarter of all connections together.
        let of_all_addresses = config_without.max_connections / 4;
        assert!(config_without.max_unproven_connections_per_address < of_all_addresses);
    }

    #[test]
    fn every_limit_has_its_flag() {
        let flags = [
            "--max-in-flight=11",
            "--max-lists-in-flight=12",
            "--max-in-flight-per-user=13",
            "--max-held-mib=14",
            "--request-timeout=15",
            "--stall-timeout=16",
            "--idle-timeout=17",
            "--max-connections=19",
            "--reserved-connections=18",
            "--max-unproven-connections-per-address=20",
        ];
        assert_eq!(
            limits(&config(&flags)),
            [11, 12, 13, 14, 15, 16, 17, 19, 18, 20]
        );
    }

    #[test]
    fn the_help_says_the_default_of_every_limit() {
        let line = Line::command();
        let flags: Vec<&str> = line.get_arguments().filter_map(Arg::get_long).collect();
        let mut cli = Cli::command();
        cli.build();
        let defaults = limits(&config(&[]));
        for subcommand in ["apiserver", "all"] {
            let found = cli.find_subcommand_mut(subcommand).expect(subcommand);
            let help = found.render_long_help().to_string();
            assert_eq!(flags.len(), defaults.len());
            for (flag, default) in flags.iter().zip(defaults) {
                let after = help.split_once(&format!("--{flag} <")).expect(flag).1;
                let about = after.split("\n      --").next().unwrap_or_default();
                assert!(
                    about.contains(&format!("[default: {default}]")),
                    "{subcommand} --{flag} <{about}"
                );
            }
        }
    }

    #[test]
    fn a_reserve_that_leaves_no_connection_for_users_is_refused_by_name() {
        for flags in [
            &["--max-connections=50"][..],
            &["--max-connections=10", "--reserved-connections=11"],
            &["--max-connections=1", "--reserved-connections=1"],
        ] {
            let refused = applied(flags).expect_err("refused").to_string();
            for flag in ["--max-connections", "--reserved-connections"] {
                assert!(refused.contains(flag), "{refused}");
            }
        }
        assert_eq!(config(&["--max-connections=51"]).reserved_connections, 50);
    }
}
