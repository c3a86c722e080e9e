//! Lists of resources that several PediaClusters share.

use serde_json::json;

use super::*;
use crate::named::Named;

const SHARED: &str = "/apis/cluster.clusterpedia.io/v1alpha2/clustersyncresources/common";
const PLURAL: &str = "clustersyncresources";

fn host_of_lists() -> Host {
    let host = host();
    host.serve(ServedType::new(
        "cluster.clusterpedia.io",
        "v1alpha2",
        PLURAL,
        "ClusterSyncResources",
    ));
    host
}

fn share(host: &Host, resources: &[&str]) {
    let list = json!({"spec": {"syncResources": [{"group": "", "resources": resources}]}});
    host.put(SHARED, list);
}

/// Of a member with a token of its own, which asks for nothing but what the list says, if it refers to it.
fn of_list(member: &ScriptedMember, refers: bool) -> Value {
    json!({"apiserver": member.address(), "tokenData": "dG9rZW4=", "connection": {"insecureSkipTLSVerification": true},
        "syncResources": if refers { json!([]) } else { json!([{"group": "", "resources": ["pods"]}]) },
        "syncResourcesRefName": if refers { "common" } else { "" }})
}

/// A member that refers to a list of Pods, and is synced.
async fn synced(stage: &Stage, host: &Host) -> (ScriptedMember, Fleet) {
    share(host, &["pods"]);
    let member = ScriptedMember::start("east", &["a"]).await;
    let mut fleet = synchro(stage, host);
    stage.relist(&mut fleet, [write(host, "east", &of_list(&member, true))]);
    stage.shows(&["east/n/a"]).await;
    (member, fleet)
}

fn lists_of(member: &ScriptedMember, kind: &str) -> usize {
    let of_kind = |asked: &&String| asked.starts_with(kind);
    member.requests().iter().filter(of_kind).count()
}

