//! A member that says nothing is asked all the time whether it is there again, so that its streams are live within ten seconds, however long it was away.
//!
//! That takes a connection at a time and eight questions a minute of each of them, which no permit is needed for: a thousand that are cut off together are a hundred and
//! fifty tries a second.

use std::time::Duration;

use armadex_backoff::jittered;
use armadex_member::Member;

/// Between two questions, each of which is given up after as long as any check of the health.
const BETWEEN: Duration = Duration::from_secs(3);

/// Until it answers, for which there is no limit: whoever waits has one.
pub(super) async fn answers(member: &Member) {
    loop {
        tokio::time::sleep(jittered(BETWEEN, rand::random())).await;
        if member.probe(None).await.is_ok() {
            return;
        }
        // Nobody may answer on the one that there is even when others are taken again.
        member.leave_connections();
    }
}
