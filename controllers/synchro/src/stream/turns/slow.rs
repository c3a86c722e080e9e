//! Pages that are slow. Were they to wait for a turn for each of their bytes, a page would come to its end that late that others had needed its place
//! before, and be begun anew. So a page that has lost its turn in its middle is read on without one: what comes slowly is little work. So many
//! of one cluster are, and so many of all; who has been read on for long makes room for those that wait for it.
//!
//! A list that is known to be slow has a place before it asks for a page, so that no more of them begin than are read to their end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::late::{Late, Wait};
use super::seats::QUOTA;

/// How long a page is read on without a turn while another cluster waits for its place: 500 objects of 4 KB come over 64 kbit/s in that time, and
/// it is less than a token lives.
const READ_ON: Duration = QUOTA.saturating_mul(64);
/// The same while another of its cluster waits: those share one link, and what was thrown away there would come no quicker the next time.
const READ_ON_BESIDE_ITS_OWN: Duration = Duration::from_secs(15 * 60);

/// Places of pages that are slow. Who has begun comes before whoever has not.
#[derive(Debug)]
pub(super) struct SlowPages {
    places: Arc<Late>,
    /// One of those that have not begun waits for a place, the others stand here.
    door: Semaphore,
}

/// The place of one of them, among those of its cluster and those of all, until dropped.
#[derive(Debug)]
pub(super) struct SlowPage {
    of_cluster: Wait,
    of_all: Wait,
}

impl SlowPages {
    /// Of one cluster.
    pub(super) fn of_cluster(places: usize) -> Self {
        Self::new(places, READ_ON_BESIDE_ITS_OWN)
    }

    /// Of all.
    pub(super) fn of_all(places: usize) -> Self {
        Self::new(places, READ_ON)
    }

    fn new(places: usize, read_on: Duration) -> Self {
        Self {
            places: Late::waited_for(places, read_on),
            door: Semaphore::new(1),
        }
    }

    async fn wait(&self, begun: bool) -> Wait {
        let _at_the_door = match begun {
            true => None,
            false => self.door.acquire().await.ok(),
        };
        self.places.wait_for_room().await
    }
}

impl SlowPage {
    /// Waits for room.
    pub(super) async fn wait(of_cluster: &SlowPages, of_all: &SlowPages, begun: bool) -> Box<Self> {
        Box::new(Self {
            of_cluster: of_cluster.wait(begun).await,
            of_all: of_all.wait(begun).await,
        })
    }

    /// The same, if there is some now.
    pub(super) fn now(of_cluster: &SlowPages, of_all: &SlowPages) -> Option<Box<Self>> {
        Some(Box::new(Self {
            of_cluster: of_cluster.places.wait_now()?,
            of_all: of_all.places.wait_now()?,
        }))
    }

