//! The turns of those that are slow. Whoever is in the middle of a page reads on before another page begins: were they to take turns
//! with each other, each would lose what it has read before its next turn came, and none of many would ever come to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::seats::{QUOTA, Seats};

/// How long the bytes of one page are waited for with a turn before pages that begin: 500 objects of 4 KB come over 256 kbit/s in that
/// time. Afterwards it stands with them, so that members that send a byte now and then keep no turn for ever.
const READ_ON: Duration = QUOTA.saturating_mul(16);

/// Pages for each turn that may be in their middle without one, because their bytes come with pauses, before another begins.
const MIDDLES: usize = 4;

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
    middles: Arc<Middles>,
}

/// Pages that lost a turn in their middle.
#[derive(Debug)]
struct Middles {
    number: AtomicUsize,
    most: usize,
    /// There are fewer, or none waits for a turn any more.
    fewer: Notify,
}

impl SlowLane {
    pub(super) fn new(turns: usize) -> Self {
        Self {
            seats: Seats::new(turns),
            door: Semaphore::new(1),
            reading: AtomicUsize::new(0),
            middles: Arc::new(Middles {
                number: AtomicUsize::new(0),
                most: turns * MIDDLES,
                fewer: Notify::new(),
            }),
        }
    }

    /// A page loses its turn in its middle, and is in it from now on.
    pub(super) fn middle(&self) -> Middle {
        self.middles.number.fetch_add(1, Ordering::Relaxed);
        Middle {
            of: Some(Arc::clone(&self.middles)),
            since: Instant::now(),
        }
    }

    /// Whether no other page may begin.
    fn is_full(&self) -> bool {
        self.has_readers() || self.middles.number.load(Ordering::Relaxed) >= self.middles.most
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
        stage == Stage::Reading || !self.is_full()
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
        loop {
            let turn = self.seats.turn().await;
            if !self.is_full() {
                return turn;
            }
            drop(turn);
            self.middles.fewer.notified().await;
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
            self.0.middles.fewer.notify_one();
        }
    }
}

/// A page in its middle that lost its turn there: it keeps others from beginning until that is for long enough, or until it is dropped.
#[derive(Debug)]
pub(super) struct Middle {
    of: Option<Arc<Middles>>,
    since: Instant,
}

impl Middle {
    /// It lost its turn once more; for how long it goes on.
    pub(super) fn goes_on(&mut self) -> Duration {
        let took = self.since.elapsed();
        if took >= READ_ON {
            self.is_over();
        }
        took
    }

    fn is_over(&mut self) {
        if let Some(middles) = self.of.take() {
            middles.number.fetch_sub(1, Ordering::Relaxed);
            middles.fewer.notify_one();
        }
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.is_over();
    }
}

#[cfg(test)]
mod tests {
    use armadex_member::MemberError;
    use tokio::time::{sleep, timeout};

    use super::super::{ClusterTurns, PATIENCE, Turn, Turns};
    use super::*;

    /// More than are waited for without a turn.
    const LISTS: usize = 150;
    /// What each page takes.
    const PAGE: Duration = QUOTA.saturating_mul(4);
    /// Between two bytes: shorter than anybody's patience, and longer.
    const SHORT: Duration = Duration::from_millis(400);
    const LONG: Duration = PATIENCE.saturating_mul(2);

    /// Reads a page whose bytes come slowly, and from the first byte on again if it is turned out.
    async fn page(turn: &mut Turn, of: &ClusterTurns, mut begun: bool, pause: Duration) {
        while read(turn, of, begun, pause).await.is_err() {
            (*turn, begun) = (Turn::default(), false);
            sleep(PATIENCE).await;
        }
    }

    async fn read(
        turn: &mut Turn,
        of: &ClusterTurns,
        begun: bool,
        pause: Duration,
    ) -> Result<(), MemberError> {
        turn.page(of, begun).await;
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
        comes_forward(SHORT).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_fleet_of_lists_that_come_in_bursts_comes_forward() {
        comes_forward(LONG).await;
    }

    async fn comes_forward(pause: Duration) {
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
                page(&mut turn, &of, number > 0, pause).await;
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
                    sleep(SHORT).await;
                    Ok(())
                };
                turn.wait_for(of, byte).await.unwrap();
            }
        });
        let trickles = futures::future::join_all::<_>(trickles);
        let comes = async {
            sleep(2 * QUOTA).await;
            let of = ClusterTurns::new(Arc::clone(&all));
            page(&mut Turn::default(), &of, false, SHORT).await;
        };
        // Each of them reads on for that long, on two turns and those that are lent.
        let most = READ_ON * u32::try_from(clusters.len()).unwrap();
        tokio::select! {
            ended = timeout(most, comes) => assert!(ended.is_ok(), "it comes to its turn"),
            _ = trickles => unreachable!("they have no end"),
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
