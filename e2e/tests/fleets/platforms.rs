//! The policies for other platforms than Karmada, on a real control plane that has their kinds and nothing of the platforms: what each makes of the objects of its case is what
//! `armadex policy test` holds it to without a control plane, with the rights of its manifest and no more.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::limit::output_of;
use armadex_e2e::scenario::{SOON, TALKATIVE, wait_until_absent};
use armadex_e2e::{Harness, Kubectl, Options, deploy, rights, wait_until};
use serde_json::{Value, json};
use tokio::process::Command;

/// The kinds that are sources, where they are not Secrets: group, version, plural, kind, scope.
const KINDS: [[&str; 5]; 3] = [
    [
        "cluster.x-k8s.io",
        "v1beta2",
        "clusters",
        "Cluster",
        "Namespaced",
    ],
    [
        "cluster.open-cluster-management.io",
        "v1",
        "managedclusters",
        "ManagedCluster",
        "Cluster",
    ],
    [
        "provisioning.cattle.io",
        "v1",
        "clusters",
        "Cluster",
        "Namespaced",
    ],
];
/// Of nobody.
const MEMBERS: [&str; 5] = ["fleet.example.com", "v1", "members", "Member", "Cluster"];
const POLICIES: [&str; 6] = [
    "cluster-api",
    "kubeconfig",
    "kubevela",
    "open-cluster-management",
    "rancher",
    "vcluster",
];
/// Where the platforms, and people, keep credentials.
const NAMESPACES: [&str; 4] = ["team-a", "vela-system", "armadex-ocm", "fleet-default"];

#[tokio::test(flavor = "multi_thread")]
async fn each_platform_is_on_boarded_by_its_policy_with_the_rights_of_its_manifest() -> Result<()> {
    let options = Options {
        writes_requests_down: true,
        ..Options::default()
    };
    let fleet = Harness::start(options).await?;
    let host = fleet.kubectl("host");
    for kind in KINDS {
        host.apply(&definition(kind).to_string()).await?;
    }
    for namespace in NAMESPACES {
        host.run(&["create", "namespace", namespace]).await?;
    }
    armadex::install_apart(&fleet).await?;
    install(&fleet, &[]).await?;
    let namespaces = [&[deploy::NAMESPACE, "karmada-cluster"], &NAMESPACES[..]].concat();
    let namespaces = format!("--credential-namespaces={}", namespaces.join(","));
    let controllers = Armadex::start(&fleet, Role::Controllers, &[TALKATIVE, &namespaces]).await?;
    for policy in POLICIES {
        brings_its_clusters_in(&fleet, policy)
            .await
            .with_context(|| format!("the policy {policy}"))?;
    }
    let printed = a_policy_in_go_templates_makes_what_render_shows(&fleet).await?;
    controllers.stop()?;
    let manifests = [deploy::rights_of_others()?, printed].join("\n---\n");
    rights::expect_exact(fleet.folder(), &manifests, |right| {
        right.contains(ELSEWHERE)
    })?;
    fleet.finish().await;
    Ok(())
}

async fn install(fleet: &Harness, more: &[&str]) -> Result<()> {
    let kubeconfig = fleet.host().kubeconfig().display().to_string();
    // What is not asked for any more would be withdrawn.
    let rights = format!("--rights=karmada,{}", POLICIES.join(","));
    let install = [
        "install",
        "--apart",
        &rights,
        "--kubeconfig",
        &kubeconfig,
        "--credential-namespaces=team-a",
    ];
    armadex::run(&[&install, more].concat()).await.map(drop)
}

