//! Removes the rows of clusters and types that have left, and versions that are past, in small steps, so that nobody waits for it: half of the time it rests, unless more is past
//! than a step removes, for that would become more by each rest. A cluster's rows stay for a time, so that one that left by mistake comes back without a list. Nothing is removed before the
//! PediaClusters have been listed, and no cluster for some minutes after that: whoever restores a control plane may have stopped this process meanwhile.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_storage::Purged;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::Shared;

/// Rows of one step: a transaction of some 100 ms, which searches do not wait for. Objects of many clusters are indexed by the same terms,
/// side by side, so that a step over several clusters writes hardly more pages than one over a single one; with 500 rows a step, a row
/// takes twice the processor.
const STEP: u32 = 2000;
/// Steps that follow each other at once. A step over a small stream takes a millisecond, less than a pause can be short.
const SPELL: Duration = Duration::from_millis(25);
/// The longest rest after a spell, should the store be slow for another reason.
const LONGEST_REST: Duration = Duration::from_secs(1);
/// Without being told: what a former process left, clusters whose time is up, and versions that are past the watch window. Of several processes
/// one does so at a time, and the others find by these looks that it works: a third of the time after which they take its place.
const PERIOD: Duration = Duration::from_secs(20);
/// Where clusters are kept for a shorter time than that: looking takes less than a millisecond.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

/// After the PediaClusters were listed, what left before has this time to come back, or as long as it is kept if that is shorter: its tree waits for
/// its Secret and asks its member some questions first.
const RETURNING: Duration = Duration::from_secs(600);

/// Runs until cancelled.
pub(crate) async fn run(shared: Arc<Shared>, cancel: CancellationToken) {
    tokio::select! {
        () = cancel.cancelled() => return,
        () = shared.listed.cancelled() => {}
    }
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
    let grace = shared.config.purge_after;
    let period = PERIOD.min(grace.max(SHORTEST_PERIOD));
    let returned = Instant::now() + grace.min(RETURNING);
    let mut removed = 0;
    let mut worked = Duration::ZERO;
    loop {
        let may_return = Instant::now() < returned;
        let kept_for = if may_return { Duration::MAX } else { grace };
        let wait = match shared.sink.purge(STEP, kept_for).await {
            Ok(step) => {
                backoff.reset();
                removed += step.objects;
                shared.metrics.purged.add(step.objects);
                worked += step.took;
                match step {
                    Purged { finished: true, .. } => None,
                    // What others want to write has its turn after each step all the same.
                    Purged {
                        is_behind: true, ..
                    } => {
                        worked = Duration::ZERO;
                        Some(Duration::ZERO)
                    }
                    _ => Some(rest_after(worked)),
                }
            }
            Err(error) => {
                if !error.is_told() {
                    warn!(error = %error, "rows of what has left were not purged, retrying");
                }
                Some(backoff.next(rand::random()))
            }
        };
        if wait.is_none() && removed > 0 {
            info!(rows = removed, "purged the rows of what has left");
            removed = 0;
        }
        if wait == Some(Duration::ZERO) && !cancel.is_cancelled() {
            continue;
        }
        let pause = wait.unwrap_or_else(|| jittered(period, rand::random()));
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            () = shared.purge.notified(), if wait.is_none() => {}
            () = tokio::time::sleep_until(returned), if may_return && wait.is_none() => {}
        }
        worked = Duration::ZERO;
    }
}

/// How long to rest after steps that took so long: not at all within a spell, as long again after it. Where everybody writes each step waits for its turn, which is no
/// work: who rested for that as well would fall behind what is written.
fn rest_after(worked: Duration) -> Duration {
    if worked < SPELL {
        Duration::ZERO
    } else {
        worked.min(LONGEST_REST)
    }
}
