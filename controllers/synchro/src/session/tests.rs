//! Members that die and return, that do not say what they serve, and that are others; kinds that come and go. With scripted members and a
//! real store.

mod coming;
mod converted;
mod customs;
mod failing;
mod forbidden;
mod full;
mod in_line;
mod involved;
mod silent;
mod undiscovered;
mod versions;
mod waiting;

use std::time::Duration;

use armadex_crds::{AUDIT_ANNOTATION, PediaCluster};
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use tokio::time::Instant;

use armadex_storage::Health;
use armadex_storage::conformance::fixture::name;

use crate::config::Config;
use crate::fleet::Fleet;
use crate::testing::{ScriptedMember, Stage, in_time, pedia_cluster, until, warnings};

const POD: &str = "m/n/a";
const CONFIG_MAP: &str = "m/n/settings";
const IN_TURNS: &str = "clusters answer at this address in turns";

/// A cluster `m` whose pods and config maps are stored and followed.
struct Act {
    stage: Stage,
    member: ScriptedMember,
    object: PediaCluster,
    fleet: Fleet,
}

impl Act {
    async fn begin() -> Self {
        Self::begin_on(Stage::new().await).await
    }

    async fn begin_on(stage: Stage) -> Self {
        let member = ScriptedMember::start("uid", &["a"]).await;
        Self::begin_with(stage, member).await
    }

    async fn begin_with(stage: Stage, member: ScriptedMember) -> Self {
        let mut fleet = stage.synchro("");
        let object = asking_for(&member, &["pods", "configmaps"]);
        stage.relist(&mut fleet, [object.clone()]);
        let act = Self {
            stage,
            member,
            object,
            fleet,
        };
        act.stage.shows(&[POD]).await;
        act.shows_config_maps(&[CONFIG_MAP]).await;
        act.comes_to_say("ClusterHealthy", "True").await;
        act.member.until_watched(1).await;
        act
    }

    /// The PediaCluster is edited to ask for these.
    fn asks_for(&mut self, kinds: &[&str]) {
        self.object = asking_for(&self.member, kinds);
        self.fleet.handle(Event::Apply(self.object.clone()));
    }

    async fn shows_config_maps(&self, expected: &[&str]) {
        let found = || async { self.stage.config_maps().await == expected };
        in_time(&format!("config maps {expected:?}"), found).await;
    }

    /// The last status that was written.
    fn status(&self) -> Value {
        let written = self.stage.control_plane.statuses("m").pop();
        written.map_or(Value::Null, |written| written.body["status"].clone())
    }

    /// What the status says of pods.
    fn of_pods(&self) -> Value {
        self.status()["syncResources"][0]["resources"][1]["syncConditions"][0].clone()
    }

    /// Waits until a condition has this status.
    async fn comes_to_say(&self, condition: &str, expected: &str) {
        let what = format!("{condition}={expected}");
        in_time(&what, || async { self.says(condition, expected) }).await;
    }

    fn says(&self, condition: &str, expected: &str) -> bool {
        let status = self.status();
        let conditions = status["conditions"].as_array();
        let mut found = conditions.into_iter().flatten();
        found.any(|found| found["type"] == condition && found["status"] == expected)
    }

    /// Whether the member is said not to be well in words that begin so.
    fn explains(&self, words: &str) -> bool {
        let status = self.status();
        let conditions = status["conditions"].as_array();
        let mut found = conditions.into_iter().flatten();
        found.any(|found| {
            let message = found["message"].as_str().unwrap_or_default();
            found["type"] == "ClusterHealthy" && message.starts_with(words)
        })
    }

    async fn is_healthy(&self, healthy: bool) {
        let told = || async {
            let health = self.stage.health("m").await;
            health.is_some_and(|health| health.healthy == healthy)
        };
        in_time(&format!("healthy: {healthy}"), told).await;
    }

    /// How often pods were listed.
    fn lists(&self) -> usize {
        self.asked("list")
    }

