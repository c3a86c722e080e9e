//! Connections with a server, kept from one transaction to the next.
//!
//! A transaction takes a connection and gives it back when it has ended in order. In any other case (an error, somebody who does not wait any
//! longer) the connection is closed with what was begun on it, so nobody meets the answer to another's question. A server that is away is an
//! error at once: who can wait does so at its own pace.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::error::{Class, classified};

/// How long somebody waits for another's transaction to end: longer than any page takes, shorter than a client waits.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection is used for so long: after that its name may stand for another server, and its password may be another.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// One that lay idle for longer is not used again: much that is between forgets a connection that says nothing.
const IDLE: Duration = Duration::from_secs(2 * 60);

/// What opens connections.
#[async_trait]
pub(crate) trait Connect: Send + Sync + 'static {
    type Connection: Send + 'static;

    /// Opens a connection, within a limit of its own.
    async fn connect(&self) -> Result<Self::Connection, StoreError>;

    /// Says goodbye to the server.
    async fn close(&self, connection: Self::Connection);

    /// What was opened in an earlier one is not used again.
    fn era(&self) -> usize {
        0
    }

    /// Ends an era, if it has not ended: the server that was connected with then is behind another one.
    fn leave(&self, _era: usize) {}
}

/// Some connections, opened when they are needed.
pub(crate) struct Pool<C: Connect> {
    shared: Arc<Shared<C>>,
    /// Where those wait who never have all of the connections.
    part: Option<Arc<Semaphore>>,
}

struct Shared<C: Connect> {
    connect: C,
    idle: Mutex<Vec<Idle<C::Connection>>>,
    places: Arc<Semaphore>,
    patience: Duration,
}

/// When a connection was opened.
#[derive(Clone, Copy)]
struct Opened {
    at: Instant,
    era: usize,
}

/// A connection that nobody uses.
struct Idle<T> {
    connection: T,
    opened: Opened,
    since: Instant,
}

impl<T> Idle<T> {
    fn is_fresh(&self, era: usize) -> bool {
        self.opened.era == era && self.opened.at.elapsed() < LIFETIME && self.since.elapsed() < IDLE
    }
}

/// A connection that somebody uses; dropped, it is closed.
pub(crate) struct Lent<C: Connect> {
    connection: C::Connection,
    opened: Opened,
    was_idle: bool,
    shared: Arc<Shared<C>>,
    place: Permits,
}

/// What somebody holds while they have a connection.
struct Permits {
    _of_all: OwnedSemaphorePermit,
    _of_part: Option<OwnedSemaphorePermit>,
}

impl<C: Connect> Pool<C> {
    /// At most `places` connections.
    pub(crate) fn new(connect: C, places: u32) -> Self {
        Self::with_patience(connect, places, PATIENCE)
    }

    fn with_patience(connect: C, places: u32, patience: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                connect,
                idle: Mutex::default(),
                places: line(places),
                patience,
            }),
            part: None,
        }
    }

    /// The same connections for others, of which they have so many at most. They wait in a line of their own: in that of all stands one for each of their
    /// places, however many they are.
    pub(crate) fn part(&self, places: u32) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            part: Some(line(places)),
        }
    }

    /// A connection: one that was used before, if there is one.
    pub(crate) async fn lend(&self) -> Result<Lent<C>, StoreError> {
        let place = match timeout(self.shared.patience, self.place()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_closed)) => return Err(unavailable(sqlx::Error::PoolClosed)),
            Err(_elapsed) => return Err(unavailable(sqlx::Error::PoolTimedOut)),
        };
        let idle = self.shared.take_idle().await;
        let was_idle = idle.is_some();
        let (connection, opened) = match idle {
            Some(idle) => (idle.connection, idle.opened),
            None => self.shared.open().await?,
        };
        Ok(Lent {
            connection,
            opened,
            was_idle,
            shared: Arc::clone(&self.shared),
            place,
        })
    }

    /// The place of the part comes first: who waits for that keeps nobody else waiting.
    async fn place(&self) -> Result<Permits, AcquireError> {
        let of_part = match &self.part {
            Some(part) => Some(Arc::clone(part).acquire_owned().await?),
            None => None,
        };
        let of_all = Arc::clone(&self.shared.places).acquire_owned().await?;
        Ok(Permits {
            _of_all: of_all,
            _of_part: of_part,
        })
    }

    /// A new connection instead of one that turned out to be dead. Those that lay beside it are no better.
    pub(crate) async fn renew(&self, dead: Lent<C>) -> Result<Lent<C>, StoreError> {
        let Lent {
            connection,
            shared,
            place,
            ..
        } = dead;
        drop(connection);
        shared.idle().clear();
        let (connection, opened) = shared.open().await?;
        Ok(Lent {
            connection,
            opened,
            was_idle: false,
            shared,
            place,
        })
    }

    /// Gives the connections back to the server, those of a part with all; those in use follow when they are given back here.
    pub(crate) async fn close(&self) {
        self.shared.places.close();
        let idle = std::mem::take(&mut *self.shared.idle());
        for idle in idle {
            self.shared.connect.close(idle.connection).await;
        }
    }
}

