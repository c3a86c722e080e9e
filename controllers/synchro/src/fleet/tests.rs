//! Clusters that come and go, with scripted members and a real store.

use std::time::Duration;

use armadex_crds::{AUDIT_ANNOTATION, PediaCluster};
use armadex_storage::conformance::fixture::name;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Fleet, HANDOVER};
use crate::config::Config;
use crate::fleet::{heartbeat, janitor, strays};
use crate::testing::{ScriptedMember, Stage, in_time, pedia_cluster, until, warnings};

const GRACE: Duration = Duration::from_secs(900);

#[tokio::test]
async fn a_control_plane_that_was_empty_for_a_while_costs_no_list() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &["a", "b"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a", "m/n/b"]).await;
    member.until_watched(1).await;
    member.adds("c");
    member.adds("d");
    stage.shows(&["m/n/a", "m/n/b", "m/n/c", "m/n/d"]).await;

    stage.relist(&mut fleet, []);
    stage.shows(&[]).await;
    let purged = stage.store.sink.purge(100, GRACE).await.expect("purged");
    assert_eq!(purged.objects, 0, "they are kept");

    stage.relist(&mut fleet, [pedia_cluster("m", "second", &member)]);
    stage.shows(&["m/n/a", "m/n/b", "m/n/c", "m/n/d"]).await;
    member.until_watched(2).await;
    // After the last of them another may come of its version.
    assert_eq!(member.requests(), ["list", "watch@10", "watch@11"]);
    fleet.shutdown().await;
}

#[tokio::test]
async fn an_answer_that_was_not_waited_for_leaves_no_cluster_behind() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &["a"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a"]).await;
    stage.relist(&mut fleet, []);
    stage.shows(&[]).await;

    stage.breaking.swallow_an_adoption();
    let mut object = pedia_cluster("m", "second", &member);
    stage.relist(&mut fleet, [object.clone()]);
    until("an adoption", || async { stage.breaking.has_swallowed() }).await;
    object.spec.sync_resources[0]
        .resources
        .push("services".into());
    fleet.handle(Event::Apply(object));
    stage.shows(&["m/n/a"]).await;
    comes_to_say(&stage, "Running").await;
    assert_eq!(member.requests()[0..2], ["list", "watch@10"]);
    fleet.shutdown().await;
}

