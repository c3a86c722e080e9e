//! Members that are asked by the control plane while their API server cannot be reached, or is none of ours to ask.

use std::sync::Arc;

use armadex_member::ControlPlane;
use serde_json::{Value, json};

use super::*;
use crate::testing::{Gate, in_time};
use crate::told::metrics::Metrics;

const POD: &str = "east/n/a";

/// What a policy renders of a member that is said to be there.
fn spec_at(url: &str, member: &ScriptedMember) -> Value {
    let mut spec = spec(member);
    spec["apiserver"] = json!(url);
    spec["connection"]["controlPlaneProxy"] = json!({
        "group": "cluster.karmada.io", "version": "v1alpha1", "resource": "clusters", "name": "east",
    });
    spec
}

/// Of one of which no credential is known.
fn spec_without_credentials(url: &str, member: &ScriptedMember) -> Value {
    let mut spec = spec_at(url, member);
    let fields = spec.as_object_mut().expect("fields");
    fields.remove("authenticationFrom");
    spec
}

/// A synchro whose control plane leads to this member, whatever is asked for.
fn synchro_by(stage: &Stage, host: &Host, member: &ScriptedMember) -> Fleet {
    stage.synchro_with(host.client(), "one", config_by(member))
}

/// The same, which asks it for one member at a time; and where it counts.
fn synchro_with_one_place(
    stage: &Stage,
    host: &Host,
    member: &ScriptedMember,
) -> (Fleet, Arc<Metrics>) {
    let metrics = Arc::<Metrics>::default();
    let config = Config {
        max_by_control_plane: 1,
        metrics: Arc::clone(&metrics),
        ..config_by(member)
    };
    let fleet = stage.synchro_with(host.client(), "one", config);
    (fleet, metrics)
}

fn config_by(member: &ScriptedMember) -> Config {
    Config {
        control_plane: Some(ControlPlane::plain(member.address())),
        ..config()
    }
}

/// Waits for words that take a while.
async fn comes_to_run(host: &Host, words: &str) {
    let says = || host.condition(&format!("{CLUSTERS}/east"), "SynchroRunning");
    let said = || async { says().is_some_and(|said| said.starts_with(words)) };
    in_time(words, said).await;
}

#[tokio::test]
async fn an_api_server_that_cannot_be_reached_is_gone_around_until_it_can_and_nothing_is_listed() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let mut gate = Gate::before(member.address()).await;
    let spec = spec_at(&gate.url(), &member);
    record(&host, &spec);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    stage.shows(&[POD]).await;
    comes_to_run(&host, "Running: ").await;
    member.until_watched(1).await;

    gate.shuts().await;
    let words = format!(
        "RunningByControlPlane: by the proxy of the control plane, as the API server is not reached from here: {}: health check: ",
        gate.url()
    );
    comes_to_run(&host, &words).await;
    let watches = member.watches();
    in_time("a watch", || async { member.watches() >= watches.max(2) }).await;
    member.adds("b");
    stage.shows(&[POD, "east/n/b"]).await;
    let status = host.get(&format!("{CLUSTERS}/east")).expect("it is there");
    let proxy = format!(
        "{}/apis/cluster.karmada.io/v1alpha1/clusters/east/proxy",
        member.address()
    );
    assert_eq!(status["status"]["apiserver"], proxy);

    let watches = member.watches();
    gate.opens().await;
    comes_to_run(&host, "Running: ").await;
    in_time("a watch", || async { member.watches() > watches }).await;
    member.adds("c");
    stage.shows(&[POD, "east/n/b", "east/n/c"]).await;
    let lists = member.requests();
    let lists = lists.iter().filter(|request| *request == "list");
    assert_eq!(lists.count(), 1);
    assert_eq!(member.tokens(), [TOKEN], "and the control plane gets none");
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_member_of_which_there_is_no_credential_is_asked_by_the_control_plane_alone() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let nowhere = ScriptedMember::start("nobody", &[]).await;
    let spec = spec_without_credentials(nowhere.address(), &member);
    record(&host, &spec);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    stage.shows(&[POD]).await;
    let words = format!(
        "RunningByControlPlane: by the proxy of the control plane, as the API server is not reached from here: {}: no credential of it is known here",
        nowhere.address()
    );
    comes_to_say(&host, "east", "SynchroRunning", &words).await;
    assert_eq!(nowhere.probes(), 0);
    assert_eq!(member.tokens(), Vec::<String>::new());
    fleet.shutdown().await;
}

/// It may be a right of whoever it asks as, or one on the control plane itself.
#[tokio::test]
async fn of_a_resource_that_is_refused_by_the_control_plane_no_rule_is_said_to_be_missing() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    member.answers("/api/v1/pods", 403);
    let nowhere = ScriptedMember::start("nobody", &[]).await;
    let spec = spec_without_credentials(nowhere.address(), &member);
    record(&host, &spec);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    let told = || {
        let object = host.get(&format!("{CLUSTERS}/east"));
        object.map_or_else(String::new, |object| {
            object["status"]["syncResources"].to_string()
        })
    };
    in_time("a refusal", || async { told().contains("as a test says") }).await;
    assert!(!told().contains("lacks"), "{}", told());
    fleet.shutdown().await;
}

#[tokio::test]
async fn an_api_server_that_refuses_is_not_gone_around() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let refuses = ScriptedMember::start("member", &["a"]).await;
    refuses.answers("/readyz", 401);
    let spec = spec_at(refuses.address(), &member);
    record(&host, &spec);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    let words = "InitialFailed: health check: as a test says";
    comes_to_say(&host, "east", "SynchroRunning", words).await;
    assert_eq!(member.probes(), 0);
    fleet.shutdown().await;
}