impl<C: Connect> Shared<C> {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle<C::Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(&self) -> Result<(C::Connection, Opened), StoreError> {
        // One that ends meanwhile may have been that of the server that is found.
        let era = self.connect.era();
        let connection = self.connect.connect().await?;
        let at = Instant::now();
        Ok((connection, Opened { at, era }))
    }

    /// The one that was used last, if it is still good; those that are too old are closed.
    async fn take_idle(&self) -> Option<Idle<C::Connection>> {
        let era = self.connect.era();
        let (taken, old) = {
            let mut idle = self.idle();
            let old: Vec<_> = idle.extract_if(.., |idle| !idle.is_fresh(era)).collect();
            (idle.pop(), old)
        };
        for old in old {
            self.connect.close(old.connection).await;
        }
        taken
    }
}

impl<C: Connect> Lent<C> {
    /// Whether it lay idle before: then the server may have closed it meanwhile.
    pub(crate) fn was_idle(&self) -> bool {
        self.was_idle
    }

    /// Gives it back, with nothing begun and no answer to come.
    pub(crate) async fn give_back(self) {
        let Self {
            connection,
            opened,
            shared,
            place,
            ..
        } = self;
        if shared.places.is_closed() || opened.era != shared.connect.era() {
            shared.connect.close(connection).await;
        } else {
            let since = Instant::now();
            // Before the place: whoever gets that finds this.
            shared.idle().push(Idle {
                connection,
                opened,
                since,
            });
        }
        drop(place);
    }

    /// Closes it, and leaves the server that it is with: nobody is lent another one of those that were opened as long as that was used.
    pub(crate) fn leave(self) {
        self.shared.connect.leave(self.opened.era);
    }
}

impl<C: Connect> Deref for Lent<C> {
    type Target = C::Connection;

    fn deref(&self) -> &Self::Target {
        &self.connection
    }
}

impl<C: Connect> DerefMut for Lent<C> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.connection
    }
}

fn line(places: u32) -> Arc<Semaphore> {
    let places = usize::try_from(places.max(1)).unwrap_or(1);
    Arc::new(Semaphore::new(places))
}

