//! Turns to ask members what they serve. An answer is read as a whole and its decoded form is larger, so only so many are there at the
//! same time on each way: 12 of a megabyte, which usual members do not have, and beside them, of members that say more, four of two halves of 8 MiB at the worst (with
//! eight of 2 MiB beside each of one that knows the older way alone); of those that are hurried 16 and three. Who has an answer keeps its turn until it is used, or where the store is slow all members' would
//! wait for it in memory. A check of the member's health that runs at that moment comes first, so one that answers and then hangs keeps it for five seconds more.
//!
//! Whoever turns out to say more is asked anew when it is its turn among its like, and the next time it stands in their line at once. No member's time runs
//! while it waits, and nobody has a turn of one line while it stands in another: so none waits for what others wait for.
//!
//! Most answers are that nothing has changed, which is told without one of these turns, or members would wait for each other to say so.
//!
//! A member is asked among those that took as long as it did the last time, so those that take long, or hang, hold up nobody else; and
//! where a PediaCluster is made anew under the same name, that is known of it still.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_member::{Discovery, Etags, Member, MemberError, Room, Told};
use armadex_model::ClusterName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use crate::incoming::memory::ClusterMemory;
use crate::lock::lock;
use crate::session::in_line::{InLine, UNTOLD};
use crate::session::plan::{Customs, Served};

/// Members that are asked at the same time, those that say more than is usual beside all others, and for how long each.
#[derive(Debug)]
struct Pace {
    usual: usize,
    large: usize,
    longest: Duration,
}

/// From those that are quick to those that hang.
const PACES: [Pace; 3] = [
    // A thousand that are connected at a start take 0.2 s each: two requests. Two hundred that take as long as they may have everybody wait
    // for some fifty seconds.
    Pace {
        usual: 8,
        large: 2,
        longest: Duration::from_secs(2),
    },
    // Far away, busy, or one that knows the older way alone: thirty requests or so, by eights.
    Pace {
        usual: 2,
        large: 1,
        longest: Duration::from_secs(10),
    },
    Pace {
        usual: 2,
        large: 1,
        longest: Duration::from_secs(60),
    },
];
/// Who can be asked on another way is not waited for longer than these: two hundred that hang for a minute each would have the last one wait for an hour and more.
/// Behind a network that lets only small answers through they are looked at again every few minutes for ever, which takes 250 s by eights, and holds up none
/// that have no other way.
const HURRIED: [Pace; 2] = [
    Pace {
        usual: 8,
        large: 2,
        longest: Duration::from_secs(2),
    },
    Pace {
        usual: 8,
        large: 1,
        longest: Duration::from_secs(10),
    },
];
/// Members that are asked at the same time whether they serve what they did, each for as long as those that are quick: ten thousand, once a minute,
/// at 0.3 s. Nothing of their answers is kept.
const ASKED: usize = 64;
/// Clusters that are remembered as slow, or to say much: those of a fleet. If there are more, all have a quick turn once more.
const REMEMBERED: usize = 10_000;

/// Turns over all clusters.
#[derive(Debug)]
pub(crate) struct Discoveries {
    paces: &'static [Pace],
    usual: Vec<Arc<Semaphore>>,
    large: Vec<Arc<Semaphore>>,
    asked: Semaphore,
    /// Clusters that are not asked as most are.
    unusual: Mutex<BTreeMap<ClusterName, Manner>>,
}

impl Default for Discoveries {
    fn default() -> Self {
        Self::of(&PACES)
    }
}

impl Discoveries {
    fn of(paces: &'static [Pace]) -> Self {
        let turns = |of: fn(&Pace) -> usize| {
            let turns = paces.iter().map(of);
            turns.map(|turns| Arc::new(Semaphore::new(turns))).collect()
        };
        Self {
            paces,
            usual: turns(|pace| pace.usual),
            large: turns(|pace| pace.large),
            asked: Semaphore::new(ASKED),
            unusual: Mutex::default(),
        }
    }

    fn manner_of(&self, cluster: &ClusterName) -> Manner {
        lock(&self.unusual)
            .get(cluster)
            .copied()
            .unwrap_or_default()
    }

