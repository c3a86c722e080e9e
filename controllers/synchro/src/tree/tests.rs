//! To whom credentials are sent, and to whom not: a control plane in a value, scripted members, a real store.

mod around;
mod reference;

use std::collections::BTreeSet;
use std::time::Duration;

use armadex_control_plane::testing::{Host, ServedType};
use armadex_crds::{PediaCluster, RenderedConnection};
use armadex_model::{ClusterLabels, Query, label};
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::{Joined, Sink};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use crate::config::Config;
use crate::fleet::Fleet;
use crate::testing::{ScriptedMember, Stage, in_time, until};

const CLUSTERS: &str = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters";
const LIFECYCLE: &str = "/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/east";
const LIFECYCLES: &str = "pediaclusterlifecycles";
const SECRET: &str = "/api/v1/namespaces/karmada-cluster/secrets/east";
const TOKEN: &str = "token-of-east";

fn host() -> Host {
    let served = ServedType::new;
    let host = Host::new(&[
        served("", "v1", "secrets", "Secret").namespaced(),
        served(
            "cluster.clusterpedia.io",
            "v1alpha2",
            "pediaclusters",
            "PediaCluster",
        ),
        served(
            "policy.clusterpedia.io",
            "v1alpha1",
            LIFECYCLES,
            "PediaClusterLifecycle",
        ),
    ]);
    host.put(SECRET, json!({"data": {"token": "dG9rZW4tb2YtZWFzdA=="}}));
    host
}

/// A PediaCluster that wants the token of the Secret sent to a member.
fn spec(member: &ScriptedMember) -> Value {
    let reference = json!({"namespace": "karmada-cluster", "name": "east", "key": "token"});
    json!({"apiserver": member.address(), "authenticationFrom": {"token": reference},
        "connection": {"insecureSkipTLSVerification": true},
        "syncResources": [{"group": "", "resources": ["pods"]}]})
}

/// Writes a PediaCluster; gives it as a watch tells it.
fn write(host: &Host, name: &str, spec: &Value) -> PediaCluster {
    let path = format!("{CLUSTERS}/{name}");
    let mut object = host.get(&path).unwrap_or_else(
        || json!({"metadata": {"finalizers": [armadex_crds::PEDIA_CLUSTER_FINALIZER]}}),
    );
    object["spec"] = spec.clone();
    host.put(&path, object);
    let object = host.get(&path).expect("a PediaCluster");
    serde_json::from_value(object).expect("a PediaCluster")
}

fn synchro(stage: &Stage, host: &Host) -> Fleet {
    stage.synchro_with(host.client(), "one", config())
}

fn config() -> Config {
    Config {
        credential_namespaces: BTreeSet::from(["karmada-cluster".to_owned()]),
        // What a member is asked is counted, and when a first audit comes is drawn by lot.
        audit_every: Duration::ZERO,
        ..Config::default()
    }
}

/// A policy's lifecycle records that it rendered this.
fn record(host: &Host, spec: &Value) {
    let spec = serde_json::from_value(spec.clone()).expect("a spec");
    let source = json!({"group": "", "version": "", "resource": "", "name": ""});
    let lifecycle = json!({
        "spec": {"source": source, "template": "", "creationCondition": ""},
        "status": {"connection": RenderedConnection::of(&spec)},
    });
    host.put(LIFECYCLE, lifecycle);
}

/// Waits until a condition of a PediaCluster begins so.
async fn comes_to_say(host: &Host, name: &str, condition: &str, words: &str) {
    let path = format!("{CLUSTERS}/{name}");
    let says = || host.condition(&path, condition).unwrap_or_default();
    until(words, || async { says().starts_with(words) }).await;
}