#[tokio::test]
async fn another_member_under_an_old_name_brings_nothing_back() {
    let stage = Stage::new().await;
    let before = ScriptedMember::start("uid-before", &["a"]).await;
    let after = ScriptedMember::start("uid-after", &["z"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "first", &before)]);
    stage.shows(&["m/n/a"]).await;
    stage.relist(&mut fleet, []);
    stage.shows(&[]).await;
    stage.relist(&mut fleet, [pedia_cluster("m", "second", &after)]);
    stage.shows(&["m/n/z"]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_somebody_let_leave_comes_back_by_itself() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a"]).await;
    member.until_watched(1).await;
    let leave = async || {
        let left = stage.store.sink.leave(&name("m"), "first").await;
        left.expect("left");
        stage.shows(&[]).await;
    };
    leave().await;
    member.adds("b");
    stage.shows(&["m/n/a"]).await;
    member.until_watched(2).await;
    assert_eq!(member.requests(), ["list", "watch@10", "watch@10"]);

    // Its object was made anew, which nobody has told yet.
    stage
        .control_plane
        .has([pedia_cluster("m", "second", &member)]);
    leave().await;
    member.adds("c");
    until("two looks", || async {
        stage.control_plane.reads("m").len() >= 3
    })
    .await;
    stage.shows(&[]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn clusters_that_left_while_nobody_looked_are_found_by_their_owner() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(
        &mut fleet,
        ["m", "stays"].map(|name| pedia_cluster(name, name, &member)),
    );
    stage.shows(&["m/n/a", "stays/n/a"]).await;
    fleet.shutdown().await;

    // Another synchro, of the same store and of a control plane that has neither.
    let mut other = stage.synchro_of("two", "other");
    stage.relist(&mut other, []);
    other.has_looked(1).await;
    stage.shows(&["m/n/a", "stays/n/a"]).await;
    other.shutdown().await;

    // Of the same control plane, and told to look after others.
    let mut again = stage.synchro("renamed");
    let mut stays = pedia_cluster("stays", "stays", &member);
    stays.spec.sharding_name = "renamed".to_owned();
    stage.relist(&mut again, [stays]);
    stage.shows(&["stays/n/a"]).await;
    again.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_joins_while_a_stray_cannot_leave_stays() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut before = stage.synchro("");
    let cluster = |name: &str| pedia_cluster(name, name, &member);
    stage.relist(&mut before, ["m", "stray"].map(cluster));
    stage.shows(&["m/n/a", "stray/n/a"]).await;
    before.shutdown().await;

    stage.breaking.keep(true);
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [cluster("m")]);
    until("a look", || async { stage.control_plane.lists() > 0 }).await;
    stage.control_plane.has(["late", "m"].map(cluster));
    fleet.handle(Event::Apply(cluster("late")));
    stage.shows(&["late/n/a", "m/n/a", "stray/n/a"]).await;
    stage.breaking.keep(false);
    fleet.has_looked(1).await;
    stage.shows(&["late/n/a", "m/n/a"]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_left_unseen_is_found_by_and_by() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a"]).await;
    // Made anew in a gap of the watch, for a synchro that is not there.
    let mut object = pedia_cluster("m", "second", &member);
    object.spec.sharding_name = "other".to_owned();
    stage.relist(&mut fleet, [object]);
    stage.shows(&[]).await;

    // The store could not be told for long.
    let ghost = stage.store.sink.join(&name("ghost"), "ghost", "one/").await;
    ghost.expect("joined");
    tokio::time::pause();
    tokio::time::advance(2 * strays::PERIOD).await;
    tokio::time::resume();
    until("no ghost", || async {
        let catalog = stage.store.search.catalog().await.expect("a catalogue");
        catalog.clusters.is_empty()
    })
    .await;
    fleet.shutdown().await;
}

/// Each session that is told so breaks off, and the next one rests before it begins: what is told then of the object does not wait for that.
async fn is_heard_while_the_next_session_rests(
    edit: impl FnOnce(&mut PediaCluster),
    is_heard: impl AsyncFn(&Stage, usize) -> bool,
) {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    let mut object = pedia_cluster("m", "first", &member);
    stage.relist(&mut fleet, [object.clone()]);
    let says_that = |words: &str| {
        says(&stage).is_some_and(|(reason, message)| reason == words || message.contains(words))
    };
    for number in 1..8 {
        in_time("a watch", || async { member.watches() == number }).await;
        in_time("a word of it", || async { says_that("Running") }).await;
        let left = stage.store.sink.leave(&name("m"), "first").await;
        left.expect("left");
        member.adds(&format!("pod-{number}"));
    }
    until("a word of its end", || async { says_that("joins anew") }).await;
    let leaves = stage.breaking.leaves();
    edit(&mut object);
    let told = std::time::Instant::now();
    fleet.handle(Event::Apply(object));
    until("it is heard", || is_heard(&stage, leaves)).await;
    assert!(
        told.elapsed() < Duration::from_secs(5),
        "{:?}",
        told.elapsed()
    );
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_is_deleted_while_its_next_session_rests_leaves_at_once() {
    let deleted = Some(Time(jiff::Timestamp::now()));
    is_heard_while_the_next_session_rests(
        |object| object.metadata.deletion_timestamp = deleted,
        async |stage, leaves| stage.breaking.leaves() > leaves,
    )
    .await;
}

#[tokio::test]
async fn labels_that_change_while_the_next_session_rests_are_told_at_once() {
    is_heard_while_the_next_session_rests(
        |object| drop(object.labels_mut().insert("env".into(), "prod".into())),
        async |stage, _| {
            let catalog = stage.store.search.catalog().await.expect("a catalogue");
            let entry = catalog.clusters.get(&name("m"));
            entry.is_some_and(|entry| entry.labels.as_str() == "env=prod")
        },
    )
    .await;
}

#[tokio::test]
async fn a_cluster_that_waits_for_others_only_leaves() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut before = stage.synchro("");
    let mut object = pedia_cluster("m", "uid-m", &member);
    stage.relist(&mut before, [object.clone()]);
    stage.shows(&["m/n/a"]).await;
    before.shutdown().await;

    object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::now()));
    object.metadata.finalizers = Some(vec!["example.com/other".to_owned()]);
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [object]);
    stage.shows(&[]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn nothing_is_purged_before_the_control_plane_was_read() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut before = stage.synchro("");
    stage.relist(&mut before, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a"]).await;
    before.shutdown().await;
    let sink = &stage.store.sink;
    sink.leave(&name("m"), "first").await.expect("left");

    let mut fleet = stage.synchro("");
    let purges = || {
        let purges = stage.breaking.purges().into_iter();
        purges.map(|purge| purge.grace).collect::<Vec<_>>()
    };
    let cancel = CancellationToken::new();
    let janitor = tokio::spawn(janitor::run(fleet.shared(), cancel.clone()));
    // What is ready to run has run.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(purges().is_empty());
    stage.relist(&mut fleet, []);
    // What left before may come back first, however long ago that was.
    until("a purge", || async { !purges().is_empty() }).await;
    let listed = tokio::time::Instant::now();
    assert_eq!(purges()[0], Duration::MAX);
    in_time("a purge of what has left", || async {
        purges().contains(&GRACE)
    })
    .await;
    let waited = listed.elapsed();
    assert!(waited >= Duration::from_secs(590), "{waited:?}");
    assert!(waited <= Duration::from_secs(610), "{waited:?}");
    cancel.cancel();
    janitor.await.expect("no panic");
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_is_forced_away_while_the_store_is_down_is_hidden_when_it_is_back() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    let mut object = pedia_cluster("m", "uid-m", &member);
    stage.relist(&mut fleet, [object.clone()]);
    stage.shows(&["m/n/a"]).await;
    stage.breaking.keep(true);
    object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::now()));
    fleet.handle(Event::Apply(object.clone()));
    until("a try", || async { stage.breaking.leaves() > 0 }).await;
    // Somebody takes the finalizer away.
    stage.control_plane.has([]);
    fleet.handle(Event::Delete(object));
    stage.breaking.keep(false);
    stage.shows(&[]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_control_plane_whose_members_are_all_silent_is_not_taken_for_a_dead_one() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let away = ScriptedMember::start("away", &[]).await;
    away.dies();
    let (mut one, mut two) = (stage.synchro_of("one", ""), stage.synchro_of("two", ""));
    let clusters = async || {
        let catalog = stage.store.search.catalog().await.expect("a catalogue");
        let names = catalog.clusters.keys();
        names.map(ToString::to_string).collect::<Vec<_>>()
    };
    stage.relist(&mut two, [pedia_cluster("n", "n", &away)]);
    until("n", || async { clusters().await == ["n"] }).await;
    two.has_looked(1).await;
    stage.relist(&mut one, [pedia_cluster("m", "m", &member)]);
    one.has_looked(1).await;
    stage.shows(&["m/n/a"]).await;
    assert_eq!(clusters().await, ["m", "n"]);
    for mut fleet in [one, two] {
        fleet.shutdown().await;
    }
}