    fn has_manner(&self, cluster: &ClusterName, manner: Manner) {
        let mut unusual = lock(&self.unusual);
        if manner == Manner::default() {
            unusual.remove(cluster);
            return;
        }
        if unusual.len() >= REMEMBERED && !unusual.contains_key(cluster) {
            unusual.clear();
        }
        unusual.insert(cluster.clone(), manner);
    }

    /// All turns of members that are quick and say what is usual.
    #[cfg(test)]
    pub(crate) fn all_quick_turns(&self) -> tokio::sync::SemaphorePermit<'_> {
        self.all_turns(0)
    }

    /// The same of those that hang.
    #[cfg(test)]
    pub(crate) fn all_slow_turns(&self) -> tokio::sync::SemaphorePermit<'_> {
        self.all_turns(PACES.len() - 1)
    }

    #[cfg(test)]
    fn all_turns(&self, pace: usize) -> tokio::sync::SemaphorePermit<'_> {
        let usual = self.paces[pace].usual.try_into().expect("few");
        self.usual[pace].try_acquire_many(usual).expect("the turns")
    }

    /// Waits for as long as it takes, in the line of its like alone.
    async fn turn(&self, Manner { pace, is_large }: Manner) -> Turn {
        let lines = match is_large {
            true => &self.large,
            false => &self.usual,
        };
        // `Err` only if the semaphore was closed, which it never is.
        Arc::clone(&lines[pace]).acquire_owned().await.ok()
    }
}

/// A turn to ask a member, and to hold what it says.
type Turn = Option<OwnedSemaphorePermit>;

/// How a member is to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Manner {
    pace: usize,
    /// It says more than is usual.
    is_large: bool,
}

/// `Err`: none in time.
type Answer = Result<Result<Option<Told>, MemberError>, Elapsed>;

impl Manner {
    fn room(self) -> Room {
        match self.is_large {
            true => Room::Large,
            false => Room::Usual,
        }
    }

    /// After this answer, which took so long, among these.
    fn after(self, answer: &Answer, took: Duration, paces: &[Pace]) -> Self {
        let is_within = |pace: &Pace| took < pace.longest;
        let pace = paces.iter().position(is_within);
        let pace = pace.unwrap_or(paces.len() - 1);
        match answer {
            // That nothing changed says nothing of the whole, nor does a part of it of how long that takes.
            Ok(Ok(None)) => self,
            Ok(Err(MemberError::Large)) => Self {
                is_large: true,
                ..self
            },
            Ok(Ok(Some(Told { is_large, .. }))) => Self {
                pace,
                is_large: *is_large,
            },
            Ok(Err(_)) | Err(_) => Self { pace, ..self },
        }
    }
}

/// What a member serves, and the turn in which it said so.
#[derive(Debug, Default)]
pub(crate) struct Held {
    discovery: Discovery,
    customs: Arc<Customs>,
    _turn: Turn,
}

impl Held {
    fn of(told: Told, turn: Turn) -> (Self, Etags) {
        let held = Self {
            discovery: told.discovery,
            customs: Arc::default(),
            _turn: turn,
        };
        (held, told.etags)
    }

    /// The same, of which that is custom.
    pub(super) fn with(self, customs: Arc<Customs>) -> Self {
        Self { customs, ..self }
    }

    /// Which of it is custom, if somebody asked.
    pub(super) fn customs(&self) -> &Arc<Customs> {
        &self.customs
    }

    /// What the member serves, and which of it is custom.
    pub(super) fn served(&self) -> Served<'_> {
        Served {
            discovery: &self.discovery,
            customs: &self.customs,
        }
    }
}

impl Deref for Held {
    type Target = Discovery;

    fn deref(&self) -> &Discovery {
        &self.discovery
    }
}

/// How one cluster is asked.
#[derive(Debug)]
pub(crate) struct ClusterDiscovery {
    all: Arc<Discoveries>,
    cluster: ClusterName,
    memory: Arc<ClusterMemory>,
    line: InLine,
}

impl ClusterDiscovery {
    pub(crate) fn new(
        all: Arc<Discoveries>,
        cluster: ClusterName,
        memory: Arc<ClusterMemory>,
        line: InLine,
    ) -> Self {
        Self {
            all,
            cluster,
            memory,
            line,
        }
    }

    /// Which cluster it is.
    pub(crate) fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// What the cluster may hold of the memory that all share.
    pub(crate) fn memory(&self) -> &ClusterMemory {
        &self.memory
    }

