//! Members that the synchro does not reach and the control plane does: the Cluster API is aggregated, as Karmada has it, and asks them.

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex, LISTS};
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::scenario::{SOON, TALKATIVE, on_board_apart, wait_until_equal};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::wire::Wire;
use armadex_e2e::{Harness, Options, deploy, stand_in, wait_until};

/// What is granted in each member to the account of the synchro, as docs/permissions.md says.
const SYNCED: &str = "namespaces,nodes,pods,services,configmaps,secrets,deployments.apps,replicasets.apps,daemonsets.apps,statefulsets.apps,\
                      jobs.batch,cronjobs.batch";
const SYNCHRO: &str = "--serviceaccount=clusterpedia-system:armadex-synchro";

#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_not_reached_are_asked_by_the_control_plane_until_they_are() -> Result<()>
{
    let options = Options {
        members: 2,
        late_cluster_api: true,
        ..Options::default()
    };
    let mut fleet = Harness::start(options).await?;
    let parts = on_board_apart(&fleet, &deploy::policy()?, &[TALKATIVE]).await?;
    let api = fleet.install_aggregated_cluster_api().await?;
    // Real members are where their Clusters say, for everybody: nothing could be cut for the synchro alone.
    let Some(mut api) = api else {
        parts.stop()?;
        fleet.finish().await;
        return Ok(());
    };
    for member in ["member1", "member2"] {
        let plan = Plan {
            count: 100,
            seed: 7,
        };
        seed::put(&fleet.member(member)?, plan).await?;
        may_be_read_by_the_synchro(&fleet, member).await?;
        api.reaches(member, &fleet.member(member)?.url());
    }
    let wire = Wire::to(fleet.member("member1")?.port()).await?;
    let port = wire.port();
    join(&fleet, "member1", port).await?;
    wait_until_equal(&fleet, &["member1"], &SEEDED_KINDS, SOON).await?;
    comes_to_run(&fleet, "member1", "Running", "").await?;
    armadex::write_kubeconfig(&fleet).await?;
    a_member_that_is_cut_off_is_gone_around(&fleet, &parts.synchro, wire).await?;
    an_api_that_is_away_for_a_while_ends_nothing(&fleet, &mut api).await?;
    a_member_that_is_back_is_asked_straight(&fleet, &parts.synchro, port).await?;
    a_pull_member_comes_in_without_credentials(&fleet).await?;
    parts.stop()?;
    fleet.finish().await;
    Ok(())
}

async fn may_be_read_by_the_synchro(fleet: &Harness, member: &str) -> Result<()> {
    let kubectl = fleet.kubectl(member);
    let (role, resources) = ("armadex-by-karmada", format!("--resource={SYNCED}"));
    let verbs = "--verb=get,list,watch";
    kubectl
        .run(&["create", "clusterrole", role, verbs, &resources])
        .await?;
    let role_of = format!("--clusterrole={role}");
    let binding = ["create", "clusterrolebinding", role, &role_of, SYNCHRO];
    kubectl.run(&binding).await.map(drop)
}

/// At an address of its own, which can be cut.
async fn join(fleet: &Harness, name: &str, port: u16) -> Result<()> {
    let (host, member) = (
        fleet.host().client().await?,
        fleet.member(name)?.client().await?,
    );
    let endpoint = format!("https://127.0.0.1:{port}");
    stand_in::join(&host, &member, name, &endpoint).await
}

/// Waits until `SynchroRunning` has this reason, and words that begin so.
async fn comes_to_run(fleet: &Harness, member: &str, reason: &str, words: &str) -> Result<()> {
    let path = "jsonpath={range .status.conditions[?(@.type==\"SynchroRunning\")]}{.reason} {.message}{end}";
    let host = fleet.kubectl("host");
    let expected = format!("{reason} {words}");
    wait_until(&format!("{member} says {expected}"), SOON, || async {
        let said = host
            .run(&["get", "pediacluster", member, "--output", path])
            .await?;
        ensure!(said.starts_with(&expected), "{said}");
        Ok(true)
    })
    .await
}

async fn changes(fleet: &Harness, member: &str, name: &str) -> Result<()> {
    let create = ["create", "configmap", name, "--namespace", "default"];
    fleet.kubectl(member).run(&create).await?;
    wait_until_equal(fleet, &[member], &SEEDED_KINDS, SOON)
        .await
        .map(drop)
}

