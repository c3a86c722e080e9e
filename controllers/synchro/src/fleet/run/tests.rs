//! Processes of one shard that come and go, on one control plane and one store.

mod replicas;

use armadex_control_plane::testing::{Host, ServedType};
use armadex_control_plane::{LeaseStanding, LeaseTerms};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::fleet::lease_name::lease_name;
use crate::testing::{ScriptedMember, Stage, in_time, pedia_cluster, until, warnings};
use crate::told::metrics::Metrics;

const CLUSTER: &str = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/m";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/own/leases/armadex-synchro-1";

fn host() -> Host {
    let served = ServedType::new;
    let host = Host::new(&[
        served("", "v1", "namespaces", "Namespace"),
        served("coordination.k8s.io", "v1", "leases", "Lease").namespaced(),
        served(
            "cluster.clusterpedia.io",
            "v1alpha2",
            "pediaclusters",
            "PediaCluster",
        ),
    ]);
    host.put("/api/v1/namespaces/kube-system", json!({}));
    host
}

/// A process, and what ends it.
fn process(stage: &Stage, host: &Host, holder: &str) -> (JoinHandle<()>, CancellationToken) {
    process_with(stage, host, terms(holder, "1"))
}

fn terms(holder: &str, store: &str) -> LeaseTerms {
    LeaseTerms {
        holder: holder.to_owned(),
        ..LeaseTerms::of_this_process("own", &lease_name("", store))
    }
}

fn process_with(
    stage: &Stage,
    host: &Host,
    terms: LeaseTerms,
) -> (JoinHandle<()>, CancellationToken) {
    process_of(stage, host.client(), configured(Some(terms)))
}

fn configured(lease: Option<LeaseTerms>) -> Config {
    Config {
        lease,
        audit_every: Duration::ZERO,
        ..Config::default()
    }
}

fn process_of(
    stage: &Stage,
    client: Client,
    config: Config,
) -> (JoinHandle<()>, CancellationToken) {
    let cancel = CancellationToken::new();
    let sink: Arc<dyn Sink> = Arc::clone(&stage.breaking) as _;
    let running = run(client, sink, config, cancel.clone());
    let task = tokio::spawn(async { running.await.expect("a good end") });
    (task, cancel)
}

async fn comes_to_say(host: &Host, words: &str) {
    let says = || {
        host.condition(CLUSTER, "SynchroRunning")
            .unwrap_or_default()
    };
    until(words, || async { says().starts_with(words) }).await;
}

fn holder(host: &Host) -> Value {
    holder_of(host, LEASE)
}

fn second_holder(host: &Host) -> Value {
    holder_of(host, &format!("{LEASE}.1"))
}

fn holder_of(host: &Host, lease: &str) -> Value {
    host.get(lease)
        .map_or(Value::Null, |lease| lease["spec"]["holderIdentity"].clone())
}

/// Which of two replicas has a cluster goes by its name: this is the first one's.
#[tokio::test]
async fn a_rolling_update_ends_with_the_words_of_the_new_process() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("uid", &["a"]).await;
    let object = pedia_cluster("m", "uid-m", &member);
    host.put(CLUSTER, json!(object));
    let (old, ends) = process(&stage, &host, "old");
    comes_to_say(&host, "Running: ").await;
    member.until_watched(1).await;
    member.adds("b");
    member.adds("c");
    stage.shows(&["m/n/a", "m/n/b", "m/n/c"]).await;

    let config = configured(Some(terms("new", "1")));
    let mut standing = config.lease.as_ref().expect("one").standing.subscribe();
    let (new, last) = process_of(&stage, host.client(), config);
    let holds = standing.wait_for(|standing| *standing == LeaseStanding::Holds);
    holds.await.expect("a process");
    assert_eq!(
        member.requests(),
        ["list", "watch@10"],
        "one looks after the member"
    );
    assert_eq!(
        (holder(&host), second_holder(&host)),
        (json!("old"), json!("new"))
    );

    ends.cancel();
    old.await.expect("no panic");
    comes_to_say(&host, "Running: ").await;
    member.until_watched(2).await;
    assert_eq!(
        (holder(&host), second_holder(&host)),
        (json!(""), json!("new"))
    );
    assert_eq!(
        member.requests(),
        ["list", "watch@10", "watch@11"],
        "nothing is listed"
    );
    last.cancel();
    new.await.expect("no panic");
    comes_to_say(&host, "Shutdown: ").await;
    assert_eq!(second_holder(&host), "");
}

