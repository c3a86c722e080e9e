//! What a person sees while things build and start.
//!
//! Notes go to standard error, so that results on standard output stay clean for scripts.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Prints one line for the person who waits. Tests run beside each other, so each names itself.
pub fn note(text: impl Display) {
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}{text}", test());
}

/// The name of the test that this thread runs, to stand before its words; nothing in a program that is no test.
fn test() -> String {
    let thread = std::thread::current();
    match thread.name() {
        None | Some("main" | "tokio-rt-worker") => String::new(),
        Some(name) => format!("{name}: "),
    }
}

/// Prints one line of a result.
pub fn result(text: impl Display) {
    // A closed standard output (`| head`) is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// How often a counter is printed where lines cannot be overwritten.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often a counter is redrawn on a terminal: quick enough to look alive.
const REDRAW_EVERY: Duration = Duration::from_millis(200);

/// A count that grows towards a known end, redrawn in place on a terminal, printed now and then elsewhere.
#[derive(Debug)]
pub struct Counter {
    title: String,
    total: usize,
    done: usize,
    started: Instant,
    drawn: Option<Instant>,
    terminal: bool,
}

impl Counter {
    /// Starts counting towards `total`.
    #[must_use]
    pub fn new(title: impl Into<String>, total: usize) -> Self {
        Self {
            title: title.into(),
            total,
            done: 0,
            started: Instant::now(),
            drawn: None,
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Counts `count` more as done.
    pub fn add(&mut self, count: usize) {
        self.done += count;
        let every = if self.terminal {
            REDRAW_EVERY
        } else {
            LINE_EVERY
        };
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= every) {
            self.draw(if self.terminal { "\r" } else { "\n" });
            self.drawn = Some(Instant::now());
        }
    }

    /// Ends the count with a last line.
    pub fn finish(self) {
        let seconds = self.started.elapsed().as_secs_f32();
        let start = if self.terminal { "\r" } else { "" };
        // A closed standard error leaves nobody to tell.
        let _ = writeln!(
            std::io::stderr(),
            "{start}{}  {}: done in {seconds:.1} s\x20\x20\x20\x20",
            test(),
            self.title
        );
    }

    fn draw(&self, end: &str) {
        let (title, done, total) = (&self.title, self.done, self.total);
        let seconds = self.started.elapsed().as_secs();
        let mut stderr = std::io::stderr();
        // A closed standard error leaves nobody to tell.
        let _ = write!(
            stderr,
            "{}  {title}: {done} of {total}, {seconds} s{end}",
            test()
        );
        let _ = stderr.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_thread(name: &str) -> String {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let said = thread.spawn(test).expect("a thread").join();
        said.expect("no panic")
    }

    #[test]
    fn tests_that_run_beside_each_other_are_named() {
        assert_eq!(on_a_thread("faults::goes_on"), "faults::goes_on: ");
        assert_eq!(on_a_thread("main"), "");
        let runtime = tokio::runtime::Builder::new_multi_thread().build();
        let worker = async { tokio::spawn(async { test() }).await };
        let said = runtime.expect("a runtime").block_on(worker);
        assert_eq!(said.expect("no panic"), "");
    }
}
