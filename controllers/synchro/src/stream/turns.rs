//! Turns to read lists. What is read at the same time is bounded, for each cluster and over all.
//!
//! A list keeps its turn from its first page to its last: were it to queue for each page, the lists of a thousand members would go on
//! side by side until the continue tokens of all had expired. A member that lets us wait in the middle of one loses the turn meanwhile,
//! so that members that hang hold up nobody; it comes back before those that have not begun. So do the lists of a cluster of which one has
//! begun: clusters become complete one after the other, not all at the end.
//!
//! While others wait a turn is worth so much and no more. A page that takes longer than a page may, or lets us wait in its middle, is read on
//! without one (`slow`), so that members that send a byte now and then hold up nobody either; a list that has no end goes behind the others
//! again and again. Long lists give way to short ones; no more of them are under way than come to their end in time (`long`).

mod late;
mod long;
mod seats;
mod slow;

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_member::MemberError;
use futures::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::lock::lock;

use late::{Late, Wait};
pub(crate) use long::Room;
use seats::{QUOTA, Seats};
use slow::{SlowPage, SlowPages};

/// Lists that are read at the same time over all members; each holds an item and a window.
const PARALLEL: usize = 8;
/// Lists of one cluster that are read at the same time, so that one that is slow does not take the turns of all.
const PARALLEL_OF_CLUSTER: usize = 3;
/// Turns of clusters that did not answer the last time, or were slow. Each takes [`PATIENCE`] to find out, so six turns are always for the
/// others; what those do not want, but for one, is lent.
const PARALLEL_DOUBTFUL: usize = 2;
/// A list of more pages has 10,000 objects or more.
pub(crate) const SHORT_PAGES: u32 = 20;
/// Turns of lists that are longer: the other half is for those that are over in a moment.
const PARALLEL_LONG: usize = 4;
/// A page of 500 objects begins to come after some 100 ms.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a cluster counts as slow. Three of its lists take a quota each to find out, which is a twenty-fifth of one turn.
const SLOW_FOR: Duration = Duration::from_secs(300);
/// Pages that are read in one go while others wait: 100,000 objects in some 20 s, far within the five minutes that a token lives.
const PAGES_AT_A_TIME: u32 = 200;
/// So many bytes of one page count as a page more: 500 objects of 16 KB.
const PAGE_BYTES: usize = 8 << 20;
/// First pages that are asked for at the same time and have not begun to be read: at 200 ms to the member and back they are 160 lists in a
/// second, where eight turns would be 40. Each may bring a window of bytes before it has a turn, and its token lives meanwhile: behind 32
/// lists of 20 pages of a second each, four at a time, it waits for 160 s of five minutes.
const ASKING: usize = 32;
/// Requests without a turn that are waited for; each may bring a window of bytes before it has a turn again. Eight turns of half a
/// second let in 16 others in a second at most, and first pages are asked for as there is room, so each is waited for 4 s and more.
const WAITING: usize = 64;
/// Pages that are slow and are read on without a turn. Where each takes 16 s two of them end in a second; the turns in which they begin let in
/// twice as many.
const SLOW: usize = 32;
/// Be they all of one member: those of which one is read, is slow, is asked for or waits, and the one of an audit.
const _: () = assert!(2 * PARALLEL_OF_CLUSTER + ASKING + WAITING < armadex_member::PAGES);

/// How many turns there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Width {
    /// Over all members.
    pub(crate) parallel: usize,
    /// First pages that are asked for without a turn.
    pub(crate) asking: usize,
    /// Of one cluster.
    pub(crate) of_cluster: usize,
    /// Of clusters that did not answer the last time.
    pub(crate) doubtful: usize,
    /// Of long lists.
    pub(crate) long: usize,
    /// Requests without a turn that are waited for.
    pub(crate) waiting: usize,
    /// Pages that are slow and are read on without a turn.
    pub(crate) slow: usize,
}

impl Default for Width {
    fn default() -> Self {
        Self {
            parallel: PARALLEL,
            asking: ASKING,
            of_cluster: PARALLEL_OF_CLUSTER,
            doubtful: PARALLEL_DOUBTFUL,
            long: PARALLEL_LONG,
            waiting: WAITING,
            slow: SLOW,
        }
    }
}

