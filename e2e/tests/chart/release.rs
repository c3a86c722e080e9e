//! A release on a real apiserver, and beside it the program as its pod would run it, with its account and its arguments: the rights are enough, and what helm makes and
//! what the API server keeps are not in each other's way.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::http::Http;
use armadex_e2e::pki::write_private;
use armadex_e2e::ports::free_port;
use armadex_e2e::process::{Program, last_words};
use armadex_e2e::{Harness, Kubectl, Options, Record, armadex, chart, kubeconfig, log, wait_until};
use serde_json::Value;

use crate::helm::{self, Helm, pods};
use crate::parts::arguments;

const POD: &str = "armadex-all";
const API_SERVICE: &str = "apiservice/v1beta1.clusterpedia.io";
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_and_removed_while_its_pod_is_registered() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 0,
        ..Options::default()
    })
    .await?;
    let (host, helm) = (fleet.kubectl("host"), Helm::ensure()?);
    let kubeconfig = fleet.folder().kubeconfig("host");
    let run = |arguments: &[&str]| helm.release(&kubeconfig, arguments);
    let folder = chart::folder();
    let chart = folder.to_str().context("a path")?;

    run(&["install", helm::RELEASE, chart, "--create-namespace"])?;
    let record = started(&fleet, &helm).await?;
    let secret = object(&host, "secret/armadex-serving").await?;
    let installed = object(&host, API_SERVICE).await?;
    assert_eq!(installed["spec"]["caBundle"], secret["data"]["ca.crt"]);

    let port = ["--set", "service.port=6443,commonLabels.team=platform"];
    run(&[&["upgrade", helm::RELEASE, chart], &port[..]].concat())?;
    let upgraded = object(&host, API_SERVICE).await?;
    assert_eq!(upgraded["spec"]["service"]["port"], 6443);
    assert_eq!(upgraded["spec"]["caBundle"], secret["data"]["ca.crt"]);
    assert_eq!(upgraded["metadata"]["labels"]["team"], "platform");

    record.stop(LIMIT);
    log::check(fleet.folder(), POD)?;
    run(&["uninstall", helm::RELEASE])?;
    let left = host.output(&["get", API_SERVICE]).await?;
    assert!(!left.status.success(), "helm made it, and deletes it");
    object(&host, "crd/pediaclusters.cluster.clusterpedia.io").await?;
    fleet.finish().await;
    Ok(())
}

async fn object(host: &Kubectl, name: &str) -> Result<Value> {
    let namespace = ["--namespace", helm::NAMESPACE];
    let get = [&["get", name, "--output", "json"], &namespace[..]].concat();
    Ok(serde_json::from_str(&host.run(&get).await?)?)
}

/// What the StatefulSet's pod runs, when it is ready.
async fn started(fleet: &Harness, helm: &Helm) -> Result<Record> {
    let (search, admin) = (free_port()?, free_port()?);
    let own = [
        format!("--listen=127.0.0.1:{search}"),
        format!("--admin-listen=127.0.0.1:{admin}"),
        "--store=sqlite:armadex-release.db".to_owned(),
    ];
    let made = helm.render(&helm::values_named("default"), &[])?;
    let (_, pod) = pods(&made).into_iter().next().context("a pod")?;
    let flag = |argument: &str| argument.split('=').next().map(str::to_owned);
    let as_here = |told: &str| {
        let ours = own.iter().find(|ours| flag(ours) == flag(told));
        ours.cloned().unwrap_or_else(|| told.to_owned())
    };
    let mut arguments: Vec<String> = arguments(&pod).into_iter().map(as_here).collect();
    let account = account(fleet, &pod).await?;
    arguments.push(format!("--kubeconfig={account}"));
    let record = Program::new(POD, armadex::binary()?, arguments).start(fleet.folder())?;
    let (http, url) = (
        Http::default(),
        format!("http://127.0.0.1:{admin}/readyz?verbose"),
    );
    let ready = wait_until("the pod is ready", LIMIT, || async {
        ensure!(record.is_alive(), "it ended");
        http.get(&url).await.map(|_| true)
    });
    ready
        .await
        .with_context(|| last_words(fleet.folder(), POD))?;
    Ok(record)
}

/// A kubeconfig of the account of a pod.
async fn account(fleet: &Harness, pod: &Value) -> Result<String> {
    let name = pod["spec"]["serviceAccountName"].as_str();
    let name = name.context("the pod has an account")?;
    let create = ["create", "token", name, "--namespace", helm::NAMESPACE];
    let token = fleet.kubectl("host").run(&create).await?;
    let path = fleet.folder().account_kubeconfig(name);
    let file = format!("{name}.token");
    write_private(&path.with_file_name(&file), token.trim())?;
    kubeconfig::write_for_token(&path, &fleet.folder().kubeconfig("host"), &file)?;
    Ok(path.to_str().context("a path")?.to_owned())
}
