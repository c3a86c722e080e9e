//! Members that answer while it is not their turn to say what they serve.

use super::*;

/// What the status says of whether something syncs the cluster: the reason, and the message.
pub(super) fn said(stage: &Stage) -> Option<(String, String)> {
    let written = stage.control_plane.statuses("m").pop()?;
    let conditions = written.body["status"]["conditions"].as_array()?;
    let mut found = conditions.iter();
    let found = found.find(|found| found["type"] == "SynchroRunning")?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Some((text("reason"), text("message")))
}

#[tokio::test]
async fn a_cluster_says_that_it_waits_for_its_turn_until_that_has_come() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let shared = stage.shared("one", Config::default());
    let turns = shared.discoveries.straight.all_quick_turns();
    let mut fleet = stage.synchro_of_these(stage.control_plane.client(), &shared);
    stage.relist(&mut fleet, [asking_for(&member, &["pods"])]);
    let says = |reason: &str, words: &str| {
        let is_said =
            |(said, message): (String, String)| said == reason && message.starts_with(words);
        said(&stage).is_some_and(is_said)
    };
    in_time("word of it", || async {
        says("WaitInit", "the member waits")
    })
    .await;
    let metrics = shared.metrics.of(&name("m"));
    assert_eq!(metrics.waiting_discoveries.get(), 1);
    drop(turns);
    in_time("the end of it", || async {
        said(&stage) == Some(("Running".into(), String::new()))
    })
    .await;
    assert_eq!(metrics.waiting_discoveries.get(), 0);
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_member_that_fails_after_its_turn_came_late_is_not_asked_among_those_that_hang() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    member.answers("/apis", 403);
    let shared = stage.shared("one", Config::default());
    let _after_silence = shared.reaching.all_after_silence();
    let turns = shared.discoveries.straight.all_quick_turns();
    let mut fleet = stage.synchro_of_these(stage.control_plane.client(), &shared);
    stage.relist(&mut fleet, [asking_for(&member, &["pods"])]);
    let metrics = shared.metrics.of(&name("m"));
    until("the patience with it is over", || async {
        metrics.waiting_discoveries.get() == 1 && shared.reaching.is_idle()
    })
    .await;
    drop(turns);
    member.until_refused(1).await;
    member.answers("/apis", 200);
    in_time("another try", || async {
        said(&stage).is_some_and(|(reason, _)| reason == "Running")
    })
    .await;
    fleet.shutdown().await;
}