    fn asked(&self, what: &str) -> usize {
        let requests = self.member.requests();
        requests.iter().filter(|request| *request == what).count()
    }
}

fn asking_for(member: &ScriptedMember, kinds: &[&str]) -> PediaCluster {
    let mut object = pedia_cluster("m", "uid-m", member);
    let kinds = kinds.iter().map(|kind| (*kind).to_owned());
    object.spec.sync_resources[0].resources = kinds.collect();
    object
}

#[tokio::test]
async fn a_member_that_dies_and_returns_is_told_of_twice_and_listed_once() {
    let mut act = Act::begin().await;
    act.is_healthy(true).await;
    act.member.adds("b");
    act.member.adds("c");
    act.stage.shows(&[POD, "m/n/b", "m/n/c"]).await;
    act.member.dies();
    act.is_healthy(false).await;
    act.comes_to_say("ClusterHealthy", "False").await;
    in_time("a pause", || async { act.of_pods()["reason"] == "Pause" }).await;
    act.stage.shows(&[POD, "m/n/b", "m/n/c"]).await;

    let watches = act.member.watches();
    act.member.returns_as("uid", &["a", "b", "c"]);
    act.is_healthy(true).await;
    act.comes_to_say("ClusterHealthy", "True").await;
    in_time("a watch", || async { act.member.watches() > watches }).await;
    act.member.adds("d");
    act.stage.shows(&[POD, "m/n/b", "m/n/c", "m/n/d"]).await;
    assert_eq!(act.lists(), 1, "{:?}", act.member.requests());
    let resumed = act.member.watches() - 1;
    assert_eq!((act.asked("watch@10"), act.asked("watch@11")), (1, resumed));
    act.fleet.shutdown().await;
}

/// As of a control plane of several API servers, which are upgraded one by one.
#[tokio::test]
async fn a_member_that_is_upgraded_while_it_answers_is_told_of_in_its_new_version() {
    let mut act = Act::begin().await;
    act.member.is_upgraded_to("v1.36.1");
    in_time("its version", || async {
        act.status()["version"] == "v1.36.1"
    })
    .await;
    in_time("its version in the catalogue", || async {
        let catalog = act.stage.store.search.catalog().await;
        let catalog = catalog.expect("a catalogue");
        catalog.clusters[&name("m")].version.as_deref() == Some("v1.36.1")
    })
    .await;
    act.fleet.shutdown().await;
}

/// As a process says it that had the Lease before, is cut off from the members, and has not found out yet.
#[tokio::test]
async fn a_cluster_that_somebody_else_says_is_lost_is_soon_said_to_be_well() {
    let mut act = Act::begin().await;
    act.is_healthy(true).await;
    let (sink, owner) = (&act.stage.store.sink, "one/");
    let cluster = sink.join(&name("m"), "uid-m", owner).await;
    let lost = Health {
        healthy: false,
        reason: "NotReachable".to_owned(),
    };
    let told = sink.set_health(cluster.expect("joined"), owner, &lost, None);
    told.await.expect("told");
    act.is_healthy(false).await;
    act.is_healthy(true).await;
    act.fleet.shutdown().await;
}

/// It may have been put back to a backup, and be past what is stored when it returns.
#[tokio::test]
async fn a_member_that_was_away_for_minutes_is_audited_soon() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = that_audits_seldom(&stage);
    stage.relist(&mut fleet, [asking_for(&member, &["pods"])]);
    stage.shows(&[POD]).await;
    member.until_watched(1).await;
    let is_healthy = async |healthy: bool| {
        let told = || async {
            let health = stage.health("m").await;
            health.is_some_and(|health| health.healthy == healthy)
        };
        in_time(&format!("healthy: {healthy}"), told).await;
    };
    is_healthy(true).await;
    member.dies();
    is_healthy(false).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(180)).await;
    tokio::time::resume();
    member.returns_as("uid", &["a"]);
    is_healthy(true).await;
    until_audited(&stage, 1).await;
    fleet.shutdown().await;
}

