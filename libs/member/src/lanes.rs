//! Seats for long-lived streams. A pool of hyper never opens a second HTTP/2 connection by itself, and a server may take no more
//! than 100 streams on one: so streams are counted, and a further pool is made when all are full. Without a connection, every request
//! to a pool opens one, and all but the first are thrown away: so the first stream of a lane goes ahead, and the others wait for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::transport::{HttpClient, LIST_WINDOWS, WATCH_WINDOWS};

/// A server may allow as few as 100 streams; 20 are left for those that are ending while others begin,
/// and for short questions.
const STREAMS_PER_LANE: usize = 80;
/// Streams whose readers stand still starve nothing: neither another nor what is asked beside them; and what the help of `--memory-budget`
/// says comes beside it does.
const _: () = {
    assert!(WATCH_WINDOWS.connection > 80 * WATCH_WINDOWS.stream && STREAMS_PER_LANE == 80);
    assert!(WATCH_WINDOWS.stream == 64 << 10 && LIST_WINDOWS.stream == 256 << 10);
};
/// A connection is made in three round trips and a first answer comes in a fourth. Whoever has waited longer goes by itself.
const CONNECTED_WITHIN: Duration = Duration::from_secs(2);
/// Streams that begin at the same time on a connection that is there: it keeps the room for as many requests and answers as ever waited in it,
/// 30 to 50 KiB for forty watches that begin together after a restart.
const BEGINNING: usize = 4;

/// Clients, each with at most [`STREAMS_PER_LANE`] streams.
pub(crate) struct Lanes {
    make: Box<dyn Fn() -> HttpClient + Send + Sync>,
    lanes: Mutex<Vec<Lane>>,
}

struct Lane {
    client: HttpClient,
    /// Each seat holds one more reference.
    taken: Arc<Taken>,
}

/// What the seats of a lane share.
struct Taken {
    /// Streams that were answered and are not over.
    answered: AtomicUsize,
    /// Held by the stream that goes ahead.
    ahead: Arc<Semaphore>,
    /// Held by those that begin once there is a connection.
    beginning: Arc<Semaphore>,
}

/// The right to one stream; given back when dropped.
pub(crate) struct Seat {
    taken: Arc<Taken>,
    answered: bool,
}

impl Seat {
    /// Waits while another stream makes the connection, or a few begin. What is returned is to be held until there is an answer.
    pub(crate) async fn connection(&self) -> Option<OwnedSemaphorePermit> {
        let turn = async {
            if !self.taken.is_connected() {
                let ahead = Arc::clone(&self.taken.ahead).acquire_owned().await.ok();
                if !self.taken.is_connected() {
                    return ahead;
                }
            }
            let beginning = Arc::clone(&self.taken.beginning).acquire_owned().await;
            beginning.ok()
        };
        tokio::time::timeout(CONNECTED_WITHIN, turn).await.ok()?
    }

    /// The stream was answered, so there is a connection.
    pub(crate) fn answered(&mut self) {
        if !std::mem::replace(&mut self.answered, true) {
            self.taken.answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.answered {
            self.taken.answered.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Taken {
    fn is_connected(&self) -> bool {
        self.answered.load(Ordering::Relaxed) > 0
    }
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
                taken: Arc::new(Taken {
                    answered: AtomicUsize::new(0),
                    ahead: Arc::new(Semaphore::new(1)),
                    beginning: Arc::new(Semaphore::new(BEGINNING)),
                }),
            });
        }
        let free = lanes
            .iter()
            .find(|lane| lane.streams() < STREAMS_PER_LANE)
            .expect("a lane was pushed if all were full");
        let seat = Seat {
            taken: Arc::clone(&free.taken),
            answered: false,
        };
        (free.client.clone(), seat)
    }

    /// A client for something short beside the streams, if any of them was answered: so there is a connection. It takes no seat: a
    /// lane leaves room.
    pub(crate) fn connected(&self) -> Option<HttpClient> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let connected = lanes.iter().find(|lane| lane.taken.is_connected());
        connected.map(|lane| lane.client.clone())
    }
}

impl Lane {
    fn streams(&self) -> usize {
        Arc::strong_count(&self.taken) - 1
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use hyper_util::client::legacy::Client;
    use hyper_util::rt::TokioExecutor;
    use tower::util::BoxCloneSyncService;
    use tower::{BoxError, ServiceExt as _};

    use super::*;

    fn client() -> HttpClient {
        let client = Client::builder(TokioExecutor::new()).build_http();
        BoxCloneSyncService::new(client.map_err(BoxError::from))
    }

    #[tokio::test]
    async fn a_full_lane_opens_another_and_an_empty_one_closes() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&made);
        let lanes = Lanes::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            client()
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

    #[tokio::test]
    async fn one_stream_makes_the_connection_and_the_others_wait_for_it() {
        let lanes = Lanes::new(client);
        let mut seats: Vec<_> = (0..3).map(|_| lanes.take().1).collect();
        let (first, others) = seats.split_at_mut(1);
        let ahead = first[0].connection().now_or_never().unwrap();
        assert!(ahead.is_some());
        let mut second = Box::pin(others[0].connection());
        let mut third = Box::pin(others[1].connection());
        assert!((&mut second).now_or_never().is_none());
        drop(ahead);
        let ahead = (&mut second).now_or_never().unwrap();
        assert!(ahead.is_some(), "the first failed, so the second tries");
        first[0].answered();
        drop(ahead);
        let goes = (&mut third).now_or_never().unwrap();
        assert!(goes.is_some(), "there is a connection");
        drop((second, third, goes));
        let begin = (0..BEGINNING).map(|_| first[0].connection().now_or_never().unwrap());
        let begin: Vec<_> = begin.collect();
        assert!(begin.iter().all(Option::is_some), "a few begin at once");
        assert!(first[0].connection().now_or_never().is_none());
        drop(begin);
        seats.remove(0);
        let ahead = seats[0].connection().now_or_never().unwrap();
        assert!(ahead.is_some(), "the connection may be gone");
    }
}
