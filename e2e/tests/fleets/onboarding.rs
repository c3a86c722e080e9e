//! On-boarding by policy: from a policy that comes before its API to a member that leaves, and goes on where it was when it comes back.
//!
//! One fleet serves the whole story, in the order in which it is told. The parts of Armadex run apart, each with the rights of its own.

mod rotated;

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::equality::{Kind, SEEDED_KINDS, list_fleet};
use armadex_e2e::scenario::{
    SOON, TALKATIVE, on_board_apart, wait_for_condition, wait_for_rows_of, wait_until_absent,
    wait_until_equal, wait_until_synced,
};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Kubectl, Options, wait_until};
use armadex_e2e::{account, deploy, rights};
use serde_json::{Value, json};

const OBJECTS: usize = 200;
/// Where Karmada keeps the credentials of its members.
const KARMADA: &str = "karmada-cluster";

#[tokio::test(flavor = "multi_thread")]
async fn members_are_on_boarded_by_policy_and_off_boarded_when_they_leave() -> Result<()> {
    the_story(StoreKind::of_environment()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_on_boarded_by_policy_and_off_boarded_when_they_leave_on_postgresql()
-> Result<()> {
    the_story(StoreKind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_on_boarded_by_policy_and_off_boarded_when_they_leave_on_mariadb() -> Result<()>
{
    the_story(StoreKind::Mariadb).await
}

async fn the_story(store: StoreKind) -> Result<()> {
    if !store.is_there()? {
        return Ok(());
    }
    let next = rotated::Next::made()?;
    let options = Options {
        members: 2,
        member_arguments: vec![next.argument()],
        late_cluster_api: true,
        writes_requests_down: true,
        store: Some(store),
        ..Options::default()
    };
    let mut fleet = Harness::start(options).await?;
    a_certificate_was_kept_where_others_read(&fleet).await?;
    let parts = on_board_apart(&fleet, &deploy::policy()?, &[TALKATIVE]).await?;
    fleet.install_cluster_api().await?;
    the_serving_certificate_is_the_api_servers_alone(&fleet).await?;
    a_policy_may_come_before_its_source(&fleet).await?;
    every_context_of_the_kubeconfig_works(&fleet).await?;
    who_may_search_is_granted_by_kubectl_and_can_ask_so(&fleet).await?;
    a_third_member_appears_by_itself(&fleet).await?;
    a_rotated_token_is_followed(&fleet, &parts.synchro).await?;
    rotated::another_endpoint_and_another_authority_are_followed(&fleet, &parts.synchro, &next)
        .await?;
    a_label_of_a_cluster_chooses_its_rows(&fleet, &parts.synchro).await?;
    a_member_that_leaves_is_gone(&fleet).await?;
    a_member_that_comes_back_goes_on_where_it_was(&fleet, &parts.synchro).await?;
    a_pediacluster_by_hand_gets_no_credential(&fleet).await?;
    a_pediacluster_by_hand_gets_what_the_secret_grants(&fleet).await?;
    a_secret_by_hand_lies_in_the_namespace_of_armadex(&fleet).await?;
    nothing_of_ours_is_in_the_members(&fleet).await?;
    it_is_kept_there_no_longer(&fleet).await?;
    parts.stop()?;
    rights::expect_exact(fleet.folder(), &deploy::rights()?, |right| {
        ELSEWHERE.contains(&right)
    })?;
    fleet.finish().await;
    Ok(())
}

/// What is asked only after somebody else was quicker, while another process has the Lease, as in `replicas`, while an Event repeats itself, where a caller shows a token, as
/// in `callers`, or by an API server that is told no --serving-namespace.
const ELSEWHERE: [&str; 6] = [
    "armadex-lease: watch leases.coordination.k8s.io in clusterpedia-system",
    "armadex-controllers: get pediaclusterlifecycles.policy.clusterpedia.io",
    "armadex-events: patch events.events.k8s.io in default",
    "armadex-apiserver: create tokenreviews.authentication.k8s.io",
    "armadex-registration: create secrets/armadex-serving in clusterpedia-system",
    "armadex-registration: patch secrets/armadex-serving in clusterpedia-system",
];

const KEPT: [&str; 2] = ["secret", "armadex-serving"];

/// By an API server of before, of which nobody is told any more.
async fn a_certificate_was_kept_where_others_read(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    host.run(&["create", "namespace", deploy::NAMESPACE])
        .await?;
    let keys = ["ca.crt", "ca.key", "tls.crt", "tls.key"];
    let data = keys.map(|key| format!("--from-literal={key}=of before"));
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let namespace = ["--namespace", deploy::NAMESPACE];
    let create = ["create", KEPT[0], "generic", KEPT[1]];
    let made = [&create[..], &namespace, &data].concat();
    host.run(&made).await.map(drop)
}

async fn it_is_kept_there_no_longer(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let namespace = ["--namespace", deploy::NAMESPACE, "--ignore-not-found"];
    let kept = [&["get"], &KEPT[..], &namespace].concat();
    wait_until("the certificate of before is gone", SOON, || async {
        Ok(host.run(&kept).await?.is_empty())
    })
    .await
}

/// By whatever right: each part asks for the Secret itself, and for all that lie beside it.
async fn the_serving_certificate_is_the_api_servers_alone(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let place = ["--namespace", deploy::SERVING_NAMESPACE];
    let secret = [&["get"], &KEPT[..]].concat();
    for (part, may) in [
        (account::APISERVER, true),
        (account::SYNCHRO, false),
        (account::CONTROLLERS, false),
    ] {
        let user = format!(
            "--as=system:serviceaccount:{}:{}",
            deploy::NAMESPACE,
            part.account
        );
        let asked = host
            .output(&[&secret[..], &place, &[&user]].concat())
            .await?;
        ensure!(asked.status.success() == may, "{part:?}: {asked:?}");
        let listed = [&["get", "secrets"], &place[..], &[&user]].concat();
        let listed = host.output(&listed).await?;
        ensure!(!listed.status.success(), "{part:?} lists them");
    }
    Ok(())
}

async fn join_with_objects(fleet: &Harness, name: &str) -> Result<()> {
    fleet.join(name).await?;
    seed::put(
        &fleet.member(name)?,
        Plan {
            count: OBJECTS,
            seed: 1,
        },
    )
    .await?;
    Ok(())
}

async fn a_policy_may_come_before_its_source(fleet: &Harness) -> Result<()> {
    for name in ["member1", "member2"] {
        join_with_objects(fleet, name).await?;
    }
    wait_until_equal(fleet, &["member1", "member2"], &SEEDED_KINDS, SOON)
        .await
        .map(drop)
}

async fn every_context_of_the_kubeconfig_works(fleet: &Harness) -> Result<()> {
    armadex::write_kubeconfig(fleet).await?;
    let pods = ["get", "pods", "--all-namespaces", "--output", "name"];
    let whole = fleet
        .fleet_kubectl("clusterpedia")
        .run(&pods)
        .await?
        .lines()
        .count();
    let mut parts = 0;
    for name in ["member1", "member2"] {
        let own = fleet.fleet_kubectl(name).run(&pods).await?.lines().count();
        let direct = fleet.kubectl(name).run(&pods).await?.lines().count();
        ensure!(
            own == direct && own > 0,
            "{name}: {own} pods by Armadex, {direct} by itself"
        );
        parts += own;
    }
    ensure!(
        whole == parts,
        "{whole} pods in the fleet, {parts} in its members"
    );
    Ok(())
}

/// Bob gets the paths of the fleet and the pods of one namespace that has some, in kubectl's own words.
async fn who_may_search_is_granted_by_kubectl_and_can_ask_so(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let namespace = a_namespace_with_pods(fleet).await?;
    // There is a RoleBinding only where there is its namespace.
    host.run(&["create", "namespace", &namespace]).await?;
    let namespace = format!("--namespace={namespace}");
    let namespace = namespace.as_str();
    let paths = "--resource=fleets.clusterpedia.io/proxy,clusters.clusterpedia.io/proxy";
    for grant in [
        &["clusterrole", "searcher", "--verb=get,create", paths][..],
        &["clusterrole", "pods", "--verb=list", "--resource=pods"],
        &[
            "clusterrolebinding",
            "searcher",
            "--clusterrole=searcher",
            "--user=bob",
        ],
        &[
            "rolebinding",
            "pods",
            "--clusterrole=pods",
            "--user=bob",
            namespace,
        ],
    ] {
        host.run(&[&["create"], grant].concat()).await?;
    }
    let may = ["--as=bob", "auth", "can-i", "list", "pods", namespace];
    for context in ["clusterpedia", "member1"] {
        let kubectl = fleet.fleet_kubectl(context);
        // The host learns of a binding a moment after it is there.
        wait_until(&format!("bob may list pods in {context}"), SOON, || async {
            Ok(kubectl.run(&may).await?.trim() == "yes")
        })
        .await?;
        let who = kubectl.run(&["--as=bob", "auth", "whoami"]).await?;
        ensure!(who.contains("bob"), "{context}: {who}");
        let list = ["--as=bob", "auth", "can-i", "--list", namespace];
        let rules = kubectl.run(&list).await?;
        let pods = rules.lines().find(|line| line.starts_with("pods "));
        ensure!(
            pods.is_some_and(|line| line.contains("[list]")),
            "{context}: {rules}"
        );
        bob_may_nothing_else(&kubectl, namespace)
            .await
            .context(context)?;
        bob_gets_what_the_members_have(fleet, context, namespace).await?;
    }
    Ok(())
}

/// It is said that he may not: what fails for another reason is no refusal.
async fn bob_may_nothing_else(kubectl: &Kubectl, namespace: &str) -> Result<()> {
    for asked in [
        &["auth", "can-i", "delete", "pods", namespace][..],
        &["auth", "can-i", "list", "pods", "--all-namespaces"],
    ] {
        let output = kubectl.output(&[&["--as=bob"], asked].concat()).await?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.code() == Some(1) && said.split_whitespace().next() == Some("no"),
            "bob: {asked:?}: {output:?}"
        );
    }
    let list = ["--as=bob", "get", "pods", "--all-namespaces"];
    let output = kubectl.output(&list).await?;
    let said = String::from_utf8_lossy(&output.stderr);
    let words = ["Forbidden", "\"bob\"", "pods"];
    ensure!(
        output.status.code() == Some(1) && words.iter().all(|word| said.contains(word)),
        "bob: {list:?}: {output:?}"
    );
    Ok(())
}

async fn a_namespace_with_pods(fleet: &Harness) -> Result<String> {
    let path = "jsonpath={.items[0].metadata.namespace}";
    let pods = ["get", "pods", "--all-namespaces", "--output", path];
    fleet.kubectl("member1").run(&pods).await
}

/// Whole, selected by a label, and sorted.
async fn bob_gets_what_the_members_have(
    fleet: &Harness,
    context: &str,
    namespace: &str,
) -> Result<()> {
    let app = "jsonpath={.items[0].metadata.labels.app}";
    let first = ["get", "pods", namespace, "--output", app];
    let app = fleet.kubectl("member1").run(&first).await?;
    let rows = "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{\"\\n\"}{end}";
    let pods = ["get", "pods", namespace, "--output", rows];
    let members = match context {
        "clusterpedia" => &["member1", "member2"][..],
        member => &[member],
    };
    for (selector, is_sorted) in [("", false), (&format!("app={app}"), false), ("", true)] {
        let theirs = format!("--selector={selector}");
        let ours = match is_sorted {
            true => "--selector=search.clusterpedia.io/orderby=name_desc",
            false => &theirs,
        };
        let mut expected = String::new();
        for member in members {
            let own = fleet.kubectl(member);
            expected += &own.run(&[&pods[..], &[&theirs]].concat()).await?;
        }
        let mut expected: Vec<&str> = expected.lines().collect();
        if is_sorted {
            expected.sort_by(|one, other| other.cmp(one));
        }
        let kubectl = fleet.fleet_kubectl(context);
        let found = kubectl
            .run(&[&["--as=bob"], &pods[..], &[ours]].concat())
            .await?;
        ensure!(
            !expected.is_empty() && found.lines().eq(expected.iter().copied()),
            "{context}: bob gets {found} with {ours:?}, and the members have {expected:#?}"
        );
    }
    Ok(())
}

async fn a_third_member_appears_by_itself(fleet: &Harness) -> Result<()> {
    join_with_objects(fleet, "member3").await?;
    let all = ["member1", "member2", "member3"];
    wait_until_equal(fleet, &all, &SEEDED_KINDS, SOON).await?;
    wait_until_synced(fleet, &all, SOON).await
}

/// The old token is revoked at once, so whatever arrives afterwards came with the new one.
async fn a_rotated_token_is_followed(fleet: &Harness, armadex: &Armadex) -> Result<()> {
    let lists = armadex.counter(armadex::LISTS).await?;
    fleet.rotate("member1").await?;
    let member = fleet.kubectl("member1");
    member
        .run(&[
            "create",
            "configmap",
            "after-rotation",
            "--namespace",
            "default",
        ])
        .await?;
    wait_until_equal(
        fleet,
        &["member1", "member2", "member3"],
        &SEEDED_KINDS,
        SOON,
    )
    .await?;
    let after = armadex.counter(armadex::LISTS).await?;
    ensure!(
        lists == after,
        "{} lists were begun by a rotation",
        after - lists
    );
    Ok(())
}

/// From the platform's own object to what kubectl prints, and nothing is listed anew for it.
async fn a_label_of_a_cluster_chooses_its_rows(fleet: &Harness, armadex: &Armadex) -> Result<()> {
    let lists = armadex.counter(armadex::LISTS).await?;
    let host = fleet.kubectl("host");
    // What becomes of a Cluster, and whose pods are found then by env=prod and by env!=prod.
    for (member, label, chosen, others) in [
        (
            "member1",
            "env=prod",
            &["member1"][..],
            &["member2", "member3"][..],
        ),
        ("member2", "env=prod", &["member1", "member2"], &["member3"]),
        ("member1", "env=test", &["member2"], &["member1", "member3"]),
        ("member1", "env-", &["member2"], &["member1", "member3"]),
    ] {
        let cluster = format!("clusters.cluster.karmada.io/{member}");
        host.run(&["label", "--overwrite", &cluster, label]).await?;
        for (selector, members) in [("env=prod", chosen), ("env!=prod", others)] {
            let selector = format!("cluster.search.clusterpedia.io/{selector}");
            come_to_be_found(fleet, &selector, members)
                .await
                .with_context(|| format!("after {member} got {label}"))?;
        }
    }
    what_is_said_of_a_cluster_chooses_its_rows(fleet).await?;
    let shown = [
        "get",
        "pediacluster",
        "member2",
        "--label-columns=env",
        "--no-headers",
    ];
    let shown = host.run(&shown).await?;
    ensure!(shown.trim_end().ends_with("prod"), "{shown}");
    let after = armadex.counter(armadex::LISTS).await?;
    ensure!(
        lists == after,
        "{} lists were begun by labels",
        after - lists
    );
    Ok(())
}

/// What a platform says of it beside its labels, by names that have a prefix; also by the parameter of the URL, which takes them as they are.
async fn what_is_said_of_a_cluster_chooses_its_rows(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let taint = json!({"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"});
    let region = "topology.kubernetes.io.cluster.search.clusterpedia.io/region in (eu-1,eu-2)";
    let tainted =
        "taint.cluster.karmada.io.cluster.search.clusterpedia.io/unschedulable.NoSchedule";
    let untainted = format!("!{tainted}");
    let all = &["member1", "member2", "member3"][..];
    for (spec, of_the_region, with_the_taint, without) in [
        (
            json!({"region": "eu-1", "taints": [taint]}),
            &["member2"][..],
            &["member2"][..],
            &["member1", "member3"][..],
        ),
        (json!({"region": null, "taints": null}), &[], &[], all),
    ] {
        let patch = json!({"spec": spec}).to_string();
        let cluster = "clusters.cluster.karmada.io/member2";
        host.run(&["patch", cluster, "--type=merge", "--patch", &patch])
            .await?;
        come_to_be_found(fleet, region, of_the_region).await?;
        come_to_be_found(fleet, tainted, with_the_taint).await?;
        come_to_be_found(fleet, &untainted, without).await?;
        let by_url = "clusterSelector=topology.kubernetes.io/region%3Deu-1,\
            taint.cluster.karmada.io/unschedulable.NoSchedule";
        let found = members_by_url(&host, by_url).await?;
        ensure!(found == with_the_taint, "{by_url}: pods of {found:?}");
    }
    Ok(())
}

/// Waits until kubectl finds the pods of these members by the selector.
async fn come_to_be_found(fleet: &Harness, selector: &str, members: &[&str]) -> Result<()> {
    let what = format!("pods of {members:?} by {selector}");
    let selector = format!("--selector={selector}");
    wait_until(&what, SOON, || async {
        let found = members_of_pods(fleet, &selector).await?;
        ensure!(found == members, "there are pods of {found:?}");
        Ok(true)
    })
    .await
}

/// Whose pods the control plane finds in the fleet with this in the URL.
async fn members_by_url(host: &Kubectl, query: &str) -> Result<Vec<String>> {
    let path = format!("/apis/clusterpedia.io/v1beta1/resources/api/v1/pods?{query}");
    let found: Value = serde_json::from_str(&host.run(&["get", "--raw", &path]).await?)?;
    let items = found["items"].as_array().context("items")?.iter();
    let member = |item: &Value| {
        let annotations = &item["metadata"]["annotations"];
        let member = annotations["shadow.clusterpedia.io/cluster-name"].as_str();
        member.map(str::to_owned).context("a cluster")
    };
    let members: BTreeSet<String> = items.map(member).collect::<Result<_>>()?;
    Ok(members.into_iter().collect())
}

/// Whose pods kubectl finds in the fleet.
async fn members_of_pods(fleet: &Harness, selector: &str) -> Result<Vec<String>> {
    let cluster = r"jsonpath={range .items[*]}{.metadata.annotations.shadow\.clusterpedia\.io/cluster-name}{'\n'}{end}";
    let pods = [
        "get",
        "pods",
        "--all-namespaces",
        selector,
        "--output",
        cluster,
    ];
    let found = fleet.fleet_kubectl("clusterpedia").run(&pods).await?;
    let members: BTreeSet<&str> = found.lines().filter(|line| !line.is_empty()).collect();
    Ok(members.into_iter().map(str::to_owned).collect())
}

async fn a_member_that_leaves_is_gone(fleet: &Harness) -> Result<()> {
    fleet.unjoin("member3").await?;
    wait_for_rows_of(fleet, Kind::PODS, &["member1", "member2"]).await?;
    wait_until_absent(fleet, "pediacluster/member3").await
}

/// What was deleted while it was away must not come back with it, and what was made then must.
async fn a_member_that_comes_back_goes_on_where_it_was(
    fleet: &Harness,
    armadex: &Armadex,
) -> Result<()> {
    let member = fleet.kubectl("member3");
    let gone = member
        .run(&["get", "deployments", "--all-namespaces", "--output", "name"])
        .await?;
    ensure!(!gone.is_empty(), "member3 has no deployment to delete");
    member
        .run(&[
            "delete",
            "deployments",
            "--all",
            "--namespace",
            "shop-1-0",
            "--wait=true",
        ])
        .await?;
    member
        .run(&[
            "create",
            "configmap",
            "while-away",
            "--namespace",
            "default",
        ])
        .await?;
    // Those of a cluster that left are not counted any more.
    let lists = armadex.counter(armadex::LISTS).await?;
    fleet.join("member3").await?;
    wait_until_equal(
        fleet,
        &["member1", "member2", "member3"],
        &SEEDED_KINDS,
        SOON,
    )
    .await?;
    let after = armadex.counter(armadex::LISTS).await?;
    ensure!(lists == after, "{lists} lists before, {after} after");
    let host = fleet.host().client().await?;
    wait_until("what was made while away is there", SOON, || async {
        let found = list_fleet(&host, &[Kind::CONFIG_MAPS]).await?;
        Ok(found
            .keys()
            .any(|(_, place)| place == "member3/default/while-away"))
    })
    .await
}

/// A PediaCluster that wants the credentials of member1 in `namespace` sent to `url`.
async fn make_by_hand(
    fleet: &Harness,
    name: &str,
    namespace: &str,
    url: &str,
    insecure: bool,
) -> Result<()> {
    let secret = |key: &str| json!({"namespace": namespace, "name": "member1", "key": key});
    let cluster = json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": name},
        "spec": {
            "apiserver": url,
            "authenticationFrom": {"token": secret("token"), "ca": secret("caBundle")},
            "connection": {"insecureSkipTLSVerification": insecure},
            "syncResources": [{"group": "", "resources": ["pods"]}],
        },
    });
    fleet.kubectl("host").apply(&cluster.to_string()).await
}

async fn is_refused(fleet: &Harness, name: &str) -> Result<()> {
    let object = format!("pediacluster/{name}");
    let (reason, message) = wait_for_condition(fleet, &object, "Validated", "False").await?;
    ensure!(
        reason == "CredentialNotBound" && message.contains("secret karmada-cluster/member1"),
        "{reason}: {message}"
    );
    Ok(())
}

async fn remove_by_hand(fleet: &Harness, name: &str) -> Result<()> {
    let delete = ["delete", "pediacluster", name, "--wait=false"];
    fleet.kubectl("host").run(&delete).await?;
    wait_until_absent(fleet, &format!("pediacluster/{name}")).await
}

async fn a_pediacluster_by_hand_gets_no_credential(fleet: &Harness) -> Result<()> {
    let thief = std::net::TcpListener::bind("127.0.0.1:0")?;
    thief.set_nonblocking(true)?;
    let url = format!("https://{}", thief.local_addr()?);
    make_by_hand(fleet, "thief", KARMADA, &url, true).await?;
    is_refused(fleet, "thief").await?;
    // Nor by way of what a policy made.
    let patch =
        json!({"spec": {"apiserver": url, "connection": {"insecureSkipTLSVerification": true}}});
    let (host, patch) = (fleet.kubectl("host"), patch.to_string());
    let edit = [
        "patch",
        "pediacluster",
        "member1",
        "--type=merge",
        "--patch",
    ];
    host.run(&[&edit[..], &[&patch]].concat()).await?;
    let member = fleet.member("member1")?.url();
    wait_until("the policy puts it back", SOON, || async {
        let path = "jsonpath={.spec.apiserver}{.spec.connection.insecureSkipTLSVerification}";
        let get = ["get", "pediacluster", "member1", "--output", path];
        Ok(host.run(&get).await? == member)
    })
    .await?;
    wait_for_condition(fleet, "pediacluster/member1", "Ready", "True").await?;
    ensure!(thief.accept().is_err(), "somebody came to the thief");
    remove_by_hand(fleet, "thief").await
}

async fn a_pediacluster_by_hand_gets_what_the_secret_grants(fleet: &Harness) -> Result<()> {
    let url = fleet.member("member1")?.url();
    make_by_hand(fleet, "by-hand", KARMADA, &url, false).await?;
    is_refused(fleet, "by-hand").await?;
    let annotate = async |grant: &str| {
        let namespace = "--namespace=karmada-cluster";
        let annotate = ["annotate", "secret", "member1", namespace, grant];
        fleet.kubectl("host").run(&annotate).await
    };
    annotate(&format!("armadex.dev/endpoints={url}")).await?;
    wait_for_condition(fleet, "pediacluster/by-hand", "Ready", "True").await?;
    let all = ["by-hand", "member1", "member2", "member3"];
    wait_for_rows_of(fleet, Kind::PODS, &all).await?;
    annotate("armadex.dev/endpoints-").await?;
    is_refused(fleet, "by-hand").await?;
    wait_for_condition(fleet, "pediacluster/by-hand", "SynchroRunning", "False").await?;
    wait_for_condition(fleet, "pediacluster/member1", "Ready", "True").await?;
    remove_by_hand(fleet, "by-hand").await
}

/// A copy of what Karmada has, with the grant that makes it good for a PediaCluster by hand.
async fn a_secret_by_hand_lies_in_the_namespace_of_armadex(fleet: &Harness) -> Result<()> {
    let (host, url) = (fleet.kubectl("host"), fleet.member("member1")?.url());
    let within = ["--namespace", KARMADA, "--output=json"];
    let secret = host
        .run(&[&["get", "secret", "member1"][..], &within].concat())
        .await?;
    let mut secret: serde_json::Value = serde_json::from_str(&secret)?;
    secret["metadata"] = json!({
        "name": "member1", "namespace": armadex::NAMESPACE,
        "annotations": {"armadex.dev/endpoints": url},
    });
    host.apply(&secret.to_string()).await?;
    make_by_hand(fleet, "at-home", armadex::NAMESPACE, &url, false).await?;
    wait_for_condition(fleet, "pediacluster/at-home", "Ready", "True").await?;
    remove_by_hand(fleet, "at-home").await
}

/// Karmada makes each namespace of its control plane in every member within seconds, unless that says otherwise.
async fn nothing_of_ours_is_in_the_members(fleet: &Harness) -> Result<()> {
    for name in ["member1", "member2", "member3"] {
        let namespaces = ["get", "namespaces", "--output=name"];
        let found = fleet.kubectl(name).run(&namespaces).await?;
        let is_ours = |line: &str| line == format!("namespace/{}", armadex::NAMESPACE);
        ensure!(!found.lines().any(is_ours), "{name}: {found}");
    }
    Ok(())
}
