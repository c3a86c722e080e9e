//! The control plane that Armadex is installed on: how it is reached.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

/// Which control plane, and as whom.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ControlPlaneFlags {
    /// Kubeconfig of the control plane. Without it: `$KUBECONFIG`, the service account of the pod, `~/.kube/config`.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, if not its current one.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl ControlPlaneFlags {
    /// A client for the control plane.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        let mut config = self.config().await?;
        // The client's own retries would hide a 503 for minutes; every caller backs off by itself and says so.
        config.default_retry = false;
        let server = config.cluster_url.to_string();
        Client::try_from(config).with_context(|| format!("cannot make a client for {server}"))
    }

    async fn config(&self) -> anyhow::Result<Config> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..Default::default()
        };
        let Some(path) = &self.kubeconfig else {
            if self.context.is_none() {
                return Config::infer().await.context(
                    "no control plane found: pass --kubeconfig, set KUBECONFIG or run in a pod",
                );
            }
            return Config::from_kubeconfig(&options)
                .await
                .context("cannot read the kubeconfig");
        };
        let kubeconfig = Kubeconfig::read_from(path)
            .map_err(|error| match error {
                // It names the file again.
                KubeconfigError::ReadConfig(error, _) => anyhow::Error::from(error),
                other => other.into(),
            })
            .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
        Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .with_context(|| format!("cannot use the kubeconfig {}", path.display()))
    }
}
