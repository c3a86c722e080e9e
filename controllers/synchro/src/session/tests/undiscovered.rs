//! Members that are synced and do not say any more what they serve.

use super::in_line::said;
use super::*;
use crate::testing::IDENTITY_PATH;

#[tokio::test]
async fn a_cluster_says_why_it_is_not_known_what_its_member_serves_for_as_long_as_it_is_not() {
    let mut act = Act::begin().await;
    let says = |words: &str| {
        let is_said = |(reason, message): (String, String)| {
            reason == "Running" && message.contains(words) && message.is_empty() == words.is_empty()
        };
        said(&act.stage).is_some_and(is_said)
    };
    act.member.answers("/apis", 403);
    in_time("word of it", || async {
        says("does not say what it serves now: ")
    })
    .await;
    act.stage.shows(&[POD]).await;
    act.member.answers("/apis", 200);
    in_time("the end of it", || async { says("") }).await;
    act.fleet.shutdown().await;
}

/// Its health check is answered whatever it has to do.
#[tokio::test]
async fn a_member_that_has_too_much_to_do_when_it_is_asked_who_it_is_was_not_away() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    member.answers(IDENTITY_PATH, 429);
    let mut fleet = stage.synchro("");
    stage.relist(&mut fleet, [asking_for(&member, &["pods"])]);
    in_time("word of it", || async {
        said(&stage).is_some_and(|(_, words)| words.contains("as a test says"))
    })
    .await;
    member.answers(IDENTITY_PATH, 200);
    stage.shows(&[POD]).await;
    let statuses = stage.control_plane.statuses("m");
    let written = statuses.iter().map(|written| written.body.to_string());
    let mut written = written.filter(|status| status.contains("NotReachable"));
    assert_eq!(written.next(), None);
    fleet.shutdown().await;
}

#[tokio::test]
async fn of_a_member_that_is_away_nothing_of_its_last_connection_is_told() {
    let mut act = Act::begin().await;
    let is_told = || said(&act.stage).is_some_and(|(_, words)| words.contains("what it serves"));
    act.member.answers("/apis", 403);
    in_time("word of it", || async { is_told() }).await;
    act.member.dies();
    in_time("the end of it", || async { !is_told() }).await;
    act.is_healthy(false).await;
    assert!(!is_told());
    act.fleet.shutdown().await;
}

/// As while somebody tries an edit and takes it back.
#[tokio::test]
async fn what_a_silent_member_does_not_serve_is_told_again_when_it_is_asked_for_again() {
    let mut act = Act::begin().await;
    let misses = |act: &Act| {
        let status = act.status();
        let resources = status["syncResources"][0]["resources"].as_array().cloned();
        let mut resources = resources.into_iter().flatten();
        resources.any(|found| found["name"] == "gadgets")
    };
    act.asks_for(&["pods", "gadgets"]);
    in_time("word of it", || async { misses(&act) }).await;
    act.member.answers("/apis", 403);
    act.asks_for(&["pods"]);
    in_time("its end", || async { !misses(&act) }).await;
    act.asks_for(&["pods", "gadgets"]);
    in_time("word of it again", || async { misses(&act) }).await;
    act.fleet.shutdown().await;
}
