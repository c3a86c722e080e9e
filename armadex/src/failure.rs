//! How an error that ends a command is told: once, and in a line that names the program.

use std::io::Write as _;

use crate::cli::LogFormat;
use crate::visible::visible;

/// Tells it on standard error, as the log is told there.
pub(crate) fn tell(error: &anyhow::Error, format: LogFormat) {
    let words = words(error);
    match format {
        // Nobody is left to tell that it could not be told.
        LogFormat::Text => {
            drop(writeln!(std::io::stderr(), "armadex: {}", visible(&words)));
        }
        LogFormat::Json => tracing::error!("{words}"),
    }
}

/// What happened and why. Some libraries end what they say with their cause, which is not said again.
fn words(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.ends_with(&cause) {
            continue;
        }
        if !said.is_empty() {
            said.push_str(": ");
        }
        said.push_str(&cause);
    }
    said
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let error = anyhow!("no such file")
            .context("cannot read a: no such file")
            .context("cannot start");
        assert_eq!(words(&error), "cannot start: cannot read a: no such file");
        assert_eq!(words(&anyhow!("alone")), "alone");
        let error = anyhow!("refused").context("no answer");
        assert_eq!(words(&error), "no answer: refused");
    }
}
