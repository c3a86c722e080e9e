//! Telling of statements that take long.

use std::time::{Duration, Instant};

use tracing::info;

/// A statement that takes this long is told of: nothing that the store asks for looks at so much.
const LONG: Duration = Duration::from_secs(1);

/// Tells of a statement that took long, which is not yet trouble: a busy machine is enough.
pub(crate) struct Stopwatch {
    name: &'static str,
    begun: Instant,
}

impl Stopwatch {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            begun: Instant::now(),
        }
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        let took = self.begun.elapsed();
        if took >= LONG {
            let (statement, duration_ms) = (self.name, took.as_millis());
            info!(statement, duration_ms, "{statement} took long");
        }
    }
}
