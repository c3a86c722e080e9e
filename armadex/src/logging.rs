//! Sets up log lines on standard error, as text or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::{LogFlags, LogFormat};

/// kube's watcher logs every failed try itself, as we do where it is handled; sqlx logs whole statements that took long. The flag can ask for both.
const QUIET: &str = "kube_runtime::watcher=error,sqlx::query=error";

/// Installs the global subscriber. A level that cannot be read is said on the first line and `info` is used.
pub(crate) fn init(flags: &LogFlags) {
    let parsed = EnvFilter::try_new(format!("{QUIET},{}", flags.log_level));
    let invalid = parsed.as_ref().err().map(ToString::to_string);
    let filter = parsed.unwrap_or_else(|_| EnvFilter::new(format!("{QUIET},info")));
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
    if let Some(error) = invalid {
        tracing::warn!(flag = "--log-level", %error, "log level not understood, using info");
    }
}