    /// Waits until it has to go.
    pub(super) async fn turned_out(&mut self) {
        tokio::select! {
            () = self.of_cluster.turned_out() => {}
            () = self.of_all.turned_out() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use armadex_member::MemberError;
    use futures::FutureExt as _;
    use futures::future::join_all;
    use tokio::time::{Instant, sleep, timeout};

    use super::super::{ClusterTurns, PAGE_BYTES, PATIENCE, Turn, Turns, Width};
    use super::*;

    /// More than are waited for without a turn.
    const LISTS: usize = 150;
    /// What each page takes.
    const PAGE: Duration = QUOTA.saturating_mul(4);

    /// Reads a page whose bytes come slowly, and from the first byte on again if it is turned out.
    async fn page(turn: &mut Turn, of: &ClusterTurns, begun: bool) {
        page_of(turn, of, begun, PATIENCE * 4 / 5).await;
    }

    /// The same of bytes that come with this time between them. Returns how often it was turned out.
    async fn page_of(
        turn: &mut Turn,
        of: &ClusterTurns,
        mut begun: bool,
        pause: Duration,
    ) -> usize {
        for turned_out in 0.. {
            if read(turn, of, begun, pause).await.is_ok() {
                return turned_out;
            }
            (*turn, begun) = (Turn::default(), false);
            sleep(PATIENCE).await;
        }
        unreachable!("it is tried again and again")
    }

    async fn read(
        turn: &mut Turn,
        of: &ClusterTurns,
        begun: bool,
        pause: Duration,
    ) -> Result<(), MemberError> {
        turn.ask(of, begun, async { Ok(()) }).await?;
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

    /// The turns of the others, who keep theirs, so nothing is lent.
    async fn others(all: &Arc<Turns>) -> Vec<(ClusterTurns, Turn)> {
        let mut others: Vec<_> = (0..all.width.parallel - all.width.doubtful)
            .map(|_| (ClusterTurns::new(Arc::clone(all)), Turn::default()))
            .collect();
        for (of, turn) in &mut others {
            turn.page(of, false).await;
        }
        others
    }

    #[tokio::test(start_paused = true)]
    async fn a_fleet_of_slow_lists_comes_forward() {
        let all: Arc<Turns> = Arc::default();
        let _others = others(&all).await;
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
    async fn lists_whose_bytes_come_in_bursts_come_to_their_end() {
        const CLUSTERS: usize = 100;
        const KINDS: usize = 12;
        let all: Arc<Turns> = Arc::default();
        let _others = others(&all).await;
        let clusters: Vec<_> = (0..CLUSTERS)
            .map(|_| ClusterTurns::new(Arc::clone(&all)))
            .collect();
        let (ended, turned_out) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let lists = (0..CLUSTERS * KINDS).map(async |list| {
            let (of, mut turn) = (&clusters[list % CLUSTERS], Turn::default());
            let out = page_of(&mut turn, of, false, 2 * PATIENCE).await;
            turned_out.fetch_add(out, Ordering::Relaxed);
            ended.fetch_add(1, Ordering::Relaxed);
        });
        let an_hour = Duration::from_secs(3600);
        let lists = timeout(an_hour, futures::future::join_all(lists)).await;
        let told = format!("{ended:?} ended, {turned_out:?} times turned out");
        assert!(lists.is_ok(), "{told}");
        assert!(turned_out.into_inner() <= CLUSTERS * KINDS, "{told}");
    }

    /// Those that stand in its line when it turns out to be are not asked for before they can be read.
    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_turns_out_to_be_slow_is_asked_for_no_more_pages_than_are_read() {
        let all: Arc<Turns> = Arc::default();
        let of = ClusterTurns::new(Arc::clone(&all));
        let (asked, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let lists = (0..LISTS).map(async |_| {
            let mut turn = Turn::default();
            let head = async {
                let under_way = asked.fetch_add(1, Ordering::Relaxed) + 1;
                most.fetch_max(under_way, Ordering::Relaxed);
                Ok(())
            };
            turn.ask(&of, false, head).await?;
            for _ in 0..PAGE.as_secs() {
                byte(&mut turn, &of).await?;
            }
            asked.fetch_sub(1, Ordering::Relaxed);
            Ok::<_, MemberError>(())
        });
        let lists = join_all(lists).await;
        let in_vain = lists.iter().filter(|list| list.is_err()).count();
        assert_eq!(in_vain, 0);
        // Those that were before it turned out to be, and those that have places.
        let most = most.into_inner();
        assert!(most <= 20, "{most}");
    }

    #[tokio::test(start_paused = true)]
    async fn pages_that_share_one_link_come_to_their_end_however_long_they_take() {
        let of = ClusterTurns::new(Arc::default());
        of.was_slow();
        let lists = (0..5).map(async |_| {
            let (mut came, mut turn) = (Duration::ZERO, Turn::default());
            turn.ask(&of, false, async { Ok(()) }).await?;
            while came < 2 * READ_ON {
                byte(&mut turn, &of).await?;
                came += 2 * PATIENCE;
            }
            Ok::<_, MemberError>(())
        });
        let ended = join_all(lists).await;
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    }

    /// As those of slow members come, which send other pages meanwhile.
    #[tokio::test(start_paused = true)]
    async fn slow_lists_of_several_pages_that_begin_late_come_to_their_end_one_by_one() {
        const PAGES: usize = 3;
        let all: Arc<Turns> = Arc::default();
        let _others = others(&all).await;
        let clusters: Vec<_> = (0..30)
            .map(|_| ClusterTurns::new(Arc::clone(&all)))
            .collect();
        clusters.iter().for_each(ClusterTurns::was_slow);
        let in_vain = AtomicUsize::new(0);
        let lists = (0..30 * 12).map(async |list| {
            let (of, mut turn) = (&clusters[list % clusters.len()], Turn::default());
            let (mut page, mut begun) = (0, Instant::now());
            let mut longest = Duration::ZERO;
            while page < PAGES {
                let head = async {
                    sleep(PATIENCE * 6 / 5).await;
                    Ok(())
                };
                let mut read = turn.ask(of, page > 0, head).await;
                for _ in 0..4 {
                    if read.is_ok() {
                        read = byte(&mut turn, of).await;
                    }
                }
                if read.is_err() {
                    in_vain.fetch_add(1, Ordering::Relaxed);
                    turn = Turn::default();
                    sleep(PATIENCE).await;
                    continue;
                }
                if page > 0 {
                    longest = longest.max(begun.elapsed());
                }
                (page, begun) = (page + 1, Instant::now());
            }
            longest
        });
        let longest = join_all(lists).await.into_iter().max();
        let told = format!("{longest:?} between two pages, {in_vain:?} in vain");
        assert!(longest < Some(Duration::from_secs(60)), "{told}");
        assert!(in_vain.into_inner() <= 12, "{told}");
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

    /// Lists of slow clusters whose pages have no end.
    async fn endless(clusters: &[ClusterTurns]) {
        let lists = clusters.iter().map(async |of| {
            loop {
                let mut turn = Turn::default();
                let begun = turn.ask(of, false, async { Ok(()) }).await;
                while begun.is_ok() && byte(&mut turn, of).await.is_ok() {}
            }
        });
        join_all::<_>(lists).await;
    }

    async fn byte(turn: &mut Turn, of: &ClusterTurns) -> Result<(), MemberError> {
        let byte = async {
            sleep(2 * PATIENCE).await;
            Ok(())
        };
        turn.wait_for(of, byte).await
    }

    /// How long it takes to read a page of a cluster that is slow.
    async fn slow_page(all: &Arc<Turns>) -> Duration {
        let (of, begun) = (ClusterTurns::new(Arc::clone(all)), Instant::now());
        of.was_slow();
        page_of(&mut Turn::default(), &of, false, 2 * PATIENCE).await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_begins_although_others_are_always_in_their_middle() {
        let all: Arc<Turns> = Arc::default();
        let clusters: Vec<_> = (0..2 * all.width.slow)
            .map(|_| ClusterTurns::new(Arc::clone(&all)))
            .collect();
        clusters.iter().for_each(ClusterTurns::was_slow);
        let others = async {
            for _ in 0..3 {
                sleep(READ_ON).await;
                let took = slow_page(&all).await;
                assert!(took <= 2 * READ_ON + PAGE, "{took:?}");
            }
        };
        tokio::select! {
            () = others => {}
            () = endless(&clusters) => unreachable!("they have no end"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_has_no_more_slow_pages_than_turns() {
        let all = Arc::new(Turns::new(Width {
            slow: Width::default().of_cluster + 1,
            ..Width::default()
        }));
        let of = ClusterTurns::new(Arc::clone(&all));
        let lists = join_all((0..12).map(|_| endless(std::slice::from_ref(&of))));
        let other = async {
            sleep(QUOTA).await;
            let took = slow_page(&all).await;
            assert!(took <= PAGE + QUOTA, "{took:?}");
        };
        tokio::select! {
            () = other => {}
            _ = lists => unreachable!("they have no end"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_read_on_for_long_goes_where_another_waits() {
        let (of_cluster, of_all) = (SlowPages::of_cluster(2), SlowPages::of_all(1));
        let page = || SlowPage::wait(&of_cluster, &of_all, true);
        let mut first = page().await;
        let stays = timeout(2 * READ_ON, first.turned_out()).await;
        assert!(stays.is_err(), "nobody waits");
        let begun = Instant::now();
        let (mut second, _) = tokio::join!(page(), first.turned_out());
        assert_eq!(begun.elapsed(), Duration::ZERO);
        drop(first);
        assert!(SlowPage::now(&of_cluster, &of_all).is_none());
        let (_third, _) = tokio::join!(page(), second.turned_out());
        assert_eq!(begun.elapsed(), READ_ON);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_stalled_once_has_no_place_among_those_that_are_slow_for_good() {
        let of = ClusterTurns::new(Arc::default());
        let mut turn = Turn::default();
        turn.ask(&of, false, async { Ok(()) }).await.unwrap();
        byte(&mut turn, &of).await.unwrap();
        assert!(turn.slow_page.is_some());
        for _ in 0..2 {
            turn.ask(&of, true, async { Ok(()) }).await.unwrap();
            turn.wait_for(&of, async { Ok(()) }).await.unwrap();
        }
        assert!(turn.held.is_some() && turn.slow_page.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_comes_at_once_takes_turns_with_the_others() {
        let of = ClusterTurns::new(Arc::default());
        let mut turn = Turn::default();
        let begun = turn.ask(&of, false, async { Ok(()) }).now_or_never();
        assert!(begun.is_some() && turn.held.is_some());
        byte(&mut turn, &of).await.unwrap();
        assert!(turn.held.is_none(), "it is read on without");
        turn.came(PAGE_BYTES - 1);
        turn.wait_for(&of, async { Ok(()) }).await.unwrap();
        assert!(turn.held.is_none(), "it is no more than a page");
        turn.came(1);
        turn.wait_for(&of, async { Ok(()) }).await.unwrap();
        assert!(turn.held.is_some());
    }
}
