//! Runs the parts of a process side by side, and stops all of them when one fails or a signal comes.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long parts may take to flush and close: some seconds above the synchro's and the API server's own limits, below the
/// 30 s that Kubernetes waits before it kills a pod.
const GRACE: Duration = Duration::from_secs(20);
const _: () = assert!(armadex_apiserver::SHUTDOWN_GRACE.as_secs() + 5 <= GRACE.as_secs());

/// The parts of this process. Each gets a clone of a token and ends soon after it is cancelled.
pub(crate) struct Parts {
    cancel: CancellationToken,
    last: CancellationToken,
    delay: Duration,
    tasks: JoinSet<(&'static str, anyhow::Result<()>)>,
}

impl Parts {
    /// No parts yet; `cancel` stops those that are added.
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            last: CancellationToken::new(),
            delay: Duration::ZERO,
            tasks: JoinSet::new(),
        }
    }

    /// How much longer those parts go on that stop last, after a signal: whoever sends them requests learns meanwhile to send them elsewhere.
    pub(crate) fn delay_last(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// The token that stops those parts that others send requests to: it is cancelled after the other one.
    pub(crate) fn last(&self) -> CancellationToken {
        self.last.clone()
    }

    /// The token that stops every other part, and says to the last ones that they will be stopped.
    pub(crate) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Starts a part.
    pub(crate) fn start<E: Into<anyhow::Error>>(
        &mut self,
        name: &'static str,
        part: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        self.tasks
            .spawn(async move { (name, part.await.map_err(Into::into)) });
    }

    /// Starts a part on threads of its own.
    pub(crate) fn start_on<E: Into<anyhow::Error>>(
        &mut self,
        threads: &Handle,
        name: &'static str,
        part: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        let part = async move { (name, part.await.map_err(Into::into)) };
        self.tasks.spawn_on(part, threads);
    }

    /// Waits until all parts have ended; the first failure stops the others and is returned.
    pub(crate) async fn run(mut self) -> anyhow::Result<()> {
        let first = tokio::select! {
            ended = self.tasks.join_next() => ended,
            () = self.cancel.cancelled() => None,
        };
        let mut outcome = first.map_or(Ok(()), |ended| unexpected_end(ended, &self.cancel));
        self.cancel.cancel();
        // What failed is to be started again, and soon.
        let delay = outcome.as_ref().map_or(Duration::ZERO, |()| self.delay);
        let (tasks, last) = (&mut self.tasks, &self.last);
        let rest = async {
            let mut wait = pin!(sleep(delay));
            loop {
                tokio::select! {
                    () = &mut wait, if !last.is_cancelled() => last.cancel(),
                    ended = tasks.join_next() => match ended {
                        Some(ended) => {
                            outcome = outcome.and(expected_end(ended));
                            if outcome.is_err() {
                                last.cancel();
                            }
                        }
                        None => return outcome,
                    },
                }
            }
        };
        let Ok(outcome) = timeout(delay + GRACE, rest).await else {
            anyhow::bail!(
                "some parts did not stop within {} s and were cut off",
                GRACE.as_secs()
            );
        };
        outcome
    }
}

type Ended = Result<(&'static str, anyhow::Result<()>), tokio::task::JoinError>;

fn unexpected_end(ended: Ended, cancel: &CancellationToken) -> anyhow::Result<()> {
    let (name, result) = ended.context("a part panicked")?;
    result.with_context(|| format!("the {name} failed"))?;
    if cancel.is_cancelled() {
        return Ok(());
    }
    anyhow::bail!("the {name} ended although nothing told it to")
}

fn expected_end(ended: Ended) -> anyhow::Result<()> {
    let (name, result) = ended.context("a part panicked")?;
    result.with_context(|| format!("the {name} failed while stopping"))
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::*;

    async fn until(cancel: CancellationToken) -> anyhow::Result<()> {
        cancel.cancelled().await;
        Ok(())
    }

    #[tokio::test]
    async fn one_failure_stops_the_others_and_is_returned() {
        let mut parts = Parts::new(CancellationToken::new());
        parts.start("patient", until(parts.cancel()));
        parts.start("broken", async { anyhow::bail!("no disk") });
        let error = parts.run().await.expect_err("a part failed");
        assert_eq!(format!("{error:#}"), "the broken failed: no disk");
    }

    /// How long each of two parts went on after the beginning, the one that stops last being the second.
    async fn went_on(parts: Parts) -> (anyhow::Result<()>, [Duration; 2]) {
        let (mut parts, begun) = (parts, Instant::now());
        let (told, mut ends) = mpsc::unbounded_channel();
        for (number, cancel) in [parts.cancel(), parts.last()].into_iter().enumerate() {
            let told = told.clone();
            parts.start("patient", async move {
                until(cancel).await?;
                told.send((number, begun.elapsed()))
                    .context("nobody listens")
            });
        }
        let outcome = parts.run().await;
        let mut times = [Duration::ZERO; 2];
        while let Ok((number, time)) = ends.try_recv() {
            times[number] = time;
        }
        (outcome, times)
    }

    #[tokio::test(start_paused = true)]
    async fn what_others_send_requests_to_goes_on_for_a_while_after_a_signal() {
        let cancel = CancellationToken::new();
        let mut parts = Parts::new(cancel.clone());
        parts.delay_last(2 * GRACE);
        cancel.cancel();
        let (outcome, times) = went_on(parts).await;
        outcome.expect("stopped in order");
        assert_eq!(times, [Duration::ZERO, 2 * GRACE]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_failed_does_not_go_on() {
        let mut parts = Parts::new(CancellationToken::new());
        parts.delay_last(2 * GRACE);
        parts.start("broken", async { anyhow::bail!("no disk") });
        let (outcome, times) = went_on(parts).await;
        outcome.expect_err("a part failed");
        assert_eq!(times, [Duration::ZERO; 2]);
    }

    #[tokio::test]
    async fn a_cancelled_process_ends_well() {
        let cancel = CancellationToken::new();
        let mut parts = Parts::new(cancel.clone());
        parts.start("patient", until(parts.cancel()));
        cancel.cancel();
        parts.run().await.expect("stopped in order");
    }
}
