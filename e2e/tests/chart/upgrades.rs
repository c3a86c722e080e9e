//! Upgrades on a real apiserver, where helm looks at what is there: they end nothing that works, and grant what can be granted.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use armadex_e2e::{Harness, Kubectl, Options, chart, deploy};

use crate::helm::{self, Helm};
use crate::parts::arguments;

const APISERVERS: &str = "deployment/armadex-apiserver";
const SERVER: &str = "mode=parts,store.url=postgres://u@h/d,apiserver.resources.requests.cpu=1";
const SCALED: &str = "mode=parts,store.url=postgres://u@h/d,apiserver.resources.requests.cpu=1,apiserver.autoscaling.enabled=true";

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_ends_nothing_that_works() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 0,
        ..Options::default()
    })
    .await?;
    let (host, helm) = (fleet.kubectl("host"), Helm::ensure()?);
    let kubeconfig = fleet.folder().kubeconfig("host");
    let chart = chart::folder().to_str().context("a path")?.to_owned();
    let upgrade = |values: &str| {
        let flags = [
            "upgrade",
            "--install",
            "--create-namespace",
            helm::RELEASE,
            &chart,
            "--no-hooks",
            "--reset-values",
            "--set",
            values,
        ];
        helm.release(&kubeconfig, &flags).map(drop)
    };
    upgrade("log.level=info")?;
    upgrade(SERVER)?;
    the_file_is_there(&host).await?;
    upgrade(SCALED)?;
    ensure!(
        replicas(&host).await? == "2",
        "the autoscaler begins with as many as ran"
    );
    ensure!(
        said(&helm, &kubeconfig)? == Some(2),
        "helm alone has said it"
    );
    for number in ["5", "6"] {
        scale(&host, number).await?;
        upgrade(SCALED)?;
        let left = replicas(&host).await?;
        ensure!(left == number, "the autoscaler's {number} are {left}");
        ensure!(said(&helm, &kubeconfig)?.is_none(), "{number}");
    }
    scale(&host, "7").await?;
    helm.release(&kubeconfig, &["rollback", helm::RELEASE, "--no-hooks"])?;
    let left = replicas(&host).await?;
    ensure!(
        left == "7",
        "of the autoscaler's 7 a rollback leaves {left}"
    );
    rights_go_with_their_policy(&host, upgrade).await?;
    namespaces_of_platforms_may_come_later(&host, upgrade).await?;
    fleet.finish().await;
    Ok(())
}

/// What failed before its pods was made is an upgrade to helm when it is tried again, and an installation to all others: nobody follows policies of before.
#[tokio::test(flavor = "multi_thread")]
async fn an_installation_that_failed_brings_the_policies_before_its_pods_all_the_same() -> Result<()>
{
    let fleet = Harness::start(Options {
        members: 0,
        ..Options::default()
    })
    .await?;
    let (host, helm) = (fleet.kubectl("host"), Helm::ensure()?);
    let kubeconfig = fleet.folder().kubeconfig("host");
    let chart = chart::folder().to_str().context("a path")?.to_owned();
    let upgrade = |flags: &[&str]| {
        let values = "install.kubeconfig.secretName=karmada,controlPlane.kubeconfig.secretName=armadex-kubeconfig,policies.karmada.enabled=true";
        let upgrade = ["upgrade", "--install", "--create-namespace", helm::RELEASE];
        let arguments = [&upgrade[..], &[&chart, "--set", values], flags].concat();
        helm.release(&kubeconfig, &arguments)
    };
    // Nothing here runs Jobs, and its Secret is not there.
    ensure!(upgrade(&["--timeout=2s"]).is_err(), "the Job is not done");
    let secret = ["create", "secret", "generic", "karmada"];
    host.run(&in_namespace(&secret)).await?;
    let prepares = || -> Result<String> {
        let printed = upgrade(&["--dry-run=server"])?;
        let hooks = printed.split_once("HOOKS:").context("hooks")?.1;
        let hooks = hooks.split("MANIFEST:").next().unwrap_or_default();
        let jobs = helm::pods(&helm::objects(hooks)?);
        let mut jobs = jobs.iter();
        let job = jobs.find(|(name, _)| name.contains("-prepare"));
        let told = arguments(&job.context("a Job before the pods")?.1);
        let told = told.iter().find_map(|flag| flag.strip_prefix("--only="));
        told.map(str::to_owned).context("what it brings")
    };
    ensure!(prepares()? == "crds,rights,policies", "{}", prepares()?);
    upgrade(&["--no-hooks"])?;
    ensure!(prepares()? == "crds,rights", "{}", prepares()?);
    fleet.finish().await;
    Ok(())
}

fn in_namespace<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--namespace", helm::NAMESPACE]].concat()
}

/// As an autoscaler does.
async fn scale(host: &Kubectl, number: &str) -> Result<()> {
    let scale = ["scale", APISERVERS, "--replicas", number];
    host.run(&in_namespace(&scale)).await?;
    Ok(())
}

/// How many API servers the release says.
fn said(helm: &Helm, kubeconfig: &Path) -> Result<Option<u64>> {
    let text = helm.release(kubeconfig, &["get", "manifest", helm::RELEASE])?;
    let made = helm::objects(&text)?;
    let mut deployments = made.iter().filter(|object| object["kind"] == "Deployment");
    let found = deployments.find(|object| object["metadata"]["name"] == "armadex-apiserver");
    Ok(found.context("there are API servers")?["spec"]["replicas"].as_u64())
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
async fn rights_go_with_their_policy(
    host: &Kubectl,
    upgrade: impl Fn(&str) -> Result<()>,
) -> Result<()> {
    let rights = ["clusterrolebinding/armadex-rancher"];
    let policy = std::fs::read_to_string(deploy::folder().join("policies/rancher.yaml"))?;
    host.apply(&policy).await?;
    let label = "app.kubernetes.io/managed-by=armadex";
    host.run(&["label", "clusterimportpolicy/rancher", label])
        .await?;
    upgrade(SCALED)?;
    ensure!(is_there(host, &rights).await?, "its policy is there");
    host.run(&["delete", "clusterimportpolicy/rancher"]).await?;
    upgrade(SCALED)?;
    ensure!(!is_there(host, &rights).await?, "its policy is gone");
    Ok(())
}

async fn namespaces_of_platforms_may_come_later(
    host: &Kubectl,
    upgrade: impl Fn(&str) -> Result<()>,
) -> Result<()> {
    let rancher = format!("{SCALED},policyRights={{rancher}}");
    let rights = ["role/armadex-credentials", "--namespace=fleet-default"];
    upgrade(&rancher)?;
    host.run(&["create", "namespace", "fleet-default"]).await?;
    ensure!(!is_there(host, &rights).await?, "there was no namespace");
    upgrade(&rancher)?;
    ensure!(is_there(host, &rights).await?, "there is one");
    let named = format!("{SCALED},controlPlane.credentialNamespaces={{nowhere}}");
    let refused = upgrade(&named)
        .err()
        .context("there is no such namespace")?;
    ensure!(
        format!("{refused:#}").contains("kubectl create namespace nowhere"),
        "{refused:#}"
    );
    Ok(())
}
