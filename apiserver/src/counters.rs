//! What the server counts, for whoever shows it.

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
}

/// Counts one while it lives.
pub(crate) struct Gauge<'a>(&'a AtomicU64);

impl Drop for Gauge<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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

    pub(crate) fn connection(&self) -> Gauge<'_> {
        add(&self.connections, 1);
        Gauge(&self.connections)
    }

    pub(crate) fn request(&self) -> Gauge<'_> {
        add(&self.in_flight, 1);
        Gauge(&self.in_flight)
    }
}

fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}
