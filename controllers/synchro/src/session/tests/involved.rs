//! A cluster of which the Events of some kinds are asked for, beside these.

use armadex_model::{GroupVersionResource, Query};

use super::*;
use crate::incoming::prune::Unpruned;

const OF_POD: (&str, &str, &str) = ("of-pod", "Pod", "v1");
const OF_MAP: (&str, &str, &str) = ("of-map", "ConfigMap", "v1");
const OF_NODE: (&str, &str, &str) = ("of-node", "Node", "v1");
const OF_OTHER: (&str, &str, &str) = ("of-other", "Pod", "example.com/v1");

impl Act {
    /// With the Events of these kinds, which the member has beside others.
    async fn begin_with_events_of(involved: &[&str], selects: bool) -> Self {
        let member = ScriptedMember::start("uid", &["a"]).await;
        member.has_events(&[OF_POD, OF_MAP, OF_NODE, OF_OTHER]);
        if !selects {
            member.selects_nothing();
        }
        let stage = Stage::new().await;
        let mut fleet = stage.synchro("");
        let mut object = asking_for(&member, &["pods", "configmaps"]);
        object.spec.sync_resources[0].events_involved_resources = names(involved);
        stage.relist(&mut fleet, [object.clone()]);
        Self {
            stage,
            member,
            object,
            fleet,
        }
    }

    fn asks_for_events_of(&mut self, kinds: &[&str], involved: &[&str]) {
        let entry = &mut self.object.spec.sync_resources[0];
        entry.resources = names(kinds);
        entry.events_involved_resources = names(involved);
        self.fleet.handle(Event::Apply(self.object.clone()));
    }

    async fn comes_to_show_events(&self, expected: &[&str]) {
        let resource = GroupVersionResource::new("", "v1", "events");
        let query = Query::all(resource);
        let found = || async { self.stage.store.list(&query, 10).await == expected };
        in_time(&format!("events {expected:?}"), found).await;
    }

