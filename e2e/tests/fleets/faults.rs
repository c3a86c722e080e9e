//! Bad input and bad neighbours: each ends in a condition, a `Status` or a refusal that says what is wrong, and the rest
//! of the fleet goes on.

mod proxy;

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use armadex_e2e::aggregation::ApiService;
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::bodies;
use armadex_e2e::deploy;
use armadex_e2e::equality::{COLLECTED_KINDS, Difference, Kind, SEEDED_KINDS, list_fleet, objects};
use armadex_e2e::etcd::Writer;
use armadex_e2e::ports::free_port;
use armadex_e2e::raw;
use armadex_e2e::scenario::{
    SOON, TALKATIVE, on_board_by, wait_for_condition, wait_until_absent, wait_until_equal,
    wait_until_synced,
};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options, wait_until};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use serde_json::json;

/// What a member tells is found by then after the last kind was. Without a word it is asked eight seconds after that, at the earliest.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Kinds that have to be found at once, and those that are tried: on a busy machine one is found later. Another fleet that starts beside this one takes both
/// cores while four or so are tried.
const TOLD: usize = 3;
const LATE: [&str; 12] = [
    "bolts", "cranks", "gears", "hinges", "levers", "nuts", "pins", "rivets", "rods", "screws",
    "springs", "wheels",
];
const GROUP: &str = "e2e.armadex.dev";
/// As short as the steps of the scenario: what pods were is beyond it at the end.
const WATCH_WINDOW: &str = "--watch-window=30";
const ALL_CUSTOM: &str = "--feature-gates=AllowSyncAllCustomResources=true";
/// Bytes of the large object.
const LARGE: usize = 1_400_000;
const PODS: &str = "/apis/clusterpedia.io/v1beta1/resources/api/v1/pods";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_and_the_rest_goes_on() -> Result<()> {
    faults(StoreKind::of_environment()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_and_the_rest_goes_on_on_postgresql() -> Result<()> {
    faults(StoreKind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_and_the_rest_goes_on_on_mariadb() -> Result<()> {
    faults(StoreKind::Mariadb).await
}

async fn faults(store: StoreKind) -> Result<()> {
    if !store.is_there()? {
        return Ok(());
    }
    let fleet = Harness::start(Options {
        members: 1,
        store: Some(store),
        ..Options::default()
    })
    .await?;
    let armadex = on_boarded(&fleet).await?;
    let mut failed = Vec::new();
    check(
        &mut failed,
        a_member_that_falls_silent_is_told_and_goes_on_where_it_was(&fleet, &armadex),
    )
    .await;
    check(
        &mut failed,
        a_member_that_is_killed_goes_on_where_it_was(&fleet, &armadex),
    )
    .await;
    check(&mut failed, a_broken_template_is_told_by_the_policy(&fleet)).await;
    check(&mut failed, a_wrong_authority_is_never_taken(&fleet)).await;
    check(&mut failed, a_member_that_is_away_is_told(&fleet)).await;
    check(&mut failed, proxy::what_proxies_do_is_told(&fleet)).await;
    check(&mut failed, a_forbidden_kind_stops_only_itself(&fleet)).await;
    check(&mut failed, a_kind_that_comes_later_is_found(&fleet)).await;
    check(&mut failed, a_large_object_does_not_stop_the_others(&fleet)).await;
    check(
        &mut failed,
        long_queries_are_answered_or_refused_in_words(&fleet, &armadex),
    )
    .await;
    check(
        &mut failed,
        a_body_that_is_not_json_is_refused_in_words(&fleet),
    )
    .await;
    check(&mut failed, the_member_that_is_well_goes_on(&fleet)).await;
    check(
        &mut failed,
        what_was_changed_is_kept_as_its_history(&armadex),
    )
    .await;
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    ensure!(armadex.record().is_alive(), "armadex ended");
    armadex.stop()?;
    armadex::check_store(&fleet).await?;
    fleet.finish().await;
    Ok(())
}

/// Armadex on a fleet with one member, whose neighbour was down as it came.
async fn on_boarded(fleet: &Harness) -> Result<Armadex> {
    let neighbour = a_neighbour_that_is_down(fleet).await?;
    let arguments = [TALKATIVE, WATCH_WINDOW, "--history-of=pods", ALL_CUSTOM];
    let armadex = on_board_by(fleet, &deploy::policy()?, &arguments).await?;
    fleet.join("member1").await?;
    seed::put(
        &fleet.member("member1")?,
        Plan {
            count: 200,
            seed: 1,
        },
    )
    .await?;
    wait_until_equal(fleet, &["member1"], &SEEDED_KINDS, SOON).await?;
    wait_until_synced(fleet, &["member1"], SOON).await?;
    let label = ["label", "pods", "--all", "--all-namespaces", "changed=yes"];
    fleet.kubectl("member1").run(&label).await?;
    wait_until_equal(fleet, &["member1"], &SEEDED_KINDS, SOON).await?;
    neighbour.remove(&fleet.host().client().await?).await?;
    Ok(armadex)
}

/// A fault that is not handled must not hide what becomes of the others.
async fn check(failed: &mut Vec<String>, step: impl Future<Output = Result<()>>) {
    if let Err(error) = step.await {
        failed.push(format!("{error:#}"));
    }
}

/// A power cut and a partition end no connection. Its rows are served meanwhile, and said to be old; its streams go on where they were.
async fn a_member_that_falls_silent_is_told_and_goes_on_where_it_was(
    fleet: &Harness,
    armadex: &Armadex,
) -> Result<()> {
    let member = fleet.member("member1")?;
    let lists = armadex.counter(armadex::LISTS).await?;
    let frozen = is_served_as_before(fleet, || member.freeze_apiserver()).await?;
    is_said_to_be_old(fleet).await?;
    drop(frozen);
    wait_for_condition(fleet, "pediacluster/member1", "Ready", "True").await?;
    let create = ["create", "configmap", "after-silence", "-n=default"];
    fleet.kubectl("member1").run(&create).await?;
    wait_until_equal(fleet, &["member1"], &SEEDED_KINDS, SOON).await?;
    let after = armadex.counter(armadex::LISTS).await?;
    ensure!(lists == after, "{lists} lists before, {after} after");
    Ok(())
}

/// Takes `member1` away and waits until that is told: its rows are listed as they were.
async fn is_served_as_before<T>(
    fleet: &Harness,
    take_away: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let host = fleet.host().client().await?;
    let before = list_fleet(&host, &SEEDED_KINDS).await?;
    let away = take_away()?;
    let health = wait_for_condition(fleet, "pediacluster/member1", "ClusterHealthy", "False");
    let (reason, message) = health.await?;
    ensure!(reason == "NotReachable", "{reason}: {message}");
    let meanwhile = list_fleet(&host, &SEEDED_KINDS).await?;
    ensure!(
        before == meanwhile,
        "{}",
        Difference::between(&before, &meanwhile)
    );
    Ok(away)
}

/// What the store knows of a member is served within a second.
async fn is_said_to_be_old(fleet: &Harness) -> Result<()> {
    let (host, pods) = (fleet.kubectl("host"), format!("{PODS}?limit=1"));
    let words = "member1 is not ready and the resources obtained may be inaccurate";
    wait_until("the rows are said to be old", SOON, || async {
        let output = host.output(&["get", "--raw", &pods]).await?;
        let warning = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {warning}", output.status);
        ensure!(
            warning.contains(words),
            "kubectl warns of nothing but {warning:?}"
        );
        Ok(true)
    })
    .await
}

/// Its rows are served meanwhile. A kube-apiserver that starts anew has no history to go on from, so each kind is listed once, and no more.
async fn a_member_that_is_killed_goes_on_where_it_was(
    fleet: &Harness,
    armadex: &Armadex,
) -> Result<()> {
    let member = fleet.member("member1")?;
    let lists = armadex.counter(armadex::LISTS).await?;
    is_served_as_before(fleet, || {
        member.kill_all();
        Ok(())
    })
    .await?;
    member.start(fleet.tools()).await?;
    wait_for_condition(fleet, "pediacluster/member1", "Ready", "True").await?;
    let create = [
        "create",
        "configmap",
        "after-the-crash",
        "--namespace=default",
    ];
    fleet.kubectl("member1").run(&create).await?;
    wait_until_equal(fleet, &["member1"], &SEEDED_KINDS, SOON).await?;
    let after = armadex.counter(armadex::LISTS).await?;
    let most = lists + COLLECTED_KINDS.len() as f64;
    ensure!(after <= most, "{lists} lists before, {after} after");
    its_bodies_are_equal(fleet).await
}

async fn its_bodies_are_equal(fleet: &Harness) -> Result<()> {
    let host = fleet.host().client().await?;
    let member = fleet.member("member1")?.client().await?;
    for kind in SEEDED_KINDS {
        bodies::compare(&host, &member, "member1", kind).await?;
    }
    Ok(())
}

async fn the_member_that_is_well_goes_on(fleet: &Harness) -> Result<()> {
    let member = fleet.kubectl("member1");
    member
        .run(&["create", "configmap", "after-all", "--namespace", "default"])
        .await?;
    let host = fleet.host().client().await?;
    wait_until(
        "a new object of the member that is well is there",
        SOON,
        || async {
            let found = list_fleet(&host, &[Kind::CONFIG_MAPS]).await?;
            Ok(found
                .keys()
                .any(|(_, place)| place == "member1/default/after-all"))
        },
    )
    .await
}

/// What the pods were before they were labelled is noted when the watch window has long been over; that it is there the check of the store says in the end.
async fn what_was_changed_is_kept_as_its_history(armadex: &Armadex) -> Result<()> {
    wait_until("what pods were is kept as their history", SOON, || async {
        let bytes = armadex.counter("armadex_store_history_bytes").await?;
        let seconds = armadex.counter("armadex_store_history_seconds").await?;
        let watched = armadex.counter("armadex_store_past_seconds").await?;
        Ok(bytes > 0.0 && seconds > 60.0 && watched < seconds)
    })
    .await
}

/// An APIService whose server is gone makes the control plane's discovery incomplete.
async fn a_neighbour_that_is_down(fleet: &Harness) -> Result<ApiService> {
    let neighbour = ApiService {
        group: "broken.example.com",
        version: "v1",
        service: "broken",
        namespace: "default",
        port: free_port()?,
    };
    let authority = fleet.host().pki().read("ca.crt")?;
    neighbour
        .apply(&fleet.host().client().await?, &authority)
        .await?;
    Ok(neighbour)
}

async fn a_broken_template_is_told_by_the_policy(fleet: &Harness) -> Result<()> {
    let policy = json!({
        "apiVersion": "policy.clusterpedia.io/v1alpha1",
        "kind": "ClusterImportPolicy",
        "metadata": {"name": "broken"},
        "spec": {
            "source": {"group": "cluster.karmada.io", "resource": "clusters"},
            "nameTemplate": "broken-{{source.metadata.name}}",
            "template": "spec: {{#if source}}",
            "creationCondition": "true",
        },
    });
    fleet.kubectl("host").apply(&policy.to_string()).await?;
    let (reason, message) =
        wait_for_condition(fleet, "clusterimportpolicy/broken", "Validated", "False").await?;
    // Clusterpedia's own spelling.
    ensure!(
        reason == "InvalaidPolicy" && message.starts_with("template: line 1, column 21: "),
        "{reason}: {message}"
    );
    let made = fleet
        .kubectl("host")
        .run(&["get", "pediaclusters", "--output", "name"])
        .await?;
    ensure!(!made.contains("broken"), "{made}");
    fleet
        .kubectl("host")
        .run(&["delete", "clusterimportpolicy", "broken"])
        .await
        .map(drop)
}

/// How a PediaCluster made by hand reaches `url`.
#[derive(Default)]
struct Way<'a> {
    url: &'a str,
    authority: &'a str,
    token: &'a str,
    /// Empty: none.
    proxy: &'a str,
}

async fn make_pedia_cluster(fleet: &Harness, name: &str, way: &Way<'_>) -> Result<()> {
    let connection = match way.proxy {
        "" => json!({}),
        url => json!({"proxyURL": url, "proxyHeader": {"X-Team": proxy::TEAM}}),
    };
    let cluster = json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": name},
        "spec": {
            "apiserver": way.url,
            "caData": STANDARD.encode(way.authority),
            "tokenData": STANDARD.encode(way.token),
            "connection": connection,
            "syncResources": [{"group": "", "resources": ["pods", "configmaps", "secrets"]}],
        },
    });
    fleet.kubectl("host").apply(&cluster.to_string()).await
}

async fn remove_pedia_cluster(fleet: &Harness, name: &str) -> Result<()> {
    fleet
        .kubectl("host")
        .run(&["delete", "pediacluster", name, "--wait=false"])
        .await?;
    wait_until_absent(fleet, &format!("pediacluster/{name}")).await
}

async fn a_wrong_authority_is_never_taken(fleet: &Harness) -> Result<()> {
    let url = fleet.member("member1")?.url();
    let authority = fleet.host().pki().read("ca.crt")?;
    let token = reader_token(fleet).await?;
    make_pedia_cluster(
        fleet,
        "wrong-ca",
        &Way {
            url: &url,
            authority: &authority,
            token: &token,
            ..Way::default()
        },
    )
    .await?;
    let object = "pediacluster/wrong-ca";
    let (reason, message) = wait_for_condition(fleet, object, "ClusterHealthy", "False").await?;
    ensure!(
        reason == "NotReachable" && message.contains("invalid peer certificate: BadSignature"),
        "{reason}: {message}"
    );
    wait_for_condition(fleet, object, "SynchroRunning", "False").await?;
    let (reason, message) = wait_for_condition(fleet, object, "Ready", "False").await?;
    ensure!(
        reason == "NotReady"
            && message == "SynchroRunning condition is False, reason is InitialFailed",
        "{reason}: {message}"
    );
    remove_pedia_cluster(fleet, "wrong-ca").await
}

async fn a_member_that_is_away_is_told(fleet: &Harness) -> Result<()> {
    let url = format!("https://127.0.0.1:{}", free_port()?);
    let authority = fleet.host().pki().read("ca.crt")?;
    make_pedia_cluster(
        fleet,
        "away",
        &Way {
            url: &url,
            authority: &authority,
            token: "none",
            ..Way::default()
        },
    )
    .await?;
    let (reason, message) =
        wait_for_condition(fleet, "pediacluster/away", "ClusterHealthy", "False").await?;
    ensure!(
        reason == "NotReachable" && message.contains("onnection refused"),
        "{reason}: {message}"
    );
    remove_pedia_cluster(fleet, "away").await
}

/// A token of a ServiceAccount that may read pods and ConfigMaps, and no Secret.
async fn reader_token(fleet: &Harness) -> Result<String> {
    token(
        fleet,
        "reader",
        &[""],
        &["pods", "configmaps", "namespaces"],
    )
    .await
}

/// A token of a ServiceAccount of this name that may read these.
async fn token(fleet: &Harness, name: &str, groups: &[&str], resources: &[&str]) -> Result<String> {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": groups, "resources": resources, "verbs": ["get", "list", "watch"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    });
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"},
    });
    let member = fleet.kubectl("member1");
    for object in [role, binding, account] {
        member.apply(&object.to_string()).await?;
    }
    let token = member
        .run(&["create", "token", name, "--namespace", "default"])
        .await?;
    Ok(token.trim().to_owned())
}

