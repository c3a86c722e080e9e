//! Removes the rows of clusters and types that have left, in small steps with pauses, so that nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backoff::{Backoff, jittered};
use crate::config::Shared;

/// Rows of one step: a transaction of some 10 ms.
const STEP: u32 = 500;
/// Between two steps: the writers of the store get most of its time.
const PAUSE: Duration = Duration::from_millis(25);
/// Without being told: what a former process left.
const PERIOD: Duration = Duration::from_secs(300);

/// Runs until cancelled.
pub(crate) async fn run(shared: Arc<Shared>, cancel: CancellationToken) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
    let mut removed = 0;
    loop {
        let wait = match shared.sink.purge(STEP).await {
            Ok(step) => {
                backoff.reset();
                removed += step.objects;
                shared.metrics.purged.add(step.objects);
                if step.finished { None } else { Some(PAUSE) }
            }
            Err(error) => {
                warn!(error = %error, "rows of what has left were not purged, retrying");
                Some(backoff.next(rand::random()))
            }
        };
        if wait.is_none() && removed > 0 {
            info!(rows = removed, "purged the rows of what has left");
            removed = 0;
        }
        let pause = wait.unwrap_or_else(|| jittered(PERIOD, rand::random()));
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            () = shared.purge.notified(), if wait.is_none() => {}
        }
    }
}
