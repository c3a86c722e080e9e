//! Bytes that are held for clients: rows that were read and answers that were made and not yet taken.
//!
//! Whoever makes an answer reserves what it may need before it reads, gives back what it did not need, and hands the rest on with
//! the bytes, so that a reservation lives exactly as long as they do. All answers share one budget, and a connection or a user
//! can hold a share of it at most.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::status::ApiError;
use crate::counters::Counters;

/// A client that reads takes a page in much less; one that does not is broken off after the stall limit, which is of this order.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often one looks for room who may not stand in line: seldom enough to cost nothing, often enough that a client does not see it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// A connection or a user may hold one part in so many.
const SHARES: usize = 4;

/// The bytes that may be held at the same time by all answers together.
pub(crate) struct Budget {
    room: Arc<Semaphore>,
    share: usize,
    counters: Arc<Counters>,
}

/// What one connection or one user may hold.
#[derive(Clone, Debug)]
pub(crate) struct Share(Arc<Semaphore>);

/// A budget with the shares that one request draws on.
#[derive(Clone)]
pub(crate) struct Allowance {
    budget: Arc<Budget>,
    shares: Vec<Share>,
}

/// Bytes of the budget, given back when dropped.
#[must_use]
pub(crate) struct Reservation {
    bytes: usize,
    permits: Vec<OwnedSemaphorePermit>,
    counters: Arc<Counters>,
}

/// There was no room for what an answer needs more of than was reserved for it.
#[derive(Debug, thiserror::Error)]
#[error("there was no room for what became longer than it was stored")]
pub(crate) struct NoRoom;

impl Budget {
    pub(crate) fn new(bytes: usize, counters: Arc<Counters>) -> Self {
        // The number of permits that are asked for at a time is a `u32`.
        let bytes = bytes.clamp(SHARES, u32::MAX as usize);
        Self {
            room: Arc::new(Semaphore::new(bytes)),
            share: bytes / SHARES,
            counters,
        }
    }

    /// A share that nothing has been taken from.
    pub(crate) fn share(&self) -> Share {
        Share(Arc::new(Semaphore::new(self.share)))
    }

    /// Whether nothing of this share is in use.
    pub(crate) fn is_whole(&self, share: &Share) -> bool {
        share.0.available_permits() == self.share
    }
}

impl Allowance {
    /// Draws on the budget and on these shares of it.
    pub(crate) fn new(budget: Arc<Budget>, shares: Vec<Share>) -> Self {
        Self { budget, shares }
    }

    /// Reserves bytes, waiting a while for others to be given back. More than a share is a whole share.
    pub(crate) async fn reserve(&self, bytes: usize) -> Result<Reservation, ApiError> {
        let reserved = tokio::time::timeout(PATIENCE, self.wait_for(bytes)).await;
        reserved.map_err(|_| ApiError::too_many_bytes())
    }

    /// Reserves bytes, waiting for as long as it takes: for an answer that has begun and has a time limit of its own.
    pub(crate) async fn wait_for(&self, bytes: usize) -> Reservation {
        let bytes = bytes.min(self.budget.share);
        let mut permits = Vec::with_capacity(self.shares.len() + 1);
        // The shares first: who waits for what he holds himself keeps nothing from others.
        for room in self.rooms() {
            let permit = Arc::clone(room).acquire_many_owned(bytes as u32).await;
            permits.push(permit.expect("no room is ever closed"));
        }
        self.reserved(bytes, permits)
    }

    /// Reserves bytes for who holds some already: without standing in line, where others would wait for what he holds.
    pub(crate) async fn in_passing(&self, bytes: usize) -> Result<Reservation, NoRoom> {
        let looking = async {
            loop {
                match self.reserve_now(bytes) {
                    Some(reservation) => return reservation,
                    None => tokio::time::sleep(LOOK_AGAIN).await,
                }
            }
        };
        let found = tokio::time::timeout(PATIENCE, looking).await;
        found.map_err(|_| NoRoom)
    }

