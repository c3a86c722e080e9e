//! The turns in which statuses are written.

use tokio_util::task::AbortOnDropHandle;

use super::unanswered::keeper;
use super::*;
use crate::config::STATUS_PERIOD;
use crate::testing::{Stage, named};
use crate::told::pace::PARALLEL;
use crate::told::report::Report;

/// A keeper that has had its turn to write a status of so many types, which is not answered. The time is that of its turn.
async fn unanswered(stage: &Stage, types: usize) -> (Arc<Shared>, AbortOnDropHandle<()>) {
    let keeper = keeper(stage).await;
    let streams = (0..types).map(|number| {
        let changed = Arc::clone(keeper.board.changed());
        let report = Report::new(changed, Timestamp::UNIX_EPOCH);
        let resource = named(&format!("resources-of-number-{number}"));
        (Arc::new(resource), Arc::new(report))
    });
    keeper.board.show_streams(streams.collect());
    stage.control_plane.takes_no_statuses();
    let shared = Arc::clone(&keeper.shared);
    tokio::time::pause();
    let task = tokio::spawn(keeper.run(CancellationToken::new()));
    stage.control_plane.a_request_hangs().await;
    (shared, AbortOnDropHandle::new(task))
}

#[tokio::test]
async fn who_writes_a_large_status_is_followed_later() {
    for (types, later) in [(1, 1), (500, 4)] {
        let stage = Stage::new().await;
        let (shared, _writes) = unanswered(&stage, types).await;
        let begun = Instant::now();
        shared.statuses.turn(1).await;
        let waited = begun.elapsed();
        assert!(waited >= later * STATUS_PERIOD, "{types}: {waited:?}");
        assert!(waited < 10 * later * STATUS_PERIOD, "{types}: {waited:?}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_turn_lasts_until_the_status_is_answered() {
    let stage = Stage::new().await;
    let (shared, writes) = unanswered(&stage, 1).await;
    let mut others = Vec::new();
    for _ in 1..PARALLEL {
        others.push(shared.statuses.turn(1).await);
    }
    let next = timeout(Duration::from_secs(60), shared.statuses.turn(1)).await;
    assert!(next.is_err(), "as many are under way as may be");
    drop(writes);
    let next = timeout(Duration::from_secs(60), shared.statuses.turn(1)).await;
    assert!(next.is_ok());
}