/// Of the group that comes later, in the cluster that asks for it.
const LATE_RESOURCES: &str =
    "/apis/clusterpedia.io/v1beta1/resources/clusters/late/apis/e2e.armadex.dev/v1";

/// What is missing is looked for every ten seconds at first and then less and less often, unless the member tells.
async fn a_kind_that_comes_later_is_found(fleet: &Harness) -> Result<()> {
    let member = fleet.member("member1")?;
    let groups = ["", "apiextensions.k8s.io", "apiregistration.k8s.io", GROUP];
    let resources = ["namespaces", "customresourcedefinitions", "apiservices"];
    let resources = [&resources[..], &LATE].concat();
    let token = token(fleet, "late", &groups, &resources).await?;
    let cluster = json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": "late"},
        "spec": {
            "apiserver": member.url(),
            "caData": STANDARD.encode(member.pki().read("ca.crt")?),
            "tokenData": STANDARD.encode(token),
            "syncResources": [{"group": GROUP, "resources": LATE}],
        },
    });
    fleet.kubectl("host").apply(&cluster.to_string()).await?;
    for kind in LATE {
        becomes(fleet, kind, "Error").await?;
    }
    somebody_else_writes_the_status(fleet).await?;
    kinds_are_found_at_once(fleet).await?;
    what_was_ours_to_say_is_taken_over(fleet).await?;
    what_is_custom_is_synced_while_its_definition_is_there(fleet).await?;
    remove_pedia_cluster(fleet, "late").await
}

