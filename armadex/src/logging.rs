//! Sets up log lines on standard error, as text or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::{LogFlags, LogFormat};

/// kube's watcher logs every failed try itself, as we do where it is handled; sqlx logs whole statements that took long. The flag can ask for both.
const QUIET: &str = "kube_runtime::watcher=error,sqlx::query=error";

/// Installs the global subscriber; the level was read with the command line.
pub(crate) fn init(flags: &LogFlags) {
    let filter = EnvFilter::new(format!("{QUIET},{}", flags.log_level));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Whoever read the log may have gone; a line that cannot be written must not end the task that wrote it.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    match flags.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
