//! Sources of an API that another apiserver serves behind the aggregator: it comes late, answers 503 for a while, and comes back.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use armadex_e2e::aggregation::ApiService;
use armadex_e2e::cluster::Shape;
use armadex_e2e::etcd::Etcd;
use armadex_e2e::{Cluster, Harness, armadex};
use serde_json::{Value, json};

use super::{Garden, crd, plant, policy, seed};

const GROUP: &str = "greenhouse.example";
/// The policy, the APIService's Service, and what it leads to.
const NAME: &str = "greenhouse";
const POLICY: &str = "clusterimportpolicy/greenhouse";
const WELL: &str = "True ReconcileSourceResourceAndLifecycle";
/// Nothing changes there that a watch could tell. It is tried again every 15 s at the longest, and an apiserver that has just been started may refuse it once.
const WELL_AGAIN: Duration = Duration::from_secs(45);

pub(super) async fn an_api_that_answers_503_for_a_while_takes_nothing_away(
    fleet: &Harness,
    garden: &Garden,
) -> Result<()> {
    let greenhouse = filled(fleet).await?;
    grant(fleet).await?;
    garden.apply(seed("fern", "one")).await?;
    garden
        .apply(of_the_greenhouse(policy(NAME, &["pods"])))
        .await?;
    let expected = "False FailedNegotiateSourceResource";
    garden.says(POLICY, "Validated", expected, GROUP).await?;
    let host = fleet.host().client().await?;
    let service = register(fleet, &greenhouse).await?;
    garden
        .comes_to_have("pediacluster/fern", ".spec.tokenData", "b25l")
        .await?;
    garden.says(POLICY, "Reconciling", WELL, "").await?;
    let uid = garden.uid("fern").await?;

    greenhouse.kill_apiserver();
    garden
        .says(
            POLICY,
            "Reconciling",
            "False FailedCheckResourceSync",
            "503",
        )
        .await?;
    garden.apply(policy("garden", &["pods"])).await?;
    garden
        .comes_to_have(
            "pediacluster/rose",
            ".spec.syncResources[0].resources[*]",
            "pods",
        )
        .await?;
    ensure!(garden.uid("fern").await? == uid, "it was made anew");

    greenhouse.start_apiserver(fleet.tools()).await?;
    service.wait_until_available(&host).await?;
    let back = Instant::now();
    garden.says(POLICY, "Reconciling", WELL, "").await?;
    ensure!(back.elapsed() < WELL_AGAIN, "{:?}", back.elapsed());
    garden.apply(seed("fern", "two")).await?;
    garden
        .comes_to_have("pediacluster/fern", ".spec.tokenData", "dHdv")
        .await?;
    ensure!(garden.uid("fern").await? == uid, "it was made anew");

    garden.host.run(&["delete", POLICY]).await?;
    garden
        .comes_to_have("pediacluster/fern", ".metadata.name", "")
        .await?;
    service.remove(&host).await
}

/// An apiserver with a plant, which takes the aggregator's word for who asks.
async fn filled(fleet: &Harness) -> Result<Cluster> {
    let pki = fleet.host().pki();
    pki.issue_for_service(NAME, "default")?;
    let file = |name: &str| pki.file(name).display().to_string();
    let proxy = format!(
        "--requestheader-client-ca-file={}",
        file("front-proxy-ca.crt")
    );
    let (certificate, key) = (file("greenhouse.crt"), file("greenhouse.key"));
    let shape = Shape {
        etcd: Etcd {
            prefix: format!("/{NAME}"),
            ..fleet.host().etcd().clone()
        },
        arguments: vec![proxy, format!("--tls-sni-cert-key={certificate},{key}")],
        ..Shape::default()
    };
    let greenhouse = Cluster::create(fleet.folder(), fleet.tools(), NAME, &shape).await?;
    let kubectl = fleet.kubectl(NAME);
    let mut kind = crd(true);
    kind["metadata"]["name"] = json!("plants.greenhouse.example");
    kind["spec"]["group"] = json!(GROUP);
    kubectl.apply(&kind.to_string()).await?;
    let established = ["wait", "--for=condition=Established", "crd", "--all"];
    kubectl.run(&established).await?;
    let mut fern = plant("fern", "https://fern.example", false);
    fern["apiVersion"] = json!("greenhouse.example/v1");
    kubectl.apply(&fern.to_string()).await?;
    Ok(greenhouse)
}

fn of_the_greenhouse(mut policy: Value) -> Value {
    policy["spec"]["source"]["group"] = json!(GROUP);
    policy
}

/// To the controllers, on the control plane and where it leads to.
async fn grant(fleet: &Harness) -> Result<()> {
    let user = format!(
        "system:serviceaccount:{}:armadex-controllers",
        armadex::NAMESPACE
    );
    let rules =
        json!([{"apiGroups": [GROUP], "resources": ["plants"], "verbs": ["list", "watch"]}]);
    let (rbac, name) = ("rbac.authorization.k8s.io", json!({"name": "greenhouse"}));
    for cluster in BTreeSet::from(["host", NAME]) {
        for object in [
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": name, "rules": rules}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": name,
                "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}],
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": NAME}}),
        ] {
            fleet.kubectl(cluster).apply(&object.to_string()).await?;
        }
    }
    Ok(())
}

async fn register(fleet: &Harness, greenhouse: &Cluster) -> Result<ApiService> {
    let service = ApiService {
        group: GROUP,
        version: "v1",
        service: NAME,
        namespace: "default",
        port: greenhouse.port(),
    };
    let host = fleet.host().client().await?;
    service
        .apply(&host, &fleet.host().pki().read("ca.crt")?)
        .await?;
    service.wait_until_available(&host).await?;
    Ok(service)
}
