//! How long a transaction and its parts may take.

use std::time::Duration;

use crate::location::Server;
use crate::sql::statement::Statement;

/// What the server itself ends after the statement timeout has this long to say so before the connection is given up.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// For each statement of who reads everything: ten thousand times a page.
const WHOLE: Duration = Duration::from_secs(60 * 60);

/// How long things may take, and whether statements stay prepared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) begin: Duration,
    pub(super) statement: Duration,
    pub(super) lock: Duration,
    /// The same, for who reads.
    pub(super) lock_of_reads: Duration,
    /// How long we may say nothing in the middle of a transaction.
    pub(super) idle: Duration,
    /// Where the server has nothing to add up: between two rows of an answer, and at the end of a transaction.
    pub(super) silence: Duration,
    pub(super) prepared: bool,
}

impl Limits {
    pub(super) fn of(server: &Server) -> Self {
        Self {
            begin: server.timeouts.connect,
            statement: server.timeouts.statement,
            lock: server.timeouts.lock,
            lock_of_reads: server.timeouts.lock_of_reads(),
            idle: server.timeouts.idle,
            silence: server.timeouts.statement + GRACE,
            prepared: server.prepared,
        }
    }

    /// How long a row may be waited for after another, where that is less than for the whole answer.
    pub(super) fn between(&self, statement: &Statement) -> Option<Duration> {
        (self.silence < self.statement && !statement.adds_up()).then_some(self.silence)
    }

    /// For who reads everything.
    pub(super) fn of_whole(server: &Server) -> Self {
        let of = Self::of(server);
        Self {
            statement: of.statement.max(WHOLE),
            ..of
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;

    /// Or a table that somebody has locked would be taken for a server that is away.
    #[test]
    fn a_lock_is_waited_for_less_long_than_the_beginning_of_a_read() {
        for connect in ["2ms", "500ms", "1s", "5s", "60min"] {
            let url = format!("postgres://u@h/fleet?lock_timeout=60min&connect_timeout={connect}");
            let Ok(Location::Server(server)) = url.parse() else {
                panic!("{url}")
            };
            let Limits {
                begin,
                lock_of_reads,
                ..
            } = Limits::of(&server);
            assert!(lock_of_reads < begin, "{connect}");
        }
    }
}