#[tokio::test]
async fn whoever_makes_a_pediacluster_is_not_sent_the_token_of_somebody_else() {
    let (stage, host) = (Stage::new().await, host());
    let thief = ScriptedMember::start("thief", &["a"]).await;
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "mine", &spec(&thief))]);
    let words = "CredentialNotBound: secret karmada-cluster/east may not be used for http://127";
    comes_to_say(&host, "mine", "Validated", words).await;
    comes_to_say(&host, "mine", "SynchroRunning", "CredentialNotBound: ").await;
    // Not even if it has the looks of what a policy makes, and of what one has rendered under another name.
    record(&host, &spec(&thief));
    let mut forged = write(&host, "forged", &spec(&thief));
    let owner = json!([{"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "PediaClusterLifecycle",
        "name": "east", "uid": "uid-1", "controller": true}]);
    forged.metadata.owner_references = serde_json::from_value(owner).expect("owners");
    fleet.handle(Event::Apply(forged));
    comes_to_say(&host, "forged", "Validated", words).await;
    comes_to_say(&host, "forged", "SynchroRunning", "CredentialNotBound: ").await;
    assert_eq!(thief.tokens(), Vec::<String>::new());
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_somebody_added_to_what_a_policy_rendered_is_named() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let rendered = spec(&member);
    record(&host, &rendered);
    let mut added = rendered.clone();
    added["connection"]["proxyURL"] = json!("http://127.0.0.1:1");
    let mut object = write(&host, "east", &added);
    let entry = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:connection": fields}}});
    let managers = json!([
        entry(
            "armadex-lifecycle",
            json!({"f:insecureSkipTLSVerification": {}})
        ),
        entry("kubectl-edit", json!({"f:proxyURL": {}})),
    ]);
    object.metadata.managed_fields = serde_json::from_value(managers).expect("managers");
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [object]);
    let path = format!("{CLUSTERS}/east");
    let words = "; spec.connection.proxyURL was written by kubectl-edit";
    until(words, || async {
        let says = host.condition(&path, "Validated").unwrap_or_default();
        says.starts_with("CredentialNotBound: ") && says.contains(words)
    })
    .await;
    assert_eq!(member.tokens(), Vec::<String>::new());
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_a_policy_rendered_goes_on_while_somebody_edits_it() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let thief = ScriptedMember::start("thief", &["b"]).await;
    record(&host, &spec(&member));
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    stage.shows(&["east/n/a"]).await;
    assert_eq!(member.tokens(), [TOKEN]);
    member.until_watched(1).await;

    fleet.handle(Event::Apply(write(&host, "east", &spec(&thief))));
    let words = "CredentialNotBound: ";
    comes_to_say(&host, "east", "Validated", words).await;
    comes_to_say(&host, "east", "SynchroRunning", "Running: ").await;
    // The controller puts it back.
    fleet.handle(Event::Apply(write(&host, "east", &spec(&member))));
    comes_to_say(&host, "east", "Validated", "Validated: ").await;
    assert_eq!(
        member.requests(),
        ["list", "watch@10"],
        "nothing was asked anew"
    );
    assert_eq!(thief.tokens(), Vec::<String>::new());
    fleet.shutdown().await;
}

