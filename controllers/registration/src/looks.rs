//! Looking again and again: once a minute, sooner after what failed, and an outage is told once.

use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_control_plane::{Outages, Trouble, TroubleKind};
use tokio::time::timeout;
use tracing::{info, warn};

/// Between two looks, a bit more or less by chance.
pub(crate) const PERIOD: Duration = Duration::from_secs(60);
/// One request. What takes longer does not come.
const ANSWER: Duration = Duration::from_secs(15);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// The answer to one request of a look, if it comes.
pub(crate) async fn answered<T>(
    asked: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let answered = timeout(ANSWER, asked).await;
    answered.unwrap_or_else(|_| Err(Trouble::unanswered()))
}

/// What is looked at, by the name that the log has for it.
pub(crate) struct Looks {
    what: String,
    backoff: Backoff,
    outages: Outages,
}

impl Looks {
    pub(crate) fn at(what: String) -> Self {
        Self {
            what,
            backoff: Backoff::new(FIRST_RETRY, LAST_RETRY),
            outages: Outages::default(),
        }
    }

    /// One look, each of whose requests ends: what it came to, and how long until the next.
    pub(crate) async fn look<T>(
        &mut self,
        look: impl Future<Output = Result<T, Trouble>>,
    ) -> (Result<T, Trouble>, Duration) {
        let looked = look.await;
        let what = self.what.as_str();
        match &looked {
            Ok(_) => {
                if self.outages.ends(what) {
                    info!(what, "{what} is kept again");
                }
                self.backoff.reset();
                (looked, jittered(PERIOD, rand::random()))
            }
            // Another replica was faster, and has done what was to be done.
            Err(trouble) if trouble.kind == TroubleKind::Conflict => {
                (looked, self.backoff.next(rand::random()))
            }
            Err(trouble) => {
                if self.outages.begins(what, &trouble.message) {
                    warn!(what, error = %trouble, "{what} cannot be kept, retrying");
                }
                (looked, self.backoff.next(rand::random()))
            }
        }
    }
}
