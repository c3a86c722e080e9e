//! Where somebody sits who installs the chart: a cluster whose pods run, beside its control plane or the control plane itself, and helm.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use armadex_e2e::kubelet::{self, Kubelet};
use armadex_e2e::limit::output_of;
use armadex_e2e::scenario::SOON;
use armadex_e2e::{Cluster, Harness, Kubectl, armadex, chart, log, tools, wait_until};
use tempfile::TempDir;
use tokio::process::Command;

/// The release, and its namespace.
pub(crate) const RELEASE: &str = "armadex";
pub(crate) const NAMESPACE: &str = "armadex-system";
/// Where the image lies, in words of the chart.
pub(crate) const IMAGE: &str = "images.example.com/armadex";
/// The program of a release before this one, as `make e2e-upgrade` builds it.
pub(crate) const FORMER: &str = "ARMADEX_FORMER_BIN";
/// The cluster in which pods run.
const PODS: &str = "pods";

/// One desk.
pub(crate) struct Desk {
    cluster: Cluster,
    /// kubectl on the cluster in which pods run.
    pub(crate) kubectl: Kubectl,
    pub(crate) kubelet: Kubelet,
    helm: PathBuf,
    home: TempDir,
}

impl Desk {
    /// Beside a fleet whose control plane finds Services. Pods reach these ports of this machine, beside the control plane and the members.
    pub(crate) async fn beside(fleet: &Harness, members: &[&str], ports: &[u16]) -> Result<Self> {
        let cluster = fleet.start_cluster_of_pods(PODS).await?;
        let reachable = [ports, &[fleet.host().port()]].concat();
        Self::at(fleet, cluster, members, reachable).await
    }

    /// In the control plane of a fleet, which runs pods itself. These reach further ports likewise.
    pub(crate) async fn within(fleet: &Harness, members: &[&str], ports: &[u16]) -> Result<Self> {
        Self::at(fleet, fleet.host().clone(), members, ports.to_vec()).await
    }

    async fn at(
        fleet: &Harness,
        cluster: Cluster,
        members: &[&str],
        mut reachable: Vec<u16>,
    ) -> Result<Self> {
        for member in members {
            reachable.push(fleet.member(member)?.port());
        }
        let image = format!("{IMAGE}:{}", env!("CARGO_PKG_VERSION"));
        let mut images = BTreeMap::from([(image, armadex::binary()?)]);
        if let Some(former) = std::env::var_os(FORMER) {
            images.insert(format!("{IMAGE}:former"), former.into());
        }
        Ok(Self {
            kubelet: Kubelet::start(&cluster, fleet.folder(), images, &reachable).await?,
            kubectl: fleet.kubectl(&cluster.name),
            cluster,
            helm: tools::helm()?,
            home: tempfile::tempdir()?,
        })
    }

    /// helm in the namespace of the release, which has to go well.
    pub(crate) async fn helm(&self, arguments: &[&str]) -> Result<String> {
        let (has_gone_well, printed) = self.helm_says(arguments).await?;
        ensure!(has_gone_well, "helm {arguments:?}: {printed}");
        Ok(printed)
    }

    /// Whether helm has gone well, and what it prints.
    pub(crate) async fn helm_says(&self, arguments: &[&str]) -> Result<(bool, String)> {
        let mut command = Command::new(&self.helm);
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.home.path().join(name));
        }
        command.args(arguments).args(["--namespace", NAMESPACE]);
        command.arg("--kubeconfig").arg(self.cluster.kubeconfig());
        let output = output_of(&mut command).await?;
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        Ok((output.status.success(), printed))
    }

    /// The pods of a part that are not ending.
    pub(crate) async fn pods(&self, part: &str) -> Result<Vec<String>> {
        let selector = format!("app.kubernetes.io/component={part}");
        kubelet::pods(&self.kubectl, NAMESPACE, &selector).await
    }

    /// Waits until a Deployment has as many pods that are ready as it wants, of its newest template, and no other.
    pub(crate) async fn wait_until_rolled_out(&self, part: &str) -> Result<()> {
        let deployment = format!("deployment/{RELEASE}-{part}");
        let status = [
            "rollout",
            "status",
            &deployment,
            "--namespace",
            NAMESPACE,
            "--timeout=90s",
        ];
        self.kubectl.run(&status).await.map(drop)
    }

    /// Waits until there is no pod any more.
    pub(crate) async fn wait_until_no_pod(&self) -> Result<()> {
        let get = ["get", "pods", "--namespace", NAMESPACE, "--output", "name"];
        wait_until("all pods are gone", SOON, || async {
            let left = self.kubectl.run(&get).await?;
            ensure!(left.is_empty(), "{left}");
            Ok(true)
        })
        .await
    }
}

/// The folder of the chart, as helm is told.
pub(crate) fn chart_folder() -> Result<String> {
    let folder = chart::folder();
    Ok(folder.to_str().context("a path")?.to_owned())
}

/// Waits until a control plane serves the search API.
pub(crate) async fn wait_until_found(control_plane: &Kubectl) -> Result<()> {
    let available = [
        "wait",
        "--for=condition=Available",
        "--timeout=60s",
        "apiservice/v1beta1.clusterpedia.io",
    ];
    control_plane.run(&available).await.map(drop)
}

/// Reads what all pods have said: nothing in them broke, and nothing that they said is secret.
pub(crate) fn check_logs(fleet: &Harness) -> Result<usize> {
    let processes = processes_of(fleet, RELEASE)?;
    for process in &processes {
        log::check(fleet.folder(), process)?;
    }
    Ok(processes.len())
}

/// What the pods have said whose names begin so.
pub(crate) fn logs_of(fleet: &Harness, name: &str) -> Result<Vec<String>> {
    let processes = processes_of(fleet, name)?.into_iter();
    let logs = processes.map(|process| std::fs::read_to_string(fleet.folder().log(&process)));
    Ok(logs.collect::<Result<_, _>>()?)
}

/// The processes whose names begin so, by their logs.
fn processes_of(fleet: &Harness, name: &str) -> Result<Vec<String>> {
    let mut processes = Vec::new();
    for entry in std::fs::read_dir(fleet.folder().root().join("logs"))? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        if let Some(process) = file.strip_suffix(".log")
            && process.starts_with(name)
        {
            processes.push(process.to_owned());
        }
    }
    Ok(processes)
}
