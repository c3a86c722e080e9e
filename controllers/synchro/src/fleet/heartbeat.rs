//! Says to the store again and again that this synchro lives. Whoever shares the store lets its clusters be as long as it does, also while none of
//! their members answers and nothing of them is written.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::backoff::{Backoff, jittered};
use crate::config::Shared;

/// One small write.
pub(crate) const PERIOD: Duration = Duration::from_secs(180);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Runs until it is dropped.
pub(crate) async fn beat(shared: Arc<Shared>) {
    let owner = shared.owner.text();
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    let mut fails = false;
    loop {
        let told = shared.sink.keep_alive(&owner).await;
        let wait = match told {
            Ok(()) => {
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
        tokio::time::sleep(wait).await;
    }
}