    /// What the member serves; `None` if it is what it was by these ETags. Who does not answer in time is asked anew among those that take
    /// longer, and who says more than is usual among those that do.
    pub(crate) async fn ask(
        &self,
        member: &Member,
        known: &Etags,
    ) -> Result<Option<(Held, Etags)>, MemberError> {
        let nothing = Etags::default();
        let known = match self.serves_the_same(member, known).await? {
            Some(true) => return Ok(None),
            Some(false) => &nothing,
            None => known,
        };
        let answer = self.climb(member, known, true).await?;
        Ok(answer.map(|(told, turn)| Held::of(told, turn)))
    }

    /// Whether the member says what it serves, asked as it is when it is to be synced. On a way that it is not synced on: nothing is remembered of that, and
    /// nobody is told how long it waits.
    pub(crate) async fn answers(&self, member: &Member) -> Result<(), MemberError> {
        let nothing = Etags::default();
        let answer = self.climb(member, &nothing, false).await;
        answer.map(drop)
    }

    /// Asks as the member was asked last, then among those that take longer, and with more room.
    async fn climb(
        &self,
        member: &Member,
        known: &Etags,
        is_synced: bool,
    ) -> Result<Option<(Told, Turn)>, MemberError> {
        let mut manner = self.all.manner_of(&self.cluster);
        let mut untold = UNTOLD;
        loop {
            let turn = self.all.turn(manner);
            let turn = match is_synced {
                true => self.line.until(&mut untold, turn).await,
                false => turn.await,
            };
            let Pace { longest, .. } = self.all.paces[manner.pace];
            let begun = Instant::now();
            let answer = timeout(longest, member.discover(known, manner.room())).await;
            let is_slowest = manner.pace + 1 == self.all.paces.len();
            manner = manner.after(&answer, begun.elapsed(), self.all.paces);
            if is_synced {
                self.all.has_manner(&self.cluster, manner);
            }
            match answer {
                Ok(Err(MemberError::Large)) => {}
                Ok(answer) => return Ok(answer?.map(|told| (told, turn))),
                Err(_) if !is_slowest => {}
                Err(_) => return Err(out_of_time(longest)),
            }
        }
    }

    /// Whether the member says that nothing changed; `None` if it takes long to say so.
    async fn serves_the_same(
        &self,
        member: &Member,
        known: &Etags,
    ) -> Result<Option<bool>, MemberError> {
        if !known.are_known() {
            return Ok(Some(false));
        }
        // `Err` only if the semaphore was closed, which it never is.
        let _turn = self.all.asked.acquire().await;
        let answer = timeout(PACES[0].longest, member.serves_the_same(known)).await;
        answer.ok().transpose()
    }
}

/// Turns on each way to members: how long one takes says nothing of the other, nor do those that hang on one keep others waiting for the other.
#[derive(Debug)]
pub(crate) struct DiscoveriesByWay {
    pub(crate) straight: Arc<Discoveries>,
    hurried: Arc<Discoveries>,
    around: Arc<Discoveries>,
}

impl Default for DiscoveriesByWay {
    fn default() -> Self {
        Self {
            straight: Arc::default(),
            hurried: Arc::new(Discoveries::of(&HURRIED)),
            around: Arc::default(),
        }
    }
}

/// How one cluster is asked on each way.
#[derive(Clone, Debug)]
pub(crate) struct ByWay {
    pub(crate) straight: Arc<ClusterDiscovery>,
    /// Straight, where the control plane may be asked instead.
    pub(crate) hurried: Arc<ClusterDiscovery>,
    /// By the control plane.
    pub(crate) around: Arc<ClusterDiscovery>,
}

impl ByWay {
    pub(crate) fn among(
        all: &DiscoveriesByWay,
        cluster: &ClusterName,
        memory: &Arc<ClusterMemory>,
        line: &InLine,
    ) -> Self {
        let of = |all: &Arc<Discoveries>| {
            let (cluster, memory) = (cluster.clone(), Arc::clone(memory));
            let discovery = ClusterDiscovery::new(Arc::clone(all), cluster, memory, line.clone());
            Arc::new(discovery)
        };
        Self {
            straight: of(&all.straight),
            hurried: of(&all.hurried),
            around: of(&all.around),
        }
    }
}

