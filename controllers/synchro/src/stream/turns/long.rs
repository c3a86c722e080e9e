//! Room for long lists. All of those that have begun are to come to their end before their tokens expire, so no more of them begin than can: the others
//! wait before their first page, and one that is found to be long when there is no room begins anew.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::seats::Seats;

/// Long lists that are under way over all members: those that are read at the same time, and as many that wait for their members meanwhile, as all do
/// whose pages take more than half a second to begin. More would each take longer, up to what its token lives: 8 lists of 100 pages of a second, four at a
/// time, are 200 s of five minutes.
pub(super) const ROOMS: usize = 8;
/// Of a list that has taken longer the tokens have expired since; if it has no end it is to keep nobody waiting. A million objects take 200 s
/// alone and three times that beside others.
const IS_FOR: Duration = Duration::from_secs(15 * 60);

/// The room of one long list, until dropped.
#[derive(Debug)]
pub(crate) struct Room {
    since: Instant,
    /// Nothing while the list goes on without.
    taken: Option<Taken>,
    /// The list does not go on without.
    is_needed: bool,
}

#[derive(Debug)]
struct Taken {
    _of_cluster: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Room {
    /// Waits for it, among those of the cluster and those of all. `None` only if a semaphore was closed, which none is.
    pub(super) async fn wait(of_cluster: &Seats, of_all: &Seats) -> Option<Box<Self>> {
        let of_cluster = of_cluster.turn().await?;
        Some(Self::of(Taken {
            _of_cluster: of_cluster,
            _of_all: of_all.turn().await?,
        }))
    }

    /// The same, if there is some now.
    pub(super) fn now(of_cluster: &Seats, of_all: &Seats) -> Option<Box<Self>> {
        Taken::now(of_cluster, of_all).map(Self::of)
    }

    fn of(taken: Taken) -> Box<Self> {
        Box::new(Self {
            since: Instant::now(),
            taken: Some(taken),
            is_needed: true,
        })
    }

    /// Of a list whose cluster is slow.
    pub(crate) fn needed_by_nobody() -> Box<Self> {
        Box::new(Self {
            since: Instant::now(),
            taken: None,
            is_needed: false,
        })
    }

    /// Others may have it, and the list goes on.
    pub(crate) fn give_up(&mut self) {
        (self.taken, self.is_needed) = (None, false);
    }

    /// Others may have it, and a list that needs it does not go on without.
    pub(crate) fn leave(room: &mut Option<Box<Self>>) {
        drop(room.take_if(|room| room.is_needed));
        if let Some(room) = room {
            room.taken = None;
        }
    }

    pub(super) fn fill(&mut self, of_cluster: &Seats, of_all: &Seats) {
        if self.taken.is_none() {
            self.taken = Taken::now(of_cluster, of_all);
        }
    }

    /// Whether it was the list's for long enough.
    pub(super) fn is_used_up(&self) -> bool {
        self.since.elapsed() > IS_FOR
    }
}

impl Taken {
    fn now(of_cluster: &Seats, of_all: &Seats) -> Option<Self> {
        Some(Self {
            _of_cluster: of_cluster.turn_now()?,
            _of_all: of_all.turn_now()?,
        })
    }
}