/// The same kinds, without being named.
async fn what_is_custom_is_synced_while_its_definition_is_there(fleet: &Harness) -> Result<()> {
    let all = json!({"spec": {"syncResources": [], "syncAllCustomResources": true}}).to_string();
    let patch = [
        "patch",
        "pediacluster",
        "late",
        "--type=merge",
        "--patch",
        &all,
    ];
    fleet.kubectl("host").run(&patch).await?;
    let definition = format!("{}.{GROUP}", LATE[0]);
    let member = fleet.kubectl("member1");
    member
        .run(&["delete", "customresourcedefinition", &definition])
        .await?;
    // What is named and not served is an error.
    becomes(fleet, LATE[0], "").await?;
    becomes(fleet, LATE[1], "Syncing").await
}

async fn becomes(fleet: &Harness, kind: &str, status: &str) -> Result<()> {
    let host = fleet.kubectl("host");
    let path = format!(
        "jsonpath={{.status.syncResources[*].resources[?(@.name==\"{kind}\")].syncConditions[*].status}}"
    );
    let get = ["get", "pediacluster", "late", "--output", &path];
    wait_until(&format!("{kind}: {status}"), SOON, || async {
        let told = host.run(&get).await?;
        ensure!(told == status, "{kind} are {told:?}");
        Ok(true)
    })
    .await
}

