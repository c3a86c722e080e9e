//! `armadex synchro`: copies the resources of the members into the store.

use std::sync::Arc;
use std::time::Duration;

use armadex_control_plane::LeaseTerms;
use armadex_synchro::{AllowedAddress, Config, ControlPlane, Gates, Metrics, Unpruned, lease_name};
use clap::Args;
use tracing::{info, warn};

use crate::admin::AdminFlags;
use crate::control_plane::ControlPlaneFlags;
use crate::credentials::{CredentialFlags, NamespaceFlag, warn_of_everybodys};
use crate::feature_gates::{FeatureGateFlags, FeatureGates};
use crate::leader::{self, LeaderFlags};
use crate::process::Process;
use crate::store::StoreFlags;

/// Ten years: beyond what clocks count lies no period. Who wants no audits says 0.
const LONGEST_PERIOD: u64 = 10 * 365 * 24 * 60 * 60;

/// Earlier releases took this gate and did nothing with it.
const WITHOUT_SECRETS: &str = "feature gate ClusterAuthenticationFromSecret=false: no Secret is read, so clusters whose credentials lie in Secrets are not synced any more; leave the gate out if they are to be";

/// Copy the resources of the members into the store.
///
/// Follows PediaCluster objects. A restart resumes each stream where it stood and lists nothing again.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    store: StoreFlags,
    #[command(flatten)]
    admin: AdminFlags,
    #[command(flatten)]
    synchro: SynchroFlags,
    #[command(flatten)]
    gates: FeatureGateFlags,
}

/// What a synchro can be told.
#[derive(Clone, Debug, Args)]
pub(crate) struct SynchroFlags {
    #[command(flatten)]
    pub(crate) leader: LeaderFlags,
    #[command(flatten)]
    pub(crate) credentials: CredentialFlags,
    /// Where members and their proxies may be: networks, addresses and names, as in 10.0.0.0/8,*.example.com. A name that is not listed may lead to a listed network; one
    /// that is may lead anywhere, and behind a proxy it has to be. Without this they may be anywhere but where clouds tell machines their credentials
    /// (169.254.0.0/16, fe80::/10, fd00:ec2::254, 100.100.100.200): these have to be listed in any case.
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    pub(crate) member_addresses: Vec<AllowedAddress>,
    /// Write nothing about PediaClusters: no status, no finalizer, no Event. For a trial beside another program that looks after them, such as Clusterpedia's manager: members are
    /// read with the same credentials, and how they are is in the log and on /metrics alone.
    #[arg(long)]
    pub(crate) observe: bool,
    /// Handle only the PediaClusters with this `shardingName`.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) sharding_name: String,
    /// How long the rows of a cluster that left are kept, hidden from every search, in seconds: one that comes back meanwhile, be it with
    /// another PediaCluster of the same name, goes on where it was. 0: they are purged at once.
    #[arg(long, value_name = "SECONDS", default_value_t = 15 * 60)]
    pub(crate) purge_after: u64,
    /// How often what is stored of a cluster is compared with the cluster, in seconds: keys and versions of every synced resource, one after
    /// the other, a fifth earlier or later by chance. What differs is listed anew. 0: only when it is asked for (`armadex audit`).
    #[arg(long, value_name = "SECONDS", default_value_t = 6 * 60 * 60, value_parser = clap::value_parser!(u64).range(..=LONGEST_PERIOD))]
    pub(crate) audit_every: u64,
    /// Buffers for objects on their way to the store, in bytes, over all members together; a quarter of it is for those that have not come
    /// in as a whole, and one member has a quarter of the rest at most. Beside it come 16 KiB of such a one for each watch, and what has arrived
    /// and is not read yet: up to 64 KiB for each watch, for five seconds at most, and 256 KiB for each page under way; and what 12 members at a
    /// time say they serve: a megabyte each, and beside them of four that say more two answers of 8 MiB (in the older way of discovery and
    /// eight of 2 MiB beside each), and what that is decoded to: some five megabytes with one in which names are as short as can be, and some
    /// twenty for one that says more.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub(crate) memory_budget: usize,
    /// Objects larger than this, in bytes and after pruning, are not stored; a condition names them.
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 20)]
    pub(crate) max_object_bytes: usize,
    /// Resources that are synced of one cluster, each with a watch of its own; a condition tells how many are not.
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    pub(crate) max_resources_per_cluster: usize,
    /// Objects of one cluster in the store, of all its resources. Beyond that those of which more come are not synced on, and of what is stored of them only
    /// what the member does not have any more goes; a condition says so. 0: any number.
    #[arg(long, value_name = "NUMBER", default_value_t = 5_000_000)]
    pub(crate) max_objects_per_cluster: u64,
    /// Members that the control plane is asked for at the same time, because their API servers do not answer or no credential of them is known. The others
    /// wait for a place, and their conditions say so: where it is the synchro that lost its way to members, the whole fleet would else be moved onto the control
    /// plane. 0: none.
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    pub(crate) max_members_by_control_plane: usize,
    /// Asks for lists as the beginning of a watch (`sendInitialEvents`), where a member knows that, and not in pages: one request of each resource, and of one with
    /// many objects more work for the member. The feature gate ForcePaginatedListForResourceSync turns it off.
    #[arg(long)]
    pub(crate) streaming_lists: bool,
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let begun = Process::begin(&flags.control_plane, &flags.store).await?;
    let Some(mut process) = begun else {
        return Ok(());
    };
    let way = flags.control_plane.way_to_members().await?;
    start(&mut process, way, flags.synchro, &flags.gates.feature_gates);
    process.run(flags.admin).await
}

