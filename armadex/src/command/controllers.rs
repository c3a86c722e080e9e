//! `armadex controllers`: the policy controllers.

use std::sync::Arc;

use anyhow::Context as _;
use armadex_policy::{SecretNamespaces, Watches};
use clap::Args;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::admin::{self, AdminFlags, Checks};
use crate::control_plane::ControlPlaneFlags;
use crate::credentials::CredentialFlags;
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
    credentials: CredentialFlags,
    #[command(flatten)]
    admin: AdminFlags,
    #[command(flatten)]
    _gates: FeatureGateFlags,
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let client = flags.control_plane.client().await?;
    let mut parts = Parts::new(shutdown::on_signal()?);
    start(&mut parts, &client, &flags.credentials);
    let metrics = Arc::new(Metrics::new());
    let cancel = parts.cancel();
    parts.start(
        "admin port",
        admin::serve(flags.admin, Checks::default(), metrics, cancel),
    );
    parts.run().await
}

/// Adds both controllers; they share their watches on other people's types.
pub(crate) fn start(parts: &mut Parts, client: &Client, credentials: &CredentialFlags) {
    let secrets = SecretNamespaces::new(&credentials.credential_namespaces);
    let both = both(client.clone(), secrets, parts.cancel());
    parts.start("policy controllers", both);
}

async fn both(
    client: Client,
    secrets: SecretNamespaces,
    cancel: CancellationToken,
) -> anyhow::Result<()> {
    let watches = Watches::new(client.clone());
    let policies = armadex_importpolicy::run(
        client.clone(),
        watches.clone(),
        secrets.clone(),
        cancel.clone(),
    );
    let lifecycles = armadex_lifecycle::run(client, watches.clone(), secrets, cancel);
    let policies = async {
        policies
            .await
            .context("the import policy controller failed")
    };
    let lifecycles = async { lifecycles.await.context("the lifecycle controller failed") };
    let ended = tokio::try_join!(policies, lifecycles);
    watches.shutdown().await;
    ended.map(drop)
}
