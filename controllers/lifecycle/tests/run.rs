//! The whole controller against a control plane in a value.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use armadex_control_plane::testing::{Host, Log, ServedType};
use armadex_crds::{PediaCluster, RenderedConnection};
use armadex_policy::testing::Running;
use serde_json::{Value, json};
use tokio::time::timeout;

/// Far more than any of these takes on a paused clock.
const LIMIT: Duration = Duration::from_secs(600);

const LIFECYCLE: &str = "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/east";
const CLUSTER: &str = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/east";
const SOURCE: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/east";
const SECRET: &str = "/api/v1/namespaces/karmada-cluster/secrets/east";

fn host() -> Host {
    let served = ServedType::new;
    let ours = ("pediaclusterlifecycles", "PediaClusterLifecycle");
    let host = Host::new(&[
        served("", "v1", "secrets", "Secret").namespaced(),
        served("cluster.karmada.io", "v1alpha1", "clusters", "Cluster"),
        served("policy.clusterpedia.io", "v1alpha1", ours.0, ours.1),
        served(
            "cluster.clusterpedia.io",
            "v1alpha2",
            "pediaclusters",
            "PediaCluster",
        ),
    ]);
    host.put(SOURCE, json!({"spec": {"apiEndpoint": "https://east"}}));
    host.put(SECRET, json!({"data": {"token": "dG9rZW4="}}));
    host.put(LIFECYCLE, lifecycle());
    host
}

fn lifecycle() -> Value {
    json!({
        "metadata": {"ownerReferences": [{
            "apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "ClusterImportPolicy",
            "name": "karmada", "uid": "policy-1", "controller": true,
        }]},
        "spec": {
            "source": {"group": "cluster.karmada.io", "version": "v1alpha1",
                       "resource": "clusters", "name": "east"},
            "references": [{
                "key": "secret", "group": "", "version": "v1", "resource": "secrets",
                "namespaceTemplate": "karmada-cluster", "nameTemplate": "east",
            }],
            "template": "spec: {tokenData: {{references.secret.data.token}}, syncResources: []}",
            "creationCondition": "true",
        },
    })
}

/// A lifecycle whose template takes the endpoint from the source.
fn with_endpoint() -> Value {
    let mut lifecycle = lifecycle();
    lifecycle["spec"]["template"] =
        json!("spec: {apiserver: {{toJson source.spec.apiEndpoint}}, syncResources: []}");
    lifecycle
}

fn run(host: &Host) -> Running {
    Running::on(host, armadex_lifecycle::run)
}

async fn until(host: &Host, what: &str, holds: impl Fn(&Host) -> bool) {
    if timeout(LIMIT, host.until(holds)).await.is_err() {
        panic!("not so after {LIMIT:?}: {what}; {:#?}", host.get(LIFECYCLE));
    }
}

fn condition(host: &Host, type_: &str) -> String {
    host.condition(LIFECYCLE, type_).unwrap_or_default()
}

