//! Moving the position of a watch that says nothing. Pure: times are passed in.
//!
//! An API server sends bookmarks for what it caches. For what it does not (its own events, some aggregated APIs) a quiet watch would
//! keep its old position until the member has compacted it away, and a restart would list. So after a silence the member is asked
//! for the collection's version, and if nothing comes for a good while after that, nothing was missing up to it. A part of a line is
//! something: an object may take longer to come than a silence is long.

use std::time::Duration;

use tokio::time::Instant;

/// Bookmarks come every minute where they come at all.
pub(super) const SILENT: Duration = Duration::from_secs(75);
/// Above the 25 s after which a connection that only seems to live is found dead, so that a change that was made before the member
/// was asked has come in, or the watch is over.
pub(super) const CERTAIN: Duration = Duration::from_secs(30);

/// How long a watch has been silent, and what the member said meanwhile.
#[derive(Debug)]
pub(super) struct Silence {
    since: Instant,
    said: Option<String>,
}

/// What is to be done about a silence that has lasted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Ask for the collection's version.
    Ask,
    /// Everything up to this version has come in.
    Complete(String),
}

impl Silence {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            said: None,
        }
    }

    /// When something is to be done.
    pub(super) fn until(&self) -> Instant {
        match self.said {
            None => self.since + SILENT,
            Some(_) => self.since + CERTAIN,
        }
    }

    /// What is to be done, once it is time.
    pub(super) fn due(&mut self, now: Instant) -> Due {
        self.since = now;
        self.said.take().map_or(Due::Ask, Due::Complete)
    }

    /// The member said its version; `None` if it did not answer, which is tried again later.
    pub(super) fn told(&mut self, version: Option<String>, now: Instant) {
        self.since = now;
        self.said = version.filter(|version| !version.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_counts_after_a_second_silence_and_only_then() {
        let start = Instant::now();
        let mut silence = Silence::new(start);
        assert_eq!(silence.until(), start + SILENT);
        let asked = start + SILENT;
        assert_eq!(silence.due(asked), Due::Ask);
        silence.told(Some("42".into()), asked);
        assert_eq!(silence.until(), asked + CERTAIN);
        assert_eq!(silence.due(asked + CERTAIN), Due::Complete("42".into()));
        assert_eq!(silence.due(asked + SILENT), Due::Ask, "it is told once");
        silence.told(None, asked);
        assert_eq!(silence.until(), asked + SILENT, "no answer is no version");
    }
}
