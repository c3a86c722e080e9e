//! Turns SIGTERM and SIGINT into a cancellation.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first SIGTERM or SIGINT.
pub(crate) fn on_signal() -> std::io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let cancel = CancellationToken::new();
    let signalled = cancel.clone();
    // Ends with the process: it waits for a signal and owns nothing else.
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        signalled.cancel();
        tracing::info!(signal = name, "stopping");
    });
    Ok(cancel)
}