/// Turns over all clusters.
#[derive(Debug)]
pub(crate) struct Turns {
    width: Width,
    line: Line,
    asking: Line,
    doubtful: Line,
    long: Seats,
    rooms: Seats,
    /// Those that wait without a turn.
    late: Arc<Late>,
    slow: SlowPages,
}

/// Turns of one cluster.
#[derive(Debug)]
pub(crate) struct ClusterTurns {
    all: Arc<Turns>,
    line: Line,
    /// Of its long lists.
    rooms: Seats,
    slow: SlowPages,
    /// It let us wait, and has sent nothing since.
    doubtful: AtomicBool,
    /// Until when it counts as slow.
    slow_until: Mutex<Option<Instant>>,
    /// One of its lists has had a turn.
    begun: AtomicBool,
}

/// The turn of one list. Dropping it gives it back.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    held: Option<Held>,
    /// Pages so far, and what counts as one.
    pages: u32,
    /// Of those, since it came into its turn.
    in_a_row: u32,
    /// Bytes that make no page yet.
    bytes: u32,
    /// How long the page was waited for, of each time up to [`PATIENCE`].
    waited: Duration,
    /// Something of the page has come.
    is_in_middle: bool,
    /// A page's worth came without a turn: what comes at once is read with one.
    is_quick: bool,
    /// A page took more than its quota.
    slow: bool,
    /// What lets its pages be read on without a turn.
    slow_page: Option<Box<SlowPage>>,
}

#[derive(Debug)]
struct Held {
    place: InLine,
    is_lent: bool,
    _of_all: Option<OwnedSemaphorePermit>,
}

/// What a list holds while it stands in the line of all.
#[derive(Debug)]
struct InLine {
    among: Among,
    _of_cluster: Option<OwnedSemaphorePermit>,
    of_few: Few,
}

/// What a list holds of those few that it stands among.
#[derive(Debug)]
enum Few {
    /// One of their turns, if there are any; one of all comes beside it.
    Turn {
        _permit: Option<OwnedSemaphorePermit>,
    },
    /// One of all that nobody wanted, until somebody does.
    Lent(Option<OwnedSemaphorePermit>),
}

/// Whom a list shares its turns with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    All,
    Long,
    Doubtful,
}

/// Turns that are given to whoever has begun before whoever has not.
#[derive(Debug)]
struct Line {
    turns: Seats,
    /// One of those that have not begun stands in the line itself, the others stand here: who has begun waits for one of them at most.
    door: Semaphore,
}

impl Line {
    fn new(turns: usize) -> Self {
        Self {
            turns: Seats::new(turns),
            door: Semaphore::new(1),
        }
    }

    async fn turn(&self, begun: bool) -> Option<OwnedSemaphorePermit> {
        let _at_the_door = match begun {
            true => None,
            false => self.door.acquire().await.ok(),
        };
        self.turns.turn().await
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self::new(Width::default())
    }
}

impl Turns {
    /// So many.
    pub(crate) fn new(width: Width) -> Self {
        Self {
            width,
            line: Line::new(width.parallel),
            asking: Line::new(width.asking),
            doubtful: Line::new(width.doubtful),
            long: Seats::new(width.long),
            rooms: Seats::new(long::ROOMS),
            late: Late::new(width.waiting),
            slow: SlowPages::of_all(width.slow),
        }
    }

    /// Besides the line of all, waits where a list among these has to stand.
    async fn turn_of_few(&self, among: Among, begun: bool) -> Few {
        match among {
            Among::All => Few::Turn { _permit: None },
            Among::Long => self.or_lent(self.long.turn()).await,
            // Boxed: few stand here, and every stream would have room for it.
            Among::Doubtful => Box::pin(self.or_lent(self.doubtful.turn(begun))).await,
        }
    }

    /// Waits for one of the turns of a few. They may have one of all that nobody wants instead.
    async fn or_lent(&self, turn: impl Future<Output = Option<OwnedSemaphorePermit>>) -> Few {
        let mut turn = std::pin::pin!(turn);
        loop {
            if let Ok(permit) = timeout(PATIENCE, &mut turn).await {
                return Few::Turn { _permit: permit };
            }
            if let Some(lent) = self.line.turns.spare() {
                return Few::Lent(Some(lent));
            }
        }
    }

