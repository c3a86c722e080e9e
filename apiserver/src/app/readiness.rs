//! Whether the server can answer searches: asked of the store at most once a second, however often clients ask.

use std::sync::Arc;
use std::time::Duration;

use armadex_storage::Search;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Anybody may ask, so an answer is kept; a probe asks once in several seconds.
const KEPT: Duration = Duration::from_secs(1);
/// A store that takes longer is not ready: a kubelet's own probe gives up after 1 s by default.
const PATIENCE: Duration = Duration::from_millis(900);

/// The last answer of the store, and when it was given.
#[derive(Debug, Default)]
pub(super) struct Readiness {
    last: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Readiness {
    /// Whether the store answers. Those who ask at once wait for one question, which goes on if who began it goes away: the next one would ask anew.
    pub(super) async fn store_answers(&self, search: &Arc<dyn Search>) -> bool {
        let mut last = Arc::clone(&self.last).lock_owned().await;
        if let Some((when, answered)) = *last
            && when.elapsed() < KEPT
        {
            return answered;
        }
        let search = Arc::clone(search);
        let asking = tokio::spawn(async move {
            let asked = tokio::time::timeout(PATIENCE, search.head()).await;
            let answered = matches!(asked, Ok(Ok(_)));
            *last = Some((Instant::now(), answered));
            answered
        });
        asking.await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests;
