//! Upgrades on a real apiserver, where helm looks at what is there: they end nothing that works, and grant what can be granted.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use armadex_e2e::{Harness, Kubectl, Options, chart, deploy};

use crate::helm::{self, Helm};
use crate::parts::arguments;

const APISERVERS: &str = "deployment/armadex-apiserver";
const SERVER: &str = "mode=parts,store.url=postgres://u@h/d,apiserver.resources.requests.cpu=1";
const SCALED: &str = "mode=parts,store.url=postgres://u@h/d,apiserver.resources.requests.cpu=1,apiserver.autoscaling.enabled=true";
const ELSEWHERE: &str = "install.kubeconfig.secretName=karmada,controlPlane.kubeconfig.secretName=armadex-kubeconfig,policies.karmada.enabled=true";

/// What helm installs into: an apiserver that runs no pods.
struct Site {
    fleet: Harness,
    host: Kubectl,
    helm: Helm,
    kubeconfig: PathBuf,
    chart: String,
}

impl Site {
    async fn start() -> Result<Self> {
        let fleet = Harness::start(Options {
            members: 0,
            ..Options::default()
        })
        .await?;
        Ok(Self {
            host: fleet.kubectl("host"),
            helm: Helm::ensure()?,
            kubeconfig: fleet.folder().kubeconfig("host"),
            chart: chart::folder().to_str().context("a path")?.to_owned(),
            fleet,
        })
    }

    /// Brings the release to these values, and gives what helm prints.
    fn upgrade(&self, values: &str, flags: &[&str]) -> Result<String> {
        let upgrade = [
            "upgrade",
            "--install",
            "--create-namespace",
            helm::RELEASE,
            &self.chart,
            "--reset-values",
            "--set",
            values,
        ];
        self.helm
            .release(&self.kubeconfig, &[&upgrade, flags].concat())
    }

    /// The same without Jobs, which nothing here runs.
    fn bring(&self, values: &str) -> Result<()> {
        self.upgrade(values, &["--no-hooks"]).map(drop)
    }

    /// What the Job before the pods of an upgrade would bring.
    fn prepares(&self, values: &str) -> Result<String> {
        let printed = self.upgrade(values, &["--dry-run=server"])?;
        let hooks = printed.split_once("HOOKS:").context("hooks")?.1;
        let hooks = hooks.split("MANIFEST:").next().unwrap_or_default();
        let jobs = helm::pods(&helm::objects(hooks)?);
        let mut jobs = jobs.iter();
        let job = jobs.find(|(name, _)| name.contains("-prepare"));
        let told = arguments(&job.context("a Job before the pods")?.1);
        let told = told.iter().find_map(|flag| flag.strip_prefix("--only="));
        told.map(str::to_owned).context("what it brings")
    }

