//! What is told as a warning, line by line.

use std::{
    fmt::Debug,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, NoSubscriber},
};

/// A second subscriber, for as long as the tests run. Where there is one alone, a line that is first told by a thread without any is taken for one
/// that nobody wants, by all threads and for good.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// The lines that this thread tells as warnings or worse while this lives.
pub struct Warnings {
    lines: Lines,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// From now on.
    pub fn listen() -> Self {
        LazyLock::force(&ANOTHER);
        let lines = Lines::default();
        let guard = tracing::subscriber::set_default(lines.clone());
        Self {
            lines,
            _guard: guard,
        }
    }

    /// Those that have been told.
    pub fn told(&self) -> Vec<String> {
        let lines = self.lines.0.lock();
        lines.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("armadex_")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