/// One right after the other: what is found resets the pace at which the others are looked for. The first may be found by chance, and counts for nothing.
async fn kinds_are_found_at_once(fleet: &Harness) -> Result<()> {
    let (mut last, mut took) = (None, Vec::new());
    for (number, kind) in LATE.iter().enumerate() {
        install(fleet, kind).await?;
        is_served(fleet, kind).await?;
        let now = Instant::now();
        took.extend(last.replace(now).map(|last| now - last));
        if took.iter().filter(|took| **took < AT_ONCE).count() == TOLD {
            return are_synced(fleet, &LATE[..=number]).await;
        }
    }
    bail!("what comes later is not found at once, but {took:?} after what came before")
}

/// The status says so when it is written next.
async fn are_synced(fleet: &Harness, kinds: &[&str]) -> Result<()> {
    for kind in kinds {
        becomes(fleet, kind, "Syncing").await?;
    }
    Ok(())
}

async fn is_served(fleet: &Harness, kind: &str) -> Result<()> {
    let host = fleet.kubectl("host");
    let path = format!("{LATE_RESOURCES}/{kind}");
    wait_until(&format!("{kind} are served"), SOON, || async {
        host.run(&["get", "--raw", &path]).await?;
        Ok(true)
    })
    .await
}

async fn install(fleet: &Harness, kind: &str) -> Result<()> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{kind}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {"plural": kind, "kind": kind.trim_end_matches('s')},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema":
                {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    fleet
        .kubectl("member1")
        .apply(&definition.to_string())
        .await
}

