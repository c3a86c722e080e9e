//! `armadex synchro`: copies the resources of the members into the store.

use std::sync::Arc;

use armadex_storage::{Search, Sink};
use armadex_synchro::{Config, Gates};
use clap::Args;
use kube::Client;

use crate::admin::{self, AdminFlags, Checks};
use crate::control_plane::ControlPlaneFlags;
use crate::feature_gates::{FeatureGateFlags, FeatureGates};
use crate::metrics::Metrics;
use crate::service::Parts;
use crate::shutdown;
use crate::store::StoreFlags;

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
    /// Namespace of Secrets that a PediaCluster names without a namespace.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "clusterpedia-system",
        env = "CLUSTERPEDIA_NAMESPACE"
    )]
    pub(crate) namespace: String,
    /// Namespaces that a PediaCluster may take Secrets from.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "clusterpedia-system,karmada-cluster"
    )]
    pub(crate) credential_namespaces: Vec<String>,
    /// Handle only the PediaClusters with this `shardingName`.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) sharding_name: String,
    /// Buffers for objects on their way to the store, in bytes, over all members together.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub(crate) memory_budget: usize,
    /// Objects larger than this, in bytes and after pruning, are not stored; a condition names them.
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 20)]
    pub(crate) max_object_bytes: usize,
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let client = flags.control_plane.client().await?;
    let store = flags.store.open().await?;
    let mut parts = Parts::new(shutdown::on_signal()?);
    let mut metrics = Metrics::new();
    start(
        &mut parts,
        &client,
        store.clone(),
        flags.synchro,
        flags.gates.feature_gates,
        &mut metrics,
    );
    let mut checks = Checks::default();
    add_store_check(&mut checks, store.clone());
    let cancel = parts.cancel();
    parts.start(
        "admin port",
        admin::serve(flags.admin, checks, Arc::new(metrics), cancel),
    );
    let ended = parts.run().await;
    store.shutdown().await;
    ended
}

/// Adds the synchro.
pub(crate) fn start(
    parts: &mut Parts,
    client: &Client,
    sink: Arc<dyn Sink>,
    flags: SynchroFlags,
    gates: FeatureGates,
    metrics: &mut Metrics,
) {
    let counted = Arc::<armadex_synchro::Metrics>::default();
    metrics.add_members(Arc::clone(&counted));
    let config = Config {
        namespace: flags.namespace,
        credential_namespaces: flags.credential_namespaces.into_iter().collect(),
        memory_budget: flags.memory_budget,
        max_object_bytes: flags.max_object_bytes,
        sharding_name: flags.sharding_name,
        gates: Gates {
            allow_sync_all_resources: gates.allow_sync_all_resources,
        },
        metrics: counted,
    };
    let cancel = parts.cancel();
    parts.start(
        "synchro",
        armadex_synchro::run(client.clone(), sink, config, cancel),
    );
}

/// Ready means that the store answers.
pub(crate) fn add_store_check(checks: &mut Checks, store: Arc<dyn Search>) {
    checks.add("store", move || {
        let store = store.clone();
        async move {
            store
                .head()
                .await
                .map(drop)
                .map_err(|error| error.to_string())
        }
    });
}
