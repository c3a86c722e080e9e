//! The turns of those that are slow. Whoever is in the middle of a page reads on before another page begins: were they to take turns
//! with each other, each would lose what it has read before its next turn came, and none of many would ever come to its end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::seats::{QUOTA, Seats};

/// How long the bytes of one page are waited for with a turn before pages that begin: 500 objects of 4 KB come over 256 kbit/s in that
/// time. Afterwards it stands with them, so that members that send a byte now and then keep no turn for ever.
const READ_ON: Duration = QUOTA.saturating_mul(16);

/// How long a page that begins stands back, at the door, for those that read on: new ones may come to their middle all the time, and what is not
/// begun is stale for as long.
const STANDS_BACK: Duration = READ_ON;

/// How far a list has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// None of its pages was asked for.
    New,
    /// It comes to its next page.
    Begun,
    /// It is in the middle of a page.
    Reading,
}

impl Stage {
    /// Of a list that comes to a page; `begun` says that it is not the first one.
    pub(super) const fn of_page(begun: bool) -> Self {
        match begun {
            true => Self::Begun,
            false => Self::New,
        }
    }

    /// In the middle of a page that was waited for so long.
    pub(super) fn after(waited: Duration) -> Self {
        match waited < READ_ON {
            true => Self::Reading,
            false => Self::Begun,
        }
    }
}

/// Turns that are given to pages that have begun before others begin.
#[derive(Debug)]
pub(super) struct SlowLane {
    pub(super) seats: Seats,
    /// One of the pages that have not begun stands in the line itself, the others stand here.
    door: Semaphore,
    /// Pages that wait in their middle.
    reading: AtomicUsize,
    /// None does any more.
    none_reads: Notify,
}

impl SlowLane {
    pub(super) fn new(turns: usize) -> Self {
        Self {
            seats: Seats::new(turns),
            door: Semaphore::new(1),
            reading: AtomicUsize::new(0),
            none_reads: Notify::new(),
        }
    }

    /// Whether somebody wants a turn whom a list at this stage makes room for.
    pub(super) fn is_wanted_of(&self, stage: Stage) -> bool {
        match stage {
            Stage::Reading => self.has_readers(),
            Stage::New | Stage::Begun => self.has_readers() || self.seats.is_wanted(),
        }
    }

    /// Whether a list at this stage may have what others leave.
    pub(super) fn may_lend_to(&self, stage: Stage) -> bool {
        stage == Stage::Reading || !self.has_readers()
    }

    fn has_readers(&self) -> bool {
        self.reading.load(Ordering::Relaxed) > 0
    }

    /// `None` only if a semaphore was closed, which none is.
    pub(super) async fn turn(&self, stage: Stage) -> Option<OwnedSemaphorePermit> {
        if stage == Stage::Reading {
            let _reads = Reads::on(self);
            return self.seats.turn().await;
        }
        let _at_the_door = self.door.acquire().await.ok();
        let until = Instant::now() + STANDS_BACK;
        loop {
            let turn = self.seats.turn().await;
            if !self.has_readers() || Instant::now() >= until {
                return turn;
            }
            drop(turn);
            // Or until it has stood back for long enough, which the next turn of this loop sees.
            let _none_reads = timeout_at(until, self.none_reads.notified()).await;
        }
    }
}

/// A page that waits in its middle, until dropped.
struct Reads<'a>(&'a SlowLane);

