//! `armadex controllers`: the policy controllers.

use std::sync::Arc;

use anyhow::Context as _;
use armadex_policy::{SecretNamespaces, Watches};
use clap::Args;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::admin::{self, AdminFlags, Checks};
use crate::continuity;
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
    let cancel = shutdown::on_signal()?;
    let connected = shutdown::unless_stopped(&cancel, flags.control_plane.client()).await?;
    let Some(client) = connected else {
        return Ok(());
    };
    let mut parts = Parts::new(cancel.clone());
    start(&mut parts, &client, &flags.credentials);
    continuity::start(&mut parts, &client);
    let metrics = Arc::new(Metrics::new());
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use armadex_control_plane::testing::{Host, ServedType};
    use serde_json::{Value, json};
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);
    const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
    const POLICY: &str = "/apis/policy.clusterpedia.io/v1alpha1/clusterimportpolicies/karmada";
    const PEDIA_CLUSTERS: &str = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters";

    fn host() -> Host {
        let served = ServedType::new;
        let (policy, cluster) = ("policy.clusterpedia.io", "cluster.clusterpedia.io");
        let host = Host::new(&[
            served("", "v1", "namespaces", "Namespace"),
            served("cluster.karmada.io", "v1alpha1", "clusters", "Cluster"),
            served(
                policy,
                "v1alpha1",
                "clusterimportpolicies",
                "ClusterImportPolicy",
            ),
            served(
                policy,
                "v1alpha1",
                "pediaclusterlifecycles",
                "PediaClusterLifecycle",
            ),
            served(cluster, "v1alpha2", "pediaclusters", "PediaCluster"),
        ]);
        host.put("/api/v1/namespaces/kube-system", json!({}));
        host.put(POLICY, policy_of_all());
        host
    }

    fn policy_of_all() -> Value {
        json!({"spec": {
            "source": {"group": "cluster.karmada.io", "resource": "clusters"},
            "references": [],
            "nameTemplate": "{{source.metadata.name}}",
            "template": "spec: {apiserver: 'https://{{source.metadata.name}}', syncResources: []}",
            "creationCondition": "true",
        }})
    }

    /// The controllers as a process has them.
    fn run(host: &Host, cancel: CancellationToken) -> JoinHandle<anyhow::Result<()>> {
        let mut parts = Parts::new(cancel);
        let credentials = CredentialFlags {
            credential_namespaces: Vec::new(),
        };
        start(&mut parts, &host.client(), &credentials);
        continuity::start(&mut parts, &host.client());
        tokio::spawn(parts.run())
    }

    /// A member that joins, and is on-boarded.
    async fn joins(host: &Host, name: &str) {
        host.put(&format!("{CLUSTERS}/{name}"), json!({}));
        let made = format!("{PEDIA_CLUSTERS}/{name}");
        let is_made = host.until(|host| host.get(&made).is_some());
        if timeout(LIMIT, is_made).await.is_err() {
            panic!("{name} is not on-boarded: {:#?}", host.get(POLICY));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn below_a_restored_control_plane_a_process_ends_and_the_next_follows_what_is_there() {
        let host = host();
        let first = run(&host, CancellationToken::new());
        joins(&host, "one").await;
        let backup = host.back_up();
        joins(&host, "two").await;
        // So long that the process has seen where the control plane stands.
        tokio::time::sleep(Duration::from_secs(60)).await;
        host.restore(backup);
        let ended = timeout(LIMIT, first).await.expect("it ends");
        let error = ended.expect("no panic").expect_err("with an error");
        assert!(
            format!("{error:#}").contains("restored from a backup"),
            "{error:#}"
        );
        assert_eq!(host.get(&format!("{PEDIA_CLUSTERS}/two")), None);
        let cancel = CancellationToken::new();
        let second = run(&host, cancel.clone());
        joins(&host, "three").await;
        cancel.cancel();
        let ended = timeout(LIMIT, second).await.expect("it ends");
        ended.expect("no panic").expect("as it was told to");
    }
}