fn definition([group, version, plural, kind, scope]: [&str; 5]) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            // Names below k8s.io are protected.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
            "versions": [{"name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// A file of the usual case of a policy.
fn case(policy: &str) -> PathBuf {
    let cases = deploy::folder().join("policies/tests");
    cases.join(policy).join("usual")
}

/// The objects of the files below `from`, sources first.
fn given(policy: &str) -> Result<Vec<Value>> {
    let files = std::fs::read_dir(case(policy).join("from"))?;
    let mut files = files
        .map(|file| Ok(file?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.sort();
    let mut objects = Vec::new();
    for file in files {
        objects.extend(deploy::objects(&std::fs::read_to_string(file)?)?);
    }
    Ok(objects)
}

/// The PediaClusters that are expected.
fn expected(policy: &str) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(case(policy).join("expected.yaml"))?;
    let made = deploy::objects(text.trim_start_matches("---\n"))?;
    let clusters = made.into_iter();
    Ok(clusters
        .filter(|object| object["kind"] == "PediaCluster")
        .collect())
}

async fn brings_its_clusters_in(fleet: &Harness, policy: &str) -> Result<()> {
    let (host, expected) = (fleet.kubectl("host"), expected(policy)?);
    ensure!(!expected.is_empty(), "its case expects nothing");
    install(fleet, &["--policies", policy]).await?;
    let given = create(&host, given(policy)?).await?;
    for cluster in &expected {
        is_made(&host, cluster).await?;
    }
    let policy = format!("clusterimportpolicy/{policy}");
    host.run(&["delete", &policy]).await?;
    for cluster in &expected {
        let name = name_of(cluster)?;
        wait_until_absent(fleet, &format!("pediacluster/{name}")).await?;
    }
    for object in given {
        // What has an owner may have gone with it.
        let delete = ["delete", &object[0], "--namespace", &object[1]];
        host.run(&[&delete[..], &["--ignore-not-found"]].concat())
            .await?;
    }
    Ok(())
}

fn name_of(object: &Value) -> Result<&str> {
    object["metadata"]["name"].as_str().context("a name")
}

/// With the spec and the labels of what is expected.
async fn is_made(host: &Kubectl, expected: &Value) -> Result<()> {
    let name = name_of(expected)?;
    let get = [
        "get",
        "pediacluster",
        name,
        "--ignore-not-found",
        "--output=json",
    ];
    let labels = |object: &Value| {
        let labels = object["metadata"]["labels"].as_object().cloned();
        labels.unwrap_or_default()
    };
    let is_expected =
        |made: &Value| made["spec"] == expected["spec"] && labels(made) == labels(expected);
    wait_until(
        &format!("the PediaCluster {name} is made"),
        SOON,
        || async {
            let made = host.run(&get).await?;
            let made: Value = serde_json::from_str(&made).with_context(|| format!("{made:?}"))?;
            ensure!(is_expected(&made), "{made:#}");
            Ok(true)
        },
    )
    .await
}

/// Makes the objects, whose uids the control plane gives: what an owner reference has is the one of the owner that was made. Kind with name and namespace of each.
async fn create(host: &Kubectl, objects: Vec<Value>) -> Result<Vec<[String; 2]>> {
    let (mut made, mut uids) = (Vec::new(), Vec::<[String; 2]>::new());
    for object in objects {
        let mut text = object.to_string();
        for [given, real] in &uids {
            text = text.replace(given, real);
        }
        host.apply(&text).await?;
        let api = object["apiVersion"].as_str().context("an API")?;
        let kind = object["kind"].as_str().context("a kind")?;
        let kind = match api.split_once('/') {
            Some((group, version)) => format!("{kind}.{version}.{group}"),
            None => kind.to_owned(),
        };
        let metadata = &object["metadata"];
        let named = format!("{kind}/{}", metadata["name"].as_str().context("a name")?);
        let namespace = metadata["namespace"]
            .as_str()
            .unwrap_or("default")
            .to_owned();
        if let Some(uid) = metadata["uid"].as_str() {
            let get = [
                "get",
                &named,
                "--namespace",
                &namespace,
                "--output=jsonpath={.metadata.uid}",
            ];
            uids.push([uid.to_owned(), host.run(&get).await?]);
        }
        made.push([named, namespace]);
    }
    Ok(made)
}

/// One in the shape of those that people have for Clusterpedia, with the rights that are printed for it and no others. Gives these.
async fn a_policy_in_go_templates_makes_what_render_shows(fleet: &Harness) -> Result<String> {
    let host = fleet.kubectl("host");
    host.apply(&definition(MEMBERS).to_string()).await?;
    let folder = deploy::folder().join("../armadex/tests/go_policies/members");
    let [policy, from] =
        ["go.yaml", "from.yaml"].map(|name| folder.join(name).display().to_string());
    let rbac = [
        "rbac",
        "--apart",
        "--for-policy",
        &policy,
        "--credential-namespaces=karmada-cluster",
    ];
    let printed = armadex::run(&rbac).await?;
    host.apply(&printed).await?;
    // It leaves alone what it knows nothing of.
    install(fleet, &[]).await?;
    let render = [
        "policy", "render", "-f", &policy, "--from", &from, "-o", "json",
    ];
    // One of them is not to come yet, which is told by the exit code.
    let rendered = output_of(Command::new(armadex::binary()?).args(render)).await?;
    let rendered: Value = serde_json::from_slice(&rendered.stdout)?;
    let clusters = rendered["items"].as_array().context("a list")?.iter();
    let clusters: Vec<_> = clusters
        .filter(|object| object["kind"] == "PediaCluster")
        .collect();
    ensure!(clusters.len() == 2, "{rendered:#}");
    for file in [&policy, &from] {
        host.run(&["apply", "--filename", file]).await?;
    }
    for cluster in clusters {
        is_made(&host, cluster).await?;
    }
    Ok(printed.trim_start_matches("---\n").to_owned())
}

/// What is asked only where a Secret may not be listed.
const ELSEWHERE: &str = ": get secrets in ";
