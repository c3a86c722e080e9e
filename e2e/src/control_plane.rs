//! Which control plane runs: Karmada where its programs are found, the stand-in everywhere else.

mod cluster_api;
mod karmada;

use std::fmt;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::folder::Folder;
use crate::stand_in;
pub use cluster_api::ClusterApi;
use karmada::Karmada;

/// A kind of control plane. Printed by its true name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlPlaneKind {
    /// Karmada's own programs.
    Karmada,
    /// The Cluster API and the controllers of [`crate::stand_in`].
    StandIn,
    /// One that somebody else runs, with members that have joined it.
    Attached,
}

impl fmt::Display for ControlPlaneKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Karmada => "Karmada",
            Self::StandIn => "the stand-in (Karmada's programs were not found)",
            Self::Attached => "one that was there before",
        })
    }
}

impl ControlPlaneKind {
    /// What a suite on this kind does not run, by name; empty when all of it runs.
    #[must_use]
    pub fn skipped(self) -> &'static [&'static str] {
        match self {
            Self::Karmada => &[],
            Self::Attached => &["what needs the processes or the etcd of a cluster"],
            Self::StandIn => &[
                "the Cluster API as karmada-aggregated-apiserver serves it",
                "the cluster and cluster-status controllers of karmada-controller-manager",
                "karmadactl join and unjoin",
            ],
        }
    }

    /// What can run here.
    pub fn detect() -> Self {
        if Karmada::find().is_some() {
            Self::Karmada
        } else {
            Self::StandIn
        }
    }
}

/// A control plane on top of a host apiserver that serves already.
#[derive(Debug)]
pub struct ControlPlane {
    kind: ControlPlaneKind,
    host: Cluster,
    folder: Folder,
}

impl ControlPlane {
    /// The control plane of `kind` on `host`, installed or to be installed.
    #[must_use]
    pub fn new(kind: ControlPlaneKind, host: Cluster, folder: Folder) -> Self {
        Self { kind, host, folder }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ControlPlaneKind {
        self.kind
    }

    /// The cluster on which it runs.
    #[must_use]
    pub fn host(&self) -> &Cluster {
        &self.host
    }

    /// Installs the Cluster API and waits until it is served.
    pub async fn install(&self, kubectl: &std::path::Path) -> Result<()> {
        match self.kind {
            ControlPlaneKind::Karmada => self.install_karmada(kubectl).await.map(drop),
            ControlPlaneKind::StandIn => stand_in::install(&self.host.client().await?).await,
            ControlPlaneKind::Attached => Ok(()),
        }
    }

    /// Installs Karmada's Cluster API, and gives who serves it.
    pub(crate) async fn install_karmada(
        &self,
        kubectl: &std::path::Path,
    ) -> Result<karmada::Aggregated> {
        self.karmada()?
            .install(&self.host, &self.folder, kubectl)
            .await
    }

    /// Joins `member`.
    pub async fn join(&self, member: &Cluster) -> Result<()> {
        match self.kind {
            ControlPlaneKind::Karmada => self.karmada()?.join(&self.host, member).await,
            ControlPlaneKind::StandIn => {
                let (host, client) = (self.host.client().await?, member.client().await?);
                stand_in::join(&host, &client, &member.name, &member.url()).await
            }
            ControlPlaneKind::Attached => self.not_ours("join"),
        }
    }

    /// Takes `member` out, and cleans up in it when it runs.
    pub async fn unjoin(&self, member: &Cluster) -> Result<()> {
        if self.kind == ControlPlaneKind::Attached {
            return self.not_ours("unjoin");
        }
        let client = if member.is_running() {
            Some(member.client().await?)
        } else {
            None
        };
        match (self.kind, &client) {
            (ControlPlaneKind::Karmada, Some(client)) => {
                let karmada = self.karmada()?;
                karmada
                    .unjoin(&self.host, &member.name, Some(member))
                    .await?;
                stand_in::wait_until_clean(client, &member.name).await
            }
            (ControlPlaneKind::Karmada, None) => {
                self.karmada()?.unjoin(&self.host, &member.name, None).await
            }
            (ControlPlaneKind::StandIn | ControlPlaneKind::Attached, client) => {
                stand_in::unjoin(&self.host.client().await?, client.as_ref(), &member.name).await
            }
        }
    }

    /// Gives the control plane a new token for `member` and revokes the one before. Both kinds keep them alike.
    pub async fn rotate(&self, member: &Cluster) -> Result<()> {
        stand_in::rotate(
            &self.host.client().await?,
            &member.client().await?,
            &member.name,
        )
        .await
    }

    /// Starts the controllers that no program of its own runs: the stand-in's.
    pub async fn start_controllers(&self) -> Result<Option<Controllers>> {
        match self.kind {
            ControlPlaneKind::Karmada | ControlPlaneKind::Attached => Ok(None),
            ControlPlaneKind::StandIn => Ok(Some(Controllers::start(self.host.client().await?))),
        }
    }

    fn not_ours(&self, verb: &str) -> Result<()> {
        bail!("somebody else runs this control plane: {verb} members there, by its own tools")
    }

    fn karmada(&self) -> Result<Karmada> {
        Karmada::find().context("this control plane is Karmada, and its programs are gone")
    }
}

/// The stand-in's controllers as a task of this process; they stop when this is dropped.
#[derive(Debug)]
pub struct Controllers {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Controllers {
    fn start(host: kube::Client) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(stand_in::run(host, stop.clone()));
        Self {
            stop,
            task: Some(task),
        }
    }

    /// Stops them and waits for the end of the round.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            // A panic in there was printed when it happened; the fleet is being taken down.
            let _ = task.await;
        }
    }

    /// Waits until they end, which they do only when stopped.
    pub async fn wait(mut self) -> Result<()> {
        match self.task.take() {
            Some(task) => Ok(task.await?),
            None => Ok(()),
        }
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
