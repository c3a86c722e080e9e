//! Bytes that are held for clients: rows that were read and answers that were made and not yet taken.
//!
//! Whoever makes an answer reserves what it may need before it reads, gives back what it did not need, and hands the rest on with
//! the bytes, so that a reservation lives exactly as long as they do. All answers share one budget, a connection or a user can hold a
//! share of it at most, and as much is for users who hold nothing: some who fill their shares and take nothing keep nobody else out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// What a list waits for before it reads on: bodies of 2 MiB, which is what 500 pods of 4 KiB have, and an outbox for what is made of them.
pub(crate) const PAGE: usize = (2 << 20) + (128 << 10);

/// The bytes that may be held at the same time by all answers together.
pub(crate) struct Budget {
    room: Arc<Semaphore>,
    /// What of the room may be held from the beginning of an answer to its end.
    lasting: Arc<Semaphore>,
    /// For users who hold nothing.
    last: Arc<Semaphore>,
    share: usize,
    counters: Arc<Counters>,
}

/// What one connection or one user may hold.
#[derive(Clone, Debug)]
pub(crate) struct Share(Arc<Held>);

#[derive(Debug)]
struct Held {
    room: Arc<Semaphore>,
    /// What of the room may be held from the beginning of an answer to its end.
    lasting: Arc<Semaphore>,
    /// What has been reserved, of a user's share. Those who wait have taken of the room.
    bytes: AtomicUsize,
}

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
    user: Option<Share>,
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
        let room = bytes - bytes / SHARES;
        Self {
            room: Arc::new(Semaphore::new(room)),
            lasting: lasting_in(room),
            last: Arc::new(Semaphore::new(bytes / SHARES)),
            share: bytes / SHARES,
            counters,
        }
    }

    /// A share that nothing has been taken from.
    pub(crate) fn share(&self) -> Share {
        Share(Arc::new(Held {
            room: Arc::new(Semaphore::new(self.share)),
            lasting: lasting_in(self.share),
            bytes: AtomicUsize::new(0),
        }))
    }

    /// Whether nothing of this share is in use.
    pub(crate) fn is_whole(&self, share: &Share) -> bool {
        share.0.room.available_permits() == self.share
    }
}