    /// Whether others want what a list holds.
    fn wants_turn_of(&self, held: &Held) -> bool {
        let of_few = match held.place.among {
            Among::All => false,
            Among::Long => self.long.is_wanted(),
            Among::Doubtful => self.doubtful.turns.is_wanted(),
        };
        of_few || self.line.turns.is_wanted()
    }
}

impl ClusterTurns {
    /// Turns of one cluster among `all`.
    pub(crate) fn new(all: Arc<Turns>) -> Self {
        Self {
            line: Line::new(all.width.of_cluster),
            rooms: Seats::new(all.width.of_cluster),
            slow: SlowPages::of_cluster(all.width.of_cluster),
            all,
            doubtful: AtomicBool::new(false),
            slow_until: Mutex::new(None),
            begun: AtomicBool::new(false),
        }
    }

    /// The member is connected anew. That it was slow is not forgotten, or it could be slow again at once.
    pub(crate) fn connected(&self) {
        self.doubtful.store(false, Ordering::Relaxed);
        self.begun.store(false, Ordering::Relaxed);
    }

    /// Waits until a list that has not begun would have a turn, and takes none: whoever is not in a hurry stands behind all that are.
    pub(crate) async fn let_others_go_first(&self) {
        drop(self.all.line.turn(false).await);
    }

    /// Waits for room for a long list.
    pub(crate) async fn room(&self) -> Option<Box<Room>> {
        Room::wait(&self.rooms, &self.all.rooms).await
    }

    /// The same, if there is some now.
    pub(crate) fn room_now(&self) -> Option<Box<Room>> {
        Room::now(&self.rooms, &self.all.rooms)
    }

    /// Whether somebody waits for what one of its long lists has.
    pub(crate) fn wants_room(&self) -> bool {
        self.rooms.is_wanted() || self.all.rooms.is_wanted()
    }

    /// Whether a list that has this room, or came so far without, is to go behind those that wait for one.
    pub(crate) fn is_to_leave(&self, room: &Room) -> bool {
        room.is_used_up() && self.wants_room()
    }

    /// Gives a list that came so far without room some if there is some now.
    pub(crate) fn fill(&self, room: &mut Room) {
        room.fill(&self.rooms, &self.all.rooms);
    }

    /// Whether its lists stand among those that are slow.
    pub(crate) fn is_slow(&self) -> bool {
        let until = *lock(&self.slow_until);
        until.is_some_and(|until| Instant::now() < until)
    }

    fn was_slow(&self) {
        let mut until = lock(&self.slow_until);
        *until = Some(Instant::now() + SLOW_FOR);
    }
}

impl Turn {
    /// Asks for the next page; `begun` says that the list has come to its middle. A list that has no turn asks before it has one: what it
    /// takes is to read the answer, not to wait for it.
    pub(crate) async fn ask<T>(
        &mut self,
        cluster: &ClusterTurns,
        begun: bool,
        page: impl Future<Output = Result<T, MemberError>>,
    ) -> Result<T, MemberError> {
        self.next_page(cluster);
        if self.held.is_some() {
            return self.wait_for(cluster, page).await;
        }
        let place = self.place(cluster, begun).await;
        let begun = begun || cluster.begun.load(Ordering::Relaxed);
        let asking = cluster.all.asking.turn(begun).await;
        let mut page = std::pin::pin!(page);
        let Ok(patient) = timeout(PATIENCE, &mut page).await else {
            drop(place);
            return self.late_at_first(cluster, asking, page).await;
        };
        let answer = patient?;
        self.comes(cluster);
        self.hold(cluster, place, begun).await;
        Ok(answer)
    }

    /// Waits for a turn to ask for the next page and read it.
    pub(crate) async fn page(&mut self, cluster: &ClusterTurns, begun: bool) {
        self.next_page(cluster);
        self.take(cluster, begun).await;
    }

    fn next_page(&mut self, cluster: &ClusterTurns) {
        self.pages += 1;
        self.in_a_row += 1;
        if self.is_used_up(cluster) || self.pages == SHORT_PAGES + 1 {
            // From here on it stands with the long ones, or behind them.
            self.held = None;
        }
        if self.held.is_some() && !self.is_slow(cluster) {
            // The last page has come to its end with a turn.
            self.slow_page = None;
        }
        (self.waited, self.is_in_middle) = (Duration::ZERO, false);
    }

