//! Members that the synchro does not reach and the control plane does: the Cluster API is aggregated, as Karmada has it, and asks them.

use std::io::Write as _;

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex, LISTS};
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::scenario::{SOON, TALKATIVE, on_board_apart, wait_until_equal};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::wire::Wire;
use armadex_e2e::{
    ClusterApi, ControlPlaneKind, Harness, Options, deploy, kubelet, stand_in, wait_until,
};
use serde_json::json;

/// What is granted in each member to the account of the synchro, as docs/permissions.md says.
const SYNCED: &str = "namespaces,nodes,pods,services,configmaps,secrets,deployments.apps,replicasets.apps,daemonsets.apps,statefulsets.apps,\
                      jobs.batch,cronjobs.batch";
const SYNCHRO: &str = "--serviceaccount=clusterpedia-system:armadex-synchro";
/// Where Karmada finds members that nobody else finds: a name that their certificates have.
const KARMADAS_NAME: &str = "kubernetes.default.svc";

#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_not_reached_are_asked_by_the_control_plane_until_they_are() -> Result<()>
{
    let is_karmada = ControlPlaneKind::detect() == ControlPlaneKind::Karmada;
    if is_karmada && !kubelet::is_possible().await? {
        return Ok(());
    }
    let options = Options {
        members: 2,
        late_cluster_api: true,
        finds_services: is_karmada,
        ..Options::default()
    };
    let mut fleet = Harness::start(options).await?;
    let parts = on_board_apart(&fleet, &deploy::policy()?, &[TALKATIVE]).await?;
    let mut api = fleet.install_aggregated_cluster_api().await?;
    for member in ["member1", "member2"] {
        let plan = Plan {
            count: 100,
            seed: 7,
        };
        seed::put(&fleet.member(member)?, plan).await?;
        may_be_read_by_the_synchro(&fleet, member).await?;
    }
    let mut lead = Lead::join(&fleet, &api).await?;
    wait_until_equal(&fleet, &["member1"], &SEEDED_KINDS, SOON).await?;
    comes_to_run(&fleet, "member1", "Running", "").await?;
    armadex::write_kubeconfig(&fleet).await?;
    a_member_that_is_cut_off_is_gone_around(&fleet, &parts.synchro, &mut lead).await?;
    an_api_that_is_away_for_a_while_ends_nothing(&fleet, &mut api).await?;
    a_member_that_is_back_is_asked_straight(&fleet, &parts.synchro, &mut lead).await?;
    a_pull_member_comes_in_without_credentials(&fleet, &api).await?;
    parts.stop()?;
    fleet.finish().await;
    Ok(())
}

/// What leads the synchro to member1.
enum Lead {
    /// One that is cut: the stand-in is told where else it is.
    Wire(u16, Option<Wire>),
    /// Its address. Karmada asks a member where its Cluster says, so it is cut off by a name that Karmada alone finds.
    Endpoint,
}

impl Lead {
    /// Joins member1 where it leads.
    async fn join(fleet: &Harness, api: &ClusterApi) -> Result<Self> {
        let member = fleet.member("member1")?;
        let ClusterApi::StandIn(api) = api else {
            let mut names = std::fs::OpenOptions::new()
                .append(true)
                .open(fleet.folder().names())?;
            writeln!(names, "127.0.0.1 {KARMADAS_NAME}")?;
            fleet.join("member1").await?;
            return Ok(Self::Endpoint);
        };
        api.reaches("member1", &member.url());
        let wire = Wire::to(member.port()).await?;
        let (host, port) = (fleet.host().client().await?, wire.port());
        let endpoint = format!("https://127.0.0.1:{port}");
        stand_in::join(&host, &member.client().await?, "member1", &endpoint).await?;
        Ok(Self::Wire(port, Some(wire)))
    }

    /// Cuts the synchro off, and gives where the Cluster says that member1 is.
    async fn cut(&mut self, fleet: &Harness) -> Result<String> {
        match self {
            Self::Wire(port, wire) => {
                drop(wire.take());
                Ok(format!("https://127.0.0.1:{port}"))
            }
            Self::Endpoint => {
                let endpoint = karmadas_endpoint(fleet, "member1")?;
                is_at(fleet, &endpoint).await?;
                Ok(endpoint)
            }
        }
    }

    async fn mend(&mut self, fleet: &Harness) -> Result<()> {
        let member = fleet.member("member1")?;
        match self {
            Self::Wire(port, wire) => *wire = Some(Wire::again(*port, member.port()).await?),
            Self::Endpoint => is_at(fleet, &member.url()).await?,
        }
        Ok(())
    }
}

/// Its Cluster says so from now on.
async fn is_at(fleet: &Harness, endpoint: &str) -> Result<()> {
    let patch = json!({"spec": {"apiEndpoint": endpoint}}).to_string();
    let cluster = "clusters.cluster.karmada.io/member1";
    let patch = ["patch", cluster, "--type=merge", "--patch", &patch];
    fleet.kubectl("host").run(&patch).await.map(drop)
}

fn karmadas_endpoint(fleet: &Harness, member: &str) -> Result<String> {
    let port = fleet.member(member)?.port();
    Ok(format!("https://{KARMADAS_NAME}:{port}"))
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
    lead: &mut Lead,
) -> Result<()> {
    let lists = synchro.counter(LISTS).await?;
    let endpoint = lead.cut(fleet).await?;
    the_way_is_opened_by_hand(fleet).await?;
    let words = format!(
        "by the proxy of the control plane, as the API server is not reached from here: {endpoint}: health check: "
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
    api: &mut ClusterApi,
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
    lead: &mut Lead,
) -> Result<()> {
    let lists = synchro.counter(LISTS).await?;
    lead.mend(fleet).await?;
    comes_to_run(fleet, "member1", "Running", "").await?;
    changes(fleet, "member1", "straight").await?;
    let after = synchro.counter(LISTS).await?;
    ensure!(lists == after, "{} lists were begun", after - lists);
    Ok(())
}

/// What is said of its address is true for the control plane alone.
async fn a_pull_member_comes_in_without_credentials(
    fleet: &Harness,
    api: &ClusterApi,
) -> Result<()> {
    let member = fleet.member("member2")?;
    let endpoint = match api {
        ClusterApi::Karmada(_) => karmadas_endpoint(fleet, "member2")?,
        ClusterApi::StandIn(api) => {
            api.reaches("member2", &member.url());
            "https://10.255.255.1:6443".to_owned()
        }
    };
    let (host, client) = (fleet.host().client().await?, member.client().await?);
    stand_in::register(&host, &client, "member2", &endpoint).await?;
    wait_until_equal(fleet, &["member1", "member2"], &SEEDED_KINDS, SOON).await?;
    let words = format!(
        "by the proxy of the control plane, as the API server is not reached from here: {endpoint}: no credential of it is known here"
    );
    comes_to_run(fleet, "member2", "RunningByControlPlane", &words).await
}