#[tokio::test]
async fn credentials_that_somebody_adds_to_what_a_policy_rendered_take_over_nothing() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    // It says that it is the same member.
    let thief = ScriptedMember::start("member", &["forged"]).await;
    record(&host, &spec(&member));
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    stage.shows(&["east/n/a"]).await;
    member.until_watched(1).await;

    let mut edited = spec(&member);
    edited["apiserver"] = json!(thief.address());
    edited["tokenData"] = json!("bWluZQ==");
    fleet.handle(Event::Apply(write(&host, "east", &edited)));
    comes_to_say(&host, "east", "Validated", "CredentialNotBound: ").await;
    comes_to_say(&host, "east", "SynchroRunning", "Running: ").await;
    fleet.handle(Event::Apply(write(&host, "east", &spec(&member))));
    comes_to_say(&host, "east", "Validated", "Validated: ").await;
    assert_eq!(thief.tokens(), Vec::<String>::new());
    assert_eq!(member.requests(), ["list", "watch@10"]);
    stage.shows(&["east/n/a"]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_session_moves_with_its_policy_and_ends_with_it() {
    let (stage, host) = (Stage::new().await, host());
    let before = ScriptedMember::start("member", &["a"]).await;
    let after = ScriptedMember::start("member", &["a", "b"]).await;
    record(&host, &spec(&before));
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec(&before))]);
    stage.shows(&["east/n/a"]).await;

    record(&host, &spec(&after));
    fleet.handle(Event::Apply(write(&host, "east", &spec(&after))));
    after.until_watched(1).await;
    assert_eq!(after.tokens(), [TOKEN]);

    host.remove(LIFECYCLE);
    comes_to_say(&host, "east", "Validated", "CredentialNotBound: ").await;
    comes_to_say(&host, "east", "SynchroRunning", "CredentialNotBound: ").await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_session_on_what_a_secret_says_ends_with_the_secret() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let secret = "/api/v1/namespaces/clusterpedia-system/secrets/whole";
    let whole = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}], \
         clusters: [{{name: k, cluster: {{server: '{}'}}}}], users: [{{name: u, user: {{token: {TOKEN}}}}}]}}",
        member.address()
    );
    let data = k8s_openapi::ByteString(whole.into_bytes());
    host.put(secret, json!({"data": {"kubeconfig": data}}));
    let mut spec = spec(&member);
    let reference = json!({"name": "whole", "key": "kubeconfig"});
    spec["authenticationFrom"] = json!({"kubeconfig": reference});
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "by-hand", &spec)]);
    stage.shows(&["by-hand/n/a"]).await;
    comes_to_say(&host, "by-hand", "SynchroRunning", "Running: ").await;

    host.remove(secret);
    let words = "InvalidConfig: invalid cluster config: secret clusterpedia-system/whole: there is no kubeconfig";
    comes_to_say(&host, "by-hand", "SynchroRunning", words).await;
    until("a warning for whoever searches", || async {
        let catalog = stage.store.search.catalog().await.expect("a catalog");
        let entry = catalog.clusters.values().next().expect("a cluster");
        let health = entry.health.clone().expect("it was healthy");
        !health.healthy && !health.reason.contains("whole")
    })
    .await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_a_former_process_said_of_a_cluster_that_may_not_be_read_does_not_stay() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    let mut before = synchro(&stage, &host);
    stage.relist(&mut before, [write(&host, "east", &spec(&member))]);
    stage.shows(&["east/n/a"]).await;
    let is_healthy = async || {
        let health = stage.health("east").await;
        health.map(|health| health.healthy)
    };
    until("healthy", || async { is_healthy().await == Some(true) }).await;
    before.shutdown().await;
    assert_eq!(is_healthy().await, Some(true));

    host.remove(LIFECYCLE);
    stage.breaking.refuse("set_health", 2);
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    comes_to_say(&host, "east", "Validated", "CredentialNotBound: ").await;
    until("not healthy", || async {
        is_healthy().await == Some(false)
    })
    .await;
    assert!(stage.breaking.has_refused("set_health"));
    stage.shows(&["east/n/a"]).await;
    // What nobody asks for any more is not shown on.
    stage.breaking.refuse("close", 1);
    let mut other = spec(&member);
    other["syncResources"][0]["resources"] = json!(["configmaps"]);
    fleet.handle(Event::Apply(write(&host, "east", &other)));
    stage.shows(&[]).await;

    record(&host, &other);
    until("healthy", || async { is_healthy().await == Some(true) }).await;
    fleet.shutdown().await;
}

/// Writes the PediaCluster `east` with these labels; gives it as a watch tells it.
fn write_labelled(host: &Host, spec: &Value, labels: Value) -> PediaCluster {
    write(host, "east", spec);
    let path = format!("{CLUSTERS}/east");
    let mut object = host.get(&path).expect("a PediaCluster");
    object["metadata"]["labels"] = labels;
    host.put(&path, object);
    let object = host.get(&path).expect("a PediaCluster");
    serde_json::from_value(object).expect("a PediaCluster")
}