fn out_of_time(after: Duration) -> MemberError {
    MemberError::TimedOut {
        phase: "whole discovery",
        after,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use armadex_member::{Version, VersionState};
    use tokio::io::{AsyncWriteExt, BufReader, DuplexStream};
    use tokio::sync::SemaphorePermit;
    use tokio::time::sleep;
    use tokio_util::task::AbortOnDropHandle;

    use super::*;
    use crate::testing::request::{Request, through_pipes};

    const SERVED: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#;

    const SLOWEST: usize = PACES.len() - 1;

    fn cluster(all: &Arc<Discoveries>, name: &str) -> ClusterDiscovery {
        let name = ClusterName::new(name).unwrap();
        ClusterDiscovery::new(
            Arc::clone(all),
            name,
            ClusterMemory::of_nobody_else(),
            InLine::default(),
        )
    }

    fn hanging() -> Arc<Member> {
        let pipes = Mutex::new(Vec::new());
        through_pipes(move |pipe| pipes.lock().unwrap().push(pipe))
    }

    fn healthy() -> Arc<Member> {
        answering_after(Duration::ZERO)
    }

    fn answering_after(wait: Duration) -> Arc<Member> {
        saying(|_| SERVED.to_owned(), wait)
    }

    /// A member that says this of each path, the last byte of it after so long.
    fn saying(
        said: impl Fn(&str) -> String + Clone + Send + Sync + 'static,
        wait: Duration,
    ) -> Arc<Member> {
        through_pipes(move |pipe| drop(tokio::spawn(say(pipe, said.clone(), wait))))
    }

    async fn say(pipe: DuplexStream, said: impl Fn(&str) -> String, wait: Duration) {
        let mut socket = BufReader::new(pipe);
        let request = Request::read(&mut socket).await;
        let body = said(&request.path);
        let (body, last) = body.split_at(body.len() - 1);
        let length = body.len() + 1;
        let head =
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
        // Whoever asked may have gone.
        let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
        sleep(wait).await;
        let _ = socket.write_all(last.as_bytes()).await;
    }

    /// More than half of what is usual, for each half of an answer.
    fn much(_: &str) -> String {
        let spaces = " ".repeat(600_000);
        format!("{SERVED}{spaces}")
    }

    /// What one says that knows the older way alone, each of whose three versions takes half of what is usual.
    fn much_in_the_older_way(path: &str) -> String {
        let spaces = " ".repeat(500_000);
        match path {
            "/api" => r#"{"versions":["v1"]}"#.to_owned(),
            "/apis" => {
                r#"{"groups":[{"name":"apps","versions":[{"version":"v1"},{"version":"v2"}]}]}"#
                    .to_owned()
            }
            _ => format!(r#"{{"resources":[{{"name":"things","kind":"Thing"}}]{spaces}}}"#),
        }
    }

    const QUICK_AND_LARGE: Manner = Manner {
        pace: 0,
        is_large: true,
    };

    /// All that there are.
    fn quick_and_large_turns(all: &Discoveries) -> SemaphorePermit<'_> {
        let large = PACES[0].large.try_into().expect("few");
        all.large[0].try_acquire_many(large).expect("the turns")
    }

    /// What a member says that is known to be asked so.
    async fn ask_as(
        all: &Arc<Discoveries>,
        name: &str,
        manner: Manner,
        member: &Member,
    ) -> Result<Held, MemberError> {
        let cluster = cluster(all, name);
        all.has_manner(&cluster.cluster, manner);
        let told = cluster.ask(member, &Etags::default()).await?;
        Ok(told.expect("nothing was known").0)
    }

    /// Asks members again and again, of whom each has a cluster of its own.
    fn ask_on_and_on(
        all: &Arc<Discoveries>,
        members: Vec<Arc<Member>>,
    ) -> Vec<AbortOnDropHandle<()>> {
        let ask = |(number, member): (usize, Arc<Member>)| {
            let cluster = cluster(all, &format!("other-{number}"));
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    // Be there an answer or not.
                    let _ = cluster.ask(&member, &Etags::default()).await;
                }
            }))
        };
        members.into_iter().enumerate().map(ask).collect()
    }

    /// How long a hundred healthy members take, one after the other.
    async fn ask_a_hundred(all: &Arc<Discoveries>) -> Duration {
        let begun = Instant::now();
        for number in 0..100 {
            let cluster = cluster(all, &format!("healthy-{number}"));
            let answer = cluster.ask(&healthy(), &Etags::default()).await;
            assert!(answer.is_ok(), "{number}");
        }
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn members_that_hang_hold_up_nobody_else() {
        let all = Arc::<Discoveries>::default();
        let members = (0..3 * PACES[0].usual).map(|_| hanging());
        let _asked = ask_on_and_on(&all, members.collect());
        tokio::task::yield_now().await;
        let took = ask_a_hundred(&all).await;
        assert!(took <= 3 * PACES[0].longest, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_answers_are_there_than_turns() {
        let all = Arc::<Discoveries>::default();
        let ask = async |number: usize| {
            let cluster = cluster(&all, &format!("slow-store-{number}"));
            let (member, nothing) = (healthy(), Etags::default());
            let asked = cluster.ask(&member, &nothing);
            let answer = timeout(Duration::from_secs(60), asked).await.ok()?;
            answer.expect("an answer")
        };
        let mut held = Vec::new();
        for number in 0..PACES[0].usual {
            held.push(ask(number).await.expect("a turn"));
        }
        assert!(ask(PACES[0].usual).await.is_none(), "the turns are held");
        held.pop();
        assert!(ask(PACES[0].usual).await.is_some());
    }

    #[test]
    fn so_many_answers_are_there_as_the_documents_say() {
        let sum = |paces: &[Pace]| {
            assert!(paces.iter().all(|pace| pace.usual > 0 && pace.large > 0));
            let usual = paces.iter().map(|pace| pace.usual);
            let large = paces.iter().map(|pace| pace.large);
            (usual.sum::<usize>(), large.sum::<usize>())
        };
        assert_eq!((sum(&PACES), sum(&HURRIED)), ((12, 4), (16, 3)));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_large_answers_are_held_than_may_be() {
        let all = Arc::<Discoveries>::default();
        let (large, usual) = (saying(much, Duration::ZERO), healthy());
        for (pace, Pace { large: most, .. }) in PACES.into_iter().enumerate() {
            let ask = async |number: usize, member: &Member| {
                let (name, is_large) = (format!("of-pace-{pace}-{number}"), number > 0);
                let asked = ask_as(&all, &name, Manner { pace, is_large }, member);
                let answer = timeout(Duration::from_secs(300), asked).await.ok()?;
                Some(answer.expect("an answer"))
            };
            let mut held = Vec::new();
            for number in 1..=most {
                held.push(ask(number, &large).await.expect("a turn"));
            }
            assert!(ask(most + 1, &large).await.is_none(), "they are held");
            assert!(ask(0, &usual).await.is_some(), "it waits for no large one");
            held.pop();
            assert!(ask(most + 1, &large).await.is_some());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn large_ones_that_hang_hold_up_their_like_of_the_same_pace_alone() {
        let all = Arc::<Discoveries>::default();
        let slow = |is_large| Manner {
            pace: SLOWEST,
            is_large,
        };
        let hang = |number| {
            let (all, member) = (Arc::clone(&all), saying(much, Duration::from_secs(3600)));
            AbortOnDropHandle::new(tokio::spawn(async move {
                let name = format!("hangs-{number}");
                ask_as(&all, &name, slow(true), &member).await.is_ok()
            }))
        };
        let _hanging: Vec<_> = (0..2 * PACES[SLOWEST].usual).map(hang).collect();
        while all.large[SLOWEST].available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        for (name, manner, member) in [
            (
                "quick-and-large",
                QUICK_AND_LARGE,
                saying(much, Duration::ZERO),
            ),
            ("quick", Manner::default(), healthy()),
            ("slow", slow(false), healthy()),
        ] {
            let asked = ask_as(&all, name, manner, &member);
            let answer = timeout(PACES[0].longest, asked).await;
            assert!(answer.is_ok_and(|answer| answer.is_ok()), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn large_ones_do_not_wait_for_others_that_hang() {
        let all = Arc::<Discoveries>::default();
        let of_usual = Manner {
            pace: SLOWEST,
            is_large: false,
        };
        let hang = (0..10 * PACES[SLOWEST].usual).map(|number| {
            let all = Arc::clone(&all);
            AbortOnDropHandle::new(tokio::spawn(async move {
                let name = format!("hangs-{number}");
                ask_as(&all, &name, of_usual, &hanging()).await.is_ok()
            }))
        });
        let _hanging: Vec<_> = hang.collect();
        tokio::task::yield_now().await;
        let (number, wait) = (10, Duration::from_secs(25));
        let asked = (0..number).map(async |number| {
            let of_large = Manner {
                is_large: true,
                ..of_usual
            };
            let name = format!("large-{number}");
            let told = ask_as(&all, &name, of_large, &saying(much, wait)).await;
            assert!(told.is_ok(), "{number}");
        });
        let begun = Instant::now();
        futures::future::join_all(asked).await;
        assert_eq!(begun.elapsed().as_secs(), (number * wait).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_that_turns_out_to_say_much_is_asked_one_and_all() {
        let all = Arc::<Discoveries>::default();
        let turns = quick_and_large_turns(&all);
        let ask = |number| {
            let (all, member) = (Arc::clone(&all), saying(much, Duration::ZERO));
            AbortOnDropHandle::new(tokio::spawn(async move {
                let name = format!("newcomer-{number}");
                ask_as(&all, &name, Manner::default(), &member)
                    .await
                    .is_ok()
            }))
        };
        let crowd: Vec<_> = (0..3 * PACES[0].usual).map(ask).collect();
        sleep(PACES[0].longest).await;
        let others = timeout(PACES[0].longest, ask_a_hundred(&all)).await;
        assert!(others.is_ok(), "nobody waits for who waits to say much");
        drop(turns);
        let asked = timeout(Duration::from_secs(600), futures::future::join_all(crowd)).await;
        let mut asked = asked.expect("in time").into_iter();
        assert!(asked.all(Result::unwrap));
    }

    #[test]
    fn what_is_known_of_a_member_changes_with_its_answers() {
        let told = |is_large| {
            Ok(Ok(Some(Told {
                discovery: Discovery::default(),
                etags: Etags::default(),
                is_large,
            })))
        };
        let large = || Ok(Err(MemberError::Large));
        let error = || Ok(Err(MemberError::GaveWay { phase: "answer" }));
        let quick = Duration::ZERO;
        for (before, answer, took, after) in [
            // What was read of it before there was no more room says nothing of how long the whole takes.
            ((1, false), large(), quick, (1, true)),
            ((SLOWEST, false), large(), PACES[1].longest, (SLOWEST, true)),
            ((1, true), told(true), quick, (0, true)),
            ((1, true), told(false), quick, (0, false)),
            ((0, false), told(true), PACES[0].longest, (1, true)),
            // Who says nothing does not say less.
            ((1, true), error(), quick, (0, true)),
            ((0, true), error(), PACES[1].longest, (SLOWEST, true)),
            ((1, true), Ok(Ok(None)), quick, (1, true)),
        ] {
            let manner = |(pace, is_large)| Manner { pace, is_large };
            let found = manner(before).after(&answer, took, &PACES);
            assert_eq!(found, manner(after), "{before:?} {answer:?} {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_much_and_hangs_is_asked_among_large_ones_that_take_longer() {
        let all = Arc::<Discoveries>::default();
        let hanging = ask_as(&all, "one", QUICK_AND_LARGE, &hanging()).await;
        assert!(matches!(hanging, Err(MemberError::TimedOut { .. })));
        let slow_and_large = Manner {
            pace: SLOWEST,
            is_large: true,
        };
        assert_eq!(
            all.manner_of(&ClusterName::new("one").unwrap()),
            slow_and_large
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_its_turn_among_large_ones_is_not_out_of_time() {
        let all = Arc::<Discoveries>::default();
        let long = 10 * PACES[SLOWEST].longest;
        let turns = quick_and_large_turns(&all);
        let gives_back = async {
            sleep(long).await;
            drop(turns);
        };
        let begun = Instant::now();
        let served = async |name: &str, said: fn(&str) -> String| {
            let member = saying(said, Duration::ZERO);
            let told = ask_as(&all, name, Manner::default(), &member).await;
            assert!(begun.elapsed() >= long, "{name}: {:?}", begun.elapsed());
            let told = told.expect("an answer");
            let versions = told.groups.values().flat_map(|group| &group.versions);
            let is_served = |version: &Version| matches!(version.state, VersionState::Served(_));
            versions.map(is_served).collect::<Vec<_>>()
        };
        let (much, older, ()) = tokio::join!(
            served("much", much),
            served("older", much_in_the_older_way),
            gives_back
        );
        assert_eq!((much, older), (vec![true], vec![true; 3]));
        let manners = lock(&all.unusual).values().copied().collect::<Vec<_>>();
        assert_eq!(
            manners, [QUICK_AND_LARGE; 2],
            "what they waited for is not their time"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_said_much_is_not_asked_in_vain_again_until_it_says_less() {
        let all = Arc::<Discoveries>::default();
        let (one, nothing) = (cluster(&all, "one"), Etags::default());
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let counted = move |path: &str| {
            counted.fetch_add(1, Ordering::Relaxed);
            much(path)
        };
        let member = saying(counted, Duration::ZERO);
        assert!(one.ask(&member, &nothing).await.is_ok());
        assert_eq!(asked.swap(0, Ordering::Relaxed), 4, "both halves, twice");

        let turns = quick_and_large_turns(&all);
        let waits = timeout(Duration::from_secs(300), one.ask(&member, &nothing));
        let is_shown = async {
            sleep(Duration::from_secs(200)).await;
            (
                one.line.metrics.waiting_discoveries.get(),
                one.line.board.facts().in_line,
            )
        };
        let (waited, shown) = tokio::join!(waits, is_shown);
        assert!(waited.is_err());
        assert_eq!(shown, (1, true), "it is told of");
        assert_eq!(asked.load(Ordering::Relaxed), 0, "there was no turn");
        drop(turns);

        assert!(one.ask(&healthy(), &nothing).await.is_ok());
        assert!(lock(&all.unusual).is_empty(), "it says no more than others");
    }

    /// A member far away that knows what it told by its ETags.
    fn far_away() -> Arc<Member> {
        let serve = move |pipe: DuplexStream| async move {
            let mut socket = BufReader::new(pipe);
            let request = Request::read(&mut socket).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            let (status, body) = match request.values("if-none-match:").next() {
                Some(_) => ("304 Not Modified", ""),
                None => ("200 OK", SERVED),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\netag: \"one\"\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            // Whoever asked may have gone.
            let _ = socket.write_all(answer.as_bytes()).await;
        };
        through_pipes(move |pipe| drop(tokio::spawn(serve(pipe))))
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_that_nothing_changed_waits_for_no_turn() {
        let all = Arc::<Discoveries>::default();
        let member = far_away();
        let first = cluster(&all, "first").ask(&member, &Etags::default()).await;
        let (held, known) = first.expect("an answer").expect("all of it");
        let _turns: Vec<_> = (1..PACES[0].usual)
            .map(|_| {
                Arc::clone(&all.usual[0])
                    .try_acquire_owned()
                    .expect("a turn")
            })
            .collect();
        let begun = Instant::now();
        let asked = (0..3 * ASKED).map(async |number| {
            let cluster = cluster(&all, &format!("other-{number}"));
            let answer = cluster.ask(&member, &known).await;
            assert!(answer.expect("an answer").is_none());
        });
        futures::future::join_all(asked).await;
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
        drop(held);
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_of_which_nothing_is_known_does_not_wait_behind_those_that_are_asked() {
        let all = Arc::<Discoveries>::default();
        let turn = |_| all.asked.try_acquire().expect("a turn");
        let _asked: Vec<_> = (0..ASKED).map(turn).collect();
        let (member, nothing) = (healthy(), Etags::default());
        let one = cluster(&all, "one");
        let answer = timeout(PACES[0].longest, one.ask(&member, &nothing)).await;
        assert!(answer.is_ok_and(|answer| answer.is_ok_and(|told| told.is_some())));
    }

    #[tokio::test(start_paused = true)]
    async fn members_that_take_as_long_as_they_may_hold_up_others_once() {
        let all = Arc::<Discoveries>::default();
        let nearly = PACES[1].longest - Duration::from_millis(100);
        let members = (0..5 * PACES[0].usual).map(|_| answering_after(nearly));
        let _asked = ask_on_and_on(&all, members.collect());
        tokio::task::yield_now().await;
        let took = ask_a_hundred(&all).await;
        assert!(took <= 5 * PACES[0].longest, "{took:?}");
        let took = ask_a_hundred(&all).await;
        assert!(took < PACES[0].longest, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_is_made_anew_takes_as_long_as_before() {
        let all = Arc::<Discoveries>::default();
        let answer = cluster(&all, "one")
            .ask(&hanging(), &Etags::default())
            .await;
        assert!(matches!(answer, Err(MemberError::TimedOut { .. })));
        let begun = Instant::now();
        let answer = cluster(&all, "one")
            .ask(&hanging(), &Etags::default())
            .await;
        assert!(answer.is_err());
        assert_eq!(
            begun.elapsed(),
            PACES[SLOWEST].longest,
            "no quick turn is taken"
        );
        let answer = cluster(&all, "one")
            .ask(&healthy(), &Etags::default())
            .await;
        assert!(answer.is_ok());
        assert!(lock(&all.unusual).is_empty(), "it is quick now");
    }

    fn by_way(all: &DiscoveriesByWay, name: &str) -> ByWay {
        let name = ClusterName::new(name).unwrap();
        let memory = ClusterMemory::of_nobody_else();
        ByWay::among(all, &name, &memory, &InLine::default())
    }

    /// It may be asked on another way as well.
    #[tokio::test(start_paused = true)]
    async fn who_is_hurried_is_asked_in_no_slow_line_and_not_remembered_as_slow() {
        let all = DiscoveriesByWay::default();
        let one = by_way(&all, "one");
        let answers = [PACES[0].longest, PACES[1].longest, PACES[2].longest];
        let answers = answers.map(|longest| answering_after(longest / 2));
        for (member, is_told) in answers.iter().zip([true, true, false]) {
            assert_eq!(one.hurried.answers(member).await.is_ok(), is_told);
        }
        assert!(
            lock(&all.hurried.unusual).is_empty(),
            "it was only looked at"
        );
        let hanging = hanging();
        // As it was asked while there was no other way.
        let silent = one.straight.ask(&hanging, &Etags::default()).await;
        assert!(matches!(silent, Err(MemberError::TimedOut { .. })));
        assert_eq!(all.straight.manner_of(&one.straight.cluster).pace, SLOWEST);
        let both = HURRIED[0].longest + HURRIED[1].longest;
        for took in [both, HURRIED[1].longest] {
            let begun = Instant::now();
            let silent = one.hurried.ask(&hanging, &Etags::default()).await;
            assert!(matches!(silent, Err(MemberError::TimedOut { .. })));
            assert_eq!(begun.elapsed(), took);
        }
    }

    /// As behind a network that lets only small answers through: they are synced on another way and looked at again and again.
    #[tokio::test(start_paused = true)]
    async fn two_hundred_that_hang_and_have_another_way_hold_up_none_that_are_slow_and_have_none() {
        let all = DiscoveriesByWay::default();
        let begun = Instant::now();
        let looks = (0..200).map(|number| {
            let hurried = by_way(&all, &format!("hangs-{number}")).hurried;
            let slow = Manner {
                pace: HURRIED.len() - 1,
                is_large: false,
            };
            all.hurried.has_manner(&hurried.cluster, slow);
            tokio::spawn(async move { hurried.answers(&hanging()).await.is_ok() })
        });
        let looks = Vec::from_iter(looks);
        tokio::task::yield_now().await;
        let honest = by_way(&all, "honest").straight;
        let member = answering_after(PACES[1].longest / 2);
        let told = honest.ask(&member, &Etags::default()).await;
        assert!(told.is_ok());
        assert!(
            begun.elapsed() <= PACES[0].longest + PACES[1].longest,
            "{:?}",
            begun.elapsed()
        );
        let looks = futures::future::join_all(looks).await;
        assert!(looks.into_iter().all(|look| !look.unwrap()));
        let limit = Duration::from_secs(251);
        assert!(begun.elapsed() <= limit, "{:?}", begun.elapsed());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let all = Discoveries::default();
        for number in 0..3 * REMEMBERED {
            let name = format!("slow-{number}");
            let slow = Manner {
                pace: SLOWEST,
                is_large: false,
            };
            all.has_manner(&ClusterName::new(&name).unwrap(), slow);
        }
        assert!(lock(&all.unusual).len() <= REMEMBERED);
    }
}