#[tokio::test]
async fn nothing_is_counted_of_clusters_that_another_process_looks_after() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("uid", &["a"]).await;
    host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
    let metrics = Arc::<crate::Metrics>::default();
    let config = Config {
        lease: Some(terms("old", "1")),
        metrics: Arc::clone(&metrics),
        ..Config::default()
    };
    let cancel = CancellationToken::new();
    let sink: Arc<dyn Sink> = Arc::clone(&stage.breaking) as _;
    let task = tokio::spawn(run(host.client(), sink, config, cancel.clone()));
    until("it is counted", || async {
        let counted = metrics.clusters();
        let is_up = |(_, cluster): &(_, Arc<crate::ClusterMetrics>)| {
            cluster.healthy.get() == 1 && cluster.streams.get() == 1
        };
        counted.first().is_some_and(is_up)
    })
    .await;
    let mut lease = host.get(LEASE).expect("a Lease");
    lease["spec"]["holderIdentity"] = json!("other");
    host.put(LEASE, lease);
    until("it is not counted", || async {
        metrics.clusters().is_empty()
    })
    .await;
    cancel.cancel();
    task.await.expect("no panic").expect("a good end");
}

#[tokio::test]
async fn a_part_that_breaks_off_ends_the_synchro_which_says_so() {
    let (stage, host) = (Stage::new().await, host());
    stage.breaking.keep_breaking("purge");
    let sink: Arc<dyn Sink> = Arc::clone(&stage.breaking) as _;
    let config = Config::default();
    let running = run(host.client(), sink, config, CancellationToken::new());
    let ended = tokio::time::timeout(Duration::from_secs(30), running).await;
    let error = ended.expect("it ends").expect_err("with an error");
    assert_eq!(error.to_string(), "the janitor broke off");
}

#[tokio::test]
async fn who_lost_the_lease_says_nothing_and_waits_for_it() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("uid", &["a"]).await;
    host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
    let config = configured(Some(terms("old", "1")));
    let metrics = Arc::clone(&config.metrics);
    let (process, ends) = process_of(&stage, host.client(), config);
    comes_to_say(&host, "Running: ").await;
    member.until_watched(1).await;
    let mut lease = host.get(LEASE).expect("a Lease");
    lease["spec"]["holderIdentity"] = json!("other");
    host.put(LEASE, lease);
    until("it has let the cluster go", || async {
        metrics.clusters().is_empty()
    })
    .await;
    let says = host.condition(CLUSTER, "SynchroRunning");
    assert_eq!(
        says.as_deref(),
        Some("Running: "),
        "the last word is another's"
    );
    assert_eq!(holder(&host), "other");

    let mut lease = host.get(LEASE).expect("a Lease");
    lease["spec"]["holderIdentity"] = json!("");
    host.put(LEASE, lease);
    member.until_watched(2).await;
    ends.cancel();
    process.await.expect("no panic");
}

#[tokio::test]
async fn who_writes_another_store_waits_for_nobody() {
    let (stage, other, host) = (Stage::new().await, Stage::new().await, host());
    let member = ScriptedMember::start("uid", &["a"]).await;
    host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
    let (one, ends) = process_with(&stage, &host, terms("one", "1"));
    stage.shows(&["m/n/a"]).await;
    let (two, ends_too) = process_with(&other, &host, terms("two", "2"));
    other.shows(&["m/n/a"]).await;
    ends.cancel();
    ends_too.cancel();
    one.await.expect("no panic");
    two.await.expect("no panic");
}

