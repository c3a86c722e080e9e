//! In the place of a Clusterpedia: its objects, as its manifests and its programs make them, and a second Armadex that answers for its API server.
//!
//! Its CRDs are made of ours, without what is ours alone, unless `$ARMADEX_CLUSTERPEDIA_CRDS` names a folder that has its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use armadex_e2e::ports::free_port;
use armadex_e2e::process::Program;
use armadex_e2e::scenario::SOON;
use armadex_e2e::{Harness, Record, armadex, deploy, wait_until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A folder with the CRDs of a Clusterpedia.
const OWN: &str = "ARMADEX_CLUSTERPEDIA_CRDS";
/// As it says of a PediaCluster.
const FINALIZER: &str = "clusterpedia.io/cluster-synchro-controller";
const DEPLOYMENTS: [&str; 3] = [
    "clusterpedia-apiserver",
    "clusterpedia-clustersynchro-manager",
    "clusterpedia-controller-manager",
];
/// What the PediaClusters of the policy are called, and that by hand.
pub(super) const CLUSTERS: [&str; 3] = ["karmada-member1", "karmada-member2", "by-hand"];
/// Fields that are ours alone.
const OURS: [&str; 8] = [
    "connection",
    "authorizationMode",
    "templateEngine",
    "audit",
    "observedGeneration",
    "x-kubernetes-validations",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
];
/// What bounds a value.
const BOUNDS: [&str; 4] = ["pattern", "maxLength", "maxItems", "maxProperties"];
/// A policy in Go templates, of the shape that people have for Karmada.
const POLICY: &str = r#"
apiVersion: policy.clusterpedia.io/v1alpha1
kind: ClusterImportPolicy
metadata:
  name: karmada
spec:
  source:
    group: cluster.karmada.io
    resource: clusters
  references:
  - key: login
    group: ""
    resource: secrets
    namespaceTemplate: '{{ .source.spec.secretRef.namespace }}'
    nameTemplate: '{{ .source.spec.secretRef.name }}'
  nameTemplate: 'karmada-{{ .source.metadata.name }}'
  creationCondition: '{{ if ne .source.spec.apiEndpoint "" }}true{{ end }}'
  template: |
    spec:
      apiserver: "{{ .source.spec.apiEndpoint }}"
      tokenData: "{{ .references.login.data.token }}"
      caData: "{{ .references.login.data.caBundle }}"
      syncResources:
      - group: ""
        resources: ["pods", "services", "configmaps"]
      - group: apps
        resources: ["*"]
"#;

/// What answers.
pub(super) struct Clusterpedia {
    program: Program,
    port: u16,
    record: Record,
}

impl Clusterpedia {
    /// On a control plane with two members that have joined it, of which somebody has brought in one by hand as well.
    pub(super) async fn set_up(fleet: &Harness, desk: &Path) -> Result<Self> {
        let host = fleet.kubectl("host");
        host.run(&["create", "namespace", deploy::NAMESPACE])
            .await?;
        for definition in definitions().await? {
            host.apply(&definition.to_string()).await?;
        }
        let kinds = [
            "wait",
            "--for=condition=Established",
            "crd",
            "pediaclusters.cluster.clusterpedia.io",
            "pediaclusterlifecycles.policy.clusterpedia.io",
            "clusterimportpolicies.policy.clusterpedia.io",
        ];
        host.run(&kinds).await?;
        for name in DEPLOYMENTS {
            let image = format!("--image=example.com/{name}");
            let create = [
                "create",
                "deployment",
                name,
                "--namespace",
                deploy::NAMESPACE,
            ];
            host.run(&[&create[..], &[&image]].concat()).await?;
        }
        made_by_a_policy(fleet, desk).await?;
        by_hand(fleet).await?;
        let port = free_port()?;
        register(fleet, port).await?;
        write_kubeconfig(fleet, desk)?;
        let program = program(fleet, port)?;
        let record = program.start(fleet.folder())?;
        let clusterpedia = Self {
            program,
            port,
            record,
        };
        clusterpedia.wait(fleet).await?;
        Ok(clusterpedia)
    }

    pub(super) fn stop(&self) {
        self.record.stop(SOON);
    }

    pub(super) async fn start_again(&mut self, fleet: &Harness) -> Result<()> {
        self.record = self.program.start(fleet.folder())?;
        // Its store has everything, so it answers as soon as it is up.
        let address = ("127.0.0.1", self.port);
        wait_until("the place of Clusterpedia answers", SOON, || async {
            std::net::TcpStream::connect(address)?;
            Ok(true)
        })
        .await
    }

    fn log(&self, fleet: &Harness) -> String {
        let path = fleet.folder().log(&self.program.name);
        std::fs::read_to_string(path).unwrap_or_default()
    }

    async fn wait(&self, fleet: &Harness) -> Result<()> {
        let available = [
            "wait",
            "--for=condition=Available",
            "--timeout=90s",
            "apiservice",
            "v1beta1.clusterpedia.io",
        ];
        let waited = fleet.kubectl("host").run(&available).await;
        waited.map(drop).with_context(|| self.log(fleet))
    }
}

/// Its CustomResourceDefinitions.
async fn definitions() -> Result<Vec<Value>> {
    if let Some(folder) = std::env::var_os(OWN) {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(PathBuf::from(folder))? {
            let text = std::fs::read_to_string(entry?.path())?;
            all.extend(deploy::objects(
                text.trim_start_matches("---\n").trim_start(),
            )?);
        }
        ensure!(
            all.len() == 4,
            "{OWN} has {} objects and no four CRDs",
            all.len()
        );
        return Ok(all);
    }
    let text = armadex::run(&["crds"]).await?;
    let mut all = deploy::objects(text.trim_start_matches("---\n"))?;
    for definition in &mut all {
        for name in ["shortNames", "categories"] {
            let names = definition["spec"]["names"]
                .as_object_mut()
                .context("names")?;
            names.remove(name);
        }
        for version in definition["spec"]["versions"]
            .as_array_mut()
            .context("versions")?
        {
            version["additionalPrinterColumns"] = json!([]);
            take_ours_away(&mut version["schema"]);
        }
    }
    Ok(all)
}

/// Of a schema, what Clusterpedia's has not.
fn take_ours_away(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| ![&OURS[..], &BOUNDS].concat().contains(&name.as_str()));
            // That of a Secret's key; a namespace is part of a lifecycle's references, too.
            let is_key = fields.contains_key("key") && fields.contains_key("name");
            if is_key && fields.len() == 3 {
                fields.remove("namespace");
            }
            fields.values_mut().for_each(take_ours_away);
        }
        Value::Array(items) => items.iter_mut().for_each(take_ours_away),
        _ => {}
    }
}

