//! `armadex controllers`: the policy controllers.

use std::sync::Arc;

use clap::Args;
use kube::Client;

use crate::admin::{self, AdminFlags, Checks};
use crate::control_plane::ControlPlaneFlags;
use crate::feature_gates::FeatureGateFlags;
use crate::metrics::Metrics;
use crate::service::Parts;
use crate::shutdown;

/// Run the policy controllers, which make PediaClusters from what the platform manages.
///
/// They follow ClusterImportPolicy and PediaClusterLifecycle objects and the objects that those name, for example Karmada's Clusters.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    admin: AdminFlags,
    #[command(flatten)]
    _gates: FeatureGateFlags,
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let client = flags.control_plane.client().await?;
    let mut parts = Parts::new(shutdown::on_signal()?);
    start(&mut parts, &client);
    let metrics = Arc::new(Metrics::new());
    let cancel = parts.cancel();
    parts.start(
        "admin port",
        admin::serve(flags.admin, Checks::default(), metrics, cancel),
    );
    parts.run().await
}

/// Adds both controllers; they share their watches on other people's types.
pub(crate) fn start(parts: &mut Parts, client: &Client) {
    let watches = armadex_policy::Watches::new(client.clone());
    let (client, cancel) = (client.clone(), parts.cancel());
    parts.start(
        "import policy controller",
        armadex_importpolicy::run(client.clone(), watches.clone(), cancel.clone()),
    );
    parts.start(
        "lifecycle controller",
        armadex_lifecycle::run(client, watches, cancel),
    );
}