/// For how long, nobody knows: the session before may have ended long ago.
#[tokio::test]
async fn a_member_that_is_away_when_a_session_begins_is_audited_soon_after_its_return() {
    let mut act = Act::begin().await;
    act.is_healthy(true).await;
    act.fleet.shutdown().await;
    act.member.dies();
    act.fleet = that_audits_seldom(&act.stage);
    act.stage.relist(&mut act.fleet, [act.object.clone()]);
    act.is_healthy(false).await;
    act.member.returns_as("uid", &["a"]);
    act.is_healthy(true).await;
    until_audited(&act.stage, 2).await;
    act.fleet.shutdown().await;
}

/// A synchro whose first audit would come after years.
fn that_audits_seldom(stage: &Stage) -> Fleet {
    let config = Config {
        audit_every: Duration::from_secs(10 * 365 * 24 * 60 * 60),
        ..Config::default()
    };
    stage.synchro_with(stage.control_plane.client(), "one", config)
}

/// Waits for an audit of so many resources. On a busy machine this time runs faster than the member answers, and not all of them may be proved.
async fn until_audited(stage: &Stage, resources: u64) {
    let is_audited = || async {
        let written = stage.control_plane.statuses("m").pop();
        written.is_some_and(|written| {
            let audit = &written.body["status"]["audit"];
            let of = |verdict: &str| audit[verdict].as_u64().unwrap_or_default();
            of("proved") + of("unproved") == resources
        })
    };
    in_time("an audit", is_audited).await;
}