#[tokio::test]
async fn a_synchro_says_that_it_lives_whatever_its_members_do() {
    let stage = Stage::new().await;
    stage.breaking.refuse("begin", 2);
    stage.breaking.refuse("keep_alive", 2);
    let fleet = stage.synchro("");
    let shared = fleet.shared();
    let beat = tokio::spawn(async move { heartbeat::beat(&shared, None).await });
    in_time("a word", || async {
        fleet.shared.fenced.notify_one();
        stage.breaking.beats() >= 1
    })
    .await;
    assert!(stage.breaking.has_refused("begin") && stage.breaking.has_refused("keep_alive"));
    beat.abort();
}

#[tokio::test]
async fn control_planes_that_share_a_store_let_each_other_be() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let (mut one, mut two) = (stage.synchro_of("one", ""), stage.synchro_of("two", ""));
    stage.relist(&mut two, [pedia_cluster("n", "n", &member)]);
    stage.shows(&["n/n/a"]).await;
    two.has_looked(1).await;
    stage.relist(&mut one, [pedia_cluster("m", "first", &member)]);
    one.has_looked(1).await;
    stage.shows(&["m/n/a", "n/n/a"]).await;
    member.until_watched(2).await;

    // Of one name there is one: the later.
    let other = ScriptedMember::start("uid-of-other", &["z"]).await;
    two.handle(Event::Apply(pedia_cluster("m", "second", &other)));
    stage.shows(&["m/n/z", "n/n/a"]).await;
    member.adds("b");
    until("a word", || async {
        let told = stage.control_plane.statuses("m");
        let of_another = |body: String| body.contains("another control plane");
        told.iter()
            .any(|status| of_another(status.body.to_string()))
    })
    .await;
    for mut fleet in [one, two] {
        fleet.shutdown().await;
    }
}

