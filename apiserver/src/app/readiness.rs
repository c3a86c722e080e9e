//! Whether the server can answer searches: asked of the store at most once a second, however often clients ask.

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
    last: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    /// Whether the store answers. Those who ask at once wait for one question.
    pub(super) async fn store_answers(&self, search: &dyn Search) -> bool {
        let mut last = self.last.lock().await;
        if let Some((when, answered)) = *last
            && when.elapsed() < KEPT
        {
            return answered;
        }
        let asked = tokio::time::timeout(PATIENCE, search.head()).await;
        let answered = matches!(asked, Ok(Ok(_)));
        *last = Some((Instant::now(), answered));
        answered
    }
}

#[cfg(test)]
mod tests;
