//! A cluster of which all that is custom is asked for.

use armadex_model::{GroupVersionResource, Query};

use super::*;
use crate::session::plan::Gates;

/// A cluster of which everything custom is asked for, and pods; its member serves things.
struct Act {
    stage: Stage,
    member: ScriptedMember,
    object: PediaCluster,
    fleet: Fleet,
}

impl Act {
    async fn begin(crds: Option<&[&str]>) -> Self {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &[]).await;
        member.serves_things(&["v1"]);
        if let Some(crds) = crds {
            member.has_crds(crds);
        }
        let mut object = pedia_cluster("m", "uid-m", &member);
        object.spec.sync_all_custom_resources = true;
        let gates = Gates {
            allow_sync_all_custom_resources: true,
            ..Gates::default()
        };
        let config = Config {
            gates,
            audit_every: Duration::ZERO,
            ..Config::default()
        };
        let mut fleet = stage.synchro_with(stage.control_plane.client(), "one", config);
        stage.relist(&mut fleet, [object.clone()]);
        Self {
            stage,
            member,
            object,
            fleet,
        }
    }

    async fn comes_to_show(&self, expected: &[&str]) {
        let things = GroupVersionResource::new("shop.example", "v1", "things");
        let query = Query::all(things);
        let found = || async { self.stage.store.list(&query, 10).await == expected };
        in_time(&format!("things {expected:?}"), found).await;
    }

    /// Whether the status says of what is custom that it cannot be known.
    fn misses_customs(&self) -> bool {
        let written = self.stage.control_plane.statuses("m").pop();
        let status = written.map_or(Value::Null, |written| written.body["status"].clone());
        let groups = status["syncResources"].as_array().cloned();
        let is_said = |group: &Value| group.to_string().contains("customresourcedefinitions");
        groups.into_iter().flatten().any(|group| is_said(&group))
    }
}

#[tokio::test]
async fn what_is_custom_is_synced_until_it_is_not_asked_for_any_more() {
    let mut act = Act::begin(Some(&["things.shop.example"])).await;
    act.comes_to_show(&["m/n/a"]).await;
    assert!(!act.misses_customs());
    act.object.spec.sync_all_custom_resources = false;
    act.fleet.handle(Event::Apply(act.object.clone()));
    act.comes_to_show(&[]).await;
    act.object.spec.sync_all_custom_resources = true;
    act.fleet.handle(Event::Apply(act.object.clone()));
    act.comes_to_show(&["m/n/a"]).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_member_that_does_not_say_what_is_custom_is_asked_again_and_keeps_what_is_there() {
    let mut act = Act::begin(None).await;
    in_time("word of it", || async { act.misses_customs() }).await;
    act.comes_to_show(&[]).await;
    act.member.has_crds(&["things.shop.example"]);
    act.comes_to_show(&["m/n/a"]).await;
    in_time("the end of it", || async { !act.misses_customs() }).await;
    act.fleet.shutdown().await;
}

/// As an operator installs it: what serves the kind is told before, or after, or at the same time.
#[tokio::test]
async fn a_definition_that_comes_later_is_found() {
    let mut act = Act::begin(Some(&[])).await;
    act.comes_to_show(&[]).await;
    act.member
        .has_crds(&["others.shop.example", "things.shop.example"]);
    act.comes_to_show(&["m/n/a"]).await;
    act.fleet.shutdown().await;
}
