//! Turns SIGTERM and SIGINT into a cancellation, of what is being started too, and a second one into an end at once.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What a shell says of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A token that is cancelled by the first SIGTERM or SIGINT. The second one ends the process without waiting for anybody: what was not
/// stored yet is asked for again at the next start.
pub(crate) fn on_signal() -> std::io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let cancel = CancellationToken::new();
    let signalled = cancel.clone();
    // Ends with the process: it waits for signals and owns nothing else.
    tokio::spawn(async move {
        let mut state = State::Running;
        while state != State::Ended {
            let signal = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            state = state.step(signal, &signalled);
        }
        std::process::exit(INTERRUPTED);
    });
    Ok(cancel)
}

/// Does what a process has to do before it can run. `None`: it was told to stop meanwhile, and this is broken off where it waits.
///
/// A store whose schema is being brought up to date is left as by SIGKILL then: a transaction that did not end counts for nothing, and where a database has
/// none for that, each step may be run again.
pub(crate) async fn unless_stopped<T>(
    cancel: &CancellationToken,
    starting: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    match cancel.run_until_cancelled(starting).await {
        Some(Ok(started)) => return Ok(Some(started)),
        Some(Err(error)) if !cancel.is_cancelled() => return Err(error),
        // What fails with the signal fails by it: Ctrl-C also ends the program that a kubeconfig has for credentials.
        Some(Err(_)) | None => {}
    }
    tracing::info!("stopped while it was starting: nothing had begun yet");
    Ok(None)
}

/// Does the one thing that a process is there for. An error: it was told to stop before that was done. As the first process of a container it would not be
/// ended by a signal that it does not listen to.
pub(crate) async fn unless_interrupted(
    work: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let cancel = on_signal()?;
    let done = cancel.run_until_cancelled(work).await;
    done.unwrap_or_else(|| {
        Err(anyhow::anyhow!(
            "stopped before it was done: what was done counts, and it may be run again"
        ))
    })
}

/// How far a process is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Stopping,
    Ended,
}

impl State {
    /// What a signal does.
    fn step(self, signal: &str, cancel: &CancellationToken) -> Self {
        match self {
            Self::Running => {
                cancel.cancel();
                tracing::info!(signal, "stopping; a second signal ends the process at once");
                Self::Stopping
            }
            Self::Stopping | Self::Ended => {
                tracing::warn!(signal, "ended before everything had stopped");
                Self::Ended
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_being_started_is_broken_off_by_a_signal_and_else_comes_to_its_own_end() {
        let cancel = CancellationToken::new();
        let started = unless_stopped(&cancel, async { Ok(1) }).await;
        assert_eq!(started.expect("no error"), Some(1));
        let broken = || async { anyhow::bail!("no store") };
        let failed: anyhow::Result<Option<()>> = unless_stopped(&cancel, broken()).await;
        assert_eq!(failed.expect_err("an error").to_string(), "no store");
        let signalled = cancel.clone();
        let fails_by_it = async move {
            signalled.cancel();
            broken().await
        };
        let stopped: Option<()> = unless_stopped(&cancel, fails_by_it)
            .await
            .expect("in order");
        assert_eq!(stopped, None);
        let never = std::future::pending::<anyhow::Result<()>>();
        let stopped = unless_stopped(&cancel, never).await.expect("in order");
        assert_eq!(stopped, None);
    }

    #[test]
    fn the_first_signal_cancels_and_the_second_ends() {
        let cancel = CancellationToken::new();
        let stopping = State::Running.step("SIGINT", &cancel);
        assert!(cancel.is_cancelled());
        assert_eq!(stopping, State::Stopping);
        assert_eq!(stopping.step("SIGTERM", &cancel), State::Ended);
    }
}