/// Adds the synchro.
pub(crate) fn start(
    process: &mut Process,
    way: Option<ControlPlane>,
    flags: SynchroFlags,
    gates: &FeatureGates,
) {
    let counted = Arc::<Metrics>::default();
    process.metrics.add_members(Arc::clone(&counted));
    gates.tell();
    if flags.streaming_lists && gates.force_paginated_lists {
        info!(
            "feature gate ForcePaginatedListForResourceSync=true turns --streaming-lists off: lists are asked for in pages"
        );
    }
    if !gates.cluster_authentication_from_secret {
        warn!("{WITHOUT_SECRETS}");
    }
    let (own, credentials) = (&flags.leader.own.namespace, &flags.credentials);
    warn_of_everybodys(credentials.credential_namespaces.iter().chain([own]));
    let name = lease_name(&flags.sharding_name, &process.store.identity());
    let lease = flags.leader.lease(&name);
    if let Some(lease) = &lease {
        process.metrics.add_lease(lease);
        leader::add_check(&mut process.checks, "synchro-lease", lease);
    }
    let config = Config {
        control_plane: way,
        ..config(flags, gates, lease, counted)
    };
    let (client, sink) = (process.background_client.clone(), process.store.clone());
    let synchro = armadex_synchro::run(client, sink, config, process.parts.cancel());
    process
        .parts
        .start_on(process.background.handle(), "synchro", synchro);
}

