//! Gates that requests for many objects go through, one for each thing that is asked. What fails for all of them alike is asked for by one
//! after the other, and what takes long has half of the places: objects of which each tries again by itself are hundreds of requests in a
//! second for as long as a right is missing, and requests that hang hold up those that would not.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use armadex_backoff::Backoff;
use futures::{Stream, stream};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use crate::retries::{LONGEST, backoff};
use armadex_control_plane::{ANSWER_LIMIT, Trouble, TroubleKind, lock};

/// Requests of one kind at a time: half of what the lifecycle controller looks at at once.
const PLACES: usize = 8;
/// Who waits longer than this for a place gives up, and until a request was answered sooner nobody waits at all.
const PATIENCE: Duration = Duration::from_secs(2);
/// Different objects in a row for which a request failed. Fewer of them are two requests in a second at most, however often each is tried.
const MANY: usize = 16;
/// Between two objects that try a gate again which takes long: 20 in a second, each of which takes milliseconds to look at.
const APART: Duration = Duration::from_millis(50);
/// The same of one that is closed: one of them asks, and all are told when it is open again. Also between two that have not been turned away
/// there and ask for themselves.
const SELDOM: Duration = Duration::from_secs(1);
/// They come back all the same, each as often as this.
const ANYWAY: Duration = Duration::from_secs(600);

/// All gates, by what is asked.
#[derive(Debug, Default)]
pub struct Gates {
    all: Mutex<HashMap<&'static str, Gate>>,
    /// Who may try again: no more than there are objects.
    free: Mutex<BTreeSet<String>>,
    freed: Notify,
}

#[derive(Debug)]
struct Gate {
    places: Arc<Semaphore>,
    /// Places were all taken for longer than anybody waits.
    slow: bool,
    /// For whom it failed since it did not for somebody.
    failed: BTreeSet<String>,
    closed: Option<Closed>,
    /// Who was turned away.
    waiting: BTreeSet<String>,
    /// Who of them was told last that there is a place.
    called: String,
}

/// It fails for all.
#[derive(Debug)]
struct Closed {
    backoff: Backoff,
    /// When one asks again.
    until: Instant,
    /// Who does that now.
    asking: Option<String>,
    /// When one that has not been turned away may ask for itself: those that failed may all have had reasons of their own.
    newcomer: Instant,
    /// What those are told who are turned away: the same for all, or each would have another status each time.
    trouble: Trouble,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES)),
            slow: false,
            failed: BTreeSet::new(),
            closed: None,
            waiting: BTreeSet::new(),
            called: String::new(),
        }
    }
}

impl Gates {
    /// Makes a request for an object, unless it fails for all others now, or takes too long for them.
    pub async fn ask<T>(
        &self,
        doing: &'static str,
        name: &str,
        request: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let place = self.enter(doing, name).await?;
        let answer = request.await;
        self.answered(doing, name, place, answer.as_ref().err());
        answer
    }

    /// A place to make a request from.
    pub(crate) async fn enter(&self, doing: &'static str, name: &str) -> Result<Entered, Trouble> {
        let places = match self.lock().entry(doing).or_default().admit(name)? {
            Admitted::Now(place) => return Ok(Entered::new(place)),
            Admitted::Waiting(places) => places,
        };
        match timeout(PATIENCE, places.acquire_owned()).await {
            Ok(Ok(place)) => Ok(Entered::new(place)),
            Ok(Err(_)) | Err(_) => {
                let mut all = self.lock();
                let gate = all.entry(doing).or_default();
                gate.slow = true;
                Err(gate.turn_away(name))
            }
        }
    }

    /// A request was answered.
    pub(crate) fn answered(
        &self,
        doing: &'static str,
        name: &str,
        place: Entered,
        trouble: Option<&Trouble>,
    ) {
        let mut all = self.lock();
        let gate = all.entry(doing).or_default();
        gate.slow = gate.slow && place.begun.elapsed() >= PATIENCE;
        gate.waiting.remove(name);
        match trouble.filter(|trouble| trouble.kind.is_of_many()) {
            Some(trouble) => gate.fails(name, trouble),
            None => gate.open(),
        }
        drop(place);
        let free = gate.call();
        drop(all);
        if !free.is_empty() {
            lock(&self.free).extend(free);
            self.freed.notify_one();
        }
    }