#[tokio::test]
async fn a_control_plane_that_was_made_anew_takes_its_members_over_without_a_list() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &["a"]).await;
    let mut before = stage.synchro_of("one", "");
    stage.relist(&mut before, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a"]).await;
    member.until_watched(1).await;
    member.adds("b");
    member.adds("c");
    stage.shows(&["m/n/a", "m/n/b", "m/n/c"]).await;
    before.shutdown().await;

    let mut after = stage.synchro_of("two", "");
    stage.relist(&mut after, [pedia_cluster("m", "second", &member)]);
    member.until_watched(2).await;
    member.adds("d");
    stage.shows(&["m/n/a", "m/n/b", "m/n/c", "m/n/d"]).await;
    assert_eq!(member.requests(), ["list", "watch@10", "watch@11"]);
    after.shutdown().await;
}

#[tokio::test]
async fn an_annotation_asks_for_one_audit_whichever_process_answers_it() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a", "b"]).await;
    let mut object = pedia_cluster("m", "uid-m", &member);
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [object.clone()]);
    stage.shows(&["m/n/a", "m/n/b"]).await;
    member.until_watched(1).await;
    asks_for(&mut object, "7");
    fleet.handle(Event::Apply(object.clone()));
    let audit = comes_to_answer(&stage, "7").await;
    assert_eq!(
        (&audit["proved"], &audit["unproved"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        (&audit["objects"], &audit["differences"]),
        (&json!(2), &json!(0))
    );
    fleet.shutdown().await;

    let last = stage.control_plane.statuses("m").pop().expect("a status");
    let status = &last.body["status"];
    let condition = &status["syncResources"][0]["resources"][0]["syncConditions"][0];
    assert!(condition["audit"]["provedTime"].is_string(), "{condition}");
    object.status = serde_json::from_value(status.clone()).expect("a status");
    let mut again = stage.synchro("");
    stage.relist(&mut again, [object.clone()]);
    member.until_watched(2).await;
    comes_to_say(&stage, "Running").await;
    let kept = stage.control_plane.statuses("m").pop().expect("a status");
    let kept = &kept.body["status"]["syncResources"][0]["resources"][0]["syncConditions"][0];
    assert_eq!(kept["audit"], condition["audit"], "it is told on");
    asks_for(&mut object, "8");
    again.handle(Event::Apply(object));
    comes_to_answer(&stage, "8").await;
    let audits = ["list", "watch@10", "list", "watch@10", "list"];
    assert_eq!(member.requests(), audits);
    again.shutdown().await;
}

fn asks_for(object: &mut PediaCluster, audit: &str) {
    let annotations = object.annotations_mut();
    annotations.insert(AUDIT_ANNOTATION.to_owned(), audit.to_owned());
}

/// The audit of the first status that answers this request.
async fn comes_to_answer(stage: &Stage, request: &str) -> Value {
    let audits = || {
        let statuses = stage.control_plane.statuses("m").into_iter();
        let mut audits = statuses.map(|status| status.body["status"]["audit"].clone());
        audits.find(|audit| audit["request"] == request)
    };
    until(request, || async { audits().is_some() }).await;
    audits().expect("an audit")
}

/// What the last status that was written says of the synchro: reason and message.
fn says(stage: &Stage) -> Option<(String, String)> {
    let written = stage.control_plane.statuses("m").pop()?;
    let conditions = written.body["status"]["conditions"].as_array()?.clone();
    let running = conditions
        .into_iter()
        .find(|condition| condition["type"] == "SynchroRunning")?;
    let text = |field: &str| running[field].as_str().map(str::to_owned);
    Some((text("reason")?, text("message").unwrap_or_default()))
}

async fn comes_to_say(stage: &Stage, reason: &str) {
    until(reason, || async {
        says(stage).is_some_and(|(said, _)| said == reason)
    })
    .await;
}

#[tokio::test]
async fn a_tree_and_a_session_that_break_off_begin_anew_and_say_so() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    stage.breaking.break_at("join");
    stage.breaking.break_at("adopt");
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "uid-m", &member)]);
    stage.shows(&["m/n/a"]).await;
    assert!(stage.breaking.has_broken());
    comes_to_say(&stage, "Running").await;
    let told = stage.control_plane.statuses("m");
    let told: Vec<String> = told.iter().map(|status| status.body.to_string()).collect();
    assert!(
        told.iter().any(|status| status.contains("broke off")),
        "{told:#?}"
    );
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_session_that_breaks_off_is_told_of_the_cluster_that_it_went_on_with() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a"]).await;
    stage.relist(&mut fleet, []);
    stage.shows(&[]).await;
    let mut object = pedia_cluster("m", "second", &member);
    stage.relist(&mut fleet, [object.clone()]);
    stage.shows(&["m/n/a"]).await;
    let told = warnings();
    let is_healthy = async || stage.health("m").await.map(|health| health.healthy);
    until("healthy", || async { is_healthy().await == Some(true) }).await;

    stage.breaking.keep_breaking("streams");
    let resources = &mut object.spec.sync_resources[0].resources;
    resources.push("services".into());
    fleet.handle(Event::Apply(object));
    until("not healthy", || async {
        is_healthy().await == Some(false)
    })
    .await;
    let untold = |line: &String| line.contains("the store was not told");
    assert!(!told.told().iter().any(untold), "{:?}", told.told());
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_says_so_and_begins_anew() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    stage.breaking.keep_breaking("open");
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "uid-m", &member)]);
    let says = |words: &str| {
        let written = stage.control_plane.statuses("m").pop();
        let body = written.map_or(Value::Null, |written| written.body);
        let pods = &body["status"]["syncResources"][0]["resources"][0]["syncConditions"][0];
        pods.to_string().contains(words)
    };
    until("a word of it", || async { says("the stream broke off") }).await;
    stage.breaking.heal();
    until("its watch", || async { says("Syncing") }).await;
    stage.shows(&["m/n/a"]).await;
    fleet.shutdown().await;
}

