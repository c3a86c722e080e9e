//! The life of a release in the chart's first case, a control plane elsewhere, as a large fleet has it: the parts apart on a server, two or three of each, members
//! brought in by policy, and somebody who searches all the time.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::churn::Churn;
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{SOON, wait_until_absent, wait_until_equal, wait_until_synced};
use armadex_e2e::{Harness, Options, bodies, kubelet, wait_until};
use http::Request;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::bob::{bob_finds_pods, let_bob_search};
use crate::desk::{Desk, IMAGE, NAMESPACE, RELEASE, chart_folder, check_logs, wait_until_found};
use crate::lists::Lists;
use crate::members::{self, MEMBERS};
use crate::rotation;
use crate::searcher::{Searched, searched_during};
use crate::store::{self, Store};
use crate::traces::{come, everything};

const OBJECTS: usize = 300;
/// It is stopped when all is done: this is longer.
const CHURN: Churn = Churn {
    rate: 20,
    length: Duration::from_secs(600),
    seed: 1,
};
const PARTS: [&str; 3] = ["apiserver", "synchro", "controllers"];

#[tokio::test(flavor = "multi_thread")]
async fn a_release_lives_from_install_to_uninstall_while_somebody_searches() -> Result<()> {
    if !kubelet::is_possible().await? || !store::kind()?.is_there()? {
        return Ok(());
    }
    let lists = Lists::new()?;
    let fleet = joined(&lists).await?;
    let store = Store::of(&fleet)?;
    let desk = Desk::beside(&fleet, &MEMBERS, &[store.port]).await?;
    prepare(&fleet, &desk, &store).await?;
    let before = [
        everything(&desk.kubectl).await?,
        everything(&fleet.kubectl("host")).await?,
    ];
    let values = format!("{},{ISSUED}", values(&store));
    desk.helm(&["install", RELEASE, &chart_folder()?, "--set", &values])
        .await?;
    is_found(&fleet, &desk).await?;
    let listed = found_by_bob(&fleet, &lists).await?;

    let (kill, killed) = watch::channel(None);
    let searched = while_searched(&fleet, changes(&fleet, &desk, &kill), &killed).await?;
    has_what_the_members_have(&fleet).await?;
    lists.are_no_more_than(listed)?;
    ensure!(searched.times > 100, "{searched}");
    searched.failed_by_kills_alone()?;

    uninstall(&fleet, &desk).await?;
    let after = [
        everything(&desk.kubectl).await?,
        everything(&fleet.kubectl("host")).await?,
    ];
    for (is, was, left) in [
        (&after[0], &before[0], &LEFT_HERE[..]),
        (&after[1], &before[1], &LEFT_THERE),
    ] {
        assert_eq!(come(was, is), left);
        assert_eq!(come(is, was), [""; 0], "was there before");
    }
    let checked = check_logs(&fleet)?;
    ensure!(checked > 10, "{checked} pods");
    drop(desk);
    fleet.finish().await;
    Ok(())
}

/// Members with objects, joined.
pub(crate) async fn joined(lists: &Lists) -> Result<Harness> {
    let options = Options {
        store: Some(store::kind()?),
        finds_services: true,
        ..Options::default()
    };
    let fleet = members::filled(options, lists, OBJECTS).await?;
    for member in MEMBERS {
        fleet.join(member).await?;
    }
    Ok(fleet)
}

/// All is there, for somebody with few rights as well. Gives how many lists members were asked for.
pub(crate) async fn found_by_bob(fleet: &Harness, lists: &Lists) -> Result<usize> {
    has_what_the_members_have(fleet).await?;
    wait_until_synced(fleet, &MEMBERS, SOON).await?;
    let_bob_search(&fleet.kubectl("host")).await?;
    bob_finds_pods(fleet, &MEMBERS).await?;
    lists.count()
}