/// The pods of the clusters of which the selector holds.
fn of_clusters(selector: &str) -> Query {
    Query {
        cluster_labels: label::parse(selector).expect("a selector"),
        ..all_pods()
    }
}

/// Waits until the store finds these pods in the clusters of which the selector holds.
async fn comes_to_choose(stage: &Stage, selector: &str, rows: &[&str]) {
    let query = of_clusters(selector);
    until(selector, || async {
        stage.store.list(&query, 10).await == rows
    })
    .await;
}

/// The store has them, and its answer was lost.
#[tokio::test]
async fn labels_that_were_put_back_before_the_others_were_known_to_be_stored_are_told_again() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let spec = spec(&member);
    record(&host, &spec);
    let mut fleet = synchro(&stage, &host);
    let labelled = |env: &str| write_labelled(&host, &spec, json!({"env": env}));
    stage.relist(&mut fleet, [labelled("prod")]);
    comes_to_choose(&stage, "env=prod", &["east/n/a"]).await;
    stage.breaking.lose_answers_to_labels(true);
    fleet.handle(Event::Apply(labelled("test")));
    comes_to_choose(&stage, "env=test", &["east/n/a"]).await;
    stage.breaking.lose_answers_to_labels(false);
    fleet.handle(Event::Apply(labelled("prod")));
    comes_to_choose(&stage, "env=prod", &["east/n/a"]).await;
    fleet.shutdown().await;
}

