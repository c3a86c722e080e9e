//! A paused clock that stands still while the store works.

use std::sync::mpsc::{Sender, channel};

/// While it lives, a paused clock does not advance: a store works in threads of its own, which the runtime takes for idleness, and it
/// would jump to the next time limit.
pub(crate) struct Still(
    #[expect(dead_code, reason = "the thread ends when it is dropped")] Sender<()>,
);

impl Still {
    pub(crate) fn begin() -> Self {
        let (sender, end) = channel();
        // The clock advances by itself only where no such thread runs.
        tokio::task::spawn_blocking(move || end.recv());
        Self(sender)
    }
}