/// In the cluster of the pods: nothing, kubeconfigs included.
const LEFT_HERE: [&str; 0] = [];
/// On the control plane: what a new release goes on with, what its apiserver makes of a CRD, and what was made for bob.
const LEFT_THERE: [&str; 17] = [
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
    "Lease clusterpedia-system/armadex-controllers",
    "Lease clusterpedia-system/armadex-synchro-STORE",
    "Namespace /armadex-serving",
    "Namespace /clusterpedia-system",
    "Secret armadex-serving/armadex-serving",
    "ServiceAccount armadex-serving/default",
    "ServiceAccount clusterpedia-system/default",
];

/// What the README of the chart wants before it is installed: the namespace, here one that lets no pod in that could be more than it needs, and its Secrets.
pub(crate) async fn prepare(fleet: &Harness, desk: &Desk, store: &Store) -> Result<()> {
    let kubectl = &desk.kubectl;
    kubectl.run(&["create", "namespace", NAMESPACE]).await?;
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    kubectl
        .run(&["label", "namespace", NAMESPACE, restricted])
        .await?;
    let karmada = fleet.folder().kubeconfig("host");
    let karmada = format!("--from-file=kubeconfig={}", karmada.display());
    let create = ["create", "secret", "generic", "karmada"];
    let create = [&create[..], &["--namespace", NAMESPACE, &karmada]].concat();
    kubectl.run(&create).await?;
    store.give_secrets(kubectl).await
}

/// Armadex issues the kubeconfigs of its parts itself, as the README has it.
const ISSUED: &str = "install.kubeconfig.secretName=karmada";

/// Those of a fleet.
fn values(store: &Store) -> String {
    format!(
        "mode=parts,image.repository={IMAGE},policies.karmada.enabled=true,{},apiserver.replicas=3,synchro.replicas=2,controllers.replicas=2",
        store.values()
    )
}

/// With a kubeconfig that somebody has made, and the chart and the program of a release.
pub(crate) async fn install(
    fleet: &Harness,
    desk: &Desk,
    store: &Store,
    (chart, tag): (&str, &str),
) -> Result<()> {
    let values = format!(
        "{},{ISSUED},image.tag={tag},controlPlane.kubeconfig.secretName=armadex-kubeconfig",
        values(store)
    );
    desk.helm(&["install", RELEASE, chart, "--set", &values])
        .await?;
    give_the_account(fleet, desk).await?;
    is_found(fleet, desk).await
}

async fn is_found(fleet: &Harness, desk: &Desk) -> Result<()> {
    for part in PARTS {
        desk.wait_until_rolled_out(part).await?;
    }
    wait_until_found(&fleet.kubectl("host")).await
}

/// The kubeconfig by which Armadex reaches its control plane, with a token of its account there.
pub(crate) async fn give_the_account(fleet: &Harness, desk: &Desk) -> Result<()> {
    let folder = fleet.folder();
    armadex_e2e::account::use_one(&fleet.kubectl("host"), folder).await?;
    let kubeconfig = folder.account_kubeconfig("armadex");
    let token = kubeconfig.with_file_name("armadex.token");
    let files = [
        format!("--from-file=kubeconfig={}", kubeconfig.display()),
        format!("--from-file={}", token.display()),
    ];
    let create = [
        "create",
        "secret",
        "generic",
        "armadex-kubeconfig",
        "--namespace",
        NAMESPACE,
    ];
    desk.kubectl
        .run(&[&create[..], &[&files[0], &files[1]]].concat())
        .await
        .map(drop)
}

/// Lets something become of a release while members change and bob searches.
pub(crate) async fn while_searched(
    fleet: &Harness,
    changes: impl Future<Output = Result<()>>,
    killed: &watch::Receiver<Option<String>>,
) -> Result<Searched> {
    let member = fleet.member(MEMBERS[0])?.client().await?;
    let churning = CancellationToken::new();
    let changed = async {
        let changed = changes.await;
        churning.cancel();
        changed
    };
    let (done, searched) = tokio::try_join!(
        CHURN.run(&member, &churning),
        searched_during(fleet, &MEMBERS, killed, changed)
    )?;
    note(format_args!("churn around a release: {done:?}"));
    Ok(searched)
}