/// The object after the last word of a process.
fn says_shutdown(mut object: PediaCluster) -> PediaCluster {
    let status = object.status.as_mut().expect("a status");
    for condition in &mut status.conditions {
        if condition.type_ == "SynchroRunning" {
            "False".clone_into(&mut condition.status);
            "Shutdown".clone_into(&mut condition.reason);
        }
    }
    let version: u64 = object
        .resource_version()
        .expect("one")
        .parse()
        .expect("a number");
    object.metadata.resource_version = Some((version + 100).to_string());
    object
}

#[tokio::test]
async fn who_took_over_has_the_last_word_and_who_only_edits_the_spec_has_not() {
    for taken_over in [true, false] {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &["a"]).await;
        let mut fleet = stage.synchro("");
        stage.relist(&mut fleet, [pedia_cluster("m", "uid-m", &member)]);
        comes_to_say(&stage, "Running").await;
        // Nobody tells the synchro of the version that follows.
        let mut object = stage.control_plane.cluster("m");
        object.metadata.resource_version = Some("1000".to_owned());
        if taken_over {
            let status = object.status.as_mut().expect("a status");
            "v1.99.0".clone_into(&mut status.version);
        }
        stage.control_plane.has([object.clone()]);
        fleet.shutdown().await;
        let left = stage.control_plane.cluster("m");
        if taken_over {
            assert_eq!(json!(left), json!(object));
        } else {
            assert!(json!(left).to_string().contains("Shutdown"));
        }
    }
}

