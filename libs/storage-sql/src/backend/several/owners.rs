//! Processes that say at the same time that they live.

use std::time::Duration;

use armadex_storage::Sink as _;
use tokio::time::timeout;

use super::place::Place;
use crate::sql::owner;

/// Less than a row is waited for.
const AT_ONCE: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_that_it_lives_does_not_wait_for_others_who_do() {
    for place in Place::on_each_server() {
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