/// As Clusterpedia did before: by an update, with a condition that there is no more, and beside it one of somebody else.
async fn somebody_else_writes_the_status(fleet: &Harness) -> Result<()> {
    let condition = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": "Told", "message": "",
            "lastTransitionTime": "2024-01-02T03:04:05Z"})
    };
    let types = ["ClusterSynchroInitialized", "example.com/Mine"];
    let status = json!({"status": {"conditions": types.map(condition)}});
    let host = fleet.kubectl("host");
    host.run(&[
        "patch",
        "pediacluster",
        "late",
        "--subresource=status",
        "--type=merge",
        "--field-manager=clustersynchro-manager",
        "--patch",
        &status.to_string(),
    ])
    .await
    .map(drop)
}

async fn what_was_ours_to_say_is_taken_over(fleet: &Harness) -> Result<()> {
    let path = "jsonpath={.status.conditions[*].type}";
    let host = fleet.kubectl("host");
    wait_until("the status is taken over", SOON, || async {
        let told = host
            .run(&["get", "pediacluster", "late", "--output", path])
            .await?;
        let mut types: Vec<_> = told.split_whitespace().collect();
        types.sort_unstable();
        let expected = [
            "ClusterHealthy",
            "Ready",
            "Synced",
            "SynchroRunning",
            "Validated",
            "example.com/Mine",
        ];
        ensure!(types == expected, "{told}");
        Ok(true)
    })
    .await
}

