//! Says to the store again and again that this synchro lives. Whoever shares the store lets its clusters be as long as it does, also while none of
//! their members answers and nothing of them is written.
//!
//! The answer says whether its tenure lasts. Of two processes with the same clusters one has the Lease; but one that is cut off from the control plane
//! alone does not see that it lost it, and goes on. It learns it here, from the store that both of them write.

use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_control_plane::Held;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

use crate::config::Shared;

/// One small write.
pub(crate) const PERIOD: Duration = Duration::from_secs(180);
/// Between two questions, however many streams find that somebody else writes them.
const LEAST: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Begins a tenure and returns when another one has begun. Safe to drop at any time.
pub(crate) async fn beat(shared: &Shared, held: Option<&Held>) {
    let owner = shared.owner.text();
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    let mut fails = false;
    let mut tenure = None;
    loop {
        let asked = Instant::now();
        let told = match tenure {
            None => shared.sink.begin(&owner).await.map(|begun| {
                tenure = Some(begun);
                true
            }),
            Some(tenure) => shared.sink.keep_alive(&owner, tenure).await,
        };
        let wait = match told {
            Ok(false) => return,
            Ok(true) => {
                backoff.reset();
                fails = false;
                jittered(PERIOD, rand::random())
            }
            Err(error) => {
                if !std::mem::replace(&mut fails, true) && !error.is_told() {
                    warn!(error = %error, "the store was not told that this synchro lives, retrying");
                }
                backoff.next(rand::random())
            }
        };
        tokio::select! {
            () = sleep(wait) => {}
            () = doubts(shared, held) => sleep_until(asked + LEAST).await,
        }
    }
}

/// Until something says that somebody else may look after the clusters by now.
async fn doubts(shared: &Shared, held: Option<&Held>) {
    let lease = async {
        match held {
            Some(held) => held.doubted().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = shared.fenced.notified() => {}
        () = lease => {}
    }
}
