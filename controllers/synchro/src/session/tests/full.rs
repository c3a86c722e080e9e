//! A cluster that has as many objects in the store as it may have.

use armadex_model::{GroupVersionResource, Query};

use super::*;

/// A synchro that takes so many objects of a cluster.
fn that_takes(stage: &Stage, most: u64) -> Fleet {
    let config = Config {
        max_objects: most,
        ..Config::default()
    };
    stage.synchro_with(stage.control_plane.client(), "one", config)
}

/// The reason that the last status has for a kind.
fn reason(stage: &Stage, kind: &str) -> String {
    let written = stage.control_plane.statuses("m").pop();
    let status = written.map_or(Value::Null, |written| written.body["status"].clone());
    let resources = status["syncResources"][0]["resources"].as_array();
    let mut resources = resources.into_iter().flatten();
    let found = resources.find(|resource| resource["name"] == kind);
    let reason = found.and_then(|found| found["syncConditions"][0]["reason"].as_str());
    reason.unwrap_or_default().to_owned()
}

async fn says_that_it_is_full(stage: &Stage, kind: &str) {
    let is_full = || async { reason(stage, kind) == "TooManyObjects" };
    in_time(&format!("{kind}: a reason"), is_full).await;
}

#[tokio::test]
async fn what_brings_more_objects_than_a_cluster_may_have_stops_and_nothing_else_does() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = that_takes(&stage, 2);
    stage.relist(&mut fleet, [asking_for(&member, &["pods", "configmaps"])]);
    stage.shows(&[POD]).await;
    in_time("config maps", || async {
        stage.config_maps().await == [CONFIG_MAP]
    })
    .await;
    member.until_watched(1).await;
    member.adds("b");
    says_that_it_is_full(&stage, "pods").await;
    let both = [POD, "m/n/b"];
    stage.shows(&both).await;
    assert_eq!(reason(&stage, "configmaps"), "");
    fleet.shutdown().await;
    // A former process has left more than this one takes: nothing is taken away, and what was listed is followed.
    let watches = member.watches();
    let mut fleet = that_takes(&stage, 1);
    stage.relist(&mut fleet, [asking_for(&member, &["pods", "configmaps"])]);
    member.until_watched(watches + 1).await;
    stage.shows(&both).await;
    member.adds("c");
    // It is so far beyond what it may have that not even a batch is written.
    says_that_it_is_full(&stage, "pods").await;
    stage.shows(&both).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_list_of_a_full_cluster_is_begun_no_more() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a", "b"]).await;
    let mut fleet = that_takes(&stage, 1);
    stage.relist(&mut fleet, [asking_for(&member, &["pods"])]);
    // What a list brings at once is stored.
    stage.shows(&[POD, "m/n/b"]).await;
    fleet.shutdown().await;
    let lists = || {
        let requests = member.requests();
        let lists = requests.iter().filter(|request| *request == "list");
        lists.count()
    };
    let before = lists();
    let mut fleet = that_takes(&stage, 1);
    stage.relist(&mut fleet, [asking_for(&member, &["pods", "configmaps"])]);
    says_that_it_is_full(&stage, "configmaps").await;
    assert_eq!(
        lists(),
        before,
        "what was listed is watched: nothing is listed again"
    );
    fleet.shutdown().await;
}

/// A PediaCluster that asks for pods and things.
fn asking_for_things(member: &ScriptedMember) -> PediaCluster {
    let mut object = asking_for(member, &["pods"]);
    let mut asked = object.spec.sync_resources[0].clone();
    asked.group = "shop.example".to_owned();
    asked.resources = vec!["things".to_owned()];
    object.spec.sync_resources.push(asked);
    object
}

async fn shows_things(stage: &Stage, version: &str, expected: &[&str]) {
    let things = GroupVersionResource::new("shop.example", version, "things");
    let query = Query::all(things);
    let shown = || async { stage.store.list(&query, 10).await == expected };
    in_time(&format!("{version}: {expected:?}"), shown).await;
}

/// While it is listed the objects of both are stored.
#[tokio::test]
async fn another_version_of_what_fills_a_cluster_takes_its_place() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    member.serves_things(&["v1"]);
    let mut fleet = that_takes(&stage, 2);
    stage.relist(&mut fleet, [asking_for_things(&member)]);
    shows_things(&stage, "v1", &["m/n/a"]).await;
    stage.shows(&[POD]).await;
    fleet.shutdown().await;
    let mut fleet = that_takes(&stage, 2);
    member.serves_things(&["v2", "v1"]);
    stage.relist(&mut fleet, [asking_for_things(&member)]);
    shows_things(&stage, "v2", &["m/n/a"]).await;
    shows_things(&stage, "v1", &[]).await;
    fleet.shutdown().await;
}
