//! Turns to read lists. What is read at the same time is bounded, for each cluster and over all.
//!
//! A list keeps its turn from its first page to its last: were it to queue for each page, the lists of a thousand members would go on
//! side by side until the continue tokens of all had expired. A member that lets us wait in the middle of one loses the turn meanwhile,
//! so that members that hang hold up nobody; it comes back before those that have not begun. So do the lists of a cluster of which one has
//! begun: clusters become complete one after the other, not all at the end.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use armadex_member::MemberError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout};

/// Lists that are read at the same time over all members; each holds an item and a window.
const PARALLEL: usize = 8;
/// Lists of one cluster that are read at the same time, so that one that is slow does not take the turns of all.
const PARALLEL_OF_CLUSTER: usize = 3;
/// Turns of clusters that did not answer the last time. Each takes [`PATIENCE`] to find out, so six turns are always for the others.
const PARALLEL_DOUBTFUL: usize = 2;
/// A list of more pages has 10,000 objects or more.
const SHORT_PAGES: u32 = 20;
/// Turns of lists that are longer: the other half is for those that are over in a moment.
const PARALLEL_LONG: usize = 4;
/// A page of 500 objects begins to come after some 100 ms.
const PATIENCE: Duration = Duration::from_millis(500);
/// Requests without a turn that are waited for; each may bring a window of bytes before it has a turn again. Eight turns of half a
/// second let in 16 others in a second at most, so each is waited for at least 4 s.
const WAITING: usize = 64;

/// Turns over all clusters.
#[derive(Debug)]
pub(crate) struct Turns {
    line: Line,
    doubtful: Arc<Semaphore>,
    long: Arc<Semaphore>,
    /// Those that wait without a turn, the longest first; each is told when it is turned out.
    waiting: Mutex<VecDeque<oneshot::Sender<()>>>,
}

/// Turns of one cluster.
#[derive(Debug)]
pub(crate) struct ClusterTurns {
    all: Arc<Turns>,
    line: Line,
    /// It let us wait, and has sent nothing since.
    doubtful: AtomicBool,
    /// One of its lists has had a turn.
    begun: AtomicBool,
}

/// The turn of one list. Dropping it gives it back.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    held: Option<[Option<OwnedSemaphorePermit>; 3]>,
    pages: u32,
}

/// Turns that are given to whoever has begun before whoever has not.
#[derive(Debug)]
struct Line {
    turns: Arc<Semaphore>,
    /// One of those that have not begun stands in the line itself, the others stand here: who has begun waits for one of them at most.
    door: Semaphore,
}

impl Line {
    fn new(turns: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(turns)),
            door: Semaphore::new(1),
        }
    }

    async fn turn(&self, begun: bool) -> Option<OwnedSemaphorePermit> {
        let _at_the_door = match begun {
            true => None,
            false => self.door.acquire().await.ok(),
        };
        permit(&self.turns).await
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            line: Line::new(PARALLEL),
            doubtful: Arc::new(Semaphore::new(PARALLEL_DOUBTFUL)),
            long: Arc::new(Semaphore::new(PARALLEL_LONG)),
            waiting: Mutex::default(),
        }
    }
}

impl Turns {
    /// Waits without a turn; told if it has to go, as whoever waits longest when there are too many.
    fn wait(&self) -> oneshot::Receiver<()> {
        let (turn_out, turned_out) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waits| !waits.is_closed());
        if waiting.len() >= WAITING
            && let Some(longest) = waiting.pop_front()
        {
            // Who has just gone need not be told.
            let _ = longest.send(());
        }
        waiting.push_back(turn_out);
        turned_out
    }
}

impl ClusterTurns {
    /// Turns of one cluster among `all`.
    pub(crate) fn new(all: Arc<Turns>) -> Self {
        Self {
            all,
            line: Line::new(PARALLEL_OF_CLUSTER),
            doubtful: AtomicBool::new(false),
            begun: AtomicBool::new(false),
        }
    }
}

impl ClusterTurns {
    /// Waits until a list that has not begun would have a turn, and takes none: whoever is not in a hurry stands behind all that are.
    pub(crate) async fn let_others_go_first(&self) {
        drop(self.all.line.turn(false).await);
    }
}

