//! Seats for long-lived streams. A pool of hyper never opens a second HTTP/2 connection by itself, and a server may take no more
//! than 100 streams on one: so streams are counted, and a further pool is made when all are full.

use std::sync::{Arc, Mutex, PoisonError};

use crate::transport::HttpClient;

/// A server may allow as few as 100 streams; 20 are left for those that are ending while others begin.
const STREAMS_PER_LANE: usize = 80;

/// Clients, each with at most [`STREAMS_PER_LANE`] streams.
pub(crate) struct Lanes {
    make: Box<dyn Fn() -> HttpClient + Send + Sync>,
    lanes: Mutex<Vec<Lane>>,
}

struct Lane {
    client: HttpClient,
    /// Each seat holds one more reference.
    taken: Arc<()>,
}

/// The right to one stream; given back when dropped.
pub(crate) struct Seat {
    _taken: Arc<()>,
}

impl Lanes {
    /// Makes clients with `make` as they are needed.
    pub(crate) fn new(make: impl Fn() -> HttpClient + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            lanes: Mutex::new(Vec::new()),
        }
    }

    /// A client that has room for one more stream. Lanes that emptied beyond the first are dropped, and their connections close.
    pub(crate) fn take(&self) -> (HttpClient, Seat) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = true;
        lanes.retain(|lane| std::mem::take(&mut first) || lane.streams() > 0);
        if lanes.iter().all(|lane| lane.streams() >= STREAMS_PER_LANE) {
            lanes.push(Lane {
                client: (self.make)(),
                taken: Arc::new(()),
            });
        }
        let free = lanes
            .iter()
            .find(|lane| lane.streams() < STREAMS_PER_LANE)
            .expect("a lane was pushed if all were full");
        let seat = Seat {
            _taken: Arc::clone(&free.taken),
        };
        (free.client.clone(), seat)
    }
}

impl Lane {
    fn streams(&self) -> usize {
        Arc::strong_count(&self.taken) - 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hyper_util::client::legacy::Client;
    use hyper_util::rt::TokioExecutor;
    use tower::util::BoxCloneSyncService;

    use super::*;

    #[tokio::test]
    async fn a_full_lane_opens_another_and_an_empty_one_closes() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&made);
        let lanes = Lanes::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            BoxCloneSyncService::new(Client::builder(TokioExecutor::new()).build_http())
        });
        let mut seats: Vec<_> = (0..STREAMS_PER_LANE).map(|_| lanes.take().1).collect();
        assert_eq!(made.load(Ordering::Relaxed), 1);
        let extra = lanes.take().1;
        assert_eq!(made.load(Ordering::Relaxed), 2);
        drop(extra);
        seats.pop();
        seats.push(lanes.take().1);
        assert_eq!(made.load(Ordering::Relaxed), 2, "the freed seat is used");
        assert_eq!(lanes.lanes.lock().unwrap().len(), 1);
    }
}