async fn a_forbidden_kind_stops_only_itself(fleet: &Harness) -> Result<()> {
    let member = fleet.member("member1")?;
    let authority = member.pki().read("ca.crt")?;
    let token = reader_token(fleet).await?;
    make_pedia_cluster(
        fleet,
        "limited",
        &Way {
            url: &member.url(),
            authority: &authority,
            token: &token,
            ..Way::default()
        },
    )
    .await?;
    let kubectl = fleet.kubectl("host");
    let condition =
        "jsonpath={.status.syncResources[*].resources[?(@.name==\"secrets\")].syncConditions[*]}";
    wait_until("the forbidden kind is told", SOON, || async {
        let told = kubectl
            .run(&["get", "pediacluster", "limited", "--output", condition])
            .await?;
        let words = ["ResourceWatchFailed", "forbidden"];
        ensure!(
            words.iter().all(|word| told.contains(word)),
            "the condition is {told:?}"
        );
        Ok(true)
    })
    .await?;
    let host = fleet.host().client().await?;
    wait_until("the kinds that are allowed are synced", SOON, || async {
        let found = list_fleet(&host, &[Kind::PODS, Kind::CONFIG_MAPS]).await?;
        let of = |kind| {
            found
                .keys()
                .any(|(found, place)| *found == kind && place.starts_with("limited/"))
        };
        Ok(of(Kind::PODS) && of(Kind::CONFIG_MAPS))
    })
    .await?;
    remove_pedia_cluster(fleet, "limited").await
}