impl Turn {
    /// Waits for a turn to read the next page; `begun` says that the list has come to its middle.
    pub(crate) async fn page(&mut self, cluster: &ClusterTurns, begun: bool) {
        self.pages += 1;
        if self.pages == SHORT_PAGES + 1 {
            // From here on it stands with the long ones.
            self.held = None;
        }
        self.take(cluster, begun).await;
    }

    /// Gives the turn back: nothing is read any more.
    pub(crate) fn end(&mut self) {
        self.held = None;
    }

    /// Waits for what the member is to send. If that takes long the turn is lost meanwhile, and taken again before this returns.
    pub(crate) async fn wait_for<T>(
        &mut self,
        cluster: &ClusterTurns,
        answer: impl Future<Output = Result<T, MemberError>>,
    ) -> Result<T, MemberError> {
        let begun = Instant::now();
        let mut answer = std::pin::pin!(answer);
        if let Ok(answer) = timeout(PATIENCE, &mut answer).await {
            return answer.inspect(|_| cluster.doubtful.store(false, Ordering::Relaxed));
        }
        cluster.doubtful.store(true, Ordering::Relaxed);
        self.held = None;
        let turned_out = cluster.all.wait();
        let late = async {
            let answer = answer.await?;
            cluster.doubtful.store(false, Ordering::Relaxed);
            self.take(cluster, true).await;
            Ok(answer)
        };
        tokio::select! {
            late = late => late,
            _ = turned_out => Err(MemberError::TimedOut {
                phase: "data while others wait",
                after: begun.elapsed(),
            }),
        }
    }

    async fn take(&mut self, cluster: &ClusterTurns, begun: bool) {
        if self.held.is_some() {
            return;
        }
        let all = &cluster.all;
        let of_cluster = cluster.line.turn(begun).await;
        let of_few = if self.pages > SHORT_PAGES {
            permit(&all.long).await
        } else if cluster.doubtful.load(Ordering::Relaxed) {
            permit(&all.doubtful).await
        } else {
            None
        };
        let cluster_begun = cluster.begun.load(Ordering::Relaxed);
        let of_all = all.line.turn(begun || cluster_begun).await;
        cluster.begun.store(true, Ordering::Relaxed);
        self.held = Some([of_cluster, of_few, of_all]);
    }
}