    /// So much of a page has come in.
    pub(crate) fn came(&mut self, bytes: usize) {
        let bytes = bytes + self.bytes as usize;
        let pages = u32::try_from(bytes / PAGE_BYTES).unwrap_or(u32::MAX);
        self.bytes = (bytes % PAGE_BYTES) as u32;
        self.pages = self.pages.saturating_add(pages);
        self.in_a_row = self.in_a_row.saturating_add(pages);
        if pages > 0 && self.held.is_none() {
            (self.waited, self.is_quick) = (Duration::ZERO, true);
        }
    }

    /// Whether it has one now.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Gives the turn back: nothing is read any more.
    pub(crate) fn end(&mut self) {
        (self.held, self.slow_page) = (None, None);
    }

    /// Waits for what the member is to send. If that takes long the turn is lost meanwhile, and taken again before this returns, unless the page may be
    /// read on without.
    pub(crate) async fn wait_for<T>(
        &mut self,
        cluster: &ClusterTurns,
        answer: impl Future<Output = Result<T, MemberError>>,
    ) -> Result<T, MemberError> {
        let has_none = self.held.is_none() && (self.slow_page.is_none() || self.is_quick);
        if self.is_used_up(cluster) || has_none {
            self.stand_back(cluster).await?;
        }
        let mut answer = std::pin::pin!(answer);
        if self.held.is_some() {
            let begun = Instant::now();
            let patient = timeout(PATIENCE, &mut answer).await;
            self.waited += begun.elapsed();
            if let Ok(answer) = patient {
                return answer.inspect(|_| self.comes(cluster));
            }
            cluster.doubtful.store(true, Ordering::Relaxed);
            self.held = None;
            if !self.may_read_on(cluster) {
                return self.late(cluster, cluster.all.late.wait(), answer).await;
            }
        }
        self.read_on(cluster, answer).await
    }

    /// Something of the page has come.
    fn comes(&mut self, cluster: &ClusterTurns) {
        self.is_in_middle = true;
        cluster.doubtful.store(false, Ordering::Relaxed);
    }

    /// Whether the page is read on without a turn.
    fn may_read_on(&mut self, cluster: &ClusterTurns) -> bool {
        if !self.is_in_middle {
            return false;
        }
        let may_go_on = |page: &mut Box<SlowPage>| page.turned_out().now_or_never().is_none();
        if !self.slow_page.as_mut().is_some_and(may_go_on) {
            self.slow_page = SlowPage::now(&cluster.slow, &cluster.all.slow);
        }
        self.slow_page.is_some()
    }

    /// Reads on without a turn.
    async fn read_on<T>(
        &mut self,
        cluster: &ClusterTurns,
        answer: impl Future<Output = Result<T, MemberError>>,
    ) -> Result<T, MemberError> {
        let Some(slow_page) = &mut self.slow_page else {
            return answer.await;
        };
        let begun = Instant::now();
        let answer = tokio::select! {
            answer = answer => answer?,
            () = slow_page.turned_out() => {
                cluster.was_slow();
                return Err(MemberError::GaveWay { phase: "data" });
            }
        };
        self.waited += begun.elapsed().min(PATIENCE);
        self.comes(cluster);
        Ok(answer)
    }

    /// Waits on for a page that was asked for without a turn. Until there is room for one more that waits no other is asked for in its place:
    /// it would be thrown away before it comes.
    async fn late_at_first<T>(
        &mut self,
        cluster: &ClusterTurns,
        asking: Option<OwnedSemaphorePermit>,
        mut page: Pin<&mut impl Future<Output = Result<T, MemberError>>>,
    ) -> Result<T, MemberError> {
        cluster.doubtful.store(true, Ordering::Relaxed);
        let mut room = std::pin::pin!(cluster.all.late.wait_for_room());
        let (wait, came) = tokio::select! {
            wait = &mut room => (wait, None),
            page = &mut page => {
                let page = page?;
                cluster.doubtful.store(false, Ordering::Relaxed);
                (room.await, Some(page))
            }
        };
        drop(asking);
        let page = async {
            match came {
                Some(page) => Ok(page),
                None => page.await,
            }
        };
        self.late(cluster, wait, page).await
    }