fn unavailable(err: sqlx::Error) -> StoreError {
    classified("taking a connection", err, Class::Passing)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    use futures::FutureExt as _;

    use super::*;

    /// Connections are numbered; how many were closed in order is counted.
    #[derive(Clone, Default)]
    struct Numbers {
        opened: Arc<AtomicU32>,
        closed: Arc<AtomicU32>,
        era: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl Connect for Numbers {
        type Connection = u32;

        async fn connect(&self) -> Result<u32, StoreError> {
            Ok(self.opened.fetch_add(1, Ordering::Relaxed) + 1)
        }

        async fn close(&self, _: u32) {
            self.closed.fetch_add(1, Ordering::Relaxed);
        }

        fn era(&self) -> usize {
            self.era.load(Ordering::Relaxed)
        }

        fn leave(&self, era: usize) {
            self.era.fetch_max(era + 1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn what_is_given_back_is_lent_again_and_what_is_dropped_is_not() {
        let pool = Pool::new(Numbers::default(), 2);
        let (first, second) = (pool.lend().await.unwrap(), pool.lend().await.unwrap());
        assert_eq!((*first, *second, first.was_idle()), (1, 2, false));
        first.give_back().await;
        drop(second);
        let (first, third) = (pool.lend().await.unwrap(), pool.lend().await.unwrap());
        assert_eq!((*first, first.was_idle()), (1, true));
        assert_eq!((*third, third.was_idle()), (3, false));
    }

    #[tokio::test]
    async fn who_finds_no_place_waits_and_is_told_in_the_end() {
        let impatient = Pool::with_patience(Numbers::default(), 1, Duration::ZERO);
        let _taken = impatient.lend().await.unwrap();
        assert!(impatient.lend().await.is_err_and(|err| err.is_transient()));
        let pool = Pool::new(Numbers::default(), 1);
        let taken = pool.lend().await.unwrap();
        let (lent, ()) = tokio::join!(pool.lend(), taken.give_back());
        assert_eq!(*lent.unwrap(), 1);
    }

    #[tokio::test]
    async fn who_has_a_part_leaves_the_others_to_the_rest_however_many_wait() {
        let pool = Pool::new(Numbers::default(), 2);
        let part = pool.part(1);
        let taken = part.lend().await.unwrap();
        let mut waits = std::pin::pin!(part.lend());
        let mut too = std::pin::pin!(part.lend());
        assert!(futures::poll!(&mut waits).is_pending());
        assert!(futures::poll!(&mut too).is_pending());
        let other = pool.lend().now_or_never().expect("a place").unwrap();
        assert_eq!((*taken, *other), (1, 2));
        other.give_back().await;
        assert!(futures::poll!(&mut waits).is_pending());
        let renewed = part.renew(taken).await.unwrap();
        assert!(futures::poll!(&mut waits).is_pending());
        renewed.give_back().await;
        let next = waits.now_or_never().expect("a place").unwrap();
        assert!(next.was_idle() && futures::poll!(&mut too).is_pending());
        drop(next);
        pool.close().await;
        assert!(too.await.is_err());
    }

    #[tokio::test]
    async fn one_that_is_dead_takes_those_beside_it_along() {
        let pool = Pool::new(Numbers::default(), 2);
        let (first, second) = (pool.lend().await.unwrap(), pool.lend().await.unwrap());
        first.give_back().await;
        second.give_back().await;
        let dead = pool.lend().await.unwrap();
        assert!(dead.was_idle());
        let renewed = pool.renew(dead).await.unwrap();
        assert_eq!((*renewed, renewed.was_idle()), (3, false));
        assert_eq!(*pool.lend().await.unwrap(), 4);
    }

    #[tokio::test]
    async fn nothing_that_was_opened_with_a_server_that_was_left_is_used_again() {
        let numbers = Numbers::default();
        let pool = Pool::new(numbers.clone(), 3);
        let (first, second) = (pool.lend().await.unwrap(), pool.lend().await.unwrap());
        let third = pool.lend().await.unwrap();
        first.give_back().await;
        second.leave();
        third.give_back().await;
        // The one that lay there, and the one that was given back later.
        assert_eq!(*pool.lend().await.unwrap(), 4);
        assert_eq!(numbers.closed.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_old_or_lay_idle_for_long_is_not_used_again() {
        let numbers = Numbers::default();
        let pool = Pool::new(numbers.clone(), 2);
        let (first, second) = (pool.lend().await.unwrap(), pool.lend().await.unwrap());
        first.give_back().await;
        second.give_back().await;
        tokio::time::advance(IDLE).await;
        let mut lent = pool.lend().await.unwrap();
        assert_eq!((*lent, numbers.closed.load(Ordering::Relaxed)), (3, 2));
        let steps = LIFETIME.as_secs() / IDLE.as_secs() * 2;
        for _ in 1..steps {
            lent.give_back().await;
            tokio::time::advance(IDLE / 2).await;
            lent = pool.lend().await.unwrap();
            assert_eq!(*lent, 3);
        }
        lent.give_back().await;
        tokio::time::advance(IDLE / 2).await;
        assert_eq!(*pool.lend().await.unwrap(), 4);
    }

    #[tokio::test]
    async fn all_connections_of_a_closed_pool_are_closed_in_order() {
        let numbers = Numbers::default();
        let pool = Pool::new(numbers.clone(), 2);
        let (first, second) = (pool.lend().await.unwrap(), pool.lend().await.unwrap());
        first.give_back().await;
        pool.close().await;
        second.give_back().await;
        assert_eq!(numbers.closed.load(Ordering::Relaxed), 2);
        assert!(pool.lend().await.is_err());
    }
}
