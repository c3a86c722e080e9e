//! Processes that say at the same time that they live.

use std::time::Duration;

use armadex_storage::{Sink as _, Tenure};
use tokio::time::timeout;

use super::place::{Home, wait_until_somebody_waits};
use crate::sql::owner;

/// Less than a row is waited for.
const AT_ONCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_that_it_lives_does_not_wait_for_others_who_do() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let tenures = [
            one.begin("one/x").await.expect("begun"),
            other.begin("other/x").await.expect("begun"),
        ];
        let mut beats = one.database.write().await.expect("a transaction");
        let beat = owner::keep(beats.dialect(), "one/x", 1_800_000_000);
        beats.execute(beat).await.expect("noted");
        let told = timeout(AT_ONCE, other.keep_alive("other/x", tenures[1])).await;
        assert!(told.expect("nobody is waited for").expect("noted"));
        beats.commit().await.expect("noted");
        assert!(one.keep_alive("one/x", tenures[0]).await.expect("noted"));
    }
}

/// It has found its tenure to last, or a former one, and waits for the owner's row, which whoever begins a later one has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_that_it_lives_while_a_later_tenure_begins_is_told_so() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let first = one.begin("owner").await.expect("begun");
        for (own, later) in [(first, Tenure(5)), (Tenure(7), Tenure(9))] {
            let mut begins = one.database.write().await.expect("a transaction");
            let dialect = begins.dialect();
            for step in [
                owner::keep(dialect, "owner", 1_800_000_000),
                owner::go_on_as("owner", later),
            ] {
                begins.execute(step).await.expect("begun");
            }
            let asked = std::sync::Arc::clone(&other);
            let told = tokio::spawn(async move { asked.keep_alive("owner", own).await });
            wait_until_somebody_waits(&place, &one).await;
            begins.commit().await.expect("begun");
            let lasts = told.await.expect("no panic").expect("told");
            assert!(!lasts, "{own:?} lasts beside {later:?}");
            assert!(other.keep_alive("owner", later).await.expect("told"));
        }
    }
}