impl<'a> Reads<'a> {
    fn on(lane: &'a SlowLane) -> Self {
        lane.reading.fetch_add(1, Ordering::Relaxed);
        Self(lane)
    }
}

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        if self.0.reading.fetch_sub(1, Ordering::Relaxed) == 1 {
            // One stands before the door at most; who comes later looks first.
            self.0.none_reads.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_member::MemberError;
    use tokio::time::{sleep, timeout};

    use super::super::{ClusterTurns, PATIENCE, Turn, Turns};
    use super::*;

    /// More than are waited for without a turn.
    const LISTS: usize = 150;
    /// What each page takes.
    const PAGE: Duration = QUOTA.saturating_mul(4);

    /// Reads a page whose bytes come slowly, and from the first byte on again if it is turned out.
    async fn page(turn: &mut Turn, of: &ClusterTurns, mut begun: bool) {
        while read(turn, of, begun).await.is_err() {
            (*turn, begun) = (Turn::default(), false);
            sleep(PATIENCE).await;
        }
    }

    async fn read(turn: &mut Turn, of: &ClusterTurns, begun: bool) -> Result<(), MemberError> {
        turn.page(of, begun).await;
        let pause = PATIENCE * 4 / 5;
        let mut came = Duration::ZERO;
        while came < PAGE {
            let byte = async {
                sleep(pause).await;
                Ok(())
            };
            turn.wait_for(of, byte).await?;
            came += pause;
        }
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_fleet_of_slow_lists_comes_forward() {
        let all: Arc<Turns> = Arc::default();
        // The others keep theirs, so nothing is lent.
        let mut others: Vec<_> = (0..all.width.parallel - all.width.doubtful)
            .map(|_| (ClusterTurns::new(Arc::clone(&all)), Turn::default()))
            .collect();
        for (of, turn) in &mut others {
            turn.page(of, false).await;
        }
        let pages = AtomicUsize::new(0);
        let lists = (0..LISTS).map(async |_| {
            let (of, mut turn) = (ClusterTurns::new(Arc::clone(&all)), Turn::default());
            for number in 0.. {
                page(&mut turn, &of, number > 0).await;
                pages.fetch_add(1, Ordering::Relaxed);
            }
        });
        let an_hour = Duration::from_secs(3600);
        let lists = timeout(an_hour, futures::future::join_all(lists)).await;
        assert!(lists.is_err(), "they have no end");
        let read = pages.load(Ordering::Relaxed);
        let most = an_hour.as_secs() / PAGE.as_secs() * 2;
        assert!(read as u64 > most / 2, "{read} of {most}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_has_no_end_keeps_none_from_beginning() {
        let all: Arc<Turns> = Arc::default();
        let clusters: Vec<_> = (0..all.width.parallel)
            .map(|_| ClusterTurns::new(Arc::clone(&all)))
            .collect();
        let trickles = clusters.iter().map(async |of| {
            let mut turn = Turn::default();
            turn.page(of, false).await;
            loop {
                let byte = async {
                    sleep(PATIENCE * 4 / 5).await;
                    Ok(())
                };
                turn.wait_for(of, byte).await.unwrap();
            }
        });
        let trickles = futures::future::join_all::<_>(trickles);
        let comes = async {
            sleep(2 * QUOTA).await;
            let of = ClusterTurns::new(Arc::clone(&all));
            page(&mut Turn::default(), &of, false).await;
        };
        // Each of them reads on for that long, on two turns and those that are lent.
        let most = READ_ON * u32::try_from(clusters.len()).unwrap();
        tokio::select! {
            ended = timeout(most, comes) => assert!(ended.is_ok(), "it comes to its turn"),
            _ = trickles => unreachable!("they have no end"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_begins_although_others_are_always_in_their_middle() {
        let lane = SlowLane::new(1);
        let _reads = Reads::on(&lane);
        for _ in 0..3 {
            let begun = timeout(2 * STANDS_BACK, lane.turn(Stage::New)).await;
            assert!(begun.is_ok(), "one by one");
        }
    }

    #[tokio::test]
    async fn pages_begin_when_none_is_in_its_middle() {
        let lane = SlowLane::new(1);
        let held = lane.turn(Stage::New).await;
        let (mut new, mut reads) = (
            std::pin::pin!(lane.turn(Stage::Begun)),
            std::pin::pin!(lane.turn(Stage::Reading)),
        );
        assert!(futures::poll!(&mut new).is_pending());
        assert!(!lane.is_wanted_of(Stage::Reading) && lane.is_wanted_of(Stage::Begun));
        assert!(futures::poll!(&mut reads).is_pending());
        assert!(lane.is_wanted_of(Stage::Reading) && !lane.may_lend_to(Stage::New));
        drop(held);
        assert!(
            futures::poll!(&mut new).is_pending(),
            "it came first, and lets it pass"
        );
        let std::task::Poll::Ready(held) = futures::poll!(&mut reads) else {
            panic!("it reads on");
        };
        assert!(futures::poll!(&mut new).is_pending());
        drop(held);
        assert!(futures::poll!(&mut new).is_ready());
    }
}