/// As by a process that was replaced, and goes on for a moment.
#[tokio::test]
async fn labels_that_somebody_else_told_the_store_since_are_told_again() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let mut fleet = synchro(&stage, &host);
    record(&host, &spec(&member));
    let object = write_labelled(&host, &spec(&member), json!({"env": "prod"}));
    stage.relist(&mut fleet, [object]);
    comes_to_choose(&stage, "env=prod", &["east/n/a"]).await;
    let east = stage.breaking.clusters().await.expect("clusters").remove(0);
    let Joined {
        name,
        incarnation,
        owner,
        ..
    } = &east;
    let cluster = stage.breaking.join(name, incarnation, owner).await;
    let (others, _) = ClusterLabels::of([("env", "test")]);
    let told = stage
        .breaking
        .set_labels(cluster.expect("the same"), owner, &others);
    told.await.expect("the same owner");
    comes_to_choose(&stage, "env=test", &["east/n/a"]).await;
    let query = of_clusters("env=prod");
    let is_back = || async { stage.store.list(&query, 10).await == ["east/n/a"] };
    in_time("env=prod", is_back).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_leaves_whose_labels_the_store_does_not_answer() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let mut fleet = synchro(&stage, &host);
    record(&host, &spec(&member));
    let labelled = |env: &str| write_labelled(&host, &spec(&member), json!({"env": env}));
    stage.relist(&mut fleet, [labelled("prod")]);
    comes_to_choose(&stage, "env=prod", &["east/n/a"]).await;
    stage.breaking.hang_at_labels();
    fleet.handle(Event::Apply(labelled("test")));
    until("asked", || async { stage.breaking.hung_at_labels() > 0 }).await;
    let mut object = labelled("test");
    object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::now()));
    fleet.handle(Event::Apply(object));
    let has_left = || async { stage.store.list(&all_pods(), 10).await.is_empty() };
    in_time("gone", has_left).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn rows_are_chosen_by_the_labels_of_their_pediacluster_and_nothing_is_listed_anew() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    stage.breaking.refuse("set_labels", 1);
    let mut fleet = synchro(&stage, &host);
    let labelled = |labels| write_labelled(&host, &spec(&member), labels);
    let chosen = |selector, rows: &'static [&'static str]| comes_to_choose(&stage, selector, rows);
    stage.relist(&mut fleet, [labelled(json!({"env": "prod"}))]);
    chosen("env=prod", &["east/n/a"]).await;
    assert!(stage.breaking.has_refused("set_labels"));
    member.until_watched(1).await;

    fleet.handle(Event::Apply(labelled(json!({"env": "test", "team": "a"}))));
    chosen("env=test,team=a", &["east/n/a"]).await;
    chosen("env=prod", &[]).await;
    let many: serde_json::Map<_, _> = (0..70)
        .map(|number| (format!("k{number:02}"), json!("v")))
        .collect();
    fleet.handle(Event::Apply(labelled(json!(many))));
    chosen("k63", &["east/n/a"]).await;
    chosen("k64", &[]).await;
    // Beside what else there is to be warned of.
    let words = "of its 70 labels the first 64 by name are searched by, 6 are not";
    let path = format!("{CLUSTERS}/east");
    let said = || host.condition(&path, "Validated").unwrap_or_default();
    until(words, || async { said().contains(words) }).await;
    fleet.handle(Event::Apply(labelled(json!({}))));
    chosen("!k63", &["east/n/a"]).await;
    assert_eq!(member.requests(), ["list", "watch@10"]);
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_asks_for_what_cannot_be_is_not_said_to_be_kept_up_to_date() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    let mut before = synchro(&stage, &host);
    stage.relist(&mut before, [write(&host, "east", &spec(&member))]);
    stage.shows(&["east/n/a"]).await;
    before.shutdown().await;

    let mut fleet = synchro(&stage, &host);
    let mut all = spec(&member);
    all["syncResources"][0]["group"] = json!("*");
    stage.relist(&mut fleet, [write(&host, "east", &all)]);
    comes_to_say(&host, "east", "Validated", "InvalidSyncResources: ").await;
    until("not healthy", || async {
        let health = stage.health("east").await;
        health.is_some_and(|health| !health.healthy)
    })
    .await;
    stage.shows(&["east/n/a"]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_grant_counts_from_when_it_is_given_until_it_is_withdrawn() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("never asked", &[]).await;
    let authority = rcgen::generate_simple_self_signed(vec!["east".to_owned()]).expect("made");
    let bytes = |text: &str| k8s_openapi::ByteString(text.as_bytes().to_vec());
    let data = json!({"token": bytes(TOKEN), "ca": bytes(&authority.cert.pem())});
    let annotated = |annotations: Value| {
        host.put(
            SECRET,
            json!({"metadata": {"annotations": annotations}, "data": data}),
        );
    };
    annotated(json!({}));
    let mut spec = spec(&member);
    // Nobody is there, which is told by another condition.
    spec["apiserver"] = json!("https://127.0.0.1:1");
    spec["connection"] = Value::Null;
    spec["authenticationFrom"]["ca"] =
        json!({"namespace": "karmada-cluster", "name": "east", "key": "ca"});
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "by-hand", &spec)]);
    comes_to_say(&host, "by-hand", "Validated", "CredentialNotBound: ").await;
    annotated(json!({"armadex.dev/endpoints": "https://127.0.0.1:1"}));
    comes_to_say(&host, "by-hand", "Validated", "Validated: ").await;
    comes_to_say(&host, "by-hand", "SynchroRunning", "InitialFailed: ").await;
    annotated(json!({"armadex.dev/endpoints": "https://127.0.0.1:2"}));
    comes_to_say(&host, "by-hand", "Validated", "CredentialNotBound: ").await;
    comes_to_say(&host, "by-hand", "SynchroRunning", "CredentialNotBound: ").await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_a_policy_may_have_rendered_waits_for_the_lifecycles() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    host.forbid("list", LIFECYCLES);
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    let words = "WaitLifecycles: whether a policy rendered this connection is not known: ";
    comes_to_say(&host, "east", "Validated", words).await;
    assert_eq!(member.tokens(), Vec::<String>::new());
    host.permit_all();
    stage.shows(&["east/n/a"]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_tree_that_breaks_off_each_time_says_so_and_nothing_of_before_stays() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    let mut before = synchro(&stage, &host);
    stage.relist(&mut before, [write(&host, "east", &spec(&member))]);
    stage.shows(&["east/n/a"]).await;
    comes_to_say(&host, "east", "Ready", "Ready: ").await;
    let object = write(&host, "east", &spec(&member));
    before.shutdown().await;

    // As after a process that was killed; and the first turn of each tree comes to what breaks.
    host.put(&format!("{CLUSTERS}/east"), json!(object));
    host.remove(LIFECYCLE);
    stage.breaking.keep_breaking("streams");
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    let words = "InitialFailed: the synchro of this cluster broke off";
    comes_to_say(&host, "east", "SynchroRunning", words).await;
    comes_to_say(&host, "east", "Ready", "NotReady: ").await;
    until("a warning for whoever searches", || async {
        let health = stage.health("east").await.expect("it was healthy");
        !health.healthy && health.reason.contains("broke off")
    })
    .await;

    stage.breaking.heal();
    record(&host, &spec(&member));
    comes_to_say(&host, "east", "SynchroRunning", "Running: ").await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_the_store_failed_with_once_is_not_said_of_a_cluster_that_is_refused() {
    let (stage, host) = (Stage::new().await, host());
    let thief = ScriptedMember::start("thief", &["a"]).await;
    stage.breaking.refuse("join", 2);
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "mine", &spec(&thief))]);
    let words = "InitialFailed: the store is not available, the log";
    comes_to_say(&host, "mine", "SynchroRunning", words).await;
    comes_to_say(&host, "mine", "SynchroRunning", "CredentialNotBound: ").await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_was_refused_for_a_cluster_that_is_gone_is_forgotten() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    let mut fleet = synchro(&stage, &host);
    let shared = fleet.shared();
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    stage.shows(&["east/n/a"]).await;
    host.forbid("patch", "pediaclusters");
    let mut object = write(&host, "east", &spec(&member));
    object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::now()));
    fleet.handle(Event::Apply(object.clone()));
    let is_refused = || async { shared.refusals.departures.hit("east") };
    until("a refusal", is_refused).await;
    // Somebody takes the finalizer away.
    host.remove(&format!("{CLUSTERS}/east"));
    fleet.handle(Event::Delete(object));
    until("nothing", || async { !is_refused().await }).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_cannot_leave_yet_does_not_go_on_saying_that_it_is_ready() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    comes_to_say(&host, "east", "Ready", "Ready: ").await;
    stage.breaking.keep(true);
    let mut object = write(&host, "east", &spec(&member));
    object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::now()));
    fleet.handle(Event::Apply(object));
    comes_to_say(&host, "east", "SynchroRunning", "Shutdown: ").await;
    comes_to_say(&host, "east", "Ready", "NotReady: ").await;
    stage.breaking.keep(false);
    stage.shows(&[]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_finalizer_that_is_refused_stays_so_while_statuses_are_written() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    record(&host, &spec(&member));
    host.put(&format!("{CLUSTERS}/east"), json!({"metadata": {}}));
    host.forbid("patch", "pediaclusters");
    let mut fleet = synchro(&stage, &host);
    let shared = fleet.shared();
    stage.relist(&mut fleet, [write(&host, "east", &spec(&member))]);
    let is_refused = || async { shared.refusals.finalizers.hit("east") };
    until("a refusal", is_refused).await;
    comes_to_say(&host, "east", "SynchroRunning", "WaitInit: ").await;
    assert!(is_refused().await, "a status is not a finalizer");
    // Somebody else sets it.
    let mut object = write(&host, "east", &spec(&member));
    object.metadata.finalizers = Some(vec![armadex_crds::PEDIA_CLUSTER_FINALIZER.to_owned()]);
    fleet.handle(Event::Apply(object));
    until("nothing", || async { !is_refused().await }).await;
    fleet.shutdown().await;
}