    /// Waits on without a turn for what did not come in time, and takes one for it.
    async fn late<T>(
        &mut self,
        cluster: &ClusterTurns,
        mut wait: Wait,
        answer: impl Future<Output = Result<T, MemberError>>,
    ) -> Result<T, MemberError> {
        let was_in_middle = self.is_in_middle;
        let late = async {
            let answer = answer.await?;
            self.comes(cluster);
            self.take(cluster, true).await;
            Ok(answer)
        };
        tokio::select! {
            late = late => late,
            () = wait.turned_out() => {
                if was_in_middle {
                    // It is to be begun again where it can be read on.
                    cluster.was_slow();
                }
                Err(MemberError::GaveWay { phase: "data" })
            }
        }
    }

    /// Whether others wait for this turn, and it was theirs long enough.
    fn is_used_up(&mut self, cluster: &ClusterTurns) -> bool {
        if self.waited > QUOTA {
            self.slow = true;
            cluster.was_slow();
        }
        let Some(held) = &self.held else { return false };
        if held.is_lent && cluster.all.line.turns.is_wanted() {
            return true;
        }
        let is_long = held.place.among == Among::All && self.pages > SHORT_PAGES;
        // Who may read on without has the turn to find out whether there is need to.
        let most = match self.slow_page {
            Some(_) => PATIENCE,
            None => QUOTA,
        };
        (is_long || self.waited > most || self.in_a_row > PAGES_AT_A_TIME)
            && cluster.all.wants_turn_of(held)
    }

    /// Gives the turn to those who wait, and stands behind them unless the page may be read on without. What the member sends meanwhile fills a
    /// window, so it is one of those that wait without a turn.
    async fn stand_back(&mut self, cluster: &ClusterTurns) -> Result<(), MemberError> {
        self.held = None;
        let lags = !self.is_quick && (self.slow_page.is_some() || self.waited > QUOTA);
        if lags && self.may_read_on(cluster) {
            return Ok(());
        }
        let mut wait = cluster.all.late.wait();
        tokio::select! {
            () = self.take(cluster, true) => Ok(()),
            () = wait.turned_out() => Err(MemberError::GaveWay { phase: "turn to read on" }),
        }
    }

    fn among(&self, cluster: &ClusterTurns) -> Among {
        if self.is_slow(cluster) || cluster.doubtful.load(Ordering::Relaxed) {
            Among::Doubtful
        } else if self.pages > SHORT_PAGES {
            Among::Long
        } else {
            Among::All
        }
    }

    fn is_slow(&self, cluster: &ClusterTurns) -> bool {
        self.slow || cluster.is_slow()
    }

    async fn take(&mut self, cluster: &ClusterTurns, begun: bool) {
        if self.held.is_none() {
            let place = self.place(cluster, begun).await;
            self.hold(cluster, place, begun).await;
        }
    }

    /// A place among the lists of its cluster, and among the few that it belongs to.
    async fn place(&mut self, cluster: &ClusterTurns, begun: bool) -> InLine {
        let of_cluster = loop {
            if self.slow_page.is_none() && self.is_slow(cluster) {
                // Boxed, as is what few wait for below.
                let page = Box::pin(SlowPage::wait(&cluster.slow, &cluster.all.slow, begun));
                self.slow_page = Some(page.await);
            }
            let of_cluster = cluster.line.turn(begun).await;
            // Many may stand in this line when their cluster turns out to be slow.
            if self.slow_page.is_some() || !self.is_slow(cluster) {
                break of_cluster;
            }
        };
        let among = self.among(cluster);
        let goes_first = begun || self.slow_page.is_some();
        InLine {
            among,
            of_few: cluster.all.turn_of_few(among, goes_first).await,
            _of_cluster: of_cluster,
        }
    }