/// The policy, and what a controller makes of it: `policy render` says what that is.
async fn made_by_a_policy(fleet: &Harness, desk: &Path) -> Result<()> {
    let host = fleet.kubectl("host");
    host.apply(POLICY).await?;
    let sources = ["get", "clusters.cluster.karmada.io", "--output=yaml"];
    let secrets = [
        "get",
        "secrets",
        "--namespace=karmada-cluster",
        "--output=yaml",
    ];
    let [policy, from, secret] =
        ["policy.yaml", "from.yaml", "secret.yaml"].map(|it| desk.join(it));
    std::fs::write(&policy, POLICY)?;
    std::fs::write(&from, host.run(&sources).await?)?;
    std::fs::write(&secret, host.run(&secrets).await?)?;
    let [policy, from, secret] = [policy, from, secret].map(|it| it.display().to_string());
    let render = [
        "policy",
        "render",
        "-f",
        &policy,
        "--from",
        &from,
        "--from",
        &secret,
        "--output=json",
    ];
    let made: Value = serde_json::from_str(&armadex::run(&render).await?)?;
    let made = made["items"].as_array().context("a list")?;
    for name in &CLUSTERS[..2] {
        let called = |object: &&Value| object["metadata"]["name"] == *name;
        let of_the_name: Vec<&Value> = made.iter().filter(called).collect();
        let [lifecycle, cluster] = of_the_name[..] else {
            anyhow::bail!("{name}: {} objects", of_the_name.len());
        };
        put_owned(fleet, name, lifecycle.clone(), cluster.clone()).await?;
    }
    Ok(())
}

async fn put_owned(
    fleet: &Harness,
    name: &str,
    mut lifecycle: Value,
    mut cluster: Value,
) -> Result<()> {
    let owner = owner(fleet, "ClusterImportPolicy", "karmada", true).await?;
    lifecycle["metadata"]["ownerReferences"] = json!([owner]);
    let finalizer = "clusterpedia.io/pediacluster-lifecycle-controller";
    lifecycle["metadata"]["finalizers"] = json!([finalizer]);
    fleet.kubectl("host").apply(&lifecycle.to_string()).await?;
    let owner = self::owner(fleet, "PediaClusterLifecycle", name, false).await?;
    cluster["metadata"]["ownerReferences"] = json!([owner]);
    put(fleet, cluster).await
}

