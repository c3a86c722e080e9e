//! Karmada from its own programs, as plain processes: the aggregated apiserver, the controllers that matter for joining,
//! and `karmadactl`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::process::Command;

use crate::aggregation::ApiService;
use crate::cluster::Cluster;
use crate::folder::Folder;
use crate::kubectl::Kubectl;
use crate::limit::output_of;
use crate::ports::free_port;
use crate::process::{Program, last_words};
use crate::record::Record;
use crate::tools;
use crate::wait::wait_until;

const AGGREGATED: &str = "karmada-aggregated-apiserver";
const CONTROLLERS: &str = "karmada-controller-manager";
const CTL: &str = "karmadactl";
const NAMESPACE: &str = "karmada-system";
/// What joining, its status and access through Karmada need; nothing that schedules workloads.
const ENABLED: &str = "cluster,clusterStatus,unifiedAuth,execution,workStatus,namespace";
const START_LIMIT: Duration = Duration::from_secs(90);

/// Where Karmada's programs and CRDs are.
#[derive(Debug, Clone)]
pub(super) struct Karmada {
    programs: PathBuf,
    definitions: PathBuf,
}

impl Karmada {
    /// Karmada, if all of it is found: the programs together in one place, the CRDs in `$ARMADEX_KARMADA_CRDS`.
    pub(super) fn find() -> Option<Self> {
        let programs = tools::find_together(&[AGGREGATED, CONTROLLERS, CTL])?;
        let definitions = PathBuf::from(std::env::var_os("ARMADEX_KARMADA_CRDS")?);
        definitions.is_dir().then_some(Self {
            programs,
            definitions,
        })
    }

    /// Starts Karmada on `host`, waits until the Cluster API is served, and gives who serves it.
    pub(super) async fn install(
        &self,
        host: &Cluster,
        folder: &Folder,
        kubectl: &Path,
    ) -> Result<Aggregated> {
        let kubectl = Kubectl::new(kubectl, host.kubeconfig(), &host.name);
        kubectl.run(&["create", "namespace", NAMESPACE]).await?;
        // It may be there: the account of Armadex has rights in it.
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": crate::stand_in::NAMESPACE},
        });
        kubectl.apply(&namespace.to_string()).await?;
        let definitions = self.definitions.display().to_string();
        kubectl
            .run(&[
                "apply",
                "--server-side",
                "--recursive",
                "--filename",
                &definitions,
            ])
            .await?;
        let aggregated = self.start_aggregated(host, folder, kubectl).await?;
        self.program(host, CONTROLLERS, controller_arguments(host)?)
            .start(folder)?;
        Ok(aggregated)
    }

    async fn start_aggregated(
        &self,
        host: &Cluster,
        folder: &Folder,
        kubectl: Kubectl,
    ) -> Result<Aggregated> {
        let port = free_port()?;
        host.pki().issue_for_service(AGGREGATED, NAMESPACE)?;
        let program = self.program(host, AGGREGATED, aggregated_arguments(host, port));
        let aggregated = Aggregated {
            record: program.start(folder)?,
            program,
            folder: folder.clone(),
            kubectl,
        };
        let service = ApiService {
            group: "cluster.karmada.io",
            version: "v1alpha1",
            service: AGGREGATED,
            namespace: NAMESPACE,
            port,
        };
        service
            .apply(&host.client().await?, &host.pki().read("ca.crt")?)
            .await?;
        aggregated.wait_until_served().await?;
        Ok(aggregated)
    }

    /// `karmadactl join`.
    pub(super) async fn join(&self, host: &Cluster, member: &Cluster) -> Result<()> {
        self.ctl(host, "join", &member.name, Some(member)).await
    }

    /// `karmadactl unjoin`, which cleans up in the member if that is given: it fails on one that does not answer.
    pub(super) async fn unjoin(
        &self,
        host: &Cluster,
        name: &str,
        member: Option<&Cluster>,
    ) -> Result<()> {
        self.ctl(host, "unjoin", name, member).await
    }

    async fn ctl(
        &self,
        host: &Cluster,
        verb: &str,
        name: &str,
        member: Option<&Cluster>,
    ) -> Result<()> {
        let mut command = Command::new(self.programs.join(CTL));
        command
            .arg("--kubeconfig")
            .arg(host.kubeconfig())
            .args([verb, name]);
        if let Some(member) = member {
            command
                .args(["--cluster-context", &member.name, "--cluster-kubeconfig"])
                .arg(member.kubeconfig());
        }
        let output = output_of(&mut command).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "karmadactl {verb} {name} failed: {said}"
        );
        Ok(())
    }

    fn program(&self, host: &Cluster, name: &str, arguments: Vec<String>) -> Program {
        Program::new(name, self.programs.join(name), arguments).finding(host.names())
    }
}

/// Karmada's own server of the Cluster API. It goes on when this is dropped.
#[derive(Debug)]
pub struct Aggregated {
    program: Program,
    record: Record,
    folder: Folder,
    kubectl: Kubectl,
}

impl Aggregated {
    /// Ends it, and nobody is answered any more.
    pub(super) fn goes_away(&self) {
        self.record.kill();
    }

    /// Starts it again where it was, and waits until the control plane has noticed.
    pub(super) async fn returns(&mut self) -> Result<()> {
        self.record = self.program.start(&self.folder)?;
        self.wait_until_served().await
    }

    async fn wait_until_served(&self) -> Result<()> {
        wait_until("Karmada's Cluster API is served", START_LIMIT, || async {
            self.kubectl
                .run(&["get", "clusters.cluster.karmada.io"])
                .await
                .map(|_| true)
        })
        .await
        .with_context(|| last_words(&self.folder, AGGREGATED))
    }
}

fn aggregated_arguments(host: &Cluster, port: u16) -> Vec<String> {
    let kubeconfig = host.kubeconfig().display().to_string();
    let pki = host.pki();
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        format!("--etcd-servers={}", host.etcd().url),
        format!("--etcd-prefix={}", host.etcd().prefix),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!(
            "--tls-cert-file={}",
            pki.file(&format!("{AGGREGATED}.crt")).display()
        ),
        format!(
            "--tls-private-key-file={}",
            pki.file(&format!("{AGGREGATED}.key")).display()
        ),
    ]
}

fn controller_arguments(host: &Cluster) -> Result<Vec<String>> {
    Ok(vec![
        format!("--kubeconfig={}", host.kubeconfig().display()),
        "--leader-elect=false".to_owned(),
        format!("--controllers={ENABLED}"),
        "--cluster-status-update-frequency=5s".to_owned(),
        // By default both are 30 s, which is long for a test.
        "--cluster-success-threshold=3s".to_owned(),
        "--cluster-failure-threshold=3s".to_owned(),
        format!("--metrics-bind-address=127.0.0.1:{}", free_port()?),
        format!("--health-probe-bind-address=127.0.0.1:{}", free_port()?),
    ])
}