fn config(
    flags: SynchroFlags,
    gates: &FeatureGates,
    lease: Option<LeaseTerms>,
    metrics: Arc<Metrics>,
) -> Config {
    let SynchroFlags {
        leader:
            LeaderFlags {
                own: NamespaceFlag { namespace },
                leader_elect: _,
            },
        credentials: CredentialFlags {
            credential_namespaces,
        },
        member_addresses,
        observe,
        sharding_name,
        purge_after,
        audit_every,
        memory_budget,
        max_object_bytes,
        max_resources_per_cluster,
        max_objects_per_cluster,
        max_members_by_control_plane,
        streaming_lists,
    } = flags;
    Config {
        namespace,
        credential_namespaces: credential_namespaces.into_iter().collect(),
        member_addresses: member_addresses.into_iter().collect(),
        control_plane: None,
        memory_budget,
        max_object_bytes,
        max_resources: max_resources_per_cluster,
        max_objects: max_objects_per_cluster,
        max_by_control_plane: max_members_by_control_plane,
        sharding_name,
        lease,
        observes: observe,
        purge_after: Duration::from_secs(purge_after),
        audit_every: Duration::from_secs(audit_every),
        streaming_lists: streaming_lists && !gates.force_paginated_lists,
        gates: Gates {
            allow_sync_all_resources: gates.allow_sync_all_resources,
            allow_sync_all_custom_resources: gates.allow_sync_all_custom_resources,
            ignore_sync_lease: gates.ignore_sync_lease,
        },
        unpruned: Unpruned {
            managed_fields: !gates.prune_managed_fields,
            last_applied: !gates.prune_last_applied_configuration,
        },
        ignores_secrets: !gates.cluster_authentication_from_secret,
        metrics,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        flags: SynchroFlags,
    }

    fn config_of(flags: &[&str]) -> Config {
        config_by(&FeatureGates::default(), flags)
    }

    fn config_by(gates: &FeatureGates, flags: &[&str]) -> Config {
        let line = std::iter::once(&"synchro").chain(flags);
        let flags = Command::try_parse_from(line).expect("flags").flags;
        config(flags, gates, None, Arc::default())
    }

    /// All that there is a flag for, in the order of the flags.
    fn told(config: Config) -> (Vec<String>, [u64; 7]) {
        let Config {
            namespace,
            credential_namespaces,
            member_addresses,
            control_plane: _,
            memory_budget,
            max_object_bytes,
            max_resources,
            max_objects,
            max_by_control_plane,
            sharding_name,
            lease: _,
            observes,
            purge_after,
            audit_every,
            streaming_lists,
            gates: _,
            unpruned: _,
            ignores_secrets: _,
            metrics: _,
        } = config;
        let names = [namespace].into_iter().chain(credential_namespaces);
        let observes = if observes { "observes" } else { "" }.to_owned();
        let streams = if streaming_lists { "streams" } else { "" }.to_owned();
        let names = names.chain([
            sharding_name,
            member_addresses.to_string(),
            observes,
            streams,
        ]);
        let names = names.collect();
        let numbers = [
            purge_after.as_secs(),
            audit_every.as_secs(),
            memory_budget as u64,
            max_object_bytes as u64,
            max_resources as u64,
            max_objects,
            max_by_control_plane as u64,
        ];
        (names, numbers)
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_synchro() {
        let (names, numbers) = told(config_of(&[]));
        let own = "clusterpedia-system";
        assert_eq!(names, [own, own, "karmada-cluster", "", "", "", ""]);
        assert_eq!(numbers, told(Config::default()).1);
        let [purge_after, audit_every, ..] = numbers;
        assert_eq!((purge_after, audit_every), (15 * 60, 6 * 60 * 60));
    }

    #[test]
    fn everything_that_a_synchro_is_told_has_its_flag() {
        let flags = [
            "--namespace=own",
            "--credential-namespaces=other",
            "--sharding-name=shard",
            "--member-addresses=10.0.0.0/8,*.example.com",
            "--observe",
            "--streaming-lists",
            "--purge-after=11",
            "--audit-every=12",
            "--memory-budget=13",
            "--max-object-bytes=14",
            "--max-resources-per-cluster=15",
            "--max-objects-per-cluster=16",
            "--max-members-by-control-plane=17",
        ];
        let names = [
            "own",
            "other",
            "shard",
            "10.0.0.0/8,*.example.com",
            "observes",
            "streams",
        ];
        let names = names.map(str::to_owned).to_vec();
        assert_eq!(
            told(config_of(&flags)),
            (names, [11, 12, 13, 14, 15, 16, 17])
        );
    }

    #[test]
    fn lists_come_in_pages_where_a_gate_forces_them_to() {
        for (forced, streams) in [("false", true), ("true", false)] {
            let gate = format!("ForcePaginatedListForResourceSync={forced}");
            let gates = crate::feature_gates::parse(&gate).expect("a gate");
            let config = config_by(&gates, &["--streaming-lists"]);
            assert_eq!(config.streaming_lists, streams, "{gate}");
        }
    }

    #[test]
    fn what_is_pruned_and_whether_secrets_are_read_is_for_gates_to_say() {
        let told = |gates: &str| {
            let gates = crate::feature_gates::parse(gates).expect("gates");
            let config = config_by(&gates, &[]);
            let Unpruned {
                managed_fields,
                last_applied,
            } = config.unpruned;
            (managed_fields, last_applied, config.ignores_secrets)
        };
        assert_eq!(told(""), (false, false, false));
        assert_eq!(told("PruneManagedFields=false"), (true, false, false));
        let applied = "PruneLastAppliedConfiguration=false";
        assert_eq!(told(applied), (false, true, false));
        let secrets = "ClusterAuthenticationFromSecret=false";
        assert_eq!(told(secrets), (false, false, true));
    }

    #[test]
    fn a_period_that_no_clock_has_is_refused_with_the_longest() {
        let every = |seconds: u64| {
            let flag = format!("--audit-every={seconds}");
            let parsed = Command::try_parse_from(["synchro", &flag]);
            parsed.map(|command| command.flags.audit_every)
        };
        assert_eq!(every(0).unwrap(), 0);
        assert_eq!(every(LONGEST_PERIOD).unwrap(), LONGEST_PERIOD);
        let error = every(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("not in 0..=315360000"), "{error}");
    }
}