#[tokio::test]
async fn the_last_word_of_a_process_that_was_replaced_does_not_stay() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    let object = pedia_cluster("m", "uid-m", &member);
    stage.relist(&mut fleet, [object]);
    comes_to_say(&stage, "Running").await;
    let before = stage.control_plane.statuses("m");
    let late = says_shutdown(stage.control_plane.cluster("m"));
    stage.control_plane.has([late.clone()]);
    fleet.handle(Event::Apply(late));
    until("another status", || async {
        stage.control_plane.statuses("m").len() > before.len()
    })
    .await;
    comes_to_say(&stage, "Running").await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_somebody_else_makes_of_a_status_is_put_right() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [pedia_cluster("m", "uid-m", &member)]);
    comes_to_say(&stage, "Running").await;
    stage.shows(&["m/n/a"]).await;
    let version = || {
        let status = stage.control_plane.cluster("m").status;
        status.expect("a status").version
    };
    let ours = version();
    // Once at once, and again in turn.
    for _ in 0..2 {
        let mut edited = stage.control_plane.cluster("m");
        let status = edited.status.as_mut().expect("a status");
        "v1.99.0".clone_into(&mut status.version);
        let known = edited.resource_version().expect("a version");
        let next = known.parse::<u64>().expect("a number") + 100;
        edited.metadata.resource_version = Some(next.to_string());
        stage.control_plane.has([edited.clone()]);
        fleet.handle(Event::Apply(edited));
        in_time("what it was", || async { version() == ours }).await;
    }
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_nobody_lets_go_is_taken_over() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("b");
    let mut object = pedia_cluster("m", "uid-m", &member);
    object.spec.sharding_name = "b".to_owned();
    let held = json!({"shardingName": "a", "conditions": [], "syncResources": []});
    object.status = serde_json::from_value(held).expect("a status");
    stage.relist(&mut fleet, [object.clone()]);
    assert!(fleet.trees.is_empty(), "it may still be let go");

    tokio::time::pause();
    tokio::time::advance(HANDOVER / 2).await;
    let begun = tokio::time::Instant::now();
    fleet.handle(Event::Apply(object.clone()));
    fleet.hand_over().await;
    let waited = begun.elapsed();
    tokio::time::resume();
    assert!(
        waited < HANDOVER,
        "an event does not begin it anew: {waited:?}"
    );
    // What is read before the first status is written changes nothing.
    fleet.handle(Event::Apply(object));
    stage.shows(&["m/n/a"]).await;
    fleet.shutdown().await;
}

/// Pods and config maps of a cluster that one synchro follows, and that another one, which is to follow its config maps alone, has taken over.
struct TakenOver {
    stage: Stage,
    member: ScriptedMember,
    former: Fleet,
    present: Fleet,
}

impl TakenOver {
    async fn begin() -> Self {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &["a"]).await;
        let mut former = stage.synchro("a");
        let mut object = pedia_cluster("m", "uid-m", &member);
        "a".clone_into(&mut object.spec.sharding_name);
        let asked = &mut object.spec.sync_resources[0].resources;
        asked.push("configmaps".to_owned());
        stage.relist(&mut former, [object]);
        stage.shows(&["m/n/a"]).await;
        member.until_watched(1).await;
        comes_to_say(&stage, "Running").await;

        let mut object = stage.control_plane.cluster("m");
        "b".clone_into(&mut object.spec.sharding_name);
        object.spec.sync_resources[0].resources = vec!["configmaps".to_owned()];
        object.metadata.resource_version = Some("1000".to_owned());
        let mut present = stage.synchro("b");
        stage.relist(&mut present, [object]);
        tokio::time::pause();
        tokio::time::advance(HANDOVER).await;
        present.hand_over().await;
        tokio::time::resume();
        stage.shows(&[]).await;
        let act = Self {
            stage,
            member,
            former,
            present,
        };
        in_time("its word", || async {
            act.holder().as_deref() == Some("b")
        })
        .await;
        act
    }

    /// Who looks after the cluster by its status.
    fn holder(&self) -> Option<String> {
        let status = self.stage.control_plane.cluster("m").status;
        status.and_then(|status| status.sharding_name)
    }

    async fn is_well(&self) -> bool {
        let health = self.stage.health("m").await;
        health.is_some_and(|health| health.healthy)
    }
}