impl Allowance {
    /// Draws on the budget and on these shares of it, of which the first is the user's.
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
        for Share(share) in &self.shares {
            permits.push(wait_in(&share.room, bytes).await);
        }
        permits.push(tokio::select! {
            biased;
            permit = wait_in(&self.budget.room, bytes) => permit,
            permit = self.look_for_last(bytes) => permit,
        });
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
        let shares = self
            .shares
            .iter()
            .map(|share| take_of(&share.0.room, bytes));
        let mut permits = shares.collect::<Option<Vec<_>>>()?;
        let of_all = take_of(&self.budget.room, bytes);
        permits.push(of_all.or_else(|| self.take_of_last(bytes))?);
        Some(self.reserved(bytes, permits))
    }

    /// Reserves bytes that are held until the whole answer has been taken, if they can be had at once. What all such answers hold leaves room for a
    /// page: else they would wait for each other, or for themselves, with every page to come.
    pub(crate) fn reserve_lasting(&self, bytes: usize) -> Option<Reservation> {
        let shares = self.shares.iter().map(|share| &share.0.lasting);
        let lasting: Option<Vec<_>> = shares
            .chain([&self.budget.lasting])
            .map(|room| take_of(room, bytes))
            .collect();
        let lasting = lasting?;
        let mut held = self.reserve_now(bytes)?;
        held.permits.extend(lasting);
        Some(held)
    }

    /// What is left for users who hold nothing, as soon as the user is one of them: what is being sent of a page may be all that is held.
    async fn look_for_last(&self, bytes: usize) -> OwnedSemaphorePermit {
        loop {
            match self.take_of_last(bytes) {
                Some(permit) => return permit,
                None => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }

    fn take_of_last(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let mut user = self.shares.first().into_iter();
        let holds_nothing = user.all(|share| share.0.bytes.load(Ordering::Relaxed) == 0);
        holds_nothing.then(|| take_of(&self.budget.last, bytes))?
    }

    fn reserved(&self, bytes: usize, permits: Vec<OwnedSemaphorePermit>) -> Reservation {
        self.budget.counters.hold(bytes);
        let user = self.shares.first().cloned();
        if let Some(Share(user)) = &user {
            user.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Reservation {
            bytes,
            permits,
            user,
            counters: Arc::clone(&self.budget.counters),
        }
    }
}

/// What may be held for long of a room: as much as leaves a page its place.
fn lasting_in(room: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(room.saturating_sub(PAGE)))
}

async fn wait_in(room: &Arc<Semaphore>, bytes: usize) -> OwnedSemaphorePermit {
    let permit = Arc::clone(room).acquire_many_owned(bytes as u32).await;
    permit.expect("no room is ever closed")
}

fn take_of(room: &Arc<Semaphore>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    Arc::clone(room).try_acquire_many_owned(bytes as u32).ok()
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
            user: self.user.clone(),
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
    Bytes::from_owner(Kept { bytes, _kept: kept })
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.counters.release(self.bytes);
        if let Some(Share(user)) = &self.user {
            user.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

struct Kept<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for Kept<T> {
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
    async fn the_last_quarter_is_for_users_who_hold_nothing() {
        let (budget, counters) = budget();
        let user = || Allowance::new(Arc::clone(&budget), vec![budget.share()]);
        let greedy = [(); 4].map(|()| user());
        let mut held = Vec::new();
        for number in 0..40 {
            held.extend(greedy[number % 4].reserve_now(30));
        }
        assert_eq!((held.len(), counters.read().held_bytes), (10, 300));
        let more = greedy[3].reserve(30).await.err();
        let code = more.map(|refused| refused.code);
        assert_eq!(code, Some(http::StatusCode::TOO_MANY_REQUESTS));
        let other = user();
        for page in 0..3 {
            let page = other
                .reserve(30)
                .now_or_never()
                .unwrap_or_else(|| panic!("{page} waits"));
            assert!(other.reserve_now(30).is_none(), "one after the other");
            drop(page);
        }
        held.extend([(); 4].iter().filter_map(|()| user().reserve_now(30)));
        assert_eq!((held.len(), counters.read().held_bytes), (13, 390));
        // Who waits has what is given back first.
        let mut waiting = std::pin::pin!(other.reserve(30));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(held.remove(0));
        assert!(waiting.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_of_whom_several_wait_is_one_who_holds_nothing() {
        let (budget, _) = budget();
        let user = || Allowance::new(Arc::clone(&budget), vec![budget.share()]);
        let greedy = [(); 3].map(|()| user().reserve_now(100));
        assert!(greedy.iter().all(Option::is_some));
        let last = user().reserve_now(100);
        let other = user();
        let (mut first, mut second) = (Box::pin(other.reserve(50)), Box::pin(other.reserve(50)));
        assert!(futures::poll!(first.as_mut()).is_pending());
        assert!(futures::poll!(second.as_mut()).is_pending());
        drop(last);
        let first = first.await.expect("room");
        assert!(futures::poll!(second.as_mut()).is_pending());
        drop(first);
        assert!(second.await.is_ok());
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

    #[tokio::test]
    async fn what_is_held_for_long_leaves_room_for_a_page() {
        for (mib, lasting) in [(8, 0), (10, 0), (11, 1), (32, 11)] {
            let budget = Arc::new(Budget::new(mib << 20, Arc::default()));
            let user = Allowance::new(Arc::clone(&budget), vec![budget.share()]);
            let held = std::iter::from_fn(|| user.reserve_lasting(512 << 10));
            let held: Vec<Reservation> = held.collect();
            assert_eq!(held.len(), lasting, "{mib} MiB");
            assert!(user.wait_for(PAGE).now_or_never().is_some(), "{mib} MiB");
            drop(held);
            assert_eq!(user.reserve_lasting(512 << 10).is_some(), lasting > 0);
        }
        let budget = Arc::new(Budget::new(32 << 20, Arc::default()));
        let user = || Allowance::new(Arc::clone(&budget), vec![budget.share()]);
        let all: Vec<_> = (0..100).map(|_| user()).collect();
        let held = all.iter().map(|user| user.reserve_lasting(512 << 10));
        let held: Vec<_> = held.take(60).collect();
        assert!(all[0].wait_for(PAGE).now_or_never().is_some());
        drop(held);
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