async fn owner(fleet: &Harness, kind: &str, name: &str, controls: bool) -> Result<Value> {
    let get = ["get", kind, name, "--output=jsonpath={.metadata.uid}"];
    let uid = fleet.kubectl("host").run(&get).await?;
    let mut owner = json!({"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": kind, "name": name, "uid": uid});
    if controls {
        owner["controller"] = json!(true);
    }
    Ok(owner)
}

/// One with a kubeconfig in it.
async fn by_hand(fleet: &Harness) -> Result<()> {
    let kubeconfig = std::fs::read(fleet.folder().kubeconfig("member2"))?;
    let resources = json!([{"group": "", "resources": ["pods"]}, {"group": "apps", "resources": ["deployments"]}]);
    let cluster = json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": CLUSTERS[2]},
        "spec": {"kubeconfig": STANDARD.encode(kubeconfig), "syncResources": resources},
    });
    put(fleet, cluster).await
}

/// A PediaCluster with what the synchro manager says of it.
async fn put(fleet: &Harness, mut cluster: Value) -> Result<()> {
    let host = fleet.kubectl("host");
    cluster["metadata"]["finalizers"] = json!([FINALIZER]);
    host.apply(&cluster.to_string()).await?;
    let condition = |type_: &str, reason: &str| json!({"type": type_, "status": "True", "reason": reason, "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let conditions = [
        condition("Validated", "Validated"),
        condition("SynchroRunning", "Running"),
        condition("ClusterHealthy", "Healthy"),
        condition("Ready", "Ready"),
    ];
    let status =
        json!({"status": {"version": "v1.30.0", "shardingName": "", "conditions": conditions}});
    let name = cluster["metadata"]["name"].as_str().context("a name")?;
    let patch = [
        "patch",
        "pediacluster",
        name,
        "--subresource=status",
        "--type=merge",
        "--patch",
    ];
    host.run(&[&patch[..], &[&status.to_string()]].concat())
        .await?;
    Ok(())
}

/// The Service and the APIService of its manifests, with a Service that leads to this machine.
async fn register(fleet: &Harness, port: u16) -> Result<()> {
    let name = "clusterpedia-apiserver";
    let reach = &fleet.reach().name;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": deploy::NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": reach}});
    let api_service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1beta1.clusterpedia.io"},
        "spec": {"insecureSkipTLSVerify": true, "group": "clusterpedia.io", "version": "v1beta1", "groupPriorityMinimum": 1000, "versionPriority": 100,
            "service": {"name": name, "namespace": deploy::NAMESPACE, "port": port}}});
    for object in [service, api_service] {
        fleet.kubectl("host").apply(&object.to_string()).await?;
    }
    Ok(())
}

/// The kubeconfig that people have: the fleet, and each cluster, at Clusterpedia's paths.
fn write_kubeconfig(fleet: &Harness, desk: &Path) -> Result<()> {
    let text = std::fs::read_to_string(fleet.host().kubeconfig())?;
    let mut kubeconfig: Value = serde_saphyr::from_str(&text)?;
    let clusters = kubeconfig["clusters"].as_array_mut().context("clusters")?;
    let host = clusters.first().context("a cluster")?.clone();
    let server = host["cluster"]["server"].as_str().context("a server")?;
    let base = format!("{server}/apis/clusterpedia.io/v1beta1/resources");
    let mut add = |name: &str, server: String| {
        let mut cluster = host.clone();
        cluster["name"] = json!(name);
        cluster["cluster"]["server"] = json!(server);
        clusters.push(cluster);
    };
    add("clusterpedia", base.clone());
    for name in CLUSTERS {
        add(name, format!("{base}/clusters/{name}"));
    }
    std::fs::write(desk.join("clusterpedia.kubeconfig"), kubeconfig.to_string())?;
    Ok(())
}

/// An Armadex as an administrator, with a store of its own, that writes nothing.
fn program(fleet: &Harness, port: u16) -> Result<Program> {
    let store = fleet.folder().root().join("clusterpedia.db");
    let arguments = [
        "all".to_owned(),
        "--observe".to_owned(),
        format!("--kubeconfig={}", fleet.host().kubeconfig().display()),
        format!("--store=sqlite:{}", store.display()),
        format!("--listen=127.0.0.1:{port}"),
        format!("--admin-listen=127.0.0.1:{}", free_port()?),
    ];
    let name = "in-the-place-of-clusterpedia";
    Ok(Program::new(name, armadex::binary()?, arguments.to_vec()))
}