    /// Reserves bytes if they can be had at once.
    pub(crate) fn reserve_now(&self, bytes: usize) -> Option<Reservation> {
        let bytes = bytes.min(self.budget.share);
        let permits = self
            .rooms()
            .map(|room| Arc::clone(room).try_acquire_many_owned(bytes as u32).ok());
        let permits = permits.collect::<Option<Vec<_>>>()?;
        Some(self.reserved(bytes, permits))
    }

    fn rooms(&self) -> impl Iterator<Item = &Arc<Semaphore>> {
        let shares = self.shares.iter().map(|share| &share.0);
        shares.chain(std::iter::once(&self.budget.room))
    }

    fn reserved(&self, bytes: usize, permits: Vec<OwnedSemaphorePermit>) -> Reservation {
        self.budget.counters.hold(bytes);
        Reservation {
            bytes,
            permits,
            counters: Arc::clone(&self.budget.counters),
        }
    }
}

impl Reservation {
    /// Takes some of its bytes out, or all if it has no more.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        let permits = self.permits.iter_mut().map(|permit| {
            let split = permit.split(bytes);
            split.expect("every permit has as many as the reservation")
        });
        Self {
            bytes,
            permits: permits.collect(),
            counters: Arc::clone(&self.counters),
        }
    }

    /// Gives back all but so many.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        drop(self.split(self.bytes.saturating_sub(bytes)));
    }

    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that hold the reservation until the last of them has been dropped.
    pub(crate) fn keep(self, bytes: Bytes) -> Bytes {
        keeping(bytes, self)
    }
}

/// Bytes that keep something until the last of them has been dropped.
pub(super) fn keeping<T: Send + 'static>(bytes: Bytes, kept: T) -> Bytes {
    Bytes::from_owner(Held { bytes, _kept: kept })
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.counters.release(self.bytes);
    }
}

struct Held<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn budget() -> (Arc<Budget>, Arc<Counters>) {
        let counters = Arc::new(Counters::default());
        (Arc::new(Budget::new(400, Arc::clone(&counters))), counters)
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_holds_more_than_a_share_and_all_together_no_more_than_the_budget() {
        let (budget, counters) = budget();
        let users: Vec<Allowance> = (0..5)
            .map(|_| Allowance::new(Arc::clone(&budget), vec![budget.share()]))
            .collect();
        let mut held = Vec::new();
        for user in &users[..4] {
            held.push(user.reserve_now(1000).expect("a share"));
            assert!(user.reserve_now(1).is_none());
        }
        assert_eq!(counters.read().held_bytes, 400);
        let refused = users[4].reserve(1).await.err().expect("no room");
        assert_eq!(refused.code, http::StatusCode::TOO_MANY_REQUESTS);
        held.pop();
        assert!(users[4].reserve(1).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_holds_some_and_needs_more_keeps_nobody_waiting() {
        let (budget, _) = budget();
        let user = Allowance::new(Arc::clone(&budget), vec![budget.share()]);
        let held = user.reserve_now(60).expect("room");
        let mut looking = std::pin::pin!(user.in_passing(50));
        assert!(looking.as_mut().now_or_never().is_none());
        let other = user.reserve(40).now_or_never().expect("at once");
        drop((held, other));
        let all = looking.await.expect("room");
        let began = tokio::time::Instant::now();
        assert!(user.in_passing(60).await.is_err());
        assert_eq!(began.elapsed(), PATIENCE);
        drop(all);
    }

    #[test]
    fn bytes_are_held_until_the_last_of_them_is_gone() {
        let (budget, counters) = budget();
        let allowance = Allowance::new(Arc::clone(&budget), vec![budget.share()]);
        let mut reservation = allowance.reserve_now(80).expect("room");
        reservation.shrink_to(30);
        let mut bytes = reservation.split(20).keep(Bytes::from(vec![1; 20]));
        assert_eq!(counters.read().held_bytes, 30);
        drop(reservation);
        let end = bytes.split_off(19);
        drop(bytes);
        assert_eq!(counters.read().held_bytes, 20);
        drop(end);
        assert_eq!(counters.read().held_bytes, 0);
        assert!(budget.is_whole(&allowance.shares[0]));
    }
}