#[tokio::test]
async fn an_api_server_that_answers_again_is_asked_straight_and_what_it_says_is_told() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let refuses = ScriptedMember::start("member", &["a"]).await;
    refuses.answers("/readyz", 401);
    let mut gate = Gate::before(refuses.address()).await;
    gate.shuts().await;
    let spec = spec_at(&gate.url(), &member);
    record(&host, &spec);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    comes_to_run(&host, "RunningByControlPlane: ").await;

    gate.opens().await;
    // It was synced, and is no more by the other way.
    comes_to_run(&host, "Running: ").await;
    let words = "NotReachable: health check: as a test says";
    comes_to_say(&host, "east", "ClusterHealthy", words).await;
    let status = host.get(&format!("{CLUSTERS}/east")).expect("it is there");
    assert_eq!(status["status"]["apiserver"], gate.url());
    fleet.shutdown().await;
}

#[tokio::test]
async fn an_api_server_that_answers_small_questions_alone_is_gone_around() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let mute = ScriptedMember::start("member", &["a"]).await;
    mute.hangs("/apis");
    let spec = spec_at(mute.address(), &member);
    record(&host, &spec);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    let words = format!(
        "RunningByControlPlane: by the proxy of the control plane, as the API server is not reached from here: {}: discovery: ",
        mute.address()
    );
    comes_to_run(&host, &words).await;
    stage.shows(&[POD]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_member_that_neither_way_leads_to_is_told_of_with_both() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    member.answers("/readyz", 403);
    let mut gate = Gate::before(member.address()).await;
    gate.shuts().await;
    let spec = spec_at(&gate.url(), &member);
    record(&host, &spec);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    let says = || host.condition(&format!("{CLUSTERS}/east"), "SynchroRunning");
    let words = "; by the control plane: health check: as a test says; the rights that this way takes are granted by hand, see docs/permissions.md#by-the-control-plane";
    until(words, || async {
        let said = says().unwrap_or_default();
        said.starts_with("InitialFailed: health check: ") && said.ends_with(words)
    })
    .await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn no_more_members_than_may_be_are_asked_by_the_control_plane_and_the_others_say_so() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let (mut fleet, metrics) = synchro_with_one_place(&stage, &host, &member);
    // The one place is taken.
    let spec = spec_without_credentials("http://127.0.0.1:1", &member);
    record(&host, &spec);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    stage.shows(&[POD]).await;
    assert_eq!(metrics.by_control_plane.get(), 1);

    let lifecycle = host.get(LIFECYCLE).expect("east's");
    host.put(&LIFECYCLE.replace("east", "west"), lifecycle);
    fleet.handle(Event::Apply(write(&host, "west", &spec)));
    let words = "TooManyByControlPlane: no credential of it is known here; by the control plane: it is asked for 1 members at the same time, and for no more \
                 (--max-members-by-control-plane)";
    comes_to_say(&host, "west", "ClusterHealthy", words).await;
    comes_to_say(
        &host,
        "west",
        "SynchroRunning",
        "InitialFailed: no credential",
    )
    .await;

    fleet.handle(Event::Delete(write(&host, "east", &spec)));
    let says = || host.condition(&format!("{CLUSTERS}/west"), "SynchroRunning");
    in_time("the place", || async {
        says().is_some_and(|said| said.starts_with("RunningByControlPlane: "))
    })
    .await;
    assert_eq!(metrics.by_control_plane.get(), 1);
    fleet.shutdown().await;
    assert_eq!(metrics.by_control_plane.get(), 0);
}

#[tokio::test]
async fn whoever_writes_a_pediacluster_has_the_control_plane_asked_for_nobody() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let spec = spec_without_credentials(member.address(), &member);
    let mut fleet = synchro_by(&stage, &host, &member);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    let words = "CredentialNotBound: spec.connection.controlPlaneProxy may only be what a policy rendered (no policy has made";
    comes_to_say(&host, "east", "Validated", words).await;
    comes_to_say(&host, "east", "SynchroRunning", "CredentialNotBound: ").await;
    assert_eq!(member.probes(), 0);
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_member_that_is_reached_again_leaves_its_place_to_another() {
    let (stage, host) = (Stage::new().await, host());
    let member = ScriptedMember::start("member", &["a"]).await;
    let mut gate = Gate::before(member.address()).await;
    gate.shuts().await;
    let (mut fleet, metrics) = synchro_with_one_place(&stage, &host, &member);
    let west = spec_without_credentials("http://127.0.0.1:1", &member);
    record(&host, &west);
    let lifecycle = host.get(LIFECYCLE).expect("west's");
    host.put(&LIFECYCLE.replace("east", "west"), lifecycle);
    let east = spec_at(&gate.url(), &member);
    record(&host, &east);
    stage.relist(&mut fleet, [write(&host, "east", &east)]);
    comes_to_run(&host, "RunningByControlPlane: ").await;
    fleet.handle(Event::Apply(write(&host, "west", &west)));
    comes_to_say(&host, "west", "ClusterHealthy", "TooManyByControlPlane: ").await;

    gate.opens().await;
    comes_to_run(&host, "Running: ").await;
    let says = || host.condition(&format!("{CLUSTERS}/west"), "SynchroRunning");
    in_time("the place", || async {
        says().is_some_and(|said| said.starts_with("RunningByControlPlane: "))
    })
    .await;
    assert_eq!(metrics.by_control_plane.get(), 1);
    fleet.shutdown().await;
    assert_eq!(metrics.by_control_plane.get(), 0);
}