#[tokio::test]
async fn a_member_that_goes_and_returns_again_and_again_is_not_told_of_each_time() {
    let told = warnings();
    let mut act = Act::begin().await;
    let mut lines = Vec::new();
    for _ in 0..6 {
        act.member.dies();
        in_time("a pause", || async { act.of_pods()["reason"] == "Pause" }).await;
        act.member.returns_as("uid", &["a"]);
        in_time("a watch", || async { act.of_pods()["status"] == "Syncing" }).await;
        lines.push(told.told().len());
    }
    // A connection may break in other words, and each time would be some lines.
    assert!(lines[0] > 0 && lines[5] < lines[1] + 4, "{lines:?}");
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_somebody_let_leave_while_its_member_was_dead_comes_back() {
    let mut act = Act::begin().await;
    act.member.dies();
    act.is_healthy(false).await;
    let left = act.stage.store.sink.leave(&name("m"), "uid-m").await;
    left.expect("left");
    act.stage.shows(&[]).await;
    let is_back = || async { act.stage.health("m").await.is_some() };
    in_time("the cluster", is_back).await;
    act.stage.shows(&[POD]).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn another_member_at_the_same_address_is_listed() {
    let mut act = Act::begin().await;
    act.comes_to_say("Synced", "True").await;
    act.member.answers("/api/v1/pods", 500);
    act.member.returns_as("another", &["z"]);
    // There are rows, of the one that was there before.
    act.comes_to_say("Synced", "False").await;
    act.member.answers("/api/v1/pods", 200);
    in_time("its pods", || async { act.lists() == 2 }).await;
    act.stage.shows(&["m/n/z"]).await;
    act.comes_to_say("Synced", "True").await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn what_is_asked_for_while_the_member_is_away_is_not_synced_before_it_is_back() {
    let mut act = Act::begin().await;
    act.comes_to_say("Synced", "True").await;
    act.member.dies();
    act.comes_to_say("ClusterHealthy", "False").await;
    assert!(act.says("Synced", "True"), "what is stored stays there");
    act.asks_for(&["pods"]);
    act.comes_to_say("Synced", "Unknown").await;
    act.member.returns_as("uid", &["a"]);
    act.comes_to_say("Synced", "True").await;
    act.fleet.shutdown().await;
}

/// A load balancer before two members does that.
#[tokio::test]
async fn clusters_that_answer_in_turns_are_told_of_and_left_alone_until_the_cluster_is_edited() {
    let mut act = Act::begin().await;
    let mut uids = ["another", "uid"].into_iter().cycle();
    let mut gives_way = || act.member.returns_as(uids.next().expect("a cycle"), &["a"]);
    for times in 2..7 {
        gives_way();
        in_time("another watch", || async { act.member.watches() == times }).await;
        assert_eq!(act.lists(), times);
    }
    gives_way();
    in_time("what is told", || async { act.explains(IN_TURNS) }).await;
    act.is_healthy(false).await;
    assert_eq!(act.lists(), 6, "it is left alone for more than a minute");
    act.asks_for(&["pods"]);
    until("a list", || async { act.lists() == 7 }).await;
    act.is_healthy(true).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_member_that_does_not_say_what_it_serves_keeps_everything_that_is_asked_for() {
    let mut act = Act::begin().await;
    act.member.take_discoveries();
    act.member.answers("/api", 500);
    act.member.answers("/apis", 500);
    for _ in 0..3 {
        let asked = || async { !act.member.take_discoveries().is_empty() };
        in_time("another try", asked).await;
    }
    assert_eq!(act.stage.config_maps().await, [CONFIG_MAP]);
    act.member.adds("b");
    act.stage.shows(&[POD, "m/n/b"]).await;

    act.stage.breaking.refuse("close", 1);
    act.asks_for(&["pods"]);
    act.shows_config_maps(&[]).await;
    act.stage.shows(&[POD, "m/n/b"]).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn first_answers_of_two_connections_are_no_two_answers() {
    let mut act = Act::begin().await;
    act.member.keeps_config_maps_to_itself();
    for _ in 0..2 {
        act.member.dies();
        act.is_healthy(false).await;
        let watches = act.member.watches();
        act.member.returns_as("uid", &["a"]);
        act.is_healthy(true).await;
        in_time("a watch", || async { act.member.watches() > watches }).await;
        assert_eq!(act.stage.config_maps().await, [CONFIG_MAP]);
    }
    act.shows_config_maps(&[]).await;
    act.fleet.shutdown().await;
}

/// As a release finds it that stores more of an object, or less.
#[tokio::test]
async fn what_was_stored_by_other_rules_is_shown_until_it_was_listed_anew() {
    let stage = Stage::new().await;
    stage.breaking.stores_by_other_rules(true);
    let mut act = Act::begin_on(stage).await;
    act.fleet.shutdown().await;
    act.stage.breaking.stores_by_other_rules(false);
    act.member.answers("/api/v1/pods", 500);
    act.fleet = act.stage.synchro("");
    act.stage.relist(&mut act.fleet, [act.object.clone()]);
    in_time("a refusal", || async { act.of_pods()["status"] == "Error" }).await;
    act.stage.shows(&[POD]).await;
    assert_eq!(act.lists(), 1, "none was answered");
    act.member.answers("/api/v1/pods", 200);
    in_time("another list", || async { act.lists() == 2 }).await;
    act.stage.shows(&[POD]).await;
    act.member.until_watched(2).await;
    act.fleet.shutdown().await;

    let watches = act.member.watches();
    act.fleet = act.stage.synchro("");
    act.stage.relist(&mut act.fleet, [act.object.clone()]);
    in_time("a watch", || async { act.member.watches() > watches }).await;
    assert_eq!(act.lists(), 2, "it is stored by its own rules now");
    assert_eq!(act.asked("watch@10"), act.member.watches());
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_kind_is_shown_while_somebody_asks_for_it() {
    let mut act = Act::begin().await;
    act.asks_for(&["pods"]);
    act.shows_config_maps(&[]).await;
    act.stage.shows(&[POD]).await;
    act.asks_for(&["pods", "configmaps"]);
    act.shows_config_maps(&[CONFIG_MAP]).await;
    // What the purge had not reached is shown again before it is listed again.
    let listed_again = || async { act.asked("list configmaps") == 2 };
    in_time("another list", listed_again).await;
    assert_eq!(act.lists(), 1);
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_kind_that_could_not_be_hidden_is_hidden_though_nothing_else_changes() {
    let mut act = Act::begin().await;
    act.stage.breaking.refuse("close", 3);
    act.asks_for(&["pods"]);
    act.shows_config_maps(&[]).await;
    assert!(act.stage.breaking.has_refused("close"));
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn what_a_dead_member_is_no_longer_asked_for_is_hidden() {
    let mut act = Act::begin().await;
    act.member.dies();
    act.is_healthy(false).await;
    act.stage.breaking.refuse("streams", 1);
    act.stage.breaking.refuse("close", 1);
    act.asks_for(&["pods"]);
    act.shows_config_maps(&[]).await;
    act.stage.shows(&[POD]).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn what_a_dead_member_is_no_longer_asked_for_is_not_missed() {
    let mut act = Act::begin().await;
    let misses = |act: &Act| {
        act.status()["syncResources"]
            .to_string()
            .contains("widgets")
    };
    act.asks_for(&["pods", "widgets"]);
    in_time("word of it", || async { misses(&act) }).await;
    act.member.dies();
    act.is_healthy(false).await;
    act.asks_for(&["pods"]);
    in_time("the end of it", || async { !misses(&act) }).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn an_audit_waits_until_it_is_known_what_there_is_to_compare() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    let mut object = asking_for(&member, &["pods", "configmaps"]);
    let annotations = object.annotations_mut();
    annotations.insert(AUDIT_ANNOTATION.to_owned(), "7".to_owned());
    stage.breaking.refuse("streams", 2);
    stage.relist(&mut fleet, [object]);
    let is_listed = || async { !member.requests().is_empty() };
    in_time("a list", is_listed).await;
    let audit = || {
        let written = stage.control_plane.statuses("m").pop()?;
        let audit = written.body["status"]["audit"].clone();
        (audit["request"] == "7").then_some(audit)
    };
    until("an audit", || async { audit().is_some() }).await;
    let audit = audit().expect("an audit");
    assert_eq!(audit["proved"], 2, "{audit}");
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_is_let_go_is_not_said_to_be_kept_up_to_date() {
    let mut act = Act::begin().await;
    act.is_healthy(true).await;
    act.object.spec.sharding_name = "other".to_owned();
    let mut taken = act.object.clone();
    let status = json!({"shardingName": "other", "conditions": [], "syncResources": []});
    taken.status = serde_json::from_value(status).expect("a status");
    // Whoever has it already says how it is.
    act.fleet.handle(Event::Apply(taken));
    act.fleet.shutdown().await;
    act.is_healthy(true).await;

    let mut again = act.stage.synchro("");
    let object = asking_for(&act.member, &["pods"]);
    act.stage.relist(&mut again, [object]);
    until("a watch", || async { act.member.watches() > 1 }).await;
    again.handle(Event::Apply(act.object.clone()));
    again.shutdown().await;
    let health = act.stage.health("m").await.expect("it was healthy");
    assert_eq!(health.reason, "no synchro looks after it now");
    assert!(!health.healthy);
}

/// Its watch caches may go on while its store is away.
#[tokio::test]
async fn a_member_that_sends_is_seldom_asked_whether_it_is_well_and_found_where_it_is_not() {
    let act = Act::begin().await;
    let before = act.member.probes();
    let minute = Instant::now() + Duration::from_secs(60);
    in_time("a minute", || async {
        act.member.adds("b");
        Instant::now() >= minute
    })
    .await;
    let probes = act.member.probes() - before;
    assert!((1..=4).contains(&probes), "{probes} in a minute");

    act.member.answers("/readyz", 500);
    let begun = Instant::now();
    in_time("that it is not well", || async {
        act.member.adds("b");
        act.says("ClusterHealthy", "False")
    })
    .await;
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
}
