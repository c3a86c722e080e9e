//! A kind of which the member comes to serve another version.

use armadex_model::{GroupVersionResource, Query};

use super::*;

fn things(version: &str) -> GroupVersionResource {
    GroupVersionResource::new("shop.example", version, "things")
}

/// In these versions, if any are given.
fn asking_for_things(member: &ScriptedMember, versions: &[&str]) -> PediaCluster {
    let mut object = pedia_cluster("m", "uid-m", member);
    let asked = &mut object.spec.sync_resources[0];
    asked.group = "shop.example".to_owned();
    asked.versions = versions.iter().copied().map(str::to_owned).collect();
    asked.resources = vec!["things".to_owned()];
    object
}

/// A cluster whose things are stored and followed in `v1`.
struct Act {
    stage: Stage,
    member: ScriptedMember,
    fleet: Fleet,
}

impl Act {
    async fn begin() -> Self {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &[]).await;
        member.serves_things(&["v1"]);
        let object = asking_for_things(&member, &[]);
        let mut fleet = stage.synchro("");
        stage.relist(&mut fleet, [object]);
        let act = Self {
            stage,
            member,
            fleet,
        };
        act.comes_to_show("v1", &["m/n/a"]).await;
        act
    }

    async fn shown(&self, version: &str) -> Vec<String> {
        self.stage
            .store
            .list(&Query::all(things(version)), 10)
            .await
    }

    async fn comes_to_show(&self, version: &str, expected: &[&str]) {
        let found = || async { self.shown(version).await == expected };
        in_time(&format!("{version}: {expected:?}"), found).await;
    }

    async fn has(&self, version: &str) -> bool {
        let catalog = self
            .stage
            .store
            .search
            .catalog()
            .await
            .expect("a catalogue");
        let cluster = &catalog.clusters[&name("m")];
        cluster.resources.contains(&things(version))
    }

    /// Whether the last status says this of a version.
    fn says(&self, version: &str, expected: &str) -> bool {
        let written = self.stage.control_plane.statuses("m").pop();
        let status = written.map_or(Value::Null, |written| written.body["status"].clone());
        let conditions = &status["syncResources"][0]["resources"][0]["syncConditions"];
        let mut conditions = conditions.as_array().into_iter().flatten();
        conditions.any(|found| found["version"] == version && found["status"] == expected)
    }
}

#[tokio::test]
async fn a_version_is_shown_and_followed_until_the_next_one_has_been_listed() {
    let mut act = Act::begin().await;
    // As while a conversion webhook is broken.
    act.member.answers("/apis/shop.example/v2/things", 500);
    act.member.serves_things(&["v2", "v1"]);
    in_time("a refusal", || async { act.says("v2", "Error") }).await;
    for _ in 0..2 {
        act.member.take_discoveries();
        let asked = || async { !act.member.take_discoveries().is_empty() };
        in_time("another look", asked).await;
        assert_eq!(act.shown("v1").await, ["m/n/a"]);
        assert!(act.says("v1", "Syncing"), "it is followed");
        assert!(!act.has("v2").await, "who names no version is sent to v1");
    }
    assert_eq!(act.stage.store.purge(100).await, 0);

    act.member.answers("/apis/shop.example/v2/things", 200);
    act.comes_to_show("v2", &["m/n/a"]).await;
    act.comes_to_show("v1", &[]).await;
    assert!(!act.has("v1").await);
    act.fleet.shutdown().await;
}

/// As behind API servers one of which lags, and where none of the new versions can be listed.
#[tokio::test]
async fn one_version_stays_beside_the_planned_one_and_neither_goes_by_one_answer() {
    let mut act = Act::begin().await;
    for version in ["v2", "v3"] {
        let path = format!("/apis/shop.example/{version}/things");
        act.member.answers(&path, 500);
    }
    act.member.serves_things(&["v2", "v1"]);
    in_time("a refusal", || async { act.says("v2", "Error") }).await;
    for versions in [&["v1"][..], &["v2", "v1"]] {
        act.member.serves_things(versions);
        act.member.take_discoveries();
        let asked = || async { !act.member.take_discoveries().is_empty() };
        in_time("another look", asked).await;
    }
    assert!(act.says("v2", "Error") && act.has("v1").await);

    act.member.serves_things(&["v3", "v2", "v1"]);
    in_time("a refusal", || async { act.says("v3", "Error") }).await;
    in_time("its end", || async { !act.says("v2", "Error") }).await;
    assert_eq!(act.shown("v1").await, ["m/n/a"]);
    in_time("v1", || async { act.says("v1", "Syncing") }).await;
    act.fleet.shutdown().await;
}

/// What cannot be followed any more is shown all the same.
#[tokio::test]
async fn a_version_that_is_served_no_more_is_shown_until_the_next_one_has_been_listed() {
    let mut act = Act::begin().await;
    act.member.answers("/apis/shop.example/v2/things", 500);
    act.member.serves_things(&["v2", "v1beta1"]);
    in_time("a refusal", || async { act.says("v2", "Error") }).await;
    in_time("its end", || async { !act.says("v1", "Syncing") }).await;
    assert_eq!(act.shown("v1").await, ["m/n/a"]);
    act.member.answers("/apis/shop.example/v2/things", 200);
    act.comes_to_show("v2", &["m/n/a"]).await;
    act.comes_to_show("v1", &[]).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn versions_that_are_given_by_hand_are_shown_beside_each_other_and_each_for_as_long_as_it_is_asked_for()
 {
    let mut act = Act::begin().await;
    act.member.serves_things(&["v3", "v2", "v1"]);
    let asks_for = |act: &mut Act, versions: &[&str]| {
        let object = asking_for_things(&act.member, versions);
        act.fleet.handle(Event::Apply(object));
    };
    asks_for(&mut act, &["v1", "v2"]);
    act.comes_to_show("v2", &["m/n/a"]).await;
    in_time("both", || async {
        act.has("v1").await && act.has("v2").await
    })
    .await;
    in_time("both in words", || async {
        act.says("v1", "Syncing") && act.says("v2", "Syncing")
    })
    .await;
    assert_eq!(act.shown("v3").await, [""; 0]);

    // What is in their place has to be listed first.
    act.member.answers("/apis/shop.example/v3/things", 500);
    asks_for(&mut act, &["v3"]);
    in_time("a refusal", || async { act.says("v3", "Error") }).await;
    let shown = async |act: &Act| [act.shown("v1").await, act.shown("v2").await].concat();
    in_time("one of them", || async { shown(&act).await == ["m/n/a"] }).await;
    act.member.answers("/apis/shop.example/v3/things", 200);
    act.comes_to_show("v3", &["m/n/a"]).await;
    in_time("it alone", || async { shown(&act).await.is_empty() }).await;
    act.fleet.shutdown().await;
}
