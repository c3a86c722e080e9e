//! Members whose account may do less than others, or less than before.

use super::*;
use crate::testing::IDENTITY_PATH;

#[tokio::test]
async fn a_member_that_forbids_to_be_asked_whether_it_is_well_is_synced_all_the_same() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    member.answers("/readyz", 403);
    member.answers("/version", 403);
    let mut act = Act::begin_with(stage, member).await;
    let words = "cluster health responded with ok, but get server version: ";
    in_time("its health", || async { act.explains(words) }).await;
    // By what it lists.
    act.member.answers("/api/v1/pods", 500);
    act.member.answers("/api/v1/configmaps", 500);
    act.member.breaks_off();
    act.comes_to_say("ClusterHealthy", "False").await;
    for path in ["/readyz", "/version", "/api/v1/pods", "/api/v1/configmaps"] {
        act.member.answers(path, 200);
    }
    act.comes_to_say("ClusterHealthy", "True").await;
    in_time("its version", || async {
        act.status()["version"] == "v1.36.0"
    })
    .await;
    act.fleet.shutdown().await;
}

/// A pause would not help: it is there.
#[tokio::test]
async fn a_member_that_forbids_everything_is_not_well_and_its_streams_go_on_when_it_does_not_any_more()
 {
    const ALL: [&str; 4] = ["/readyz", "/version", "/api/v1/pods", "/api/v1/configmaps"];
    let mut act = Act::begin().await;
    for path in ALL {
        act.member.answers(path, 403);
    }
    act.member.breaks_off();
    act.comes_to_say("ClusterHealthy", "False").await;
    act.comes_to_say("Ready", "False").await;
    act.is_healthy(false).await;
    let of_pods = act.of_pods();
    assert_eq!(of_pods["status"], "Error", "{of_pods}");
    act.member.take_discoveries();
    let probes = act.member.probes();
    in_time("more probes", || async { act.member.probes() > probes + 5 }).await;
    assert!(act.says("ClusterHealthy", "False"));
    assert!(
        act.member.take_discoveries().len() < 4,
        "it was not connected anew"
    );
    for path in ALL {
        act.member.answers(path, 200);
    }
    act.comes_to_say("ClusterHealthy", "True").await;
    in_time("a watch", || async { act.of_pods()["status"] == "Syncing" }).await;
    assert_eq!(act.lists(), 1);
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_right_that_goes_while_a_member_is_synced_leads_to_another_identity() {
    let mut act = Act::begin().await;
    let known_by = |act: &Act, source: &str| act.status()["identity"] == source;
    in_time("who it is", || async {
        known_by(&act, "KubeSystemNamespace")
    })
    .await;
    act.member.tells_its_service("uid-of-service");
    act.member.answers(IDENTITY_PATH, 403);
    act.member.breaks_off();
    in_time("what is said meanwhile", || async {
        act.explains("the member does not say any more who it is")
    })
    .await;
    in_time("another identity", || async {
        known_by(&act, "KubernetesService")
    })
    .await;
    in_time("a list", || async { act.lists() == 2 }).await;
    act.stage.shows(&[POD]).await;
    let watches = act.member.watches();
    // The right is back, which is found by and by.
    act.member.answers(IDENTITY_PATH, 200);
    in_time("the former one", || async {
        known_by(&act, "KubeSystemNamespace")
    })
    .await;
    in_time("a watch", || async { act.member.watches() > watches }).await;
    assert_eq!(act.lists(), 2, "{:?}", act.member.requests());
    act.fleet.shutdown().await;
}
