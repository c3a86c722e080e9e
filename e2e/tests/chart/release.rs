//! A release on a real apiserver, and beside it the program as its pod would run it, with its account and its arguments: the rights are enough, and what helm makes and
//! what the API server keeps are not in each other's way.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::http::Http;
use armadex_e2e::pki::write_private;
use armadex_e2e::ports::free_port;
use armadex_e2e::process::{Program, last_words};
use armadex_e2e::{
    Harness, Kubectl, Options, Record, armadex, chart, deploy, kubeconfig, log, wait_until,
};
use serde_json::{Value, json};

use crate::helm::{self, Helm, pods};
use crate::parts::arguments;

const POD: &str = "armadex-all";
const API_SERVICE: &str = "apiservice/v1beta1.clusterpedia.io";
/// Whoever applies the policy, here this test, has its rights by this: no Job of helm runs here.
const OWN_POLICY: [&str; 2] = ["--set", "policyRights={karmada}"];
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_and_removed_while_its_pod_is_registered() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 1,
        ..Options::default()
    })
    .await?;
    fleet.join("member1").await?;
    let (host, helm) = (fleet.kubectl("host"), Helm::ensure()?);
    let kubeconfig = fleet.folder().kubeconfig("host");
    let run = |arguments: &[&str]| helm.release(&kubeconfig, arguments).map(drop);
    let folder = chart::folder();
    let chart = folder.to_str().context("a path")?;

    let before = everything(&host).await?;
    let install = ["install", helm::RELEASE, chart, "--create-namespace"];
    run(&[&install[..], &OWN_POLICY].concat())?;
    host.apply(&deploy::policy()?).await?;
    let (record, port) = started(&fleet, &helm).await?;
    let secret = object(&host, "secret/armadex-serving").await?;
    let authority = &secret["data"]["ca.crt"];
    let registered = async |port: i64, team: Option<&str>| -> Result<()> {
        let registered = object(&host, API_SERVICE).await?;
        assert_eq!(registered["spec"]["service"]["port"], port);
        assert_eq!(registered["spec"]["caBundle"], *authority);
        assert_eq!(registered["metadata"]["labels"]["team"].as_str(), team);
        Ok(())
    };
    registered(443, None).await?;
    searches_are_for_whoever_may(&fleet, port).await?;

    let port = [
        "--reuse-values",
        "--set",
        "service.port=6443,commonLabels.team=platform",
    ];
    run(&[&["upgrade", helm::RELEASE, chart], &port[..]].concat())?;
    registered(6443, Some("platform")).await?;
    run(&["rollback", helm::RELEASE, "--no-hooks"])?;
    registered(443, None).await?;

    record.stop(LIMIT);
    log::check(fleet.folder(), POD)?;
    run(&["uninstall", helm::RELEASE])?;
    let after = everything(&host).await?;
    let left: Vec<&String> = after.difference(&before).collect();
    assert_eq!(left, LEFT);
    let lost: Vec<&String> = before.difference(&after).collect();
    assert!(lost.is_empty(), "{lost:?}");
    fleet.finish().await;
    Ok(())
}

/// What stays of a release: what a new one goes on with, and what this test has made for its callers.
const LEFT: [&str; 13] = [
    "ClusterRole /pods",
    "ClusterRole /searcher",
    "ClusterRoleBinding /pods",
    "ClusterRoleBinding /searcher",
    "CustomResourceDefinition /clusterimportpolicies.policy.clusterpedia.io",
    "CustomResourceDefinition /clustersyncresources.cluster.clusterpedia.io",
    "CustomResourceDefinition /pediaclusterlifecycles.policy.clusterpedia.io",
    "CustomResourceDefinition /pediaclusters.cluster.clusterpedia.io",
    "Namespace /armadex-system",
    "PersistentVolumeClaim armadex-system/armadex-store",
    "Secret armadex-system/armadex-serving",
    "ServiceAccount armadex-system/bob",
    "ServiceAccount armadex-system/default",
];

/// All that a release may be made of. Namespaces of members are Karmada's, which makes them when it gets to it, as controllers do what is in every namespace.
async fn everything(host: &Kubectl) -> Result<BTreeSet<String>> {
    let kinds = "serviceaccounts,services,secrets,configmaps,persistentvolumeclaims,roles,rolebindings,clusterroles,clusterrolebindings,\
        customresourcedefinitions,namespaces,deployments,statefulsets,jobs,networkpolicies,poddisruptionbudgets,horizontalpodautoscalers";
    let kinds: String = kinds.split_whitespace().collect();
    let lines =
        "jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{\"\\n\"}{end}";
    let list = ["get", &kinds, "--all-namespaces", "--output", lines];
    let mut all: BTreeSet<String> = host.run(&list).await?.lines().map(str::to_owned).collect();
    all.retain(|object| !object.contains("karmada-es-") && !object.ends_with("/kube-root-ca.crt"));
    let registered = host.output(&["get", API_SERVICE]).await?;
    if registered.status.success() {
        all.insert(API_SERVICE.to_owned());
    }
    Ok(all)
}

