//! The named conditions for being ready, each found out at most once a second, however often it is asked.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A check that takes longer than this has failed: kubelet's own probe gives up after 1 s by default.
const TIME_LIMIT: Duration = Duration::from_millis(900);
/// How long an outcome is kept: whoever reaches the port may ask as often as they like, and a check asks the store.
const KEPT: Duration = Duration::from_secs(1);

/// A question that is not answered by then goes on, and another is asked beside it: the first may be on its way to a server that is gone.
const ASKED_ANEW: Duration = Duration::from_secs(5);

/// Whether a condition is met, or what is wrong.
type Outcome = Result<(), String>;

/// The named conditions for being ready.
#[derive(Default)]
pub(crate) struct Checks(Vec<Check>);

/// One of them.
pub(super) struct Check {
    pub(super) name: &'static str,
    ask: Box<dyn Fn() -> BoxFuture<'static, Outcome> + Send + Sync>,
    /// Locked while it is found out, so that it is once for all who wait.
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    /// What was found last, and when.
    kept: Option<(Instant, Outcome)>,
    /// A question that was not answered in time, and when it was asked.
    asking: Option<(Instant, JoinHandle<Outcome>)>,
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
            known: Arc::default(),
        });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Check> {
        self.0.iter()
    }
}

impl Check {
    /// What is found out goes on if whoever asked goes away: a question to the store that is dropped takes a connection along, and the next one would ask anew.
    pub(super) async fn outcome(&self) -> Outcome {
        let mut known = Arc::clone(&self.known).lock_owned().await;
        if let Some((found, outcome)) = &known.kept
            && found.elapsed() < KEPT
        {
            return outcome.clone();
        }
        let ask = || (Instant::now(), tokio::spawn((self.ask)()));
        let is_new = |(asked, _): &(Instant, _)| asked.elapsed() < ASKED_ANEW;
        let asked = known.asking.take().filter(is_new);
        let (asked, mut asking) = asked.unwrap_or_else(ask);
        let finding_out = tokio::spawn(async move {
            let outcome = match tokio::time::timeout(TIME_LIMIT, &mut asking).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => {
                    known.asking = Some((asked, asking));
                    Err("no answer in time".to_owned())
                }
            };
            known.kept = Some((Instant::now(), outcome.clone()));
            outcome
        });
        let found_out = finding_out.await;
        found_out.unwrap_or_else(|error| Err(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_found_out_is_kept_though_nobody_waits_for_it() {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut checks = Checks::default();
        let counted = Arc::clone(&asked);
        checks.add("store", move || {
            counted.fetch_add(1, Ordering::Relaxed);
            async {
                tokio::time::sleep(TIME_LIMIT / 2).await;
                Ok(())
            }
        });
        let check = checks.iter().next().expect("one");
        for _ in 0..3 {
            let short = tokio::time::timeout(TIME_LIMIT / 10, check.outcome()).await;
            assert!(short.is_err(), "it takes longer");
        }
        assert_eq!(check.outcome().await, Ok(()));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_is_asked_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut checks = Checks::default();
        let counted = Arc::clone(&asked);
        checks.add("store", move || {
            counted.fetch_add(1, Ordering::Relaxed);
            async {
                tokio::time::sleep(4 * KEPT).await;
                Ok(())
            }
        });
        let check = checks.iter().next().expect("one");
        let begun = Instant::now();
        while begun.elapsed() < 3 * KEPT {
            let outcome = check.outcome().await;
            assert_eq!(outcome, Err("no answer in time".to_owned()));
            tokio::time::advance(KEPT).await;
        }
        assert_eq!(check.outcome().await, Ok(()));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

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
