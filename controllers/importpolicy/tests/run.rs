//! The whole controller against a control plane in a value.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use armadex_control_plane::testing::{Host, ServedType};
use armadex_policy::{CounterValues, States, testing::Running};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::timeout};

/// Far more than any of these takes on a paused clock.
const LIMIT: Duration = Duration::from_secs(600);

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
const POLICIES: &str = "/apis/policy.clusterpedia.io/v1alpha1/clusterimportpolicies";
const LIFECYCLES: &str = "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles";

const CLUSTER: ServedType =
    ServedType::new("cluster.karmada.io", "v1alpha1", "clusters", "Cluster");

fn ours(resource: &'static str, kind: &'static str) -> ServedType {
    ServedType::new("policy.clusterpedia.io", "v1alpha1", resource, kind)
}

fn host() -> Host {
    Host::new(&[
        CLUSTER,
        ours("clusterimportpolicies", "ClusterImportPolicy"),
        ours("pediaclusterlifecycles", "PediaClusterLifecycle"),
    ])
}

fn policy() -> Value {
    json!({"spec": {
        "source": {"group": "cluster.karmada.io", "resource": "clusters"},
        "references": [],
        "nameTemplate": "{{source.metadata.name}}",
        "template": "spec: {syncResources: []}",
        "creationCondition": "true",
    }})
}

fn run(host: &Host) -> Running {
    Running::on(host, armadex_importpolicy::run)
}

async fn until(host: &Host, what: &str, holds: impl Fn(&Host) -> bool) {
    if timeout(LIMIT, host.until(holds)).await.is_err() {
        let policy = host.get(&format!("{POLICIES}/karmada"));
        panic!("not so after {LIMIT:?}: {what}; the policy is {policy:#?}");
    }
}

fn lifecycle(name: &str) -> String {
    format!("{LIFECYCLES}/{name}")
}

fn reconciling(host: &Host) -> String {
    let path = format!("{POLICIES}/karmada");
    host.condition(&path, "Reconciling").unwrap_or_default()
}

fn version_of(host: &Host, name: &str) -> Value {
    let found = host.get(&lifecycle(name)).unwrap_or_default();
    found["spec"]["source"]["version"].clone()
}

/// A fleet of one cluster whose policy is followed.
async fn followed() -> (Host, Running) {
    let host = host();
    host.put(&format!("{POLICIES}/karmada"), policy());
    host.put(&format!("{CLUSTERS}/one"), json!({}));
    let running = run(&host);
    until(&host, "the policy is followed", |host| {
        reconciling(host).ends_with("1 lifecycles from 1 source objects")
    })
    .await;
    (host, running)
}