#[tokio::test]
async fn an_edit_reaches_every_cluster_that_refers_to_the_list_and_costs_what_changed() {
    let (stage, host) = (Stage::new().await, host_of_lists());
    share(&host, &["pods"]);
    let mut members = Vec::new();
    for name in ["east", "west", "own"] {
        let member = ScriptedMember::start(name, &["a"]).await;
        members.push((name, member));
    }
    let mut fleet = synchro(&stage, &host);
    let objects = members
        .iter()
        .map(|(name, member)| write(&host, name, &of_list(member, *name != "own")));
    stage.relist(&mut fleet, objects.collect::<Vec<_>>());
    stage.shows(&["east/n/a", "own/n/a", "west/n/a"]).await;

    share(&host, &["pods", "configmaps"]);
    let maps = || async { stage.config_maps().await.len() };
    until("ConfigMaps of both", || async { maps().await == 2 }).await;
    let asked = |(_, member): &(_, ScriptedMember)| {
        ["list configmaps", "list"].map(|kind| lists_of(member, kind))
    };
    let asked = Vec::from_iter(members.iter().map(asked));
    assert_eq!(asked, [[1, 2], [1, 2], [0, 1]], "pods are listed once");

    share(&host, &["configmaps"]);
    stage.shows(&["own/n/a"]).await;
    assert_eq!(maps().await, 2);
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_list_that_is_not_there_or_goes_is_told_and_the_rest_is_synced() {
    let (stage, host) = (Stage::new().await, host_of_lists());
    let member = ScriptedMember::start("east", &["a"]).await;
    let mut spec = of_list(&member, true);
    spec["syncResources"] = json!([{"group": "", "resources": ["pods"]}]);
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    let words = "Validated: Warning: sync resource ref is not found: there is no ClusterSyncResources common";
    comes_to_say(&host, "east", "Validated", words).await;
    stage.shows(&["east/n/a"]).await;

    share(&host, &["configmaps"]);
    until("a ConfigMap", || async {
        stage.config_maps().await.len() == 1
    })
    .await;
    until("no warning", || async {
        let said = host.condition(&format!("{CLUSTERS}/east"), "Validated");
        said.is_some_and(|said| !said.contains("not found"))
    })
    .await;

    host.remove(SHARED);
    comes_to_say(&host, "east", "Validated", words).await;
    until("no ConfigMap", || async {
        stage.config_maps().await.is_empty()
    })
    .await;
    stage.shows(&["east/n/a"]).await;
    assert_eq!(
        lists_of(&member, "list"),
        2,
        "pods and ConfigMaps, once each"
    );
    fleet.shutdown().await;
}

#[tokio::test]
async fn what_a_list_that_can_not_be_read_asks_for_is_not_known_and_nothing_is_hidden() {
    let (stage, host) = (Stage::new().await, host_of_lists());
    let (member, mut before) = synced(&stage, &host).await;
    before.shutdown().await;

    host.forbid("list", PLURAL);
    let mut fleet = synchro(&stage, &host);
    let object = write(&host, "east", &of_list(&member, true));
    stage.relist(&mut fleet, [object]);
    let words = "WaitSyncResources: the ClusterSyncResources common, which syncResourcesRefName names, cannot be read: ";
    comes_to_say(&host, "east", "Validated", words).await;
    until("a warning for whoever searches", || async {
        stage
            .health("east")
            .await
            .is_some_and(|health| !health.healthy)
    })
    .await;
    stage.shows(&["east/n/a"]).await;

    host.permit_all();
    comes_to_say(&host, "east", "SynchroRunning", "Running: ").await;
    stage.shows(&["east/n/a"]).await;
    assert_eq!(lists_of(&member, "list"), 1, "it goes on from where it was");
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_list_that_asks_for_what_can_not_be_is_refused_by_its_name_and_what_runs_goes_on() {
    let (stage, host) = (Stage::new().await, host_of_lists());
    let (member, mut fleet) = synced(&stage, &host).await;
    let all = json!({"spec": {"syncResources": [{"group": "*", "resources": ["*"]}]}});
    host.put(SHARED, all);
    let words = "InvalidSyncResources: ClusterSyncResources common: group \"*\" needs the feature gate AllowSyncAllResources";
    comes_to_say(&host, "east", "Validated", words).await;
    member.until_watched(1).await;
    member.adds("b");
    stage.shows(&["east/n/a", "east/n/b"]).await;
    fleet.shutdown().await;
}

/// What only the list asked for is nobody's by then, whether or not the member can be asked.
#[tokio::test]
async fn of_an_object_that_can_not_be_used_it_is_found_out_all_the_same_that_its_list_is_gone() {
    let (stage, host) = (Stage::new().await, host_of_lists());
    let (member, mut before) = synced(&stage, &host).await;
    before.shutdown().await;

    host.remove(SHARED);
    let mut spec = of_list(&member, true);
    spec["tokenData"] = json!("no base64");
    let mut fleet = synchro(&stage, &host);
    stage.relist(&mut fleet, [write(&host, "east", &spec)]);
    comes_to_say(&host, "east", "Validated", "InvalidConfig: ").await;
    stage.shows(&[]).await;
    fleet.shutdown().await;
}

/// The watch of lists may be behind that of PediaClusters, and whoever replaces a list deletes it first.
#[tokio::test]
async fn a_list_that_is_gone_for_a_moment_hides_nothing_and_nothing_is_listed_anew() {
    let (stage, host) = (Stage::new().await, host_of_lists());
    let (member, mut fleet) = synced(&stage, &host).await;
    member.until_watched(1).await;

    // To one that is not there yet, and comes.
    let mut renamed = of_list(&member, true);
    renamed["syncResourcesRefName"] = json!("other");
    fleet.handle(Event::Apply(write(&host, "east", &renamed)));
    let list =
        json!({"spec": {"syncResources": [{"group": "", "resources": ["pods", "configmaps"]}]}});
    host.put(&SHARED.replace("common", "other"), list.clone());
    let maps = || async { stage.config_maps().await.len() };
    until("a ConfigMap", || async { maps().await == 1 }).await;

    // Replaced.
    let mut followed = fleet.references().follow("other");
    host.remove(&SHARED.replace("common", "other"));
    while followed.now() != Named::Absent {
        followed.changed().await;
    }
    host.put(&SHARED.replace("common", "other"), list);
    member.adds("b");
    stage.shows(&["east/n/a", "east/n/b"]).await;
    assert_eq!(maps().await, 1);
    let lists = lists_of(&member, "list");
    assert_eq!(lists, 2, "pods and ConfigMaps, once each");
    fleet.shutdown().await;
}