async fn a_member_that_is_cut_off_is_gone_around(
    fleet: &Harness,
    synchro: &Armadex,
    wire: Wire,
) -> Result<()> {
    let (lists, port) = (synchro.counter(LISTS).await?, wire.port());
    drop(wire);
    the_way_is_opened_by_hand(fleet).await?;
    let words = format!(
        "by the proxy of the control plane, as the API server is not reached from here: https://127.0.0.1:{port}: health check: "
    );
    comes_to_run(fleet, "member1", "RunningByControlPlane", &words).await?;
    changes(fleet, "member1", "around").await?;
    let host = fleet.kubectl("host");
    let server = [
        "get",
        "pediacluster",
        "member1",
        "--output",
        "jsonpath={.status.apiserver}",
    ];
    let server = host.run(&server).await?;
    let proxy = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy";
    ensure!(
        server == format!("{}{proxy}", fleet.host().url()),
        "{server}"
    );
    wait_until("the Event about it", SOON, || async {
        let about = "--field-selector=reason=ClusterByControlPlane,regarding.name=member1";
        let events = ["get", "events.events.k8s.io", about, "--output=name"];
        Ok(!host.run(&events).await?.is_empty())
    })
    .await?;
    let after = synchro.counter(LISTS).await?;
    ensure!(lists == after, "{} lists were begun", after - lists);
    Ok(())
}

/// Until then the condition says what is missing, and where to read what that opens.
async fn the_way_is_opened_by_hand(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let message = "--output=jsonpath={.status.conditions[?(@.type==\"ClusterHealthy\")].message}";
    wait_until("the right is said to be missing", SOON, || async {
        let get = ["get", "pediacluster", "member1", message];
        let said = host.run(&get).await?;
        for words in [
            "cannot get resource \"clusters/proxy\"",
            "docs/permissions.md#by-the-control-plane",
        ] {
            ensure!(said.contains(words), "{said}");
        }
        Ok(true)
    })
    .await?;
    host.apply(&deploy::rights_to_the_proxy()?).await
}

/// The PediaCluster stays, and so does what was synced by the API.
async fn an_api_that_is_away_for_a_while_ends_nothing(
    fleet: &Harness,
    api: &mut stand_in::Aggregated,
) -> Result<()> {
    let host = fleet.kubectl("host");
    let uid = [
        "get",
        "pediacluster",
        "member1",
        "--output=jsonpath={.metadata.uid}",
    ];
    let before = host.run(&uid).await?;
    api.goes_away().await;
    let healthy = "--for=condition=ClusterHealthy=false";
    let wait = ["wait", healthy, "--timeout=120s", "pediacluster/member1"];
    host.run(&wait).await?;
    let pods = ["get", "pods", "--all-namespaces", "--output=name"];
    let found = fleet.fleet_kubectl("member1").run(&pods).await;
    ensure!(!found.context("a search meanwhile")?.is_empty());
    api.returns(&fleet.host().client().await?).await?;
    changes(fleet, "member1", "flapped").await?;
    let after = host.run(&uid).await?;
    ensure!(before == after, "the PediaCluster was made anew");
    Ok(())
}

async fn a_member_that_is_back_is_asked_straight(
    fleet: &Harness,
    synchro: &Armadex,
    port: u16,
) -> Result<()> {
    let lists = synchro.counter(LISTS).await?;
    let _wire = Wire::again(port, fleet.member("member1")?.port()).await?;
    comes_to_run(fleet, "member1", "Running", "").await?;
    changes(fleet, "member1", "straight").await?;
    let after = synchro.counter(LISTS).await?;
    ensure!(lists == after, "{} lists were begun", after - lists);
    Ok(())
}

/// What is said of its address is true for the control plane alone.
async fn a_pull_member_comes_in_without_credentials(fleet: &Harness) -> Result<()> {
    let (host, member) = (
        fleet.host().client().await?,
        fleet.member("member2")?.client().await?,
    );
    stand_in::register(&host, &member, "member2", "https://10.255.255.1:6443").await?;
    wait_until_equal(fleet, &["member1", "member2"], &SEEDED_KINDS, SOON).await?;
    let words = "by the proxy of the control plane, as the API server is not reached from here: https://10.255.255.1:6443: no credential of it is known here";
    comes_to_run(fleet, "member2", "RunningByControlPlane", words).await
}