/// With the rights that the notes name, and no others.
async fn searches_are_for_whoever_may(fleet: &Harness, port: u16) -> Result<()> {
    let host = fleet.kubectl("host");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a-pod", "namespace": "default"},
        "spec": {"containers": [{"name": "a", "image": "a"}]}});
    fleet.kubectl("member1").apply(&pod.to_string()).await?;
    let namespace = ["--namespace", helm::NAMESPACE];
    host.run(&[&["create", "serviceaccount", "bob"], &namespace[..]].concat())
        .await?;
    let bob = account_of(fleet, "bob").await?;
    let server = format!("--server=https://127.0.0.1:{port}");
    let path = "/apis/clusterpedia.io/v1beta1/fleets/all/proxy/api/v1/pods";
    let get = [
        "get",
        "--raw",
        path,
        &server,
        "--insecure-skip-tls-verify",
        "--kubeconfig",
        &bob,
    ];
    let refused = host.output(&get).await?;
    let complaint = String::from_utf8_lossy(&refused.stderr);
    ensure!(complaint.contains("forbidden"), "{complaint}");
    host.apply(&rights_of_bob().to_string()).await?;
    wait_until("bob may search", LIMIT, || async {
        let found = host.output(&get).await?;
        let complaint = String::from_utf8_lossy(&found.stderr);
        ensure!(found.status.success(), "{complaint}");
        let found: Value = serde_json::from_slice(&found.stdout)?;
        Ok(found["items"][0]["metadata"]["name"] == "a-pod")
    })
    .await
}

/// As the notes have them. To Armadex nothing leads here, so the control plane does not know what it serves.
fn rights_of_bob() -> Value {
    let proxies = json!(["fleets/proxy", "clusters/proxy"]);
    let api = "rbac.authorization.k8s.io";
    let role = |name: &str, rule: Value| {
        let metadata = json!({"name": name});
        let who = json!({"kind": "ServiceAccount", "name": "bob", "namespace": helm::NAMESPACE});
        let role = json!({"apiGroup": api, "kind": "ClusterRole", "name": name});
        [
            json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}),
            json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
                "roleRef": role, "subjects": [who]}),
        ]
    };
    let rules = [
        (
            "searcher",
            json!({"apiGroups": ["clusterpedia.io"], "resources": proxies, "verbs": ["get", "create"]}),
        ),
        (
            "pods",
            json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}),
        ),
    ];
    let items: Vec<Value> = rules
        .into_iter()
        .flat_map(|(name, rule)| role(name, rule))
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

async fn object(host: &Kubectl, name: &str) -> Result<Value> {
    let namespace = ["--namespace", helm::NAMESPACE];
    let get = [&["get", name, "--output", "json"], &namespace[..]].concat();
    Ok(serde_json::from_str(&host.run(&get).await?)?)
}

/// What the StatefulSet's pod runs, when it is ready.
async fn started(fleet: &Harness, helm: &Helm) -> Result<(Record, u16)> {
    let (search, admin) = (free_port()?, free_port()?);
    let own = [
        format!("--listen=127.0.0.1:{search}"),
        format!("--admin-listen=127.0.0.1:{admin}"),
        "--store=sqlite:armadex-release.db".to_owned(),
    ];
    let made = helm.render(&helm::values_named("default"), &OWN_POLICY)?;
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
    Ok((record, search))
}

/// A kubeconfig of the account of a pod.
pub(crate) async fn account(fleet: &Harness, pod: &Value) -> Result<String> {
    let name = pod["spec"]["serviceAccountName"].as_str();
    account_of(fleet, name.context("the pod has an account")?).await
}

async fn account_of(fleet: &Harness, name: &str) -> Result<String> {
    let create = ["create", "token", name, "--namespace", helm::NAMESPACE];
    let token = fleet.kubectl("host").run(&create).await?;
    let path = fleet.folder().account_kubeconfig(name);
    let file = format!("{name}.token");
    write_private(&path.with_file_name(&file), token.trim())?;
    kubeconfig::write_for_token(&path, &fleet.folder().kubeconfig("host"), &file)?;
    Ok(path.to_str().context("a path")?.to_owned())
}