#[tokio::test]
async fn who_may_not_ask_for_the_lease_says_so() {
    let (stage, host) = (Stage::new().await, host());
    host.forbid("get", "leases");
    let terms = terms("one", "1");
    let mut standing = terms.standing.subscribe();
    let (process, ends) = process_with(&stage, &host, terms);
    let told = standing.wait_for(|standing| *standing != LeaseStanding::Waits);
    let told = told.await.expect("a process").clone();
    assert!(
        matches!(&told, LeaseStanding::Refused(words) if words.contains("forbidden")),
        "{told:?}"
    );
    ends.cancel();
    process.await.expect("no panic");
}

/// Waits until a request of this verb on this resource hangs, and lets none hang any more.
async fn hangs(host: &Host, verb: &str, resource: &str) {
    let asked = || async { host.asked(verb, resource) > 0 };
    in_time(&format!("{verb} {resource}"), asked).await;
    host.hang_no_more();
}

#[tokio::test]
async fn who_is_left_without_an_answer_asks_again() {
    for (verb, resource) in [
        ("get", "namespaces"),
        ("list", "pediaclusters"),
        ("watch", "pediaclusters"),
        ("patch", "pediaclusters"),
        ("patch", "pediaclusters/status"),
    ] {
        let (stage, host) = (Stage::new().await, host());
        let member = ScriptedMember::start("uid", &["a"]).await;
        let mut object = json!(pedia_cluster("m", "uid-m", &member));
        object["metadata"]["finalizers"] = json!([]);
        if verb != "watch" {
            host.put(CLUSTER, object.clone());
        }
        host.hang(verb, resource);
        let (process, ends) = process(&stage, &host, "one");
        hangs(&host, verb, resource).await;
        host.put(CLUSTER, object);
        in_time(resource, || async {
            let says = host.condition(CLUSTER, "SynchroRunning");
            says.is_some_and(|says| says.starts_with("Running: "))
        })
        .await;
        ends.cancel();
        process.await.expect("no panic");
    }
}

#[tokio::test]
async fn a_start_that_is_left_without_an_answer_can_be_ended() {
    let (stage, host) = (Stage::new().await, host());
    host.hang("get", "namespaces");
    let (process, ends) = process(&stage, &host, "one");
    until("a question", || async {
        host.asked("get", "namespaces") > 0
    })
    .await;
    ends.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(30), process);
    ended.await.expect("in time").expect("no panic");
}

#[tokio::test]
async fn a_cluster_leaves_though_a_request_is_left_without_an_answer() {
    for verb in ["get", "patch"] {
        let (stage, host) = (Stage::new().await, host());
        let member = ScriptedMember::start("uid", &["a"]).await;
        host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
        let (process, ends) = process(&stage, &host, "one");
        stage.shows(&["m/n/a"]).await;
        let mut going = host.get(CLUSTER).expect("a cluster");
        going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        host.hang(verb, "pediaclusters");
        host.put(CLUSTER, going);
        hangs(&host, verb, "pediaclusters").await;
        in_time("its end", || async { host.get(CLUSTER).is_none() }).await;
        ends.cancel();
        process.await.expect("no panic");
    }
}

/// A client for which there is no control plane from the moment on that it is cut off.
fn client_until(host: &Host, cut_off: &CancellationToken) -> Client {
    let (client, cut_off) = (host.client(), cut_off.clone());
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, cut_off) = (client.clone(), cut_off.clone());
        async move {
            if cut_off.is_cancelled() {
                return Err("no route to host".into());
            }
            client.send(request).await.map_err(tower::BoxError::from)
        }
    });
    Client::new(service, "default")
}

/// Waits until a process looks after no cluster.
async fn lets_go(metrics: &Metrics) {
    in_time("no cluster", || async { metrics.clusters().is_empty() }).await;
}

