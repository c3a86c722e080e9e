//! What the server counts, for whoever shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the server was made. Cheap to update, read through [`Counters::read`].
#[derive(Debug, Default)]
pub struct Counters {
    requests: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    broken_off: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    reviews: AtomicU64,
    in_flight: AtomicU64,
    connections: AtomicU64,
    held_bytes: AtomicU64,
    stalled: AtomicU64,
    evicted: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Requests answered, whatever the answer.
    pub requests: u64,
    /// Of these, refused with a code of the 400s.
    pub refused: u64,
    /// Of these, failed with a code of the 500s.
    pub failed: u64,
    /// Answers that broke off in the middle.
    pub broken_off: u64,
    /// Objects served.
    pub rows: u64,
    /// Bytes of bodies made.
    pub bytes: u64,
    /// Reviews asked of the host.
    pub reviews: u64,
    /// Requests being served now.
    pub in_flight: u64,
    /// Connections open now.
    pub connections: u64,
    /// Bytes held for clients now.
    pub held_bytes: u64,
    /// Answers that were given up because their client took nothing.
    pub stalled: u64,
    /// Connections that were closed to make room for others.
    pub evicted: u64,
}

/// Counts one while it lives.
pub(crate) struct Gauge {
    counters: Arc<Counters>,
    which: fn(&Counters) -> &AtomicU64,
}

impl Gauge {
    fn new(counters: &Arc<Counters>, which: fn(&Counters) -> &AtomicU64) -> Self {
        add(which(counters), 1);
        Self {
            counters: Arc::clone(counters),
            which,
        }
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        (self.which)(&self.counters).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counters {
    /// The counts now.
    #[must_use]
    pub fn read(&self) -> CounterValues {
        let Self {
            requests,
            refused,
            failed,
            broken_off,
            rows,
            bytes,
            reviews,
            in_flight,
            connections,
            held_bytes,
            stalled,
            evicted,
        } = self;
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CounterValues {
            requests: value(requests),
            refused: value(refused),
            failed: value(failed),
            broken_off: value(broken_off),
            rows: value(rows),
            bytes: value(bytes),
            reviews: value(reviews),
            in_flight: value(in_flight),
            connections: value(connections),
            held_bytes: value(held_bytes),
            stalled: value(stalled),
            evicted: value(evicted),
        }
    }

    pub(crate) fn answered(&self, code: u16) {
        add(&self.requests, 1);
        match code {
            400..=499 => add(&self.refused, 1),
            500.. => add(&self.failed, 1),
            _ => {}
        }
    }

    pub(crate) fn served(&self, rows: u64, bytes: u64) {
        add(&self.rows, rows);
        add(&self.bytes, bytes);
    }

    pub(crate) fn broke_off(&self) {
        add(&self.broken_off, 1);
    }

    pub(crate) fn reviewed(&self) {
        add(&self.reviews, 1);
    }

    pub(crate) fn hold(&self, bytes: usize) {
        add(&self.held_bytes, bytes as u64);
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.held_bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn stalled(&self) {
        add(&self.stalled, 1);
    }

    pub(crate) fn evicted(&self) {
        add(&self.evicted, 1);
    }

    pub(crate) fn connection(this: &Arc<Self>) -> Gauge {
        Gauge::new(this, |counters| &counters.connections)
    }

    pub(crate) fn request(this: &Arc<Self>) -> Gauge {
        Gauge::new(this, |counters| &counters.in_flight)
    }
}

fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}