/// `None` only if the semaphore was closed, which none is.
async fn permit(semaphore: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(semaphore).acquire_owned().await.ok()
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::stream::FuturesUnordered;
    use futures::{FutureExt as _, StreamExt as _};

    use super::*;

    fn cluster(all: &Arc<Turns>) -> ClusterTurns {
        ClusterTurns::new(Arc::clone(all))
    }

    /// A turn, if there is one now.
    fn turn(cluster: &ClusterTurns, begun: bool) -> Option<Turn> {
        let mut turn = Turn::default();
        turn.page(cluster, begun).now_or_never()?;
        Some(turn)
    }

    #[tokio::test]
    async fn a_cluster_of_which_a_list_has_begun_comes_before_one_that_has_not() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..20).map(|_| cluster(&all)).collect();
        let lists = (0..20 * 12).map(|list| list / 12).map(async |index| {
            let mut turn = Turn::default();
            turn.page(&clusters[index], false).await;
            tokio::task::yield_now().await;
            index
        });
        let mut ended = Box::pin(FuturesUnordered::from_iter(lists));
        let mut left = [12; 20];
        while let Some(index) = ended.next().await {
            left[index] -= 1;
            let under_way = left.iter().filter(|left| (1..12).contains(*left)).count();
            assert!(under_way <= PARALLEL, "{left:?}");
        }
        assert_eq!(left, [0; 20]);
    }

    async fn hang(turn: &mut Turn, cluster: &ClusterTurns) {
        let hung = turn.wait_for(cluster, pending::<Result<(), MemberError>>());
        assert!(timeout(2 * PATIENCE, hung).await.is_err(), "it waits on");
    }

    #[tokio::test]
    async fn a_cluster_has_three_turns_and_all_have_eight() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..4).map(|_| cluster(&all)).collect();
        let turns: Vec<_> = clusters
            .iter()
            .flat_map(|cluster| (0..4).filter_map(|_| turn(cluster, false)))
            .collect();
        assert_eq!(turns.len(), PARALLEL);
        drop(turns);
        let of_one = (0..4).map(|_| turn(&clusters[0], false));
        assert_eq!(of_one.collect::<Vec<_>>().iter().flatten().count(), 3);
    }

    #[tokio::test]
    async fn who_has_begun_waits_for_one_that_has_not_at_most() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..12).map(|_| cluster(&all)).collect();
        let mut held: Vec<_> = clusters
            .iter()
            .filter_map(|cluster| turn(cluster, false))
            .collect();
        assert_eq!(held.len(), PARALLEL);
        let (mut a, mut b, mut c) = (Turn::default(), Turn::default(), Turn::default());
        let mut new = std::pin::pin!(a.page(&clusters[8], false));
        let mut newer = std::pin::pin!(b.page(&clusters[9], false));
        let mut begun = std::pin::pin!(c.page(&clusters[10], true));
        assert!(futures::poll!(&mut new).is_pending());
        assert!(futures::poll!(&mut newer).is_pending());
        assert!(futures::poll!(&mut begun).is_pending());
        held.truncate(PARALLEL - 2);
        assert!(futures::poll!(&mut new).is_ready());
        assert!(futures::poll!(&mut newer).is_pending());
        assert!(futures::poll!(&mut begun).is_ready());
    }

    #[tokio::test]
    async fn who_lets_others_go_first_waits_for_them_and_keeps_no_turn() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..9).map(|_| cluster(&all)).collect();
        let mut held: Vec<_> = clusters
            .iter()
            .filter_map(|cluster| turn(cluster, false))
            .collect();
        assert_eq!(held.len(), PARALLEL);
        let mut new = Turn::default();
        let mut new = std::pin::pin!(new.page(&clusters[8], false));
        let mut audit = std::pin::pin!(clusters[0].let_others_go_first());
        assert!(futures::poll!(&mut new).is_pending());
        assert!(futures::poll!(&mut audit).is_pending());
        held.pop();
        assert!(futures::poll!(&mut new).is_ready());
        assert!(futures::poll!(&mut audit).is_pending(), "another has it");
        held.pop();
        assert!(futures::poll!(&mut audit).is_ready());
        assert!(turn(&clusters[8], false).is_some(), "it is given away");
    }

    #[tokio::test(start_paused = true)]
    async fn members_that_hang_leave_turns_to_the_others() {
        let all = Arc::default();
        let (hanging, healthy) = (cluster(&all), cluster(&all));
        let mut hung = turn(&hanging, false).unwrap();
        hang(&mut hung, &hanging).await;
        let doubtful: Vec<_> = [(); 3]
            .iter()
            .filter_map(|()| turn(&hanging, false))
            .collect();
        assert_eq!(doubtful.len(), PARALLEL_DOUBTFUL);
        assert!(turn(&healthy, false).is_some());
        drop(doubtful);
        let answers = hung.wait_for(&hanging, async { Ok(()) }).await;
        assert!(answers.is_ok() && !hanging.doubtful.load(Ordering::Relaxed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_answer_is_read_with_a_turn() {
        let all = Arc::default();
        let cluster = cluster(&all);
        let mut slow = turn(&cluster, false).unwrap();
        let answer = async {
            tokio::time::sleep(3 * PATIENCE).await;
            Ok("late")
        };
        assert_eq!(slow.wait_for(&cluster, answer).await.unwrap(), "late");
        assert!(slow.held.is_some());
    }

    #[tokio::test]
    async fn long_lists_leave_half_of_the_turns_to_short_ones() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..5).map(|_| cluster(&all)).collect();
        let read = |cluster| {
            let mut long = turn(cluster, false)?;
            for _ in 1..SHORT_PAGES {
                long.page(cluster, true).now_or_never()?;
            }
            Some(long)
        };
        let mut lists: Vec<_> = clusters.iter().filter_map(read).collect();
        let mut goes_on = |index: usize| {
            let page = lists[index].page(&clusters[index], true);
            page.now_or_never().is_some()
        };
        assert!((0..PARALLEL_LONG).all(&mut goes_on));
        assert!(!goes_on(PARALLEL_LONG));
        let short = (0..3).filter_map(|_| turn(&clusters[4], false));
        assert!(short.count() > 0, "a short one has a turn");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_longest_goes_when_too_many_wait() {
        let all = Arc::<Turns>::default();
        let mut first = all.wait();
        let mut others: Vec<_> = (1..WAITING).map(|_| all.wait()).collect();
        assert!(first.try_recv().is_err());
        others.pop();
        let _another = all.wait();
        assert!(first.try_recv().is_err(), "one had gone");
        let _one_more = all.wait();
        assert!(first.try_recv().is_ok());
    }
}
