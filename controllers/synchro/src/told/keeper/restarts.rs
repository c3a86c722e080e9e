//! What a process tells on of what an earlier one said.

use armadex_crds::{ResourceAudit, ResourceStatus};
use serde_json::json;

use super::unanswered::keeper;
use super::*;
use crate::testing::{Stage, named};
use crate::told::report::Report;

fn audit() -> ResourceAudit {
    let audit =
        json!({"objects": 2, "differences": 0, "mended": 0, "provedTime": "2026-01-02T03:04:05Z"});
    serde_json::from_value(audit).expect("an audit")
}

/// Pods, as an earlier process left them.
fn found() -> GroupResourcesStatus {
    let condition = json!({"version": "v1", "storageVersion": "v1", "status": "Syncing", "reason": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z", "audit": audit()});
    let pods: ResourceStatus = serde_json::from_value(
        json!({"name": "pods", "kind": "Pod", "namespaced": true, "syncConditions": [condition]}),
    )
    .expect("a resource");
    GroupResourcesStatus {
        group: String::new(),
        resources: vec![pods],
    }
}

#[tokio::test]
async fn when_a_copy_was_proved_is_told_on_by_a_process_that_has_not_reached_its_member_yet() {
    let stage = Stage::new().await;
    let mut keeper = keeper(&stage).await;
    keeper.found = vec![found()];
    keeper
        .board
        .update(|facts| facts.running = Running::Failed("refused".to_owned()));
    assert!(keeper.put().await);
    assert!(keeper.written.sync_resources.is_empty());
    let report = Report::new(Arc::clone(keeper.board.changed()), Timestamp::UNIX_EPOCH);
    let pods = (Arc::new(named("pods")), Arc::new(report));
    keeper.board.show_streams(vec![pods]);
    for _ in 0..2 {
        assert!(keeper.put().await);
        let pods = &keeper.written.sync_resources[0].resources[0];
        assert_eq!(pods.sync_conditions[0].audit, Some(audit()));
        keeper.board.update(|facts| facts.running = Running::Yes);
    }
    assert!(keeper.found.is_empty());
}