/// 1.4 MB is near the most that etcd takes by default, and less than what is left out.
async fn a_large_object_does_not_stop_the_others(fleet: &Harness) -> Result<()> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "large", "namespace": "default", "uid": "11111111-2222-4333-8444-555555555555",
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "data": {"text": "x".repeat(LARGE)},
    });
    let writer = Writer::new(fleet.member("member1")?.etcd().clone());
    writer
        .put("configmaps/default/large", object.to_string().as_bytes())
        .await?;
    let member = fleet.kubectl("member1");
    member
        .run(&[
            "create",
            "configmap",
            "after-large",
            "--namespace",
            "default",
        ])
        .await?;
    let host = fleet.host().client().await?;
    wait_until("the object after the large one is there", SOON, || async {
        let found = list_fleet(&host, &[Kind::CONFIG_MAPS]).await?;
        Ok(found
            .keys()
            .any(|(_, place)| place == "member1/default/after-large"))
    })
    .await?;
    let served = objects(&host, &Kind::CONFIG_MAPS.path_of("member1"), &[]).await?;
    let large = served
        .iter()
        .find(|object| object["metadata"]["name"] == "large");
    let large = large.context("the large object is not there")?;
    let text = large["data"]["text"].as_str().unwrap_or_default();
    ensure!(text.len() == LARGE, "{} bytes of {LARGE}", text.len());
    member
        .run(&["delete", "configmap", "large", "--namespace", "default"])
        .await
        .map(drop)
}

/// A query of 60 KB is answered, to its last value; a longer one is refused in the words that a client can show.
async fn long_queries_are_answered_or_refused_in_words(
    fleet: &Harness,
    armadex: &Armadex,
) -> Result<()> {
    let path = "jsonpath={.items[0].metadata.name}";
    let pods = ["get", "pods", "--all-namespaces", "--output", path];
    let last = fleet.kubectl("member1").run(&pods).await?;
    let target = |kilobytes: usize| {
        let others = "a-name-that-nobody-has%2C".repeat(kilobytes * 1024 / 25 - 10);
        format!("{PODS}?names={others}{last}&limit=5")
    };
    let host = fleet.host().client().await?;
    let list = host.request_text(get(&target(60))?).await?;
    let list: serde_json::Value = serde_json::from_str(&list)?;
    let items = list["items"].as_array().context("no items")?;
    ensure!(
        items.len() == 1 && items[0]["metadata"]["name"] == last.as_str(),
        "not only the pod that the last of 60 KB names: {list}"
    );
    let kubeconfig = fleet.host().kubeconfig();
    let name = armadex::server_name();
    for (kilobytes, code) in [(60, 200), (100, 414), (300, 431)] {
        let target = target(kilobytes);
        let answer = raw::get_from(&kubeconfig, armadex.listen, &name, &target).await?;
        let answer = answer.with_context(|| format!("no answer to {kilobytes} KB"))?;
        ensure!(answer.code == code, "{kilobytes} KB: {answer:?}");
    }
    // Where the control plane's apiserver stands in front, it is told the limit and says so by itself.
    let answer = raw::get(&kubeconfig, &target(300)).await?;
    let answer = answer.context("no answer of the aggregator to 300 KB")?;
    ensure!(
        answer.code == 503 && answer.body.contains("header list larger"),
        "300 KB through the aggregator: {answer:?}"
    );
    host.request_text(get(&format!("{PODS}?limit=1"))?)
        .await
        .context("after the long queries")?;
    Ok(())
}

async fn a_body_that_is_not_json_is_refused_in_words(fleet: &Harness) -> Result<()> {
    let host = fleet.host().client().await?;
    let path = "/apis/clusterpedia.io/v1beta1/resources/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let no_json = "the body is not a review: ";
    let no_create =
        "the server does not allow this method on the requested resource: it only reads";
    for (url, code, reason, words) in [
        (path, 400, "BadRequest", no_json),
        (PODS, 405, "MethodNotAllowed", no_create),
    ] {
        let request = Request::post(url)
            .header("content-type", "application/json")
            .body(b"{not json".to_vec())?;
        let refused = match host.request_text(request).await {
            Err(kube::Error::Api(status)) => status,
            Err(error) => return Err(error.into()),
            Ok(text) => bail!("it was taken: {text}"),
        };
        ensure!(
            refused.code == code && refused.reason == reason && refused.message.starts_with(words),
            "{url}: {refused:?}"
        );
    }
    Ok(())
}

fn get(url: &str) -> Result<Request<Vec<u8>>> {
    Ok(Request::get(url).body(Vec::new())?)
}
