//! Turns SIGTERM and SIGINT into a cancellation, and a second one into an end at once.

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

    #[test]
    fn the_first_signal_cancels_and_the_second_ends() {
        let cancel = CancellationToken::new();
        let stopping = State::Running.step("SIGINT", &cancel);
        assert!(cancel.is_cancelled());
        assert_eq!(stopping, State::Stopping);
        assert_eq!(stopping.step("SIGTERM", &cancel), State::Ended);
    }
}
