//! The chart in its second case: its control plane is the cluster that its pods run in, which they reach with the token of their account, and its store a file on a
//! volume, as is the default. Clusters come in by Secrets with kubeconfigs.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::equality::{self, Difference, Objects, SEEDED_KINDS};
use armadex_e2e::limit::output_of;
use armadex_e2e::scenario::{SOON, wait_until_absent, wait_until_synced};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options, kubelet, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::watch;

use crate::bob::{bob_finds_pods, let_bob_search};
use crate::desk::{
    Desk, IMAGE, NAMESPACE, RELEASE, chart_folder, check_logs, logs_of, wait_until_found,
};
use crate::lists::Lists;
use crate::members::{self, MEMBERS};
use crate::searcher::searched_during;
use crate::traces::{come, everything};

/// What the policy calls them, by the namespace of their Secrets.
const CLUSTERS: [&str; 2] = ["team-a.member1", "team-a.member2"];
const TEAM: &str = "team-a";
const OBJECTS: usize = 100;
/// For so long nobody searches while the pod is replaced, as the README of the chart has it, on a machine that has nothing else to do; here it may have.
const REPLACED_WITHIN: Duration = Duration::from_secs(60);

/// A chart of before a field.
struct OlderChart(TempDir);

impl OlderChart {
    const CRD: &str = "files/crds/cluster.clusterpedia.io_pediaclusters.yaml";
    const FIELD: &str = "shardingName";

    async fn made() -> Result<Self> {
        let older = Self(tempfile::tempdir()?);
        let mut copy = Command::new("cp");
        copy.args(["-r", &chart_folder()?, &older.folder()?]);
        let copied = output_of(&mut copy).await?;
        ensure!(copied.status.success(), "{copied:?}");
        let path = Path::new(&older.folder()?).join(Self::CRD);
        let mut crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path)?)?;
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        let fields = crd.pointer_mut(spec).and_then(Value::as_object_mut);
        let gone = fields.context("no fields")?.remove(Self::FIELD);
        gone.context("there is no such field")?;
        std::fs::write(path, crd.to_string())?;
        Ok(older)
    }

    fn folder(&self) -> Result<String> {
        let folder = self.0.path().join("armadex");
        Ok(folder.to_str().context("a path")?.to_owned())
    }
}

/// Whether the CRD that is there has it.
async fn knows_the_field(desk: &Desk) -> Result<bool> {
    let path = format!(
        "--output=jsonpath={{.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.{}}}",
        OlderChart::FIELD
    );
    let get = ["get", "crd", "pediaclusters.cluster.clusterpedia.io", &path];
    Ok(!desk.kubectl.run(&get).await?.is_empty())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_whose_control_plane_is_its_own_cluster_lives_by_the_token_of_its_account()
-> Result<()> {
    if !kubelet::is_possible().await? {
        return Ok(());
    }
    let lists = Lists::new()?;
    let options = Options {
        store: Some(StoreKind::Sqlite),
        runs_pods: true,
        ..Options::default()
    };
    let fleet = members::filled(options, &lists, OBJECTS).await?;
    let desk = Desk::within(&fleet, &MEMBERS, &[]).await?;
    desk.kubectl.run(&["create", "namespace", TEAM]).await?;
    let before = everything(&desk.kubectl).await?;
    for member in MEMBERS {
        bring_in(&fleet, member).await?;
    }
    let older = OlderChart::made().await?;
    install(&desk, &older.folder()?).await?;
    ensure!(!knows_the_field(&desk).await?, "the CRD is not older");
    has_what_the_members_have(&fleet).await?;
    wait_until_synced(&fleet, &CLUSTERS, SOON).await?;
    let_bob_search(&desk.kubectl).await?;
    bob_finds_pods(&fleet, &CLUSTERS).await?;
    let listed = lists.count()?;

    let (_none, killed) = watch::channel(None);
    let upgraded = async {
        upgrade(&fleet, &desk).await?;
        bob_finds_pods(&fleet, &CLUSTERS).await
    };
    let searched = searched_during(&fleet, &CLUSTERS, &killed, upgraded).await?;
    ensure!(searched.longest_gap() < REPLACED_WITHIN, "{searched}");
    ensure!(knows_the_field(&desk).await?, "the CRD is as it was");
    has_what_the_members_have(&fleet).await?;
    desk.helm(&["rollback", RELEASE, "--wait"]).await?;
    the_file_was_looked_at(&fleet)?;
    bob_finds_pods(&fleet, &CLUSTERS).await?;
    lists.are_no_more_than(listed)?;

    uninstall(&fleet, &desk).await?;
    let after = everything(&desk.kubectl).await?;
    assert_eq!(come(&before, &after), LEFT);
    assert_eq!(come(&after, &before), [""; 0], "was there before");
    let checked = check_logs(&fleet)?;
    ensure!(checked > 2, "{checked} pods");
    drop(desk);
    fleet.finish().await;
    Ok(())
}

/// What a new release goes on with, what an apiserver makes of a CRD, what was made for bob, and what is the team's.
const LEFT: [&str; 18] = [
    "APIService /v1alpha1.policy.clusterpedia.io",
    "APIService /v1alpha2.cluster.clusterpedia.io",
    "ClusterRole /pods",
    "ClusterRole /searcher",
    "ClusterRoleBinding /pods-bob",
    "ClusterRoleBinding /searcher-bob",
    "CustomResourceDefinition /clusterimportpolicies.policy.clusterpedia.io",
    "CustomResourceDefinition /clustersyncresources.cluster.clusterpedia.io",
    "CustomResourceDefinition /pediaclusterlifecycles.policy.clusterpedia.io",
    "CustomResourceDefinition /pediaclusters.cluster.clusterpedia.io",
    "Lease armadex-system/armadex-controllers",
    "Lease armadex-system/armadex-synchro-STORE",
    "Namespace /armadex-system",
    "PersistentVolumeClaim armadex-system/armadex-store",
    "Secret armadex-system/armadex-serving",
    "Secret team-a/member1",
    "Secret team-a/member2",
    "ServiceAccount armadex-system/default",
];

/// By a Secret of a team with a kubeconfig, which is of an account that may read.
async fn bring_in(fleet: &Harness, member: &str) -> Result<()> {
    let kubectl = fleet.kubectl(member);
    for make in [
        &["serviceaccount", "reader"][..],
        &[
            "clusterrole",
            "reader",
            "--verb=get,list,watch",
            "--resource=*.*",
        ],
        &[
            "clusterrolebinding",
            "reader",
            "--clusterrole=reader",
            "--serviceaccount=default:reader",
        ],
    ] {
        kubectl.run(&[&["create"], make].concat()).await?;
    }
    let token = kubectl.run(&["create", "token", "reader"]).await?;
    let text = std::fs::read_to_string(fleet.folder().kubeconfig(member))?;
    let mut kubeconfig: Value = serde_saphyr::from_str(&text)?;
    let user = kubeconfig.pointer_mut("/users/0/user").context("a user")?;
    *user = json!({"token": token.trim()});
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": member, "namespace": TEAM, "labels": {"armadex.dev/kubeconfig": "true"}},
        "stringData": {"kubeconfig": kubeconfig.to_string()}});
    fleet.kubectl("host").apply(&secret.to_string()).await
}