    /// Waits until Events are watched that were asked for in this way so often.
    async fn until_asked_for(&self, request: &str, times: usize) {
        let asked = || async { self.asked(request) >= times };
        in_time(&format!("{request:?} {times} times"), asked).await;
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn the_events_of_the_kinds_that_are_asked_for_are_synced_and_an_edit_of_these_is_followed() {
    let mut act = Act::begin_with_events_of(&["pods"], true).await;
    act.comes_to_show_events(&["m/n/of-pod"]).await;
    act.until_asked_for("watch@10 events of Pod", 1).await;
    assert_eq!(act.asked("list events"), 0, "{:?}", act.member.requests());
    in_time("a row of its own", || async {
        act.status().to_string().contains(r#""name":"events""#)
    })
    .await;
    act.member.tells_event("ADDED", ("second", "Pod", "v1"));
    act.comes_to_show_events(&["m/n/of-pod", "m/n/second"])
        .await;

    // Of two kinds all come, and others are left out here.
    act.asks_for_events_of(&["pods", "configmaps"], &["*"]);
    act.comes_to_show_events(&["m/n/of-map", "m/n/of-pod"])
        .await;
    act.until_asked_for("watch@10 events", 1).await;
    act.member
        .tells_event("ADDED", ("other", "Pod", "example.com/v1"));
    act.member.tells_event("DELETED", ("of-map", "Node", "v1"));
    act.member
        .tells_event("ADDED", ("third", "ConfigMap", "v1"));
    act.member.tells_event("DELETED", OF_POD);
    act.comes_to_show_events(&["m/n/of-map", "m/n/third"]).await;

    act.asks_for_events_of(&["pods", "configmaps"], &["configmaps"]);
    act.comes_to_show_events(&["m/n/of-map"]).await;
    act.until_asked_for("list events of ConfigMap", 1).await;

    act.asks_for_events_of(&["pods", "configmaps", "events"], &["configmaps"]);
    let all = ["m/n/of-map", "m/n/of-node", "m/n/of-other", "m/n/of-pod"];
    act.comes_to_show_events(&all).await;
    act.asks_for_events_of(&["pods", "configmaps"], &[]);
    act.comes_to_show_events(&[]).await;
    act.stage.shows(&[POD]).await;
    act.fleet.shutdown().await;
    assert_eq!(act.stage.breaking.changed(), 0, "what stays is no change");
}

/// An edit while no synchro runs, and none.
#[tokio::test]
async fn a_restart_lists_events_anew_where_other_kinds_are_asked_for() {
    let mut act = Act::begin_with_events_of(&["pods", "configmaps"], true).await;
    act.comes_to_show_events(&["m/n/of-map", "m/n/of-pod"])
        .await;
    act.until_asked_for("watch@10 events", 1).await;
    act.fleet.shutdown().await;
    act.fleet = act.stage.synchro("");
    act.stage.relist(&mut act.fleet, [act.object.clone()]);
    act.until_asked_for("watch@10 events", 2).await;
    assert_eq!(act.asked("list events"), 1, "the set is the same");
    act.fleet.shutdown().await;

    let entry = &mut act.object.spec.sync_resources[0];
    entry.events_involved_resources = names(&["configmaps"]);
    act.fleet = act.stage.synchro("");
    act.stage.relist(&mut act.fleet, [act.object.clone()]);
    act.comes_to_show_events(&["m/n/of-map"]).await;
    act.until_asked_for("watch@10 events of ConfigMap", 1).await;
    assert_eq!(act.asked("list events of ConfigMap"), 1);
    assert_eq!(act.stage.breaking.changed(), 0, "what stays is no change");
    act.fleet.shutdown().await;
}

/// It is stored by other rules.
#[tokio::test]
async fn what_is_stored_under_one_gate_is_made_anew_under_another() {
    let mut act = Act::begin_with_events_of(&["pods"], true).await;
    act.comes_to_show_events(&["m/n/of-pod"]).await;
    act.until_asked_for("watch@10 events of Pod", 1).await;
    act.fleet.shutdown().await;
    for (managed_fields, changed) in [(true, 3), (true, 3), (false, 6)] {
        let watches = act.asked("watch@10 events of Pod");
        let unpruned = Unpruned {
            managed_fields,
            last_applied: false,
        };
        let config = Config {
            unpruned,
            audit_every: Duration::ZERO,
            ..Config::default()
        };
        let client = act.stage.control_plane.client();
        act.fleet = act.stage.synchro_with(client, "one", config);
        act.stage.relist(&mut act.fleet, [act.object.clone()]);
        act.until_asked_for("watch@10 events of Pod", watches + 1)
            .await;
        // A pod, a config map and an Event.
        let is_made = || async { act.stage.breaking.changed() >= changed };
        in_time("what was stored by other rules", is_made).await;
        act.fleet.shutdown().await;
        assert_eq!(act.stage.breaking.changed(), changed);
    }
}

/// As an API server may that is none of Kubernetes.
#[tokio::test]
async fn where_the_member_knows_no_selector_all_events_are_read() {
    let mut act = Act::begin_with_events_of(&["pods"], false).await;
    act.comes_to_show_events(&["m/n/of-pod"]).await;
    act.until_asked_for("list events", 1).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn an_audit_compares_the_events_that_are_kept_and_no_others() {
    let mut act = Act::begin_with_events_of(&["pods"], true).await;
    act.comes_to_show_events(&["m/n/of-pod"]).await;
    act.until_asked_for("watch@10 events of Pod", 1).await;
    let annotations = act.object.annotations_mut();
    annotations.insert(AUDIT_ANNOTATION.to_owned(), "7".to_owned());
    act.fleet.handle(Event::Apply(act.object.clone()));
    let audited = || async { act.status()["audit"]["request"] == "7" };
    in_time("an audit", audited).await;
    let audit = act.status()["audit"].clone();
    let counts = ["proved", "objects", "differences"].map(|count| audit[count].as_i64());
    assert_eq!(counts, [Some(3), Some(3), Some(0)], "{audit}");
    act.fleet.shutdown().await;
}
