//! A member whose account may do what `armadex rbac --for pediacluster/NAME` prints and nothing else, not even what everybody may who is authenticated.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use armadex_e2e::equality::{Kind, list_fleet};
use armadex_e2e::scenario::{SOON, on_board, pedia_cluster, wait_for_condition};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, armadex, wait_until};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const NAME: &str = "least";
const USER: &str = "system:serviceaccount:default:least";
/// By these everybody who is authenticated may ask what there is, and how it is.
const DEFAULTS: [&str; 3] = [
    "system:basic-user",
    "system:discovery",
    "system:public-info-viewer",
];
/// Who the member is may be read by neither.
const REFUSED: [&str; 3] = [
    "/api/v1/namespaces",
    "/api/v1/namespaces/default/services",
    "/api/v1/namespaces/kube-system",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_member_is_synced_by_the_rights_that_are_printed_and_by_no_other() -> Result<()> {
    let place = tempfile::tempdir()?;
    let fleet = Harness::start(Options {
        members: 1,
        member_arguments: arguments(place.path())?,
        ..Options::default()
    })
    .await?;
    let armadex = on_board(&fleet).await?;
    let member = fleet.member("member1")?;
    seed::put(&member, Plan { count: 50, seed: 1 }).await?;
    let kubectl = fleet.kubectl("member1");
    for binding in DEFAULTS {
        kubectl
            .run(&["delete", "clusterrolebinding", binding])
            .await?;
    }
    make_pedia_cluster(&fleet).await?;
    let rule = r#"{nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}"#;
    wait_until("the rule is told", SOON, || async {
        let (_, message) = wait_for_condition(&fleet, &object(), "SynchroRunning", "False").await?;
        ensure!(message.contains(rule), "{message}");
        Ok(true)
    })
    .await?;

    let host = fleet.host().kubeconfig().display().to_string();
    let what = format!("--for=pediacluster/{NAME}");
    let words = [
        "rbac",
        &what,
        "--subject=serviceaccount:default/least",
        "--kubeconfig",
        &host,
    ];
    let role = armadex::run(&words).await?;
    let before = refusals(place.path())?.len();
    ensure!(before > 0, "the member wrote nothing down");
    kubectl.apply(&role).await?;
    wait_for_condition(&fleet, &object(), "Ready", "True").await?;
    let ready = refusals(place.path())?.len();
    is_synced(&fleet).await?;
    fleet
        .kubectl("member1")
        .run(&["create", "configmap", "later", "--namespace=default"])
        .await?;
    let client = fleet.host().client().await?;
    wait_until("what comes later is shown", SOON, || async {
        let found = list_fleet(&client, &[Kind::CONFIG_MAPS]).await?;
        Ok(found
            .keys()
            .any(|(_, place)| place == "least/default/later"))
    })
    .await?;
    let refused = refusals(place.path())?;
    // The role is not there yet when it is asked for what leads to the kinds, which ends once it is.
    let early = refused[before..ready]
        .iter()
        .filter(|path| is_of_kind(path));
    let others: BTreeSet<&String> = early.chain(&refused[ready..]).collect();
    let others = others
        .into_iter()
        .filter(|path| !REFUSED.contains(&path.as_str()));
    let others: Vec<_> = others.collect();
    ensure!(others.is_empty(), "the role forgets {others:?}");
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

/// Whether it is objects that are asked for.
fn is_of_kind(path: &str) -> bool {
    path.starts_with("/api/v1/") || path.starts_with("/apis/")
}

fn object() -> String {
    format!("pediacluster/{NAME}")
}

/// Every kind that is asked for is synced, and it is said by what the member is known.
async fn is_synced(fleet: &Harness) -> Result<()> {
    let host = fleet.host().client().await?;
    wait_until("all kinds are synced", SOON, || async {
        let status = pedia_cluster(&host, NAME).await?["status"].take();
        let groups = status["syncResources"].as_array().context("no groups")?;
        let resources = groups
            .iter()
            .filter_map(|group| group["resources"].as_array());
        let states: Vec<&Value> = resources
            .flatten()
            .map(|resource| &resource["syncConditions"][0]["status"])
            .collect();
        ensure!(
            states.len() == 4 && states.iter().all(|state| *state == "Syncing"),
            "{status}"
        );
        ensure!(status["identity"] == "CertificateAuthority", "{status}");
        ensure!(
            status["version"]
                .as_str()
                .is_some_and(|version| version.starts_with('v')),
            "{status}"
        );
        Ok(true)
    })
    .await
}

/// Arguments by which a member writes down what the account asks of it.
fn arguments(place: &Path) -> Result<Vec<String>> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}],
    });
    let path = place.join("policy.json");
    std::fs::write(&path, policy.to_string())?;
    Ok(vec![
        format!("--audit-policy-file={}", path.display()),
        format!("--audit-log-path={}", place.join("requests").display()),
    ])
}

/// The paths that the account was refused so far, in the order of their answers.
fn refusals(place: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(place.join("requests")).context("no requests")?;
    let mut refused = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).context("a line is no JSON")?;
        if line["responseStatus"]["code"] == 403 {
            let uri = line["requestURI"].as_str().unwrap_or_default();
            let path = uri.split_once('?').map_or(uri, |(path, _)| path);
            refused.push(path.to_owned());
        }
    }
    Ok(refused)
}

/// Asks for kinds of some groups, one of them by its kind.
async fn make_pedia_cluster(fleet: &Harness) -> Result<()> {
    let member = fleet.member("member1")?;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": "default"},
    });
    let kubectl = fleet.kubectl("member1");
    kubectl.apply(&account.to_string()).await?;
    let token = kubectl
        .run(&["create", "token", NAME, "--namespace", "default"])
        .await?;
    let cluster = json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": NAME},
        "spec": {
            "apiserver": member.url(),
            "caData": STANDARD.encode(member.pki().read("ca.crt")?),
            "tokenData": STANDARD.encode(token.trim()),
            "syncResources": [
                {"group": "", "resources": ["pods", "configmaps"]},
                {"group": "apps", "resources": ["Deployment"]},
                {"group": "rbac.authorization.k8s.io", "resources": ["clusterroles"]},
            ],
        },
    });
    fleet.kubectl("host").apply(&cluster.to_string()).await
}
