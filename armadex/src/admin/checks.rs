//! The named conditions for being ready, each found out at most once a second, however often it is asked.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A check that takes longer than this has failed: kubelet's own probe gives up after 1 s by default.
const TIME_LIMIT: Duration = Duration::from_millis(900);
/// How long an outcome is kept: whoever reaches the port may ask as often as they like, and a check asks the store.
const KEPT: Duration = Duration::from_secs(1);

/// Whether a condition is met, or what is wrong.
type Outcome = Result<(), String>;

/// The named conditions for being ready.
#[derive(Default)]
pub(crate) struct Checks(Vec<Check>);

/// One of them.
pub(super) struct Check {
    pub(super) name: &'static str,
    ask: Box<dyn Fn() -> BoxFuture<'static, Outcome> + Send + Sync>,
    /// What was found last, and when. Locked while it is found out, so that it is once for all who wait.
    kept: Mutex<Option<(Instant, Outcome)>>,
}

impl Checks {
    /// Adds a check.
    pub(crate) fn add<F>(
        &mut self,
        name: &'static str,
        check: impl Fn() -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Outcome> + Send + 'static,
    {
        self.0.push(Check {
            name,
            ask: Box::new(move || Box::pin(check())),
            kept: Mutex::default(),
        });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Check> {
        self.0.iter()
    }
}

impl Check {
    pub(super) async fn outcome(&self) -> Outcome {
        let mut kept = self.kept.lock().await;
        if let Some((found, outcome)) = &*kept
            && found.elapsed() < KEPT
        {
            return outcome.clone();
        }
        let outcome = tokio::time::timeout(TIME_LIMIT, (self.ask)()).await;
        let outcome = outcome.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        *kept = Some((Instant::now(), outcome.clone()));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_found_is_kept_for_a_second() {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut checks = Checks::default();
        let counted = Arc::clone(&asked);
        checks.add("store", move || {
            let count = counted.fetch_add(1, Ordering::Relaxed);
            async move {
                match count {
                    0 => Ok(()),
                    1 => Err("no answer".to_owned()),
                    _ => std::future::pending().await,
                }
            }
        });
        let check = checks.iter().next().expect("one");
        let outcomes = join_all((0..50).map(|_| check.outcome())).await;
        assert_eq!(outcomes, vec![Ok(()); 50]);
        for expected in ["no answer", "no answer in time"] {
            tokio::time::advance(KEPT).await;
            assert_eq!(check.outcome().await, Err(expected.to_owned()));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }
}
