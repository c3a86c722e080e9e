//! Runs the parts of a process side by side, and stops all of them when one fails or a signal comes.

use std::future::Future;
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long parts may take to flush and close: some seconds above the synchro's and the API server's own limits, below the
/// 30 s that Kubernetes waits before it kills a pod.
const GRACE: Duration = Duration::from_secs(20);
const _: () = assert!(armadex_apiserver::SHUTDOWN_GRACE.as_secs() + 5 <= GRACE.as_secs());

/// The parts of this process. Each gets a clone of the token and ends soon after it is cancelled.
pub(crate) struct Parts {
    cancel: CancellationToken,
    tasks: JoinSet<(&'static str, anyhow::Result<()>)>,
}

impl Parts {
    /// No parts yet; `cancel` stops those that are added.
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            tasks: JoinSet::new(),
        }
    }

    /// The token that stops every part.
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
        let rest = async {
            while let Some(ended) = self.tasks.join_next().await {
                let ended = expected_end(ended);
                if outcome.is_ok() {
                    outcome = ended;
                }
            }
        };
        if tokio::time::timeout(GRACE, rest).await.is_err() {
            anyhow::bail!(
                "some parts did not stop within {} s and were cut off",
                GRACE.as_secs()
            );
        }
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

    #[tokio::test]
    async fn a_cancelled_process_ends_well() {
        let cancel = CancellationToken::new();
        let mut parts = Parts::new(cancel.clone());
        parts.start("patient", until(parts.cancel()));
        cancel.cancel();
        parts.run().await.expect("stopped in order");
    }
}