    /// How many API servers the release says.
    fn said(&self) -> Result<Option<u64>> {
        let get = ["get", "manifest", helm::RELEASE];
        let text = self.helm.release(&self.kubeconfig, &get)?;
        let made = helm::objects(&text)?;
        let mut deployments = made.iter().filter(|object| object["kind"] == "Deployment");
        let found = deployments.find(|object| object["metadata"]["name"] == "armadex-apiserver");
        Ok(found.context("there are API servers")?["spec"]["replicas"].as_u64())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_ends_nothing_that_works() -> Result<()> {
    let site = Site::start().await?;
    let own = format!("controlPlane.servingNamespace={}", helm::NAMESPACE);
    let come = site.upgrade(&own, &["--dry-run=server"]);
    come.context("the namespace of the release comes with it")?;
    site.bring("log.level=info")?;
    site.bring(SERVER)?;
    the_file_is_there(&site.host).await?;
    as_many_api_servers_as_run_are_left(&site).await?;
    rights_go_with_their_policy(&site).await?;
    namespaces_of_platforms_may_come_later(&site).await?;
    site.fleet.finish().await;
    Ok(())
}

/// helm 3, which merges, has to say their number each time, or would leave one; and goes back to that of then.
async fn as_many_api_servers_as_run_are_left(site: &Site) -> Result<()> {
    let (host, applies) = (&site.host, site.helm.applies()?);
    site.bring(SCALED)?;
    ensure!(
        replicas(host).await? == "2",
        "the autoscaler begins with as many as ran"
    );
    ensure!(site.said()? == Some(2), "helm alone has said it");
    for number in [5, 6] {
        scale(host, number).await?;
        site.bring(SCALED)?;
        let left = replicas(host).await?;
        ensure!(
            left == number.to_string(),
            "the autoscaler's {number} are {left}"
        );
        let said = site.said()?;
        ensure!(said == (!applies).then_some(number), "{number}: {said:?}");
    }
    scale(host, 7).await?;
    let rollback = ["rollback", helm::RELEASE, "--no-hooks"];
    site.helm.release(&site.kubeconfig, &rollback)?;
    let left = replicas(host).await?;
    ensure!(
        left == if applies { "7" } else { "5" },
        "of the autoscaler's 7 a rollback leaves {left}"
    );
    Ok(())
}

/// What failed before its pods was made is an upgrade to helm when it is tried again, and an installation to all others: nobody follows policies of before. Whoever
/// does is known, whatever name and store the release is given.
#[tokio::test(flavor = "multi_thread")]
async fn an_installation_that_failed_brings_the_policies_before_its_pods_all_the_same() -> Result<()>
{
    let site = Site::start().await?;
    // Nothing here runs Jobs, and its Secret is not there.
    let failed = site.upgrade(ELSEWHERE, &["--timeout=2s"]);
    ensure!(failed.is_err(), "the Job is not done");
    let secret = ["create", "secret", "generic", "karmada"];
    site.host.run(&in_namespace(&secret)).await?;
    let brought = site.prepares(ELSEWHERE)?;
    ensure!(brought == "crds,rights,policies", "{brought}");
    site.bring(ELSEWHERE)?;
    for values in [
        "",
        ",fullnameOverride=fleet",
        ",nameOverride=index",
        ",store.url=mysql://u@h/d",
    ] {
        let brought = site.prepares(&format!("{ELSEWHERE}{values}"))?;
        ensure!(brought == "crds,rights", "{values}: {brought}");
    }
    site.fleet.finish().await;
    Ok(())
}

fn in_namespace<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--namespace", helm::NAMESPACE]].concat()
}

/// As an autoscaler does.
async fn scale(host: &Kubectl, number: u64) -> Result<()> {
    let number = number.to_string();
    let scale = ["scale", APISERVERS, "--replicas", &number];
    host.run(&in_namespace(&scale)).await?;
    Ok(())
}

async fn replicas(host: &Kubectl) -> Result<String> {
    let get = ["get", APISERVERS, "--output", "jsonpath={.spec.replicas}"];
    host.run(&in_namespace(&get)).await
}

/// It is what there is to copy from.
async fn the_file_is_there(host: &Kubectl) -> Result<()> {
    host.run(&in_namespace(&["get", "pvc/armadex-store"]))
        .await?;
    let stateful = host
        .output(&in_namespace(&["get", "statefulset/armadex"]))
        .await?;
    ensure!(!stateful.status.success(), "its pod is not");
    Ok(())
}

async fn is_there(host: &Kubectl, arguments: &[&str]) -> Result<bool> {
    let get = [&["get"], arguments].concat();
    Ok(host.output(&get).await?.status.success())
}

/// One that is not enabled any more, and there, has clusters on board.
async fn rights_go_with_their_policy(site: &Site) -> Result<()> {
    let host = &site.host;
    let rights = ["clusterrolebinding/armadex-rancher"];
    let policy = std::fs::read_to_string(deploy::folder().join("policies/rancher.yaml"))?;
    host.apply(&policy).await?;
    let label = "app.kubernetes.io/managed-by=armadex";
    host.run(&["label", "clusterimportpolicy/rancher", label])
        .await?;
    site.bring(SCALED)?;
    ensure!(is_there(host, &rights).await?, "its policy is there");
    host.run(&["delete", "clusterimportpolicy/rancher"]).await?;
    site.bring(SCALED)?;
    ensure!(!is_there(host, &rights).await?, "its policy is gone");
    Ok(())
}

async fn namespaces_of_platforms_may_come_later(site: &Site) -> Result<()> {
    let host = &site.host;
    let rancher = format!("{SCALED},policyRights={{rancher}}");
    let rights = ["role/armadex-credentials", "--namespace=fleet-default"];
    site.bring(&rancher)?;
    host.run(&["create", "namespace", "fleet-default"]).await?;
    ensure!(!is_there(host, &rights).await?, "there was no namespace");
    site.bring(&rancher)?;
    ensure!(is_there(host, &rights).await?, "there is one");
    for value in ["credentialNamespaces={nowhere}", "servingNamespace=nowhere"] {
        let named = format!("{SCALED},controlPlane.{value}");
        let refused = site
            .bring(&named)
            .err()
            .context("there is no such namespace")?;
        ensure!(
            format!("{refused:#}").contains("kubectl create namespace nowhere"),
            "{refused:#}"
        );
    }
    Ok(())
}