    async fn hold(&mut self, cluster: &ClusterTurns, mut place: InLine, begun: bool) {
        let (is_lent, of_all) = match &mut place.of_few {
            Few::Lent(lent) => (true, lent.take()),
            Few::Turn { .. } => {
                let cluster_begun = cluster.begun.load(Ordering::Relaxed);
                let of_all = cluster.all.line.turn(begun || cluster_begun).await;
                (false, of_all)
            }
        };
        cluster.begun.store(true, Ordering::Relaxed);
        (self.in_a_row, self.is_quick) = (0, false);
        self.held = Some(Held {
            place,
            is_lent,
            _of_all: of_all,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::StreamExt as _;
    use futures::stream::FuturesUnordered;

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
    async fn members_far_away_are_asked_side_by_side() {
        let all = Arc::default();
        let far = PATIENCE * 2 / 5;
        let lists = (0..10 * ASKING).map(async |_| {
            let (of, mut turn) = (cluster(&all), Turn::default());
            let page = async {
                tokio::time::sleep(far).await;
                Ok(())
            };
            let asked = turn.ask(&of, false, page).await;
            assert!(asked.is_ok() && turn.held.is_some());
        });
        let begun = Instant::now();
        futures::future::join_all(lists).await;
        assert!(begun.elapsed() < 15 * far, "{:?}", begun.elapsed());
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
    async fn members_that_trickle_leave_turns_to_the_others() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..PARALLEL).map(|_| cluster(&all)).collect();
        let turns = clusters
            .iter()
            .filter_map(|of| Some((turn(of, false)?, of)));
        let trickling = turns.map(async |(mut turn, of)| {
            let byte = || async {
                tokio::time::sleep(PATIENCE * 4 / 5).await;
                Ok(())
            };
            while turn.wait_for(of, byte()).await.is_ok() {}
        });
        let trickling = futures::future::join_all(trickling);
        let healthy = async {
            for _ in 0..200 {
                let (of, mut turn) = (cluster(&all), Turn::default());
                turn.page(&of, false).await;
                tokio::time::sleep(PATIENCE / 5).await;
            }
        };
        let begun = Instant::now();
        tokio::select! {
            () = healthy => {}
            _ = trickling => panic!("nobody is turned out"),
        }
        // After a quota six turns are free, of which this takes one.
        let most = 2 * QUOTA + 200 * (PATIENCE / 5);
        assert!(begun.elapsed() < most, "{:?}", begun.elapsed());
        assert!(clusters.iter().all(ClusterTurns::is_slow));
    }

    #[tokio::test(start_paused = true)]
    async fn members_that_are_slow_have_the_turns_that_nobody_else_wants() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..2 * PARALLEL).map(|_| cluster(&all)).collect();
        clusters.iter().for_each(ClusterTurns::was_slow);
        let mut turns: Vec<_> = clusters.iter().map(|_| Turn::default()).collect();
        let slow = clusters.iter().zip(&mut turns);
        let slow = slow.map(async |(of, turn)| turn.page(of, false).await);
        let slow = futures::future::join_all(slow);
        assert!(timeout(4 * PATIENCE, slow).await.is_err());
        let held = |turns: &[Turn]| turns.iter().filter(|turn| turn.held.is_some()).count();
        assert_eq!(held(&turns), PARALLEL - 1);
        let healthy = cluster(&all);
        let mut first = turn(&healthy, false).unwrap();
        let mut second = Turn::default();
        let mut comes = std::pin::pin!(second.page(&healthy, false));
        assert!(futures::poll!(&mut comes).is_pending());
        let lent = |turn: &&mut Turn| turn.held.as_ref().is_some_and(|held| held.is_lent);
        let mut lent: Vec<_> = turns.iter_mut().filter(lent).collect();
        let cluster = &clusters[0];
        let waits = lent[0].wait_for(cluster, pending::<Result<(), MemberError>>());
        let mut waits = std::pin::pin!(waits);
        assert!(futures::poll!(&mut waits).is_pending());
        assert!(futures::poll!(&mut comes).is_ready(), "it is given back");
        first.end();
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_without_end_goes_behind_the_others() {
        let all = Arc::default();
        let clusters: Vec<_> = (0..=PARALLEL_LONG).map(|_| cluster(&all)).collect();
        let mut read = [0; PARALLEL_LONG + 1];
        let endless = clusters.iter().zip(&mut read).map(async |(of, read)| {
            let mut turn = Turn::default();
            loop {
                turn.page(of, true).await;
                tokio::time::sleep(PATIENCE / 5).await;
                *read += 1;
            }
        });
        let endless = futures::future::join_all(endless);
        assert!(timeout(Duration::from_secs(120), endless).await.is_err());
        assert!(read.iter().all(|read| *read > PAGES_AT_A_TIME), "{read:?}");
    }

    #[test]
    fn a_page_without_end_counts_as_many() {
        let mut turn = Turn::default();
        turn.came(10 * PAGE_BYTES + 1);
        turn.came(PAGE_BYTES - 1);
        assert_eq!((turn.pages, turn.in_a_row), (11, 11));
    }
}