/// Patches a cluster 17 times a second, for as long as the value lives.
fn patch_without_end(host: &Host, name: &str) -> JoinHandle<()> {
    let (host, path) = (host.clone(), format!("{CLUSTERS}/{name}"));
    tokio::spawn(async move {
        for count in 0.. {
            host.put(&path, json!({"status": {"probed": count}}));
            tokio::time::sleep(Duration::from_millis(59)).await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_member_of_a_busy_fleet_is_on_boarded() {
    let (host, running) = followed().await;
    let patches = patch_without_end(&host, "one");
    host.put(&format!("{CLUSTERS}/joined"), json!({}));
    let is_there = |host: &Host| host.get(&lifecycle("joined")).is_some();
    let wait = timeout(Duration::from_secs(2), host.until(is_there));
    wait.await.unwrap();
    patches.abort();
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_else_changes_is_seen_in_a_busy_fleet() {
    let (host, running) = followed().await;
    let patches = patch_without_end(&host, "one");
    // By then nothing but heartbeats has come for a while.
    tokio::time::sleep(Duration::from_secs(60)).await;
    host.remove(&lifecycle("one"));
    until(&host, "it is made again", |host| {
        host.get(&lifecycle("one")).is_some()
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut edited = host.get(&format!("{POLICIES}/karmada")).unwrap();
    edited["spec"]["template"] = json!("spec: {syncResources: [], syncAllCustomResources: true}");
    host.put(&format!("{POLICIES}/karmada"), edited);
    until(&host, "it has the other template", |host| {
        let lifecycle = host.get(&lifecycle("one")).unwrap_or_default();
        let template = lifecycle["spec"]["template"].as_str();
        template.is_some_and(|template| template.contains("true"))
    })
    .await;
    patches.abort();
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_taken_away_is_told_with_its_verb_and_takes_nothing_away() {
    for verb in ["watch", "list"] {
        let (host, running) = followed().await;
        host.forbid("watch", "clusters");
        if verb == "list" {
            host.forbid("list", "clusters");
            // What makes a watch list again.
            host.expire();
        }
        let told =
            format!("the right to {verb} clusters of cluster.karmada.io/v1alpha1 is missing");
        until(&host, verb, |host| {
            let condition = reconciling(host);
            condition.starts_with("FailedCheckResourceSync: ") && condition.contains(&told)
        })
        .await;
        assert!(host.get(&lifecycle("one")).is_some());
        host.permit_all();
        until(&host, "it is well again", |host| {
            reconciling(host).starts_with("ReconcileSourceResourceAndLifecycle: ")
        })
        .await;
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_removed_is_told_until_another_one_can_be_used() {
    let (host, running) = followed().await;
    host.withdraw("cluster.karmada.io", "v1alpha1", "clusters");
    let path = format!("{POLICIES}/karmada");
    until(&host, "that it is gone is told", |host| {
        host.condition(&path, "Validated").unwrap_or_default()
            == "FailedNegotiateSourceResource: the control plane does not serve clusters.cluster.karmada.io"
    })
    .await;
    assert!(host.get(&lifecycle("one")).is_some());
    host.serve(ServedType {
        version: "v1",
        ..CLUSTER
    });
    until(&host, "the other version is used", |host| {
        version_of(host, "one") == "v1"
    })
    .await;
    until(&host, "it is well again", |host| {
        reconciling(host).ends_with("1 lifecycles from 1 source objects")
    })
    .await;
    running.end().await;
}

const STORE: ServedType = ServedType::new("stores.example", "v1beta1", "stores", "Store");

#[tokio::test(start_paused = true)]
async fn a_reference_whose_version_is_removed_is_looked_up_again() {
    let host = host();
    host.serve(STORE);
    let mut over_stores = policy();
    over_stores["spec"]["references"] = json!([{"key": "store", "group": STORE.group,
        "resource": STORE.resource, "nameTemplate": "{{source.metadata.name}}"}]);
    host.put(&format!("{POLICIES}/karmada"), over_stores);
    host.put(&format!("{CLUSTERS}/one"), json!({}));
    let running = run(&host);
    let version = |host: &Host, name: &str| {
        let found = host.get(&lifecycle(name)).unwrap_or_default();
        found["spec"]["references"][0]["version"].clone()
    };
    until(&host, "v1beta1", |host| version(host, "one") == "v1beta1").await;
    host.withdraw(STORE.group, "v1beta1", STORE.resource);
    let mut waits = host.get(&lifecycle("one")).unwrap();
    waits["status"] = json!({"conditions": [{"type": "Updating", "status": "False",
        "reason": "WaitDependentResourceSynced", "message": "stores one can't be followed",
        "lastTransitionTime": "2026-01-02T03:04:05Z"}]});
    host.put(&lifecycle("one"), waits);
    // Nothing of it is served for a while, in which clusters come and go as ever.
    tokio::time::sleep(Duration::from_secs(60)).await;
    host.put(&format!("{CLUSTERS}/two"), json!({}));
    until(&host, "two", |host| version(host, "two") == "v1beta1").await;
    host.serve(ServedType {
        version: "v1",
        ..STORE
    });
    until(&host, "v1", |host| {
        version(host, "one") == "v1" && version(host, "two") == "v1"
    })
    .await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_is_made_again_is_resolved_again() {
    let host = host();
    host.serve(ServedType {
        version: "v1",
        ..CLUSTER
    });
    let path = format!("{POLICIES}/karmada");
    let of = |version: &str| {
        let mut policy = policy();
        policy["spec"]["source"]["versions"] = json!([version]);
        policy
    };
    host.put(&path, of("v1alpha1"));
    host.put(&format!("{CLUSTERS}/one"), json!({}));
    let running = run(&host);
    until(&host, "v1alpha1", |host| {
        version_of(host, "one") == "v1alpha1"
    })
    .await;
    host.remove(&lifecycle("one"));
    host.remove(&path);
    host.put(&path, of("v1"));
    until(&host, "v1", |host| version_of(host, "one") == "v1").await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_goes_takes_its_lifecycles_along_and_goes_last() {
    let (host, running) = followed().await;
    let told = host.asked("create", "events");
    let path = format!("{POLICIES}/karmada");
    let mut going = host.get(&path).unwrap();
    assert_eq!(
        going["metadata"]["finalizers"],
        json!(["clusterpedia.io/cluster-import-policy-controller"])
    );
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    host.put(&path, going);
    until(&host, "the policy is gone", |host| {
        host.get(&path).is_none()
    })
    .await;
    assert_eq!(host.get(&lifecycle("one")), None);
    let told = host.asked("create", "events") - told;
    assert_eq!(told, 1, "it says what went");
    running.end().await;
}

/// As where a webhook refuses some, and of those more than are asked for at the same time.
#[tokio::test(start_paused = true)]
async fn a_policy_that_goes_asks_for_all_its_lifecycles_though_some_are_refused_and_says_so() {
    let host = host();
    host.put(&format!("{POLICIES}/karmada"), policy());
    for number in 10..40 {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    let running = run(&host);
    until(&host, "the policy is followed", |host| {
        reconciling(host).ends_with("30 lifecycles from 30 source objects")
    })
    .await;
    for number in 10..20 {
        host.forbid_of("delete", "pediaclusterlifecycles", &format!("c{number}"));
    }
    let path = format!("{POLICIES}/karmada");
    let mut going = host.get(&path).unwrap();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    host.put(&path, going);
    until(&host, "all others are gone", |host| {
        (20..40).all(|number| host.get(&lifecycle(&format!("c{number}"))).is_none())
    })
    .await;
    until(&host, "it is told", |host| {
        let told = reconciling(host);
        told.starts_with("FailedReconcile: PediaClusterLifecycle c10: could not be deleted: ")
            && told.ends_with(
                "; and 7 more; the policy is being deleted, which waits for 10 lifecycles that are still to be",
            )
    })
    .await;
    let (looks, statuses) = asked_of_going(&host);
    let patches = patch_without_end(&host, "c10");
    tokio::time::sleep(Duration::from_secs(300)).await;
    patches.abort();
    let (looks, statuses) = (
        asked_of_going(&host).0 - looks,
        asked_of_going(&host).1 - statuses,
    );
    assert!((5..=300 / 8 + 5).contains(&looks), "{looks} looks");
    assert_eq!(statuses, 0);
    host.permit_all();
    until(&host, "the policy is gone", |host| {
        host.get(&path).is_none()
    })
    .await;
    assert_eq!(host.get(&lifecycle("c10")), None);
    running.end().await;
}

/// How often all lifecycles were listed, and statuses written.
fn asked_of_going(host: &Host) -> (usize, usize) {
    let status = "clusterimportpolicies/status";
    (
        host.asked("list", "pediaclusterlifecycles"),
        host.asked("patch", status),
    )
}

#[tokio::test(start_paused = true)]
async fn a_lifecycle_that_goes_in_a_gap_of_its_watch_is_made_again() {
    let (host, running) = followed().await;
    // By then it has seen what it wrote itself, on a clock that stands still.
    tokio::time::sleep(Duration::from_secs(60)).await;
    // Nobody else runs in between: the watch ends without having told it.
    host.remove(&lifecycle("one"));
    host.expire_of("pediaclusterlifecycles");
    until(&host, "made again", |host| {
        host.get(&lifecycle("one")).is_some()
    })
    .await;
    running.end().await;
}

/// Waits for a request, of which nobody tells while it is left without an answer.
async fn asked(host: &Host, verb: &str, resource: &str) {
    let wait = async {
        while host.asked(verb, resource) == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(LIMIT, wait).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_left_without_an_answer_is_made_again() {
    for (verb, resource) in [
        ("patch", "clusterimportpolicies"),
        ("patch", "clusterimportpolicies/status"),
        ("patch", "pediaclusterlifecycles"),
        ("list", "clusters"),
        ("watch", "clusters"),
    ] {
        let host = host();
        host.put(&format!("{POLICIES}/karmada"), policy());
        host.hang(verb, resource);
        let running = run(&host);
        if verb != "watch" {
            host.put(&format!("{CLUSTERS}/one"), json!({}));
        }
        asked(&host, verb, resource).await;
        host.hang_no_more();
        host.put(&format!("{CLUSTERS}/one"), json!({"status": {}}));
        let is_followed = |host: &Host| {
            host.get(&lifecycle("one")).is_some()
                && reconciling(host).ends_with("1 lifecycles from 1 source objects")
        };
        let wait = timeout(Duration::from_secs(120), host.until(is_followed));
        assert!(wait.await.is_ok(), "{verb} {resource}");
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_an_api_server_that_does_not_answer_one_lifecycle_is_asked_for_and_not_each() {
    let host = host();
    host.put(&format!("{POLICIES}/karmada"), policy());
    for number in 0..9 {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    host.hang("patch", "pediaclusterlifecycles");
    let running = run(&host);
    until(&host, "it is told", |host| {
        reconciling(host).contains("the API server does not answer in time")
    })
    .await;
    // What is told brings about the next look, which may have begun.
    assert!(host.asked("patch", "pediaclusterlifecycles") <= 2);
    host.hang_no_more();
    until(&host, "all are made", |host| {
        reconciling(host).ends_with("9 lifecycles from 9 source objects")
    })
    .await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_takes_more_than_one_look_is_no_failure() {
    let host = host();
    host.put(&format!("{POLICIES}/karmada"), policy());
    for number in 0..5 {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    host.slow_down("patch", "pediaclusterlifecycles");
    let running = run(&host);
    let is_told = |words: &'static str| {
        move |host: &Host| {
            let told = reconciling(host);
            assert!(!told.starts_with("FailedReconcile"), "{told}");
            told.contains(words)
        }
    };
    until(&host, "some are left", is_told("changes are left")).await;
    let done = "Lifecycle: 5 lifecycles from 5 source objects";
    until(&host, "all are made", is_told(done)).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_an_api_server_that_takes_long_to_refuse_a_few_are_asked_for_and_who_leaves_goes_first()
{
    let host = host();
    host.put(&format!("{POLICIES}/karmada"), policy());
    host.put(&format!("{CLUSTERS}/leaves"), json!({}));
    let running = run(&host);
    until(&host, "one is made", |host| {
        reconciling(host).ends_with("1 lifecycles from 1 source objects")
    })
    .await;
    running.end().await;
    host.remove(&format!("{CLUSTERS}/leaves"));
    for number in 0..99 {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    host.fail_slowly("patch", "pediaclusterlifecycles");
    let (before, begun) = (
        host.asked("patch", "pediaclusterlifecycles"),
        tokio::time::Instant::now(),
    );
    let running = run(&host);
    until(&host, "it is told", |host| {
        reconciling(host).contains("are left for the next look")
    })
    .await;
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    assert!(host.asked("patch", "pediaclusterlifecycles") - before <= 6);
    assert_eq!(host.asked("delete", "pediaclusterlifecycles"), 1);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_whose_changes_are_refused_looks_again_by_its_back_off() {
    for slowly in [false, true] {
        let host = host();
        host.put(&format!("{POLICIES}/karmada"), policy());
        for number in 0..99 {
            host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
        }
        match slowly {
            // Which of them were tried is chance, and so is what is said.
            true => host.fail_slowly("patch", "pediaclusterlifecycles"),
            false => host.forbid("patch", "pediaclusterlifecycles"),
        }
        let running = run(&host);
        until(&host, "it is told", |host| {
            reconciling(host).starts_with("FailedReconcile")
        })
        .await;
        let asked = || {
            // Of what takes as long as a look may, one is asked for.
            let of_look = if slowly { 1 } else { 99 };
            let looks = host.asked("patch", "pediaclusterlifecycles") / of_look;
            (looks, host.asked("patch", "clusterimportpolicies/status"))
        };
        let before = asked();
        tokio::time::sleep(Duration::from_secs(300)).await;
        let (looks, statuses) = (asked().0 - before.0, asked().1 - before.1);
        // One each 8 s and how long it takes, and the first ones sooner.
        let (most, words) = if slowly {
            (300 / 18 + 5, looks + 1)
        } else {
            (300 / 8 + 5, 1)
        };
        assert!((5..=most).contains(&looks), "{looks} looks");
        assert!(statuses <= words, "{statuses} statuses");
        running.end().await;
    }
}

/// Far more clusters than the largest platforms have.
const FLEET: usize = 5_000;

#[tokio::test(start_paused = true)]
async fn a_member_that_joins_a_large_fleet_or_leaves_it_costs_itself_alone() {
    let host = host();
    host.put(&format!("{POLICIES}/karmada"), policy());
    for number in 0..FLEET {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    let running = run(&host);
    let all_are_made = |count: usize| {
        let words = format!("{count} lifecycles from {count} source objects");
        move |host: &Host| reconciling(host).ends_with(&words)
    };
    until(&host, "all are made", all_are_made(FLEET)).await;
    // What was written has come back by then.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = running.counted();
    let asked = host.asked("patch", "pediaclusterlifecycles");
    host.put(&format!("{CLUSTERS}/joins"), json!({}));
    until(&host, "one more", all_are_made(FLEET + 1)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let joined = running.counted();
    assert_eq!(joined.rendered - before.rendered, 1);
    // It, and it again when its lifecycle comes back.
    assert!(joined.walked - before.walked <= 2, "{before:?} {joined:?}");
    host.remove(&format!("{CLUSTERS}/c7"));
    until(&host, "one less", all_are_made(FLEET)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let left = running.counted();
    assert_eq!(host.get(&lifecycle("c7")), None);
    assert_eq!(left.rendered, joined.rendered);
    assert_eq!(left.walked, joined.walked, "there is nothing to go over");
    // Somebody takes a lifecycle away.
    host.remove(&lifecycle("c8"));
    until(&host, "made again", |host| {
        host.get(&lifecycle("c8")).is_some()
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let again = running.counted();
    assert!(again.walked - left.walked <= 2, "{left:?} {again:?}");
    assert_eq!(host.asked("patch", "pediaclusterlifecycles") - asked, 2);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn how_lifecycles_are_doing_is_nothing_that_a_policy_looks_at() {
    let (host, running) = followed().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = running.counted();
    for count in 0..20 {
        let mut told = host.get(&lifecycle("one")).unwrap();
        told["status"] = json!({"conditions": [{"type": "Updating", "status": "True",
            "reason": "Updated", "message": format!("time {count}"),
            "lastTransitionTime": "2026-01-02T03:04:05Z"}]});
        host.put(&lifecycle("one"), told);
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    assert_eq!(running.counted(), before);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn many_policies_on_one_kind_look_at_what_changed_and_at_nothing_else() {
    const POLICIES_ON_IT: usize = 200;
    let host = host();
    for number in 0..POLICIES_ON_IT {
        let mut policy = policy();
        policy["spec"]["source"]["selectorTemplate"] =
            json!(format!("{{{{eq source.metadata.name \"c{number}\"}}}}"));
        host.put(&format!("{POLICIES}/p{number}"), policy);
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    let running = run(&host);
    until(&host, "all are made", |host| {
        (0..POLICIES_ON_IT).all(|number| host.get(&lifecycle(&format!("c{number}"))).is_some())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = running.counted();
    host.put(&format!("{CLUSTERS}/c7"), json!({"status": {"probed": 1}}));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let after = running.counted();
    let each = POLICIES_ON_IT as u64;
    let cost = |values: CounterValues| {
        let CounterValues {
            rendered,
            parsed,
            walked,
            plans,
            ..
        } = values;
        [rendered, parsed, walked, plans]
    };
    assert_eq!(cost(after), cost(before), "no template reads of a probe");
    assert_eq!(after.reconciles - before.reconciles, each);
    let states = States {
        working: each,
        partly: 0,
        failing: 0,
    };
    assert_eq!(after.states, states);
    running.end().await;
}

/// One of them, and more than are remembered by name.
#[tokio::test(start_paused = true)]
async fn names_that_somebody_else_has_cost_nothing_while_others_change() {
    for taken in [1, 40] {
        names_are_taken(taken).await;
    }
}

async fn names_are_taken(taken: usize) {
    const MEMBERS: usize = 50;
    let host = host();
    let theirs = json!({"metadata": {"ownerReferences": [{"apiVersion": "policy.clusterpedia.io/v1alpha1",
        "kind": "ClusterImportPolicy", "name": "theirs", "uid": "theirs", "controller": true}]},
        "spec": {"source": {"group": "", "version": "v1", "resource": "nodes", "name": "theirs"},
        "references": [], "template": "", "creationCondition": ""}});
    for number in 0..taken {
        host.put(&lifecycle(&format!("c{number}")), theirs.clone());
    }
    host.put(&format!("{POLICIES}/karmada"), policy());
    for number in 0..MEMBERS {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    let running = run(&host);
    let made = format!("{} lifecycles from 50 source objects", MEMBERS - taken);
    until(&host, "it is told", |host| {
        let told = reconciling(host);
        told.contains("c0: PediaClusterLifecycle c0 is there already and is owned by ")
            && told.ends_with(&made)
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = running.counted();
    for beat in 0..300 {
        for number in [0, 48] {
            let probed = json!({"status": {"probed": beat}});
            host.put(&format!("{CLUSTERS}/c{number}"), probed);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    host.put(&format!("{CLUSTERS}/joins"), json!({}));
    let has_joined = |host: &Host| host.get(&lifecycle("joins")).is_some();
    let wait = timeout(Duration::from_secs(2), host.until(has_joined));
    assert!(wait.await.is_ok(), "who joins is made at once");
    let after = running.counted();
    assert!(
        after.reconciles - before.reconciles >= 250,
        "{before:?} {after:?}"
    );
    let looks = (after.walked - before.walked) / MEMBERS as u64;
    assert!((10..=300 / 8 + 5).contains(&looks), "{looks} looks at all");
    host.remove(&lifecycle("c0"));
    let is_made = |host: &Host| host.get(&lifecycle("c0")).is_some();
    let wait = timeout(Duration::from_secs(20), host.until(is_made));
    assert!(wait.await.is_ok(), "it is made when the name is free");
    running.end().await;
}

/// Whether its kind is served in another version is all that the policy looks for.
#[tokio::test(start_paused = true)]
async fn a_lifecycle_that_waits_for_a_reference_costs_nothing_while_others_change() {
    const MEMBERS: usize = 50;
    let host = host();
    host.serve(STORE);
    let mut over_stores = policy();
    over_stores["spec"]["references"] = json!([{"key": "store", "group": STORE.group,
        "resource": STORE.resource, "nameTemplate": "{{source.metadata.name}}"}]);
    host.put(&format!("{POLICIES}/karmada"), over_stores);
    for number in 0..MEMBERS {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    let running = run(&host);
    until(&host, "all are made", |host| {
        reconciling(host).ends_with("50 lifecycles from 50 source objects")
    })
    .await;
    let mut waits = host.get(&lifecycle("c0")).unwrap();
    waits["status"] = json!({"conditions": [{"type": "Updating", "status": "False",
        "reason": "WaitDependentResourceSynced", "message": "stores c0 is not there",
        "lastTransitionTime": "2026-01-02T03:04:05Z"}]});
    host.put(&lifecycle("c0"), waits);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = running.counted();
    for beat in 0..300 {
        let probed = json!({"status": {"probed": beat}});
        host.put(&format!("{CLUSTERS}/c48"), probed);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    host.put(&format!("{CLUSTERS}/joins"), json!({}));
    let has_joined = |host: &Host| host.get(&lifecycle("joins")).is_some();
    let wait = timeout(Duration::from_secs(2), host.until(has_joined));
    assert!(wait.await.is_ok(), "who joins is made at once");
    let looks = (running.counted().walked - before.walked) / MEMBERS as u64;
    assert!((10..=300 / 8 + 5).contains(&looks), "{looks} looks at all");
    running.end().await;
}

/// How many source objects a policy selects of those of its kind.
const OF_EACH: usize = 25;

/// The source objects of so many policies on one kind, each of which has its own.
fn shared_kind(policies: usize) -> (Host, usize) {
    let host = host();
    for number in 0..policies {
        let mut policy = policy();
        let selector = format!("{{{{eq source.spec.team \"t{number}\"}}}}");
        policy["spec"]["source"]["selectorTemplate"] = json!(selector);
        host.put(&format!("{POLICIES}/p{number}"), policy);
    }
    let all = policies * OF_EACH;
    for number in 0..all {
        let team = format!("t{}", number % policies);
        let source = json!({"spec": {"team": team}});
        host.put(&format!("{CLUSTERS}/c{number}"), source);
    }
    (host, all)
}

/// With `ARMADEX_TEST_POLICIES=200` it is 5,000 objects (`make budgets`): a million looks, which take a minute without optimisation.
#[tokio::test(start_paused = true)]
async fn many_policies_on_one_large_kind_cost_what_changed() {
    let policies = std::env::var("ARMADEX_TEST_POLICIES").ok();
    let policies = policies.map_or(40, |policies| policies.parse().unwrap());
    let (host, all) = shared_kind(policies);
    let running = run(&host);
    until(&host, "all are made", |host| {
        (0..all).all(|number| host.get(&lifecycle(&format!("c{number}"))).is_some())
    })
    .await;
    let quiet = async || {
        tokio::time::sleep(Duration::from_secs(60)).await;
        running.counted()
    };
    let begun = quiet().await;
    let (each, looks) = (policies as u64, (policies * all) as u64);
    assert_eq!(
        begun.rendered, looks,
        "each policy looks once at each object"
    );
    // And once more at its own, whose lifecycles have come back.
    assert!(begun.walked <= looks + 2 * all as u64, "{begun:?}");

    let asked = || host.asked("patch", "pediaclusterlifecycles");
    let made = asked();
    let beat = json!({"spec": {"team": "t7"}, "status": {"probed": 1}});
    host.put(&format!("{CLUSTERS}/c7"), beat);
    let probed = quiet().await;
    assert_eq!(
        probed.rendered, begun.rendered,
        "no template reads of a probe"
    );
    assert_eq!((probed.walked, probed.plans), (begun.walked, begun.plans));

    // From one policy to another.
    host.put(&format!("{CLUSTERS}/c7"), json!({"spec": {"team": "t8"}}));
    let moved = quiet().await;
    assert_eq!(
        moved.rendered - probed.rendered,
        each,
        "each asks whether it is its own"
    );
    assert!(moved.plans - probed.plans <= 8, "{probed:?} {moved:?}");

    let changed = asked();
    let mut edited = host.get(&format!("{POLICIES}/p9")).unwrap();
    edited["spec"]["template"] = json!("spec: {syncResources: [], syncAllCustomResources: true}");
    host.put(&format!("{POLICIES}/p9"), edited);
    let after = quiet().await;
    assert_eq!(after.rendered, moved.rendered, "they come to what they did");
    assert_eq!(asked() - changed, OF_EACH);
    // Its own once more, when they come back.
    let most = (all + OF_EACH) as u64;
    assert!(after.walked - moved.walked <= most, "{moved:?} {after:?}");
    assert!(changed - made <= 4, "one that goes and one that comes");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_fleet_takes_is_asked_for_several_at_a_time_and_without_a_pause() {
    const MEMBERS: u32 = 2_000;
    let host = host();
    host.put(&format!("{POLICIES}/karmada"), policy());
    for number in 0..MEMBERS {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    let each = Duration::from_millis(100);
    host.slow_down_by("patch", "pediaclusterlifecycles", each);
    host.slow_down_by("delete", "pediaclusterlifecycles", each);
    // Beside each other, and with some time for looks.
    let limit = each * MEMBERS / 8 + Duration::from_secs(10);
    let begun = tokio::time::Instant::now();
    let running = run(&host);
    let words = format!("{MEMBERS} lifecycles from {MEMBERS} source objects");
    until(&host, "all are made", |host| {
        reconciling(host) == format!("ReconcileSourceResourceAndLifecycle: {words}")
    })
    .await;
    assert!(begun.elapsed() < limit, "{:?}", begun.elapsed());
    let path = format!("{POLICIES}/karmada");
    let mut going = host.get(&path).unwrap();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    let begun = tokio::time::Instant::now();
    host.put(&path, going);
    until(&host, "the policy is gone", |host| {
        host.get(&path).is_none()
    })
    .await;
    assert!(begun.elapsed() < limit, "{:?}", begun.elapsed());
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_two_have_costs_nobody_else_anything_and_is_a_policy_that_fails() {
    let host = host();
    let mut policy = policy();
    policy["spec"]["nameTemplate"] = json!("{{default source.metadata.name source.spec.called}}");
    host.put(&format!("{POLICIES}/karmada"), policy);
    for number in 0..100 {
        host.put(&format!("{CLUSTERS}/c{number}"), json!({}));
    }
    host.put(
        &format!("{CLUSTERS}/another"),
        json!({"spec": {"called": "c7"}}),
    );
    let running = run(&host);
    let problem = "c7: its name is the one of another too";
    until(&host, "it is told", |host| {
        reconciling(host).contains(problem)
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = running.counted();
    let states = States {
        working: 0,
        partly: 1,
        failing: 0,
    };
    assert_eq!(before.states, states);
    host.put(&format!("{CLUSTERS}/joins"), json!({}));
    until(&host, "it is made", |host| {
        host.get(&lifecycle("joins")).is_some()
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let after = running.counted();
    assert!(after.walked - before.walked <= 2, "{before:?} {after:?}");
    let told = reconciling(&host);
    assert!(
        told.contains(problem) && told.contains("101 lifecycles"),
        "{told}"
    );
    host.remove(&format!("{CLUSTERS}/another"));
    until(&host, "all is well", |host| {
        reconciling(host).ends_with("101 lifecycles from 101 source objects")
    })
    .await;
    running.end().await;
}