    /// How long an object waits that was turned away; nothing if it was not. `chance` is from 0 to 1.
    pub(crate) fn wait(&self, name: &str, chance: f64) -> Option<Duration> {
        let all = self.lock();
        let turned_away = all.values().filter(|gate| gate.waiting.contains(name));
        turned_away.map(|gate| gate.wait(chance)).max()
    }

    /// Nobody waits for an object that goes.
    pub(crate) fn forget(&self, name: &str) {
        for gate in self.lock().values_mut() {
            gate.waiting.remove(name);
            gate.failed.remove(name);
        }
        lock(&self.free).remove(name);
    }

    /// Those that may try again, as soon as they may.
    pub(crate) fn free(&self) -> impl Stream<Item = String> + '_ {
        stream::unfold((), |()| async {
            loop {
                let next = lock(&self.free).pop_first();
                if let Some(name) = next {
                    return Some((name, ()));
                }
                self.freed.notified().await;
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<&'static str, Gate>> {
        lock(&self.all)
    }
}

/// Where a request is made from.
pub(crate) struct Entered {
    begun: Instant,
    _taken: OwnedSemaphorePermit,
}

impl Entered {
    fn new(taken: OwnedSemaphorePermit) -> Self {
        let begun = Instant::now();
        Self {
            begun,
            _taken: taken,
        }
    }
}

/// Who was not turned away.
enum Admitted {
    Now(OwnedSemaphorePermit),
    /// For one of these places.
    Waiting(Arc<Semaphore>),
}

impl Gate {
    fn admit(&mut self, name: &str) -> Result<Admitted, Trouble> {
        let now = Instant::now();
        let may_ask = self
            .closed
            .as_ref()
            .is_none_or(|closed| closed.lets_in(now, !self.waiting.contains(name)));
        let place = may_ask.then(|| self.places.clone().try_acquire_owned().ok());
        match (place.flatten(), &mut self.closed) {
            (Some(place), None) => Ok(Admitted::Now(place)),
            (Some(place), Some(closed)) => {
                closed.admit(now, name);
                Ok(Admitted::Now(place))
            }
            (None, None) if !self.slow => Ok(Admitted::Waiting(self.places.clone())),
            (None, _) => Err(self.turn_away(name)),
        }
    }

    fn turn_away(&mut self, name: &str) -> Trouble {
        self.waiting.insert(name.to_owned());
        match &self.closed {
            Some(closed) => Trouble {
                kind: closed.trouble.kind,
                message: format!("it waits while others fail: {}", closed.trouble.message),
            },
            None => Trouble {
                kind: TroubleKind::Held,
                message: "the API server takes long for others".to_owned(),
            },
        }
    }

    fn fails(&mut self, name: &str, trouble: &Trouble) {
        let now = Instant::now();
        if let Some(closed) = &mut self.closed {
            // What was asked before the gate was closed says nothing new.
            if closed.asking.take_if(|asking| asking == name).is_some() {
                closed.until = now + closed.backoff.next(rand::random());
            }
            self.waiting.insert(name.to_owned());
            return;
        }
        self.failed.insert(name.to_owned());
        if self.failed.len() >= MANY {
            let mut backoff = backoff();
            self.waiting.append(&mut self.failed);
            self.closed = Some(Closed {
                until: now + backoff.next(rand::random()),
                backoff,
                asking: None,
                newcomer: now + SELDOM,
                trouble: trouble.clone(),
            });
        }
    }

    fn open(&mut self) {
        self.failed.clear();
        self.closed = None;
    }

    /// Who need not wait any more: all, or as many as there are places for while each is taken for long.
    fn call(&mut self) -> BTreeSet<String> {
        match (&self.closed, self.slow) {
            (Some(_), _) => BTreeSet::new(),
            (None, false) => std::mem::take(&mut self.waiting),
            (None, true) => {
                let places = self.places.available_permits();
                (0..places).map_while(|_| self.next_in_turn()).collect()
            }
        }
    }

    /// After who was called last, so that each is called whatever its name.
    fn next_in_turn(&mut self) -> Option<String> {
        let after = (Bound::Excluded(&self.called), Bound::Unbounded);
        let next = self.waiting.range::<String, _>(after).next();
        let next = next.or_else(|| self.waiting.first())?.clone();
        self.called = self.waiting.take(&next)?;
        Some(next)
    }

    /// Whoever comes first once the gate may be tried asks for all. That is chance: one of them may fail for a reason of its own.
    fn wait(&self, chance: f64) -> Duration {
        let (rest, apart) = match &self.closed {
            Some(closed) => {
                let rest = closed.until.saturating_duration_since(Instant::now());
                (rest.min(LONGEST), SELDOM)
            }
            None => (Duration::ZERO, APART),
        };
        let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        let spread = apart.saturating_mul(waiting).clamp(SELDOM, ANYWAY);
        rest + spread.mul_f64(chance)
    }
}

impl Closed {
    fn lets_in(&self, now: Instant, is_new: bool) -> bool {
        self.until <= now || (is_new && self.newcomer <= now)
    }

    /// Whoever is let in when one is to ask does it for all.
    fn admit(&mut self, now: Instant, name: &str) {
        if self.until <= now {
            self.asking = Some(name.to_owned());
            self.until = now + ANSWER_LIMIT;
        } else {
            self.newcomer = now + SELDOM;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::StreamExt;
    use tokio::time::advance;

    use super::*;

    const DOING: &str = "writing its status";

    fn forbidden() -> Trouble {
        Trouble {
            kind: TroubleKind::Forbidden,
            message: "forbidden".to_owned(),
        }
    }

    /// Whether a request that is answered so is made.
    async fn asks(gates: &Gates, name: &str, answer: Result<(), Trouble>) -> bool {
        let mut asked = false;
        let request = async {
            asked = true;
            answer
        };
        let _told = gates.ask(DOING, name, request).await;
        asked
    }

    /// Through which a request failed for many.
    async fn closed() -> Gates {
        let gates = Gates::default();
        for number in 0..MANY {
            let name = format!("c{number}");
            assert_eq!(gates.wait(&name, 0.0), None, "it is tried by itself");
            assert!(asks(&gates, &name, Err(forbidden())).await);
        }
        gates
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_for_many_is_asked_for_by_one_until_it_is_answered_and_then_by_all() {
        let gates = closed().await;
        assert!(!asks(&gates, "c0", Ok(())).await);
        let told = gates.ask(DOING, "other", ready(Ok(()))).await;
        let told = told.expect_err("it is turned away");
        assert_eq!(told.kind, TroubleKind::Forbidden);
        assert_eq!(told.message, "it waits while others fail: forbidden");
        for _ in 0..10 {
            advance(LONGEST).await;
            assert!(asks(&gates, "c1", Err(forbidden())).await);
            assert!(!asks(&gates, "c2", Ok(())).await);
        }
        let wait = gates.wait("c2", 0.0).expect("it waits");
        assert!(wait >= LONGEST / 2 && wait <= LONGEST, "{wait:?}");
        advance(LONGEST).await;
        assert!(asks(&gates, "c3", Ok(())).await);
        assert_eq!(gates.wait("c2", 0.0), None);
        let free: BTreeSet<String> = gates.free().take(MANY).collect().await;
        assert!(free.contains("c2") && free.contains("other"), "{free:?}");
        assert!(asks(&gates, "c2", Ok(())).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_of_one_object_opens_a_gate_as_well() {
        let gates = closed().await;
        advance(LONGEST).await;
        let conflict = Trouble {
            kind: TroubleKind::Conflict,
            message: "another version".to_owned(),
        };
        assert!(asks(&gates, "c1", Err(conflict)).await);
        assert!(asks(&gates, "c2", Ok(())).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_not_turned_away_yet_is_let_in_once_a_second_where_others_fail() {
        let gates = closed().await;
        let asking = gates.ask(DOING, "c1", pending::<Result<(), _>>());
        advance(LONGEST).await;
        let mut asking = std::pin::pin!(asking);
        assert!(futures::poll!(&mut asking).is_pending(), "it asks for all");
        advance(SELDOM).await;
        assert!(asks(&gates, "new", Err(forbidden())).await);
        assert!(!asks(&gates, "newer", Ok(())).await, "within a second");
        advance(SELDOM).await;
        for turned_away in ["new", "newer", "c2"] {
            assert!(!asks(&gates, turned_away, Ok(())).await, "{turned_away}");
        }
        assert!(asks(&gates, "healthy", Ok(())).await);
        assert_eq!(gates.wait("c2", 0.0), None, "it is open");
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_while_it_waits_is_not_waited_for() {
        let gates = closed().await;
        gates.forget("c1");
        assert_eq!(gates.wait("c1", 0.0), None);
        assert!(gates.wait("c2", 0.0).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_take_long_have_their_places_and_no_others() {
        let gates = Arc::new(Gates::default());
        let hanging: Vec<_> = (0..PLACES)
            .map(|number| {
                let gates = gates.clone();
                let hangs = async move {
                    let name = format!("c{number}");
                    gates.ask(DOING, &name, pending::<Result<(), _>>()).await
                };
                tokio::spawn(hangs)
            })
            .collect();
        tokio::task::yield_now().await;
        let begun = Instant::now();
        for name in ["a", "b", "c"] {
            let turned_away = gates.ask(DOING, name, ready(Ok(()))).await;
            assert_eq!(
                turned_away.expect_err("no place").kind,
                TroubleKind::Held,
                "{name}"
            );
        }
        assert_eq!(begun.elapsed(), PATIENCE, "the first one waited for all");
        let other = gates.ask("adding its finalizer", "a", ready(Ok(()))).await;
        assert!(other.is_ok(), "that is something else");
        hanging.iter().for_each(tokio::task::JoinHandle::abort);
        for hung in hanging {
            assert!(hung.await.expect_err("it hung").is_cancelled());
        }
        assert!(asks(&gates, "d", Ok(())).await);
        let free: Vec<String> = gates.free().take(3).collect().await;
        assert_eq!(free, ["a", "b", "c"]);
    }

    /// Through which a request takes longer than anybody waits.
    async fn takes_long(gates: &Gates, name: &str, answer: Result<(), Trouble>) {
        let slow = async {
            advance(PATIENCE).await;
            answer
        };
        let _told = gates.ask(DOING, name, slow).await;
    }

    /// All places are taken for so long that these are turned away. Gives the places back.
    async fn slow(waiting: &[&str]) -> Gates {
        let gates = Gates::default();
        let mut taken = Vec::new();
        for number in 0..PLACES {
            let place = gates.enter(DOING, &format!("p{number}")).await;
            taken.push(place.expect("there is one"));
        }
        for name in waiting {
            assert!(!asks(&gates, name, Ok(())).await, "{name}");
        }
        drop(taken);
        gates
    }

    #[tokio::test(start_paused = true)]
    async fn while_requests_take_long_as_many_are_called_as_there_are_places() {
        let names: Vec<String> = (10..10 + 2 * PLACES).map(|n| format!("c{n}")).collect();
        let gates = slow(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        takes_long(&gates, "other", Ok(())).await;
        let called: Vec<String> = gates.free().take(PLACES).collect().await;
        assert_eq!(called, names[..PLACES]);
        let turned_away = |name: &String| gates.wait(name, 0.0).is_some();
        assert!(names[PLACES..].iter().all(turned_away));
        // One that found no place all the same has had its turn.
        gates.lock().entry(DOING).or_default().turn_away(&names[0]);
        takes_long(&gates, "other", Ok(())).await;
        let called: Vec<String> = gates.free().take(PLACES).collect().await;
        assert_eq!(called, names[PLACES..]);
        takes_long(&gates, "other", Ok(())).await;
        let called: Vec<String> = gates.free().take(1).collect().await;
        assert_eq!(called, names[..1]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_answered_where_requests_take_long_waits_there_no_more() {
        for answer in [Ok(()), Err(forbidden())] {
            let gates = slow(&["a", "b"]).await;
            assert!(gates.wait("b", 0.0).is_some());
            takes_long(&gates, "b", answer).await;
            assert_eq!(gates.wait("b", 0.0), None);
            let called: Vec<String> = gates.free().take(1).collect().await;
            assert_eq!(called, ["a"]);
        }
    }
}