async fn install(desk: &Desk, chart: &str) -> Result<()> {
    let values = format!(
        "image.repository={IMAGE},policies.kubeconfig.enabled=true,controlPlane.credentialNamespaces={{{TEAM}}}"
    );
    let install = [
        "install",
        RELEASE,
        chart,
        "--create-namespace",
        "--wait",
        "--set",
        &values,
    ];
    desk.helm(&install).await?;
    wait_until_found(&desk.kubectl).await
}

/// To another value of the pods, of which there is one: meanwhile a member changes.
async fn upgrade(fleet: &Harness, desk: &Desk) -> Result<()> {
    let before = desk.pods("all").await?;
    ensure!(before.len() == 1, "{before:?}");
    let chart = chart_folder()?;
    let upgrade = [
        "upgrade",
        RELEASE,
        &chart,
        "--reset-then-reuse-values",
        "--wait",
        "--set",
        "log.level=info\\,armadex=debug",
    ];
    let member = fleet.kubectl(MEMBERS[0]);
    let change = ["create", "configmap", "meanwhile", "--from-literal=a=b"];
    tokio::try_join!(desk.helm(&upgrade), member.run(&change))?;
    let values = ["get", "pod", "--namespace", NAMESPACE, &before[0]];
    let arguments = [
        &values[..],
        &["--output=jsonpath={.spec.containers[0].args}"],
    ]
    .concat();
    let arguments = desk.kubectl.run(&arguments).await?;
    ensure!(arguments.contains("armadex=debug"), "{arguments}");
    ensure!(!arguments.contains("--kubeconfig"), "{arguments}");
    Ok(())
}

/// By the Job that asks whether it serves who is gone back to, beside the pod that has it.
fn the_file_was_looked_at(fleet: &Harness) -> Result<()> {
    let said = logs_of(fleet, "armadex-rollback-")?;
    ensure!(said.len() == 1, "{said:?}");
    let looked = "/var/lib/armadex/armadex.db: its schema has version";
    ensure!(said[0].contains(looked), "{}", said[0]);
    ensure!(said[0].contains("nothing would be run"), "{}", said[0]);
    Ok(())
}

async fn has_what_the_members_have(fleet: &Harness) -> Result<()> {
    let host = fleet.host().client().await?;
    wait_until("Armadex has what the members have", SOON, || async {
        let mut theirs = Objects::new();
        for (member, cluster) in MEMBERS.into_iter().zip(CLUSTERS) {
            let member = fleet.member(member)?.client().await?;
            theirs.extend(equality::list_member(&member, cluster, &SEEDED_KINDS).await?);
        }
        let ours = equality::list_fleet(&host, &SEEDED_KINDS).await?;
        let difference = Difference::between(&theirs, &ours);
        ensure!(difference.is_empty(), "{difference}");
        Ok(theirs.len() > OBJECTS * MEMBERS.len())
    })
    .await
}

/// As helm's notes have it: policies and clusters first.
async fn uninstall(fleet: &Harness, desk: &Desk) -> Result<()> {
    desk.kubectl
        .run(&["delete", "clusterimportpolicies,pediaclusters", "--all"])
        .await?;
    for cluster in CLUSTERS {
        wait_until_absent(fleet, &format!("pediacluster/{cluster}")).await?;
    }
    desk.helm(&["uninstall", RELEASE, "--wait", "--cascade", "foreground"])
        .await?;
    desk.wait_until_no_pod().await
}
