//! Statuses that were put onto the control plane by requests whose answer did not come.

use armadex_control_plane::Objects;
use armadex_crds::PediaCluster;
use armadex_crds::conditions::ClusterHealthyReason;
use futures::FutureExt as _;
use kube::Resource as _;
use kube::runtime::events::Reporter;

use super::*;
use crate::config::Config;
use crate::testing::{ScriptedMember, Stage, pedia_cluster};
use crate::told::board::MemberHealth;

/// The keeper of a cluster whose member is well, which is written.
pub(super) async fn keeper(stage: &Stage) -> StatusKeeper {
    let member = ScriptedMember::start("uid", &[]).await;
    let object = pedia_cluster("m", "uid-m", &member);
    stage.control_plane.has([object.clone()]);
    let client = stage.control_plane.client();
    let sink = Arc::clone(&stage.breaking) as _;
    let shared = Arc::new(Shared::new(sink, "one", Config::default()));
    let reporter = Reporter {
        controller: "test".to_owned(),
        instance: None,
    };
    let mut keeper = StatusKeeper {
        applied: Applied::new(Arc::clone(&shared), Objects::all(client.clone()), &object),
        shared,
        name: "m".to_owned(),
        reference: object.object_ref(&()),
        recorder: Recorder::new(client, reporter),
        board: Arc::default(),
        written: PediaClusterStatus::default(),
        found: Vec::new(),
        claims: Claims::default(),
        refresh: Refresh::new(Instant::now(), 1.0),
        untold: VecDeque::new(),
    };
    says(&keeper, true);
    assert!(keeper.put().await);
    keeper.publish_untold().await;
    keeper
}

fn says(keeper: &StatusKeeper, well: bool) {
    keeper.board.update(|facts| {
        facts.running = Running::Yes;
        facts.health = match well {
            true => MemberHealth::Healthy("ok".to_owned()),
            false => {
                MemberHealth::NotReachable(ClusterHealthyReason::NotReachable, "refused".to_owned())
            }
        };
    });
}

/// That the member is not well is put there, and not answered.
async fn is_not_answered(stage: &Stage, keeper: &mut StatusKeeper) {
    stage.control_plane.swallow_an_answer();
    says(keeper, false);
    assert!(!keeper.put().await);
}

/// As the control plane has it.
fn there(stage: &Stage) -> PediaCluster {
    stage.control_plane.cluster("m")
}

fn condition(object: &PediaCluster, type_: ClusterCondition) -> String {
    let status = object.status.as_ref().expect("a status");
    let condition = conditions::find(&status.conditions, type_.as_str());
    condition.expect("a condition").reason.clone()
}

#[tokio::test]
async fn what_is_there_and_does_not_hold_any_more_is_put_right() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    is_not_answered(&stage, &mut keeper).await;
    says(&keeper, true);
    keeper.board.read(&Arc::new(there(&stage)));
    keeper.take_in();
    assert!(!keeper.is_written(), "that it is not well is there");
    assert!(keeper.put().await);
    let health = condition(&there(&stage), ClusterCondition::ClusterHealthy);
    assert_eq!(health, "Healthy");
}

#[tokio::test]
async fn what_was_not_answered_does_not_silence_the_last_word() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    is_not_answered(&stage, &mut keeper).await;
    keeper
        .board
        .update(|facts| facts.running = Running::Shutdown);
    assert!(keeper.say().await);
    let running = condition(&there(&stage), ClusterCondition::SynchroRunning);
    assert_eq!(running, "Shutdown");
}

#[tokio::test]
async fn an_edit_that_is_carried_over_does_not_silence_the_last_word() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    let mut edited = there(&stage);
    let status = edited.status.as_mut().expect("a status");
    status.conditions[0].last_transition_time.0 = Timestamp::UNIX_EPOCH;
    edited.metadata.resource_version = Some("1000".to_owned());
    stage.control_plane.has([edited.clone()]);
    keeper.board.read(&Arc::new(edited));
    keeper.take_in();
    assert!(keeper.is_written(), "nothing has to be written");
    keeper
        .board
        .update(|facts| facts.running = Running::Shutdown);
    assert!(keeper.say().await);
    let running = condition(&there(&stage), ClusterCondition::SynchroRunning);
    assert_eq!(running, "Shutdown");
}