/// It has no way to see that the Lease is another's by now, and nothing changes in the member that it could be fenced for.
#[tokio::test]
async fn who_is_cut_off_from_the_control_plane_alone_learns_from_the_store_that_it_was_replaced() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("uid", &["a"]).await;
    host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
    let cut_off = CancellationToken::new();
    let config = configured(Some(terms("old", "1")));
    let metrics = Arc::clone(&config.metrics);
    let (old, ends) = process_of(&stage, client_until(&host, &cut_off), config);
    comes_to_say(&host, "Running: ").await;
    member.until_watched(1).await;

    cut_off.cancel();
    // As if its time had run out.
    let mut lease = host.get(LEASE).expect("a Lease");
    lease["spec"]["holderIdentity"] = json!("");
    host.put(LEASE, lease);
    let (new, last) = process(&stage, &host, "new");
    lets_go(&metrics).await;
    assert_eq!(holder(&host), "new");
    member.until_watched(2).await;
    for (process, ends) in [(old, ends), (new, last)] {
        ends.cancel();
        process.await.expect("no panic");
    }
    comes_to_say(&host, "Shutdown: ").await;
}

#[tokio::test]
async fn while_the_control_plane_is_away_and_nobody_else_has_begun_everything_goes_on() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("uid", &["a"]).await;
    host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
    let cut_off = CancellationToken::new();
    let config = configured(Some(terms("one", "1")));
    let (process, ends) = process_of(&stage, client_until(&host, &cut_off), config);
    comes_to_say(&host, "Running: ").await;
    member.until_watched(1).await;
    cut_off.cancel();
    let beats = stage.breaking.beats();
    in_time("a question", || async {
        stage.breaking.beats() > beats + 1
    })
    .await;
    member.adds("b");
    stage.shows(&["m/n/a", "m/n/b"]).await;
    ends.cancel();
    process.await.expect("no panic");
}

/// It was stopped, and goes on with what has changed meanwhile: the store refuses that, the log says once why, and the cluster and what is said of it are the other one's.
#[tokio::test]
async fn who_was_replaced_and_asks_for_something_lets_its_clusters_go_at_once() {
    for (field, value) in [
        ("labels", json!({"env": "late"})),
        ("deletionTimestamp", json!("2026-01-02T03:04:05Z")),
    ] {
        let told = warnings();
        let (stage, host) = (Stage::new().await, host());
        let member = ScriptedMember::start("uid", &["a"]).await;
        host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
        let config = configured(None);
        let metrics = Arc::clone(&config.metrics);
        let (process, ends) = process_of(&stage, host.client(), config);
        comes_to_say(&host, "Running: ").await;
        member.until_watched(1).await;
        stage.is_replaced().await;
        let mut changed = host.get(CLUSTER).expect("a cluster");
        changed["metadata"][field] = value;
        host.put(CLUSTER, changed);
        lets_go(&metrics).await;
        ends.cancel();
        process.await.expect("no panic");
        stage.shows(&["m/n/a"]).await;
        let told = told.told();
        assert!(
            told.len() == 1 && told[0].contains("another process looks after the clusters"),
            "{field}: {told:?}"
        );
        assert!(host.get(CLUSTER).is_some(), "its finalizer stays");
    }
}

/// Without a Lease the last one that begins has the clusters, and what the others write is refused.
#[tokio::test]
async fn who_is_fenced_lets_its_clusters_go_at_once() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("uid", &["a"]).await;
    host.put(CLUSTER, json!(pedia_cluster("m", "uid-m", &member)));
    let config = configured(None);
    let metrics = Arc::clone(&config.metrics);
    let (old, ends) = process_of(&stage, host.client(), config);
    comes_to_say(&host, "Running: ").await;
    member.until_watched(1).await;
    let (new, last) = process_of(&stage, host.client(), configured(None));
    member.until_watched(2).await;
    member.adds("b");
    lets_go(&metrics).await;
    stage.shows(&["m/n/a", "m/n/b"]).await;
    for (process, ends) in [(old, ends), (new, last)] {
        ends.cancel();
        process.await.expect("no panic");
    }
}
