//! How long what is asked of a server may take. The driver itself waits for ever.

use std::time::Duration;

use crate::location::Server;
use crate::sql::statement::Statement;

/// What the server itself ends after the statement timeout has this long to say so before the connection is given up.
const GRACE: Duration = Duration::from_secs(5);

/// For each statement of who reads everything: ten thousand times a page.
pub(super) const WHOLE: Duration = Duration::from_secs(60 * 60);

/// How long things may take, and whether statements stay prepared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// To begin a transaction.
    pub(super) begin: Duration,
    /// For a statement's whole answer.
    pub(super) statement: Duration,
    /// Where the server has nothing to add up: between two rows of an answer, and at the end of a transaction.
    pub(super) silence: Duration,
    pub(super) prepared: bool,
}

impl Limits {
    pub(super) fn of(server: &Server) -> Self {
        Self {
            // A lock is waited for in whole seconds.
            begin: server.timeouts.connect.max(Duration::from_secs(2)),
            statement: server.timeouts.statement + GRACE,
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
        Self {
            statement: server.timeouts.statement.max(WHOLE) + GRACE,
            ..Self::of(server)
        }
    }
}
