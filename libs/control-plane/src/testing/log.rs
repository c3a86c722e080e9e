//! What the log is told, line by line.

use std::{
    fmt::Debug,
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, NoSubscriber},
};

use crate::lock;

/// A second subscriber, for as long as the tests run. Where there is one alone, a line that is first told by a thread without any is taken for one
/// that nobody wants, by all threads and for good.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// The lines that this thread tells while this lives.
pub struct Log {
    lines: Lines,
    _guard: DefaultGuard,
}

#[derive(Clone)]
struct Lines {
    told: Arc<Mutex<Vec<String>>>,
    level: Level,
    of: &'static str,
}

impl Log {
    /// From now on what crates whose names begin so tell as warnings or worse.
    pub fn warnings_of(of: &'static str) -> Self {
        Self::listen(Level::WARN, of)
    }

    /// The same of all lines that a log has which nobody asked to have more.
    pub fn lines_of(of: &'static str) -> Self {
        Self::listen(Level::INFO, of)
    }

    fn listen(level: Level, of: &'static str) -> Self {
        LazyLock::force(&ANOTHER);
        let told = Arc::default();
        let lines = Lines { told, level, of };
        let guard = tracing::subscriber::set_default(lines.clone());
        Self {
            lines,
            _guard: guard,
        }
    }

    /// Those that have been told.
    pub fn told(&self) -> Vec<String> {
        lock(&self.lines.told).clone()
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with(self.of)
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let mut lines = lock(&self.told);
        lines.push(line.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message of an event.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_told_first_is_counted() {
        let tell = || tracing::warn!("whoever tells it");
        let log = Log::warnings_of("armadex_control_plane");
        std::thread::spawn(tell).join().expect("no panic");
        assert_eq!(log.told().len(), 0, "another thread's");
        tell();
        assert_eq!(log.told().len(), 1);
    }
}