/// What Events were written.
fn told(stage: &Stage) -> Vec<String> {
    let events = stage.control_plane.events().into_iter();
    let reasons = events.map(|event| event.body["reason"].as_str().map(str::to_owned));
    reasons.flatten().collect()
}

#[tokio::test]
async fn what_was_not_answered_and_is_seen_to_be_there_is_told() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    is_not_answered(&stage, &mut keeper).await;
    assert_eq!(told(&stage), ["ClusterConnected"]);
    keeper.board.read(&Arc::new(there(&stage)));
    keeper.take_in();
    assert!(keeper.is_written());
    keeper.publish_untold().await;
    assert_eq!(told(&stage), ["ClusterConnected", "ClusterUnreachable"]);
}

#[tokio::test]
async fn what_was_not_answered_and_is_met_by_the_next_status_is_told() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    is_not_answered(&stage, &mut keeper).await;
    assert!(keeper.put().await);
    keeper.publish_untold().await;
    assert_eq!(told(&stage), ["ClusterConnected", "ClusterUnreachable"]);
}

/// The Events API alone hangs, as where its store is another one.
#[tokio::test]
async fn the_last_word_does_not_wait_for_events() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    is_not_answered(&stage, &mut keeper).await;
    stage.control_plane.takes_no_events();
    keeper
        .board
        .update(|facts| facts.running = Running::Shutdown);
    tokio::time::pause();
    let begun = Instant::now();
    keeper.last_word().await;
    let running = condition(&there(&stage), ClusterCondition::SynchroRunning);
    assert_eq!(running, "Shutdown");
    let took = begun.elapsed();
    assert!(took <= EVENTS + Duration::from_secs(1), "{took:?}");
}

/// Nor for those of others, however late they have given it a turn.
#[tokio::test]
async fn the_last_word_waits_no_longer_for_a_turn_and_events_together() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    is_not_answered(&stage, &mut keeper).await;
    says(&keeper, true);
    keeper.board.read(&Arc::new(there(&stage)));
    keeper.take_in();
    assert!(keeper.put().await);
    assert_eq!(keeper.untold.len(), 2);
    stage.control_plane.takes_no_events();
    let shared = Arc::clone(&keeper.shared);
    let lost = shared.metrics.events_failed.get();
    let others = std::iter::from_fn(|| shared.last_words.event_turn().now_or_never());
    let others: Vec<_> = others.collect();
    tokio::time::pause();
    let begun = Instant::now();
    let they_end = async {
        tokio::time::sleep(EVENTS - Duration::from_secs(1)).await;
        drop(others);
    };
    tokio::join!(keeper.last_word(), they_end);
    let took = begun.elapsed();
    assert!(took <= EVENTS + Duration::from_secs(1), "{took:?}");
    assert_eq!(shared.metrics.events_failed.get() - lost, 2);
}

/// So does a process that ends in the middle of an Event, which is counted.
#[tokio::test]
async fn a_process_that_ends_waits_for_no_event_that_hangs() {
    let stage = Stage::new().await;
    let keeper = keeper(&stage).await;
    stage.control_plane.takes_no_events();
    says(&keeper, false);
    let (board, shared) = (Arc::clone(&keeper.board), Arc::clone(&keeper.shared));
    let lost = shared.metrics.events_failed.get();
    let cancel = CancellationToken::new();
    let task = tokio::spawn(keeper.run(cancel.clone()));
    board.changed().notify_one();
    stage.control_plane.a_request_hangs().await;
    board.update(|facts| facts.running = Running::Shutdown);
    cancel.cancel();
    let begun = Instant::now();
    task.await.expect("it ends");
    let running = condition(&there(&stage), ClusterCondition::SynchroRunning);
    assert_eq!(running, "Shutdown");
    let took = begun.elapsed();
    assert!(took <= EVENTS + Duration::from_secs(2), "{took:?}");
    assert_eq!(shared.metrics.events_failed.get() - lost, 1);
}
