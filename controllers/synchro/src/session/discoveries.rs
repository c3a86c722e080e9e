//! Turns to ask members what they serve. An answer is read as a whole and its decoded form is larger, so only so many are there at the
//! same time: 12 of a megabyte, which usual members do not have, and of those that say more four, of two halves of 8 MiB at the worst (with eight of 2 MiB
//! beside each of one that knows the older way alone). Who has an answer keeps its turn until it is used, or where the store is slow all members' would wait for it in memory.
//!
//! Most answers are that nothing has changed, which is told without one of these turns, or members would wait for each other to say so.
//!
//! A member is asked among those that took as long as it did the last time, so those that take long, or hang, hold up nobody else; and
//! where a PediaCluster is made anew under the same name, that is known of it still.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_member::{Discovery, Etags, LargeAnswers, LargeTurn, Member, MemberError, Told};
use armadex_model::ClusterName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::incoming::memory::ClusterMemory;
use crate::lock::lock;

/// Members that are asked at the same time, how many of them may say more than is usual, and for how long each.
struct Pace {
    parallel: usize,
    large: usize,
    longest: Duration,
}

/// From those that are quick to those that hang.
const PACES: [Pace; 3] = [
    // A thousand that are connected at a start take 0.2 s each: two requests. Two hundred that take as long as they may have everybody wait
    // for some fifty seconds.
    Pace {
        parallel: 8,
        large: 2,
        longest: Duration::from_secs(2),
    },
    // Far away, busy, or one that knows the older way alone: thirty requests or so, by eights.
    Pace {
        parallel: 2,
        large: 1,
        longest: Duration::from_secs(10),
    },
    Pace {
        parallel: 2,
        large: 1,
        longest: Duration::from_secs(60),
    },
];
const SLOWEST: usize = PACES.len() - 1;
/// Members that are asked at the same time whether they serve what they did, each for as long as those that are quick: ten thousand, once a minute,
/// at 0.3 s. Nothing of their answers is kept.
const ASKED: usize = 64;
/// Clusters that are remembered as slow: those of a fleet. If there are more, all have a quick turn once more.
const REMEMBERED: usize = 10_000;

/// Turns over all clusters.
#[derive(Debug)]
pub(crate) struct Discoveries {
    turns: [Arc<Semaphore>; PACES.len()],
    large: [LargeAnswers; PACES.len()],
    asked: Semaphore,
    /// Clusters that are not quick, and which of the turns they take.
    slow: Mutex<BTreeMap<ClusterName, usize>>,
}

impl Default for Discoveries {
    fn default() -> Self {
        Self {
            turns: PACES.map(|pace| Arc::new(Semaphore::new(pace.parallel))),
            large: PACES.map(|pace| LargeAnswers::new(pace.large)),
            asked: Semaphore::new(ASKED),
            slow: Mutex::default(),
        }
    }
}

impl Discoveries {
    fn pace_of(&self, cluster: &ClusterName) -> usize {
        lock(&self.slow).get(cluster).copied().unwrap_or_default()
    }

    fn has_pace(&self, cluster: &ClusterName, pace: usize) {
        let mut slow = lock(&self.slow);
        if pace == 0 {
            slow.remove(cluster);
            return;
        }
        if slow.len() >= REMEMBERED && !slow.contains_key(cluster) {
            slow.clear();
        }
        slow.insert(cluster.clone(), pace);
    }
}

/// What a member serves, and the turn in which it said so.
#[derive(Debug, Default)]
pub(crate) struct Held {
    discovery: Discovery,
    _turn: Option<OwnedSemaphorePermit>,
    _large: Option<LargeTurn>,
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
}

impl ClusterDiscovery {
    pub(crate) fn new(
        all: Arc<Discoveries>,
        cluster: ClusterName,
        memory: Arc<ClusterMemory>,
    ) -> Self {
        Self {
            all,
            cluster,
            memory,
        }
    }

    /// What the cluster may hold of the memory that all share.
    pub(crate) fn memory(&self) -> &ClusterMemory {
        &self.memory
    }

    /// What the member serves; `None` if it is what it was by these ETags. Who does not answer in time is asked anew among those that take
    /// longer.
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
        let mut pace = self.all.pace_of(&self.cluster);
        loop {
            let longest = PACES[pace].longest;
            // No semaphore is closed.
            let turn = Arc::clone(&self.all.turns[pace]).acquire_owned().await;
            let begun = Instant::now();
            let answer = timeout(longest, member.discover(known, &self.all.large[pace])).await;
            let is_within = |pace: &Pace| begun.elapsed() < pace.longest;
            let now = PACES.iter().position(is_within);
            // That nothing changed says nothing of how long the whole takes.
            if !matches!(answer, Ok(Ok(None))) {
                self.all.has_pace(&self.cluster, now.unwrap_or(SLOWEST));
            }
            match answer {
                Ok(answer) => {
                    let held = |told: Told| {
                        let held = Held {
                            discovery: told.discovery,
                            _turn: turn.ok(),
                            _large: told.large,
                        };
                        (held, told.etags)
                    };
                    return answer.map(|told| told.map(held));
                }
                Err(_) if pace < SLOWEST => pace += 1,
                Err(_) => {
                    return Err(MemberError::TimedOut {
                        phase: "whole discovery",
                        after: longest,
                    });
                }
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
        // No semaphore is closed.
        let _turn = self.all.asked.acquire().await;
        let answer = timeout(PACES[0].longest, member.serves_the_same(known)).await;
        answer.ok().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncWriteExt, BufReader, DuplexStream};
    use tokio_util::task::AbortOnDropHandle;

    use super::*;
    use crate::testing::request::{Request, through_pipes};

    const SERVED: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#;

    fn cluster(all: &Arc<Discoveries>, name: &str) -> ClusterDiscovery {
        let name = ClusterName::new(name).unwrap();
        ClusterDiscovery::new(Arc::clone(all), name, ClusterMemory::of_nobody_else())
    }

    fn hanging() -> Arc<Member> {
        let pipes = Mutex::new(Vec::new());
        through_pipes(move |pipe| pipes.lock().unwrap().push(pipe))
    }

    fn healthy() -> Arc<Member> {
        answering_after(Duration::ZERO)
    }

    fn answering_after(wait: Duration) -> Arc<Member> {
        let serve = move |pipe: DuplexStream| async move {
            let mut socket = BufReader::new(pipe);
            Request::read(&mut socket).await;
            tokio::time::sleep(wait).await;
            let length = SERVED.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{SERVED}"
            );
            // Whoever asked may have gone.
            let _ = socket.write_all(answer.as_bytes()).await;
        };
        through_pipes(move |pipe| drop(tokio::spawn(serve(pipe))))
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
        let members = (0..3 * PACES[0].parallel).map(|_| hanging());
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
        for number in 0..PACES[0].parallel {
            held.push(ask(number).await.expect("a turn"));
        }
        assert!(ask(PACES[0].parallel).await.is_none(), "the turns are held");
        held.pop();
        assert!(ask(PACES[0].parallel).await.is_some());
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
        let _turns: Vec<_> = (1..PACES[0].parallel)
            .map(|_| {
                Arc::clone(&all.turns[0])
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
        let members = (0..5 * PACES[0].parallel).map(|_| answering_after(nearly));
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
        assert!(lock(&all.slow).is_empty(), "it is quick now");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let all = Discoveries::default();
        for number in 0..3 * REMEMBERED {
            let name = format!("slow-{number}");
            all.has_pace(&ClusterName::new(&name).unwrap(), SLOWEST);
        }
        assert!(lock(&all.slow).len() <= REMEMBERED);
    }
}
