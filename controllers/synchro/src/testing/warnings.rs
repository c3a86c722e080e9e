//! What the log is told, counted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// A second subscriber, for as long as the tests run. Where there is one alone, a line that is first told by a thread without any is taken for one
/// that nobody wants, by all threads and for good.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// Counts what is told at this level or a worse one.
struct Counter(Arc<AtomicUsize>, Level);

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.1
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        if event.metadata().target().starts_with("armadex_synchro") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Counts warnings while the guard lives.
pub(crate) fn warnings() -> (Arc<AtomicUsize>, DefaultGuard) {
    counted(Level::WARN)
}

/// Counts all lines that a log has which nobody asked to have more.
pub(crate) fn lines() -> (Arc<AtomicUsize>, DefaultGuard) {
    counted(Level::INFO)
}

fn counted(level: Level) -> (Arc<AtomicUsize>, DefaultGuard) {
    LazyLock::force(&ANOTHER);
    let count = Arc::<AtomicUsize>::default();
    let guard = tracing::subscriber::set_default(Counter(Arc::clone(&count), level));
    (count, guard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_told_first_is_counted() {
        let tell = || tracing::warn!("whoever tells it");
        let (told, _guard) = warnings();
        std::thread::spawn(tell).join().expect("no panic");
        assert_eq!(told.load(Ordering::Relaxed), 0, "another thread's");
        tell();
        assert_eq!(told.load(Ordering::Relaxed), 1);
    }
}