/// All that becomes of it. What becomes of its certificate meanwhile is seen by the pods that begin after it, and by the others within a minute.
async fn changes(
    fleet: &Harness,
    desk: &Desk,
    killed: &watch::Sender<Option<String>>,
) -> Result<()> {
    let host = fleet.kubectl("host");
    let authority = rotation::another_authority_comes(&host).await?;
    let chart = chart_folder()?;
    let values = "log.level=info\\,armadex=debug,apiserver.resources.limits.memory=640Mi,controllers.replicas=3";
    note("helm upgrade");
    let upgrade = [
        "upgrade",
        RELEASE,
        &chart,
        "--reset-then-reuse-values",
        "--wait",
        "--set",
        values,
    ];
    desk.helm(&upgrade).await?;
    rotation::is_trusted(&host).await?;
    let ended = rotation::the_certificate_ends(&host).await?;
    each_is_killed_in_turn(desk, killed).await?;
    rotation::it_was_made_anew(&host, &ended, &authority).await?;
    one_of_each_is_deleted(desk).await?;
    rotation::it_is_deleted(&host).await?;
    note("helm rollback");
    desk.helm(&["rollback", RELEASE, "--wait"]).await?;
    rotation::is_trusted(&host).await?;
    ensure!(
        desk.pods("controllers").await?.len() == 2,
        "as many as before"
    );
    Ok(())
}

/// At once, as where a node has no memory left; which one that is, whoever searches is told.
async fn each_is_killed_in_turn(desk: &Desk, killed: &watch::Sender<Option<String>>) -> Result<()> {
    for part in PARTS {
        for pod in desk.pods(part).await? {
            note(format_args!("{pod} is killed"));
            killed.send_replace(Some(pod.clone()));
            desk.kubelet.kill(NAMESPACE, &pod)?;
            is_back(desk, &pod).await?;
            killed.send_replace(None);
        }
    }
    Ok(())
}

async fn one_of_each_is_deleted(desk: &Desk) -> Result<()> {
    for part in PARTS {
        let pods = desk.pods(part).await?;
        let pod = pods.first().context("no pod")?;
        note(format_args!("{pod} is deleted"));
        desk.kubectl
            .run(&["delete", "pod", pod, "--namespace", NAMESPACE])
            .await?;
        desk.wait_until_rolled_out(part).await?;
    }
    Ok(())
}

/// Its container was started again, and is ready.
async fn is_back(desk: &Desk, pod: &str) -> Result<()> {
    let path =
        "jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].ready}";
    let get = [
        "get",
        "pod",
        pod,
        "--namespace",
        NAMESPACE,
        "--output",
        path,
    ];
    wait_until(&format!("{pod} is back"), SOON, || async {
        Ok(desk.kubectl.run(&get).await? == "1 true")
    })
    .await
}

pub(crate) async fn has_what_the_members_have(fleet: &Harness) -> Result<()> {
    let objects = wait_until_equal(fleet, &MEMBERS, &SEEDED_KINDS, SOON).await?;
    ensure!(objects > OBJECTS, "{objects} objects");
    let host = fleet.host().client().await?;
    for member in MEMBERS {
        let client = fleet.member(member)?.client().await?;
        for kind in SEEDED_KINDS {
            bodies::compare(&host, &client, member, kind).await?;
        }
    }
    Ok(())
}

/// As the README has it: policies and clusters first.
async fn uninstall(fleet: &Harness, desk: &Desk) -> Result<()> {
    let host = fleet.kubectl("host");
    host.run(&["delete", "clusterimportpolicies,pediaclusters", "--all"])
        .await?;
    for member in MEMBERS {
        wait_until_absent(fleet, &format!("pediacluster/{member}")).await?;
    }
    desk.helm(&["uninstall", RELEASE, "--wait", "--cascade", "foreground"])
        .await?;
    desk.wait_until_no_pod().await?;
    let client = fleet.host().client().await?;
    let gone = client
        .request_text(Request::get("/apis/clusterpedia.io/v1beta1").body(Vec::new())?)
        .await;
    ensure!(gone.is_err(), "the search API is there");
    Ok(())
}
