//! A real apiserver takes what is rendered, field by field, and lets the pods in where the level `restricted` is asked for.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::{Harness, Kubectl, Options, chart, deploy, wait_until};
use serde_json::{Value, json};

use crate::helm::{self, Helm, named, pods};
use crate::{admission, operators};

/// Where something lies that the chart takes to be there.
const NAMESPACES: [&str; 8] = [
    helm::NAMESPACE,
    "clusterpedia-system",
    "karmada-cluster",
    "team-a-clusters",
    "team-a",
    "vela-system",
    "fleet-default",
    "armadex-ocm",
];

#[tokio::test(flavor = "multi_thread")]
async fn an_apiserver_takes_what_is_rendered_and_lets_the_pods_in() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 0,
        ..Options::default()
    })
    .await?;
    let host = fleet.kubectl("host");
    for namespace in NAMESPACES {
        let _there = host.output(&["create", "namespace", namespace]).await?;
    }
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    host.run(&["label", "namespace", helm::NAMESPACE, restricted])
        .await?;
    has_its_account(&host).await?;
    policies_are_valid(&host).await?;
    operators::define(&host).await?;
    admission::each_rule_is_broken_with_its_words(&host).await?;
    let helm = Helm::ensure()?;
    for values in helm::all_values()? {
        let name = values.display().to_string();
        let made = helm.render(&values, &[])?;
        taken(&host, made.clone())
            .await
            .with_context(|| name.clone())?;
        let pods = pods(&made).into_iter().enumerate();
        let pods = pods.map(|(number, (_, template))| pod(number, &template));
        taken(&host, pods.collect())
            .await
            .with_context(|| name.clone())?;
    }
    operators::take_what_is_made_of_each_value(&host, &helm).await?;
    operators::refuse_what_they_do_not_know(&host, &helm).await?;
    names_that_could_be_something_else_are_names(&host, &helm).await?;
    fleet.finish().await;
    Ok(())
}

/// YAML takes some of them for numbers and truth, and a Service has neither a dot nor a digit first in its name. As text, for whoever reads it again writes it otherwise.
async fn names_that_could_be_something_else_are_names(host: &Kubectl, helm: &Helm) -> Result<()> {
    host.run(&["create", "namespace", "y"]).await?;
    let values = "mode=parts,store.urlSecret.name=on,store.tlsSecretName=1e3,service.type=LoadBalancer,service.loadBalancerClass=on,\
        imagePullSecrets[0].name=yes,controlPlane.kubeconfig.secretName=no,controlPlane.kubeconfig.asAdministrator=true,\
        controlPlane.kubeconfig.context=prod #1";
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    let values = values.join(",");
    let elsewhere = [
        "--namespace",
        "y",
        "--set",
        &values,
        "--set-string",
        "priorityClassName=123",
    ];
    for release in ["123", "on", "1e3", "fleet.prod"] {
        for flags in [&elsewhere[..2], &elsewhere[..]] {
            let text = helm.text(release, flags)?;
            let file = tempfile::NamedTempFile::new()?;
            std::fs::write(file.path(), &text)?;
            let path = file.path().to_str().context("a path")?;
            let apply = [
                "apply",
                "--dry-run=server",
                "--validate=strict",
                "--filename",
                path,
            ];
            host.run(&apply).await.with_context(|| release.to_owned())?;
            let contexts = text.matches("\"--context=prod #1\"").count();
            ensure!(
                (contexts > 2) == (flags.len() > 2),
                "{contexts} of {release}"
            );
        }
    }
    Ok(())
}

/// A pod is refused until the account is there that it has if none is named.
async fn has_its_account(host: &Kubectl) -> Result<()> {
    wait_until("there is an account", Duration::from_secs(60), || async {
        let get = [
            "get",
            "serviceaccount",
            "default",
            "--namespace",
            helm::NAMESPACE,
        ];
        Ok(host.output(&get).await?.status.success())
    })
    .await
}

/// The chart's CRDs take the shipped policies.
async fn policies_are_valid(host: &Kubectl) -> Result<()> {
    let crds = chart::folder().join("files/crds");
    let crds = crds.to_str().context("a path")?;
    host.run(&["apply", "--server-side", "--filename", crds])
        .await?;
    let established = "--for=condition=Established";
    host.run(&["wait", established, "--filename", crds]).await?;
    let policies = deploy::folder().join("policies");
    let policies = policies.to_str().context("a path")?;
    host.run(&["apply", "--dry-run=server", "--filename", policies])
        .await?;
    Ok(())
}

/// Whether an apiserver would make all of them, in each field. There has to be one.
pub(crate) async fn taken(host: &Kubectl, objects: Vec<Value>) -> Result<()> {
    let names: Vec<String> = objects.iter().map(named).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), list)?;
    let path = file.path().to_str().context("a path")?;
    let arguments = [
        "apply",
        "--dry-run=server",
        "--validate=strict",
        "--filename",
        path,
    ];
    let output = host.output(&arguments).await?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{names:?}: {complaint}");
    ensure!(
        !complaint.contains("would violate PodSecurity"),
        "{names:?}: {complaint}"
    );
    Ok(())
}

/// The pod that a controller would make.
fn pod(number: usize, template: &Value) -> Value {
    let mut spec = template["spec"].clone();
    spec["serviceAccountName"] = json!("default");
    let name = format!("pod-{number}");
    let labels = &template["metadata"]["labels"];
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": helm::NAMESPACE, "labels": labels},
        "spec": spec,
    })
}
