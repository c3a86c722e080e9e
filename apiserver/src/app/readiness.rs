//! Whether the server can answer searches: asked of the store at most once a second, however often clients ask.

use std::sync::Arc;
use std::time::Duration;

use armadex_storage::Search;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Anybody may ask, so an answer is kept; a probe asks once in several seconds.
const KEPT: Duration = Duration::from_secs(1);
/// A store that takes longer is not ready: a kubelet's own probe gives up after 1 s by default.
const PATIENCE: Duration = Duration::from_millis(900);

/// A question that is not answered by then goes on, and another is asked beside it: the first may be on its way to a server that is gone.
const ASKED_ANEW: Duration = Duration::from_secs(5);

/// Whether the store answers, as far as that is known.
#[derive(Debug, Default)]
pub(super) struct Readiness(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The last answer, and when it was given.
    last: Option<(Instant, bool)>,
    /// A question that was not answered in time, and when it was asked: one that is dropped takes a connection along.
    asking: Option<(Instant, JoinHandle<bool>)>,
}

impl Readiness {
    /// Whether the store answers. Those who ask at once wait for one question, which goes on if who began it goes away: the next one would ask anew.
    pub(super) async fn store_answers(&self, search: &Arc<dyn Search>) -> bool {
        let mut known = Arc::clone(&self.0).lock_owned().await;
        if let Some((when, answered)) = known.last
            && when.elapsed() < KEPT
        {
            return answered;
        }
        let search = Arc::clone(search);
        let waiting = tokio::spawn(async move {
            let ask = || {
                let asking = tokio::spawn(async move { search.head().await.is_ok() });
                (Instant::now(), asking)
            };
            let is_new = |(asked, _): &(Instant, _)| asked.elapsed() < ASKED_ANEW;
            let asked = known.asking.take().filter(is_new);
            let (asked, mut asking) = asked.unwrap_or_else(ask);
            let answered = match timeout(PATIENCE, &mut asking).await {
                Ok(answered) => answered.unwrap_or(false),
                Err(_) => {
                    known.asking = Some((asked, asking));
                    false
                }
            };
            known.last = Some((Instant::now(), answered));
            answered
        });
        waiting.await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests;
