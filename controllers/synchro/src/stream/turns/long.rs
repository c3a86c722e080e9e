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
    _of_cluster: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Room {
    /// Waits for it, among those of the cluster and those of all. `None` only if a semaphore was closed, which none is.
    pub(super) async fn wait(of_cluster: &Seats, of_all: &Seats) -> Option<Box<Self>> {
        let of_cluster = of_cluster.turn().await?;
        Some(Self::of(of_cluster, of_all.turn().await?))
    }

    /// The same, if there is some now.
    pub(super) fn now(of_cluster: &Seats, of_all: &Seats) -> Option<Box<Self>> {
        Some(Self::of(of_cluster.turn_now()?, of_all.turn_now()?))
    }

    fn of(of_cluster: OwnedSemaphorePermit, of_all: OwnedSemaphorePermit) -> Box<Self> {
        Box::new(Self {
            since: Instant::now(),
            _of_cluster: of_cluster,
            _of_all: of_all,
        })
    }

    /// Whether it was the list's for long enough.
    pub(super) fn is_used_up(&self) -> bool {
        self.since.elapsed() > IS_FOR
    }
}
