//! Kubeconfigs that `armadex install` has issued, which lie in the cluster of the pods: those of one account and those of the parts, whichever are there.

use std::path::PathBuf;

use clap::Args;
use kube::Client;

use crate::command::install::{Manifest, SecretName, cluster_of_pods, secrets_of};

/// Where they lie.
#[derive(Clone, Debug, Args)]
pub(super) struct KubeconfigFlags {
    /// Delete the kubeconfigs as well that `armadex install` has issued under this name of a Secret, with --apart or without, in the cluster of this pod.
    #[arg(long, value_name = "[NAMESPACE/]NAME", conflicts_with = "policies")]
    kubeconfig_secret: Option<SecretName>,
    /// Kubeconfig of the cluster with these Secrets, where this is no pod of it.
    #[arg(long, value_name = "FILE", requires = "kubeconfig_secret")]
    secret_kubeconfig: Option<PathBuf>,
}

/// What may be there of them.
pub(super) struct Kubeconfigs {
    pub(super) client: Client,
    /// The cluster, as it is told to people.
    pub(super) server: String,
    pub(super) secrets: Vec<Manifest>,
}

impl KubeconfigFlags {
    /// `None`: there is no question of them.
    pub(super) async fn kubeconfigs(&self) -> anyhow::Result<Option<Kubeconfigs>> {
        let Some(kept) = &self.kubeconfig_secret else {
            return Ok(None);
        };
        let (client, server) = cluster_of_pods(self.secret_kubeconfig.as_deref()).await?;
        let namespace = kept.namespace.as_deref();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace());
        let secrets = secrets_of(namespace, &kept.name);
        Ok(Some(Kubeconfigs {
            client,
            server,
            secrets,
        }))
    }
}