/// Its watch of PediaClusters hangs, and nobody tells it.
#[tokio::test]
async fn a_cluster_that_was_taken_over_is_not_taken_back() {
    let mut act = TakenOver::begin().await;
    act.member.adds("b");
    let asks = || async { !act.stage.control_plane.reads("m").is_empty() };
    in_time("a question whose it is", asks).await;
    let says = || async {
        let told = act.stage.control_plane.statuses("m");
        told.iter()
            .any(|status| status.body.to_string().contains("was taken over"))
    };
    in_time("what it would say", says).await;
    let asked = act.stage.control_plane.reads("m").len();
    let asks_again = || async { act.stage.control_plane.reads("m").len() > asked + 4 };
    in_time("that question again", asks_again).await;
    act.stage.shows(&[]).await;
    assert_eq!(act.stage.config_maps().await, ["m/n/settings"]);
    assert_eq!(act.holder().as_deref(), Some("b"));
    assert!(act.is_well().await);

    // It is given back.
    let mut object = act.stage.control_plane.cluster("m");
    "a".clone_into(&mut object.spec.sharding_name);
    object.spec.sync_resources[0].resources = vec!["pods".to_owned()];
    object.metadata.resource_version = Some("2000".to_owned());
    act.stage.control_plane.has([object.clone()]);
    act.present.handle(Event::Apply(object.clone()));
    act.former.handle(Event::Apply(object));
    act.stage.shows(&["m/n/a"]).await;
    in_time("its word", || async {
        act.holder().as_deref() == Some("a")
    })
    .await;
    for mut fleet in [act.former, act.present] {
        fleet.shutdown().await;
    }
}

#[tokio::test]
async fn what_is_said_last_of_a_cluster_that_was_taken_over_counts_for_nothing() {
    let mut act = TakenOver::begin().await;
    in_time("that it is well", || async { act.is_well().await }).await;
    // What the watch told before the other one took it over.
    let mut object = act.stage.control_plane.cluster("m");
    object.status = None;
    act.former.handle(Event::Apply(object));
    act.former.shutdown().await;
    assert!(act.is_well().await);
    assert_eq!(act.holder().as_deref(), Some("b"));
    act.present.shutdown().await;
}

#[tokio::test]
async fn a_status_is_not_kept_beside_the_one_of_who_writes_it() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    let mut object = pedia_cluster("m", "uid-m", &member);
    stage.relist(&mut fleet, [object.clone()]);
    comes_to_say(&stage, "Running").await;
    object.status = stage.control_plane.cluster("m").status;
    object.metadata.resource_version = Some("1000".to_owned());
    fleet.handle(Event::Apply(object));
    until("it is taken", || async {
        let order = fleet.trees["m"].orders.borrow();
        let whole = order.whole.lock().expect("no panic");
        order.object.status.is_none() && whole.is_none()
    })
    .await;
    fleet.shutdown().await;
}

/// As beside a Clusterpedia, which has its finalizer there and writes its own status.
#[tokio::test]
async fn who_observes_copies_and_writes_nothing_and_goes_on_from_there_as_the_one_who_writes() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &["a"]).await;
    let observing = Config {
        observes: true,
        audit_every: Duration::ZERO,
        ..Config::default()
    };
    let client = stage.control_plane.client();
    let mut fleet = stage.synchro_with(client, "one", observing);
    let theirs = |name: &str| {
        let mut object = pedia_cluster(name, name, &member);
        object.metadata.finalizers = None;
        let status = json!({"shardingName": "", "conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
            "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}]});
        object.status = serde_json::from_value(status).expect("a status");
        object
    };
    stage.relist(&mut fleet, ["m", "goes"].map(theirs));
    stage.shows(&["goes/n/a", "m/n/a"]).await;
    // Whoever looks after it lets it go when they are done.
    let mut deleted = theirs("goes");
    deleted.metadata.deletion_timestamp =
        Some(Time("2026-03-01T12:00:00Z".parse().expect("a time")));
    fleet.handle(Event::Apply(deleted.clone()));
    fleet.handle(Event::Apply(theirs("m")));
    stage.shows(&["goes/n/a", "m/n/a"]).await;
    fleet.handle(Event::Delete(deleted));
    stage.shows(&["m/n/a"]).await;
    member.until_watched(2).await;
    fleet.shutdown().await;
    assert_eq!(stage.control_plane.writes(), 0);

    let asked = member.requests().len();
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [theirs("m")]);
    until("a finalizer", || async {
        !stage.control_plane.cluster("m").finalizers().is_empty()
    })
    .await;
    fleet.handle(Event::Apply(stage.control_plane.cluster("m")));
    comes_to_say(&stage, "Running").await;
    member.until_watched(3).await;
    let since = member.requests().split_off(asked);
    assert!(!since.contains(&"list".to_owned()), "{since:?}");
    fleet.shutdown().await;
}
