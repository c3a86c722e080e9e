//! What operators are told of streams that fail, and of copies that nobody has proved.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::config::Shared;

fn that_audits(stage: &Stage, every: Duration) -> Arc<Shared> {
    let config = Config {
        audit_every: every,
        ..Config::default()
    };
    stage.shared("one", config)
}

/// As one whose right is missing, or whose conversion webhook is broken.
#[tokio::test]
async fn a_kind_that_the_member_refuses_is_counted_for_as_long_as_it_does() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    member.answers("/api/v1/configmaps", 403);
    let shared = that_audits(&stage, Duration::ZERO);
    let metrics = shared.metrics.of(&name("m"));
    let mut fleet = stage.synchro_of_these(stage.control_plane.client(), &shared);
    stage.relist(&mut fleet, [asking_for(&member, &["pods", "configmaps"])]);
    let comes_to = async |streams: u64, failing: u64| {
        let told = || async {
            let told = (metrics.streams.get(), metrics.failing_streams.get());
            told == (streams, failing)
        };
        in_time(&format!("{streams} streams, {failing} fail"), told).await;
    };
    comes_to(2, 1).await;
    member.answers("/api/v1/configmaps", 200);
    comes_to(2, 0).await;
    member.answers("/api/v1/configmaps", 403);
    let asks_for_pods = asking_for(&member, &["pods"]);
    fleet.handle(Event::Apply(asks_for_pods));
    comes_to(1, 0).await;
    fleet.shutdown().await;
}

/// One that never comes would not be missed otherwise.
#[tokio::test]
async fn a_proof_is_owed_from_when_the_cluster_was_made_and_where_there_are_no_audits_none_is() {
    let made = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>();
    let made = made.expect("a time");
    let seconds = made.as_second().unsigned_abs();
    for (every, expected) in [
        (Duration::from_secs(365 * 24 * 60 * 60), seconds),
        (Duration::ZERO, 0),
    ] {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &["a"]).await;
        let shared = that_audits(&stage, every);
        let metrics = shared.metrics.of(&name("m"));
        let mut fleet = stage.synchro_of_these(stage.control_plane.client(), &shared);
        let mut object = asking_for(&member, &["pods"]);
        object.metadata.creation_timestamp = Some(Time(made));
        stage.relist(&mut fleet, [object]);
        stage.shows(&[POD]).await;
        assert_eq!(metrics.unproved_since.get(), expected, "{every:?}");
        fleet.shutdown().await;
    }
}