fn token(host: &Host) -> Value {
    host.get(CLUSTER).unwrap_or_default()["spec"]["tokenData"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_comes_follows_its_secret_and_goes_with_its_source() {
    let host = host();
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    host.put(SECRET, json!({"data": {"token": "bmV3"}}));
    until(&host, "the new token", |host| token(host) == "bmV3").await;
    let mut going = host.get(SOURCE).unwrap();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    host.put(SOURCE, going);
    until(&host, "off-boarded", |host| host.get(CLUSTER).is_none()).await;
    running.end().await;
}

/// A label that its source got, and one that it lost: each change is one request. What no template reads of is none, nor is a member that Karmada loses for a moment.
#[tokio::test(start_paused = true)]
async fn labels_follow_the_source_by_one_request_each() {
    let host = host();
    let mut lifecycle = lifecycle();
    lifecycle["spec"]["template"] = json!(
        "metadata: {labels: {{toJson (withLabels \"taint\" (carriedTaints source.spec.taints) (carriedLabels source.metadata.labels))}}}\n\
         spec: {syncResources: []}"
    );
    host.put(LIFECYCLE, lifecycle);
    let running = run(&host);
    let source = |labels: Value, taints: Value, heartbeat: u32| {
        let mut source = host.get(SOURCE).unwrap();
        source["metadata"]["labels"] = labels;
        source["spec"]["taints"] = taints;
        source["status"]["heartbeat"] = json!(heartbeat);
        host.put(SOURCE, source);
    };
    let labels = |host: &Host| {
        let cluster = host.get(CLUSTER).unwrap_or_default();
        cluster["metadata"]["labels"].clone()
    };
    until(&host, "on-boarded", |host| host.get(CLUSTER).is_some()).await;
    let taint = json!([{"key": "a/not-ready", "effect": "NoSchedule"}]);
    let away = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"});
    let mut asked = host.asked("patch", "pediaclusters");
    for (own, taints, expected) in [
        (json!({"env": "prod"}), json!([]), json!({"env": "prod"})),
        (
            json!({"env": "test"}),
            taint,
            json!({"env": "test", "taint/not-ready.NoSchedule": ""}),
        ),
        (json!({"team": "a"}), json!([]), json!({"team": "a"})),
    ] {
        source(own.clone(), taints.clone(), 1);
        until(&host, "other labels", |host| labels(host) == expected).await;
        for heartbeat in 2..5 {
            let mut taints = taints.clone();
            if heartbeat == 3 {
                taints.as_array_mut().unwrap().push(away.clone());
            }
            source(own.clone(), taints, heartbeat);
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
        asked += 1;
        assert_eq!(host.asked("patch", "pediaclusters"), asked, "{expected}");
    }
    running.end().await;
}

/// Of a source that has more labels than a PediaCluster.
#[tokio::test(start_paused = true)]
async fn labels_that_find_no_room_are_told_of_with_how_many_they_are() {
    let host = host();
    let mut lifecycle = lifecycle();
    lifecycle["spec"]["template"] = json!(
        "metadata: {labels: {{toJson (carriedLabels source.metadata.labels)}}}\n\
         spec: {syncResources: []}"
    );
    host.put(LIFECYCLE, lifecycle);
    let labelled = |count: usize| {
        let labels = (0..count).map(|number| (format!("team-{number:02}"), json!("a")));
        let labels = Value::Object(labels.collect());
        let mut source = host.get(SOURCE).unwrap();
        source["metadata"]["labels"] = labels;
        host.put(SOURCE, source);
    };
    labelled(50);
    let running = run(&host);
    let says = |host: &Host, words: &str| {
        let said = host.condition(LIFECYCLE, "Updating").unwrap_or_default();
        said == format!("PediaClusterUpdated: the PediaCluster is as the template says{words}")
    };
    let words = "; 2 labels found no room: carriedLabels gives the first 48 by name, and a PediaCluster has 64 that are searched by; have the template set \
                 with setLabel those that matter";
    until(&host, "told", |host| says(host, words)).await;
    labelled(48);
    until(&host, "not told any more", |host| says(host, "")).await;
    labelled(50);
    until(&host, "told again", |host| says(host, words)).await;
    // As it says.
    let mut set = host.get(LIFECYCLE).unwrap();
    set["spec"]["template"] = json!(
        "metadata: {labels: {{toJson (setLabel \"team-48\" \"a\" (setLabel \"team-49\" \"a\" (carriedLabels source.metadata.labels)))}}}\n\
         spec: {syncResources: []}"
    );
    host.put(LIFECYCLE, set);
    until(&host, "there is room", |host| says(host, "")).await;
    running.end().await;
}

/// The digest that the lifecycle has recorded.
fn recorded(host: &Host) -> Value {
    host.get(LIFECYCLE).unwrap_or_default()["status"]["connection"]["digest"].clone()
}

/// The digest that it has recorded besides, while the PediaCluster can't be changed.
fn recorded_before(host: &Host) -> Value {
    host.get(LIFECYCLE).unwrap_or_default()["status"]["connection"]["before"].clone()
}

/// Waits for so many more requests. One that is refused changes no object, so nobody tells of it.
async fn refused(host: &Host, verb: &str, resource: &str, more: usize) {
    let asked = host.asked(verb, resource);
    let wait = async {
        while host.asked(verb, resource) < asked + more {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(LIMIT, wait).await.unwrap();
}

/// The digest of the PediaCluster that is there.
fn made(host: &Host) -> Value {
    let cluster = host.get(CLUSTER).map(serde_json::from_value);
    let cluster: Option<PediaCluster> = cluster.map(|cluster| cluster.unwrap());
    cluster.map_or(Value::Null, |cluster| {
        json!(RenderedConnection::of(&cluster.spec).digest)
    })
}

#[tokio::test(start_paused = true)]
async fn what_is_rendered_is_recorded_before_it_is_made() {
    let host = host();
    host.put(LIFECYCLE, with_endpoint());
    host.forbid("patch", "pediaclusters");
    let running = run(&host);
    until(&host, "recorded", |host| !recorded(host).is_null()).await;
    assert_eq!(host.get(CLUSTER), None);
    host.permit_all();
    until(&host, "made", |host| host.get(CLUSTER).is_some()).await;
    assert_eq!(made(&host), recorded(&host));

    let before = recorded(&host);
    host.forbid("patch", "pediaclusters");
    host.put(SOURCE, json!({"spec": {"apiEndpoint": "https://moved"}}));
    until(&host, "recorded anew", |host| recorded(host) != before).await;
    // What is there goes on for as long as it can't be changed, though it is rendered anew again.
    assert_eq!(
        (made(&host), recorded_before(&host)),
        (before.clone(), before.clone())
    );
    let second = recorded(&host);
    host.put(
        SOURCE,
        json!({"spec": {"apiEndpoint": "https://moved-again"}}),
    );
    until(&host, "recorded once more", |host| recorded(host) != second).await;
    assert_eq!(
        (made(&host), recorded_before(&host)),
        (before.clone(), before)
    );
    host.permit_all();
    until(&host, "changed", |host| made(host) == recorded(host)).await;
    until(&host, "the former one counts no more", |host| {
        recorded_before(host).is_null()
    })
    .await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_the_control_plane_drops_is_written_until_it_is_kept() {
    let host = host();
    host.put(LIFECYCLE, with_endpoint());
    host.prune("pediaclusterlifecycles", "/status", "connection");
    let running = run(&host);
    refused(&host, "patch", "pediaclusterlifecycles/status", 3).await;
    assert_eq!((host.get(CLUSTER), recorded(&host)), (None, Value::Null));
    host.keep_all();
    until(&host, "made and recorded", |host| {
        !recorded(host).is_null() && made(host) == recorded(host)
    })
    .await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_adds_to_the_connection_is_taken_away() {
    let host = host();
    host.put(LIFECYCLE, with_endpoint());
    let running = run(&host);
    until(&host, "up to date", |host| {
        condition(host, "Updating").starts_with("PediaClusterUpdated: ")
    })
    .await;
    let rendered = made(&host);
    let additions = [
        json!({"kubeconfig": "bWluZQ=="}),
        json!({"tokenData": "bWluZQ==", "apiserver": "https://theirs"}),
        json!({"connection": {"proxyURL": "http://theirs"}}),
        json!({"authenticationFrom": {"token": {"name": "theirs", "key": "token"}}}),
    ];
    for addition in additions {
        let mut edited = host.get(CLUSTER).unwrap();
        for (field, value) in addition.as_object().unwrap() {
            edited["spec"][field] = value.clone();
        }
        edited["spec"]["shardingName"] = json!("theirs");
        host.put(CLUSTER, edited);
        assert_ne!(made(&host), rendered);
        until(&host, "put back", |host| made(host) == rendered).await;
    }
    let spec = host.get(CLUSTER).unwrap()["spec"].clone();
    assert_eq!(
        spec["shardingName"], "theirs",
        "what is no connection stays"
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_recorded_is_not_made() {
    let host = host();
    host.put(LIFECYCLE, with_endpoint());
    let running = run(&host);
    until(&host, "made", |host| host.get(CLUSTER).is_some()).await;
    let before = made(&host);
    host.forbid("patch", "pediaclusterlifecycles/status");
    host.put(SOURCE, json!({"spec": {"apiEndpoint": "https://moved"}}));
    refused(&host, "patch", "pediaclusterlifecycles/status", 2).await;
    assert_eq!((made(&host), recorded(&host)), (before.clone(), before));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_record_goes_with_the_cluster() {
    let host = host();
    host.put(LIFECYCLE, with_endpoint());
    let running = run(&host);
    until(&host, "made", |host| host.get(CLUSTER).is_some()).await;
    let mut going = host.get(SOURCE).unwrap();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    host.put(SOURCE, going);
    until(&host, "withdrawn", |host| recorded(host).is_null()).await;
    assert_eq!(host.get(CLUSTER), None);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_reference_that_can_not_be_followed_any_more_is_told_with_the_verb() {
    let host = host();
    let running = run(&host);
    until(&host, "up to date", |host| {
        condition(host, "Updating").starts_with("PediaClusterUpdated: ")
    })
    .await;
    host.forbid("watch", "secrets");
    host.forbid("get", "secrets");
    until(&host, "told", |host| {
        condition(host, "Updating").starts_with(
            "WaitDependentResourceSynced: secrets karmada-cluster/east can't be followed: \
             the right to get secrets of v1 is missing: ",
        )
    })
    .await;
    assert_eq!(token(&host), "dG9rZW4=");
    host.permit_all();
    until(&host, "up to date again", |host| {
        condition(host, "Updating").starts_with("PediaClusterUpdated: ")
    })
    .await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_lifecycle_that_goes_takes_its_cluster_along_and_goes_last() {
    let host = host();
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    let mut going = host.get(LIFECYCLE).unwrap();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    host.put(LIFECYCLE, going);
    until(&host, "it is gone", |host| host.get(LIFECYCLE).is_none()).await;
    assert_eq!(host.get(CLUSTER), None);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn clusters_that_may_not_go_with_their_lifecycles_are_tried_seldom_and_each_says_why() {
    const SIZE: usize = 40;
    let host = host();
    host.remove(LIFECYCLE);
    put_fleet(&host, SIZE);
    let running = run(&host);
    fleet_is_on_boarded(&host, SIZE).await;
    host.forbid("delete", "pediaclusters");
    let lifecycle =
        |number| format!("/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/c{number}");
    for number in 0..SIZE {
        let mut going = host.get(&lifecycle(number)).unwrap();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        host.put(&lifecycle(number), going);
    }
    let says_why = |host: &Host, number| {
        let told = host.condition(&lifecycle(number), "Updating");
        told.is_some_and(|told| told.starts_with("DeletionFailure: ") && told.contains("forbidden"))
    };
    until(&host, "each says why", |host| {
        (0..SIZE).all(|number| says_why(host, number))
    })
    .await;
    let asked = || ["get", "delete"].map(|verb| host.asked(verb, "pediaclusters"));
    let [gets, deletes] = asked();
    // What they depended on goes on to change.
    for beat in 0..300 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for number in 0..SIZE {
            let secret = format!("/api/v1/namespaces/karmada-cluster/secrets/c{number}");
            host.put(
                &secret,
                json!({"data": {"token": "dG9rZW4="}, "beat": beat}),
            );
        }
    }
    let [gets, deletes] = [asked()[0] - gets, asked()[1] - deletes];
    // Of them one asks for all, each 15 s at the latest.
    assert!((10..60).contains(&gets), "{gets} reads");
    assert!((10..60).contains(&deletes), "{deletes} requests");
    host.permit_all();
    until(&host, "all are gone", |host| {
        (0..SIZE).all(|number| host.get(&lifecycle(number)).is_none())
    })
    .await;
    running.end().await;
}

/// As one whose finalizer somebody took away by hand.
#[tokio::test(start_paused = true)]
async fn for_a_lifecycle_that_is_gone_without_a_word_nothing_is_read_any_more() {
    let host = host();
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    host.remove(LIFECYCLE);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let reads = host.asked("get", "secrets");
    host.put(SECRET, json!({"data": {"token": "bmV3"}}));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(host.asked("get", "secrets"), reads);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_that_may_not_be_removed_is_tried_seldom() {
    let host = host();
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    host.forbid("patch", "pediaclusterlifecycles");
    let before = host.asked("patch", "pediaclusterlifecycles");
    let mut going = host.get(LIFECYCLE).unwrap();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    host.put(LIFECYCLE, going);
    for beat in 0..600 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        host.put(SECRET, json!({"data": {"token": "bmV3"}, "beat": beat}));
    }
    let asked = host.asked("patch", "pediaclusterlifecycles") - before;
    assert!((20..120).contains(&asked), "{asked} requests");
    host.permit_all();
    until(&host, "it is gone", |host| host.get(LIFECYCLE).is_none()).await;
    running.end().await;
}

/// A fleet of so many clusters, each with a Secret of its own.
fn put_fleet(host: &Host, size: usize) {
    for number in 0..size {
        let name = format!("c{number}");
        host.put(
            &format!("/apis/cluster.karmada.io/v1alpha1/clusters/{name}"),
            json!({}),
        );
        host.put(
            &format!("/api/v1/namespaces/karmada-cluster/secrets/{name}"),
            json!({"data": {"token": "dG9rZW4="}}),
        );
        let mut one = lifecycle();
        one["spec"]["source"]["name"] = json!(name);
        one["spec"]["references"][0]["nameTemplate"] = json!(name);
        let lifecycles = "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles";
        host.put(&format!("{lifecycles}/{name}"), one);
    }
}

fn token_of(host: &Host, name: &str) -> Value {
    let path = format!("/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/{name}");
    host.get(&path).unwrap_or_default()["spec"]["tokenData"].clone()
}

#[tokio::test(start_paused = true)]
async fn the_secrets_of_a_fleet_take_one_watch() {
    let host = host();
    put_fleet(&host, 40);
    let running = run(&host);
    until(&host, "on-boarded", |host| {
        (0..40).all(|number| token_of(host, &format!("c{number}")) == "dG9rZW4=")
    })
    .await;
    let (watches, read) = (host.asked("watch", "secrets"), host.asked("get", "secrets"));
    assert_eq!((watches, host.asked("list", "secrets"), read), (1, 1, 41));
    host.put(
        "/api/v1/namespaces/karmada-cluster/secrets/c7",
        json!({"data": {"token": "bmV3"}}),
    );
    host.put(
        "/api/v1/namespaces/karmada-cluster/secrets/of-nobody",
        json!({}),
    );
    until(&host, "rotated", |host| token_of(host, "c7") == "bmV3").await;
    assert_eq!(
        (host.asked("watch", "secrets"), host.asked("get", "secrets")),
        (1, 42)
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_may_be_read_and_not_watched_is_followed() {
    let host = host();
    host.forbid("watch", "secrets");
    host.forbid("list", "secrets");
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    host.put(SECRET, json!({"data": {"token": "bmV3"}}));
    until(&host, "the new token", |host| token(host) == "bmV3").await;
    assert!(condition(&host, "Updating").starts_with("PediaClusterUpdated: "));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_taken_away_and_made_again_is_told_and_followed() {
    let host = host();
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    host.remove(SECRET);
    until(&host, "told", |host| {
        condition(host, "Updating").starts_with("ReferenceResourceNotFound: ")
    })
    .await;
    host.put(SECRET, json!({"data": {"token": "bmV3"}}));
    until(&host, "the new token", |host| token(host) == "bmV3").await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_goes_in_a_gap_of_its_watch_is_made_again() {
    let host = host();
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    // By then it has seen what it wrote itself, on a clock that stands still.
    tokio::time::sleep(Duration::from_secs(60)).await;
    // Nobody else runs in between: the watch ends without having told it.
    host.remove(CLUSTER);
    host.expire_of("pediaclusters");
    until(&host, "made again", |host| token(host) == "dG9rZW4=").await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_listed_for_a_lifecycle_that_may_not_read_its_source() {
    let host = host();
    let secrets_of = |namespace: &str| {
        let mut lifecycle = lifecycle();
        lifecycle["spec"]["source"] = json!({
            "group": "", "version": "v1", "resource": "secrets", "namespace": namespace, "name": "east",
        });
        lifecycle["spec"]["references"] = json!([]);
        lifecycle["spec"]["template"] =
            json!("spec: {apiserver: {{source.data.token}}, syncResources: []}");
        lifecycle
    };
    host.put("/api/v1/namespaces/kube-system/secrets/east", json!({}));
    host.put(LIFECYCLE, secrets_of("kube-system"));
    let running = run(&host);
    until(&host, "refused", |host| {
        condition(host, "Created").contains("Secrets of the namespace kube-system may not be read")
    })
    .await;
    let mut orphan = secrets_of("karmada-cluster");
    orphan["metadata"] = json!({});
    host.put(LIFECYCLE, orphan);
    until(&host, "refused", |host| {
        condition(host, "Created").starts_with("OrphanLifecycle")
    })
    .await;
    assert_eq!(host.asked("list", "secrets"), 0);
    host.put(LIFECYCLE, secrets_of("karmada-cluster"));
    until(&host, "on-boarded", |host| host.get(CLUSTER).is_some()).await;
    assert_eq!(host.asked("list", "secrets"), 1);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_left_without_an_answer_is_made_again() {
    for (verb, resource) in [
        ("patch", "pediaclusterlifecycles"),
        ("patch", "pediaclusterlifecycles/status"),
        ("patch", "pediaclusters"),
        ("list", "clusters"),
        ("get", "secrets"),
    ] {
        let host = host();
        host.hang(verb, resource);
        let running = run(&host);
        refused(&host, verb, resource, 1).await;
        host.hang_no_more();
        let is_made = |host: &Host| {
            condition(host, "Updating").starts_with("PediaClusterUpdated: ")
                && token(host) == "dG9rZW4="
        };
        let wait = timeout(Duration::from_secs(120), host.until(is_made));
        assert!(wait.await.is_ok(), "{verb} {resource}");
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lifecycle_that_is_made_anew_gets_nothing_of_what_the_former_one_rendered() {
    for (verb, resource) in [
        // While it is recorded what is rendered, and when that has been made.
        ("patch", "pediaclusterlifecycles/status"),
        ("patch", "pediaclusters"),
    ] {
        let host = host();
        host.put(LIFECYCLE, with_endpoint());
        let mut another = lifecycle();
        another["spec"]["creationCondition"] = json!("false");
        host.ahead(verb, resource, move |host| {
            host.remove(LIFECYCLE);
            host.put(LIFECYCLE, another);
        });
        let running = run(&host);
        until(&host, "it is told that nothing is made", |host| {
            let told = condition(host, "Created");
            told.starts_with("WaitCreationCondition: ")
                || told.starts_with("PediaClusterNotOwned: ")
        })
        .await;
        assert_eq!(recorded(&host), Value::Null, "{resource}");
        running.end().await;
    }
}

async fn fleet_is_on_boarded(host: &Host, size: usize) {
    until(host, "on-boarded", |host| {
        (0..size).all(|number| token_of(host, &format!("c{number}")) == "dG9rZW4=")
    })
    .await;
}

/// Something fails for all lifecycles of a fleet for ten minutes and works then.
async fn is_told_once_and_asked_for_seldom(fails: fn(&Host), works: fn(&Host)) {
    let (host, warnings) = (host(), Log::warnings_of("armadex_"));
    put_fleet(&host, 200);
    fails(&host);
    let running = run(&host);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let told = warnings.told();
    assert_eq!(told.len(), 1, "{told:?}");
    let asked = host.asked("patch", "pediaclusterlifecycles/status");
    assert!((20..200).contains(&asked), "{asked} requests");
    works(&host);
    let begun = tokio::time::Instant::now();
    fleet_is_on_boarded(&host, 200).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(30), "after {took:?}");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_missing_for_a_fleet_is_told_once_and_asked_for_seldom() {
    let fails = |host: &Host| host.forbid("patch", "pediaclusterlifecycles/status");
    is_told_once_and_asked_for_seldom(fails, Host::permit_all).await;
}

#[tokio::test(start_paused = true)]
async fn crds_of_an_earlier_release_are_told_once_and_tried_seldom() {
    let fails = |host: &Host| host.prune("pediaclusterlifecycles", "/status", "connection");
    is_told_once_and_asked_for_seldom(fails, Host::keep_all).await;
}

#[tokio::test(start_paused = true)]
async fn clusters_of_a_fleet_that_may_not_be_made_are_tried_seldom_and_each_says_why() {
    let (host, size) = (host(), 60);
    put_fleet(&host, size);
    host.forbid("patch", "pediaclusters");
    let running = run(&host);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let asked = host.asked("patch", "pediaclusters");
    assert!((20..200).contains(&asked), "{asked} requests");
    for number in 0..size {
        let path =
            format!("/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/c{number}");
        let created = host.condition(&path, "Created").unwrap_or_default();
        assert!(created.contains("cannot patch"), "c{number}: {created}");
    }
    host.permit_all();
    fleet_is_on_boarded(&host, size).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_is_told_once() {
    let (host, warnings) = (host(), Log::warnings_of("armadex_"));
    let running = run(&host);
    until(&host, "on-boarded", |host| token(host) == "dG9rZW4=").await;
    host.forbid("list", "pediaclusters");
    host.forbid("watch", "pediaclusters");
    let asked = || host.asked("list", "pediaclusters") + host.asked("watch", "pediaclusters");
    let before = asked();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(asked() > before + 20, "it is tried again and again");
    let told = warnings.told();
    assert_eq!(told.len(), 1, "{told:?}");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_joins_and_who_leaves_does_not_wait_for_updates_that_hang() {
    let (host, leaving) = (host(), 59);
    put_fleet(&host, leaving + 1);
    let running = run(&host);
    fleet_is_on_boarded(&host, leaving + 1).await;
    // By then it has seen what it wrote itself.
    tokio::time::sleep(Duration::from_secs(60)).await;
    host.hang_updates("pediaclusters");
    for number in 0..leaving {
        let path =
            format!("/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/c{number}");
        let mut edited = host.get(&path).unwrap();
        edited["spec"]["template"] = json!("spec: {tokenData: bmV3, syncResources: []}");
        host.put(&path, edited);
    }
    // Those that hang have been begun.
    refused(&host, "patch", "pediaclusters", 8).await;
    let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/c{leaving}");
    let mut going = host.get(&path).unwrap();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    host.put(&path, going);
    let mut joins = lifecycle();
    joins["spec"]["source"]["name"] = json!("joins");
    host.put(
        "/apis/cluster.karmada.io/v1alpha1/clusters/joins",
        json!({}),
    );
    host.put(
        "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/joins",
        joins,
    );
    let both = host.until(|host| {
        let left = token_of(host, &format!("c{leaving}")).is_null();
        left && token_of(host, "joins") == "dG9rZW4="
    });
    let in_time = timeout(Duration::from_secs(20), both).await;
    assert!(in_time.is_ok(), "they wait for updates");
    host.hang_no_more();
    until(&host, "updated", |host| {
        (0..leaving).all(|number| token_of(host, &format!("c{number}")) == "bmV3")
    })
    .await;
    running.end().await;
}
