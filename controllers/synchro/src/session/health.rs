//! Whether the member answers: what the status says of it, and what searches are told.

use std::sync::Arc;
use std::time::Duration;

use armadex_crds::conditions::ClusterHealthyReason;
use armadex_member::{Member, MemberError};
use armadex_model::GroupVersionResource;
use armadex_storage::ClusterId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::Shared;
use crate::session::task::Session;
use crate::told::board::{Board, MemberHealth};
use crate::told::metrics::ClusterMetrics;
use crate::told::outages::Outages;

/// Probes, and tries to reach a member that does not answer.
pub(super) const PROBE_PERIOD: Duration = Duration::from_secs(5);
/// Failed probes after which the streams are paused; one may be an accident.
const FAILURES: u32 = 2;
const HEALTHY: &str = "cluster health responded with ok";
/// What the log is told of by itself.
const LOST: &str = "the streams are paused";
/// A member that sends what happens in it is there, and is asked only so often whether it is well.
const WHILE_HEARD: Duration = Duration::from_secs(30);
/// A control plane of several API servers that is upgraded one by one answers all the time, and in the end each of them is of another version.
const VERSION_HOLDS: Duration = Duration::from_secs(300);
/// Before this a member that has too much to do told something, be it by a list, a watch or a probe. Whoever stands before it may say the same of one that is gone, for
/// ever.
const LATELY: Duration = Duration::from_secs(180);
/// However long it asks to be left alone whose answer is not believed: the next one is to tell whether it is lost.
const DOUBTED_FOR: Duration = Duration::from_secs(PROBE_PERIOD.as_secs() + 3);
/// For its answer to that, as for one to a probe: nothing else is done for the cluster meanwhile.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// For whoever searches, until another synchro looks after the cluster.
const RELEASED: &str = "no synchro looks after it now";
/// For that word; whoever takes the cluster over waits for its end.
const LAST_WORD: Duration = Duration::from_secs(5);
/// Before the same trouble is told in other words: an error that names a port is another one at each probe, and each is written to the
/// control plane and to the store.
const RESTATED: Duration = Duration::from_secs(60);

/// Before the store is told again what it was told. Of a member that does not answer nothing else is written, by which it would be found that the cluster has
/// left the store by mistake. And where two processes hold one Lease for a while, the one that is cut off from the members says the last word; it is written over
/// then. What the store knows already it looks at and writes nothing.
const RETOLD: Duration = Duration::from_secs(180);

/// What a probe means for the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They run on.
    Fine,
    /// They are paused.
    Lost,
}

/// Why a member does not answer, as it was told, and when.
pub(super) struct Trouble {
    words: String,
    told: Instant,
}

impl Trouble {
    /// What is told of it now; `None` as long as the former words have to do.
    pub(super) fn restated(known: Option<&Self>, words: &str) -> Option<Self> {
        let stands = |known: &&Self| known.words == words || known.told.elapsed() < RESTATED;
        known.filter(stands).is_none().then(|| Self {
            words: words.to_owned(),
            told: Instant::now(),
        })
    }

    pub(super) fn words(&self) -> &str {
        &self.words
    }
}

/// The health of one member.
pub(super) struct Health {
    shared: Arc<Shared>,
    metrics: Arc<ClusterMetrics>,
    board: Arc<Board>,
    cluster: ClusterId,
    left: CancellationToken,
    name: String,
    version: String,
    /// When the member was asked for it last.
    versioned: Instant,
    /// What came of that, for the status of a member that is well.
    well: String,
    failures: u32,
    trouble: Option<Trouble>,
    /// The word for that in a condition.
    reason: ClusterHealthyReason,
    /// What the log was told: a member that goes and returns is not told of each time.
    outages: Outages,
    /// When it answered last.
    answered: Instant,
    /// Until when it asked to be left alone.
    alone_until: Instant,
    /// The store does not know yet.
    untold: bool,
    /// What the store was told last, and when.
    stored: Option<((armadex_storage::Health, String), Instant)>,
}

impl Health {
    pub(super) fn new(session: &Session) -> Self {
        Self {
            shared: Arc::clone(&session.shared),
            metrics: session.shared.metrics.of(&session.name),
            board: Arc::clone(&session.board),
            cluster: session.cluster,
            left: session.left.clone(),
            name: session.name.to_string(),
            version: String::new(),
            versioned: Instant::now(),
            well: HEALTHY.to_owned(),
            failures: 0,
            trouble: None,
            reason: ClusterHealthyReason::NotReachable,
            outages: Outages::default(),
            answered: Instant::now(),
            alone_until: Instant::now(),
            untold: false,
            stored: None,
        }
    }

    /// What the store is told is of this cluster from now on.
    pub(super) fn concerns(&mut self, cluster: ClusterId) {
        if self.cluster != cluster {
            self.cluster = cluster;
            self.stored = None;
        }
    }

    /// The member answered all that is asked of it first.
    pub(super) async fn reached(&mut self, version: Result<String, MemberError>) {
        self.is_of(version);
        self.good().await;
    }

    /// The member did not, or is another one; its streams do not run. Whether that is news.
    pub(super) async fn unreachable(&mut self, reason: ClusterHealthyReason, words: &str) -> bool {
        self.failures = FAILURES;
        self.bad(reason, words).await
    }

    /// Probes once, unless that is known; by a list of this type, if nothing else may be asked.
    pub(super) async fn check(
        &mut self,
        member: &Member,
        listed: Option<&GroupVersionResource>,
    ) -> Verdict {
        let is_well = self.failures == 0 && !self.untold;
        let lately = self.answered.elapsed() < WHILE_HEARD;
        if is_well && lately && member.was_heard_within(PROBE_PERIOD) {
            return Verdict::Fine;
        }
        if Instant::now() < self.alone_until {
            return Verdict::Fine;
        }
        let Err(error) = member.probe(listed).await else {
            self.refresh_version(member).await;
            if self.good().await {
                info!(cluster = %self.name, "the member answers again");
            }
            return Verdict::Fine;
        };
        let asked = error.asks_to_wait().unwrap_or_default();
        // It is there and has too much to do: its streams find out by themselves when it has less.
        if error.is_busy() && self.was_there_lately(member) {
            self.alone_until = Instant::now() + asked;
            if self.is_there().await {
                info!(cluster = %self.name, "the member answers again");
            }
            return Verdict::Fine;
        }
        self.alone_until = Instant::now() + asked.min(DOUBTED_FOR);
        self.failures += 1;
        let words = error.to_string();
        let reason = ClusterHealthyReason::NotReachable;
        let is_news = self.bad(reason, &words).await;
        // One that lets nothing be read answers, and its streams find out by themselves when it does.
        let answers = error.is_forbidden() && !member.is_asked_by_control_plane();
        let is_lost = self.failures >= FAILURES && !answers;
        let is_told = is_news && self.is_to_be_told(&words);
        if is_told || is_lost && self.is_to_be_told(LOST) {
            warn!(cluster = %self.name, error = %error, failures = self.failures, "the health check failed");
        }
        match is_lost {
            true => Verdict::Lost,
            false => Verdict::Fine,
        }
    }

    /// Whether the log is told of this trouble: not each time that it comes back.
    pub(super) fn is_to_be_told(&self, words: &str) -> bool {
        self.outages.begins(&self.name, words)
    }

    /// Nobody asks any more.
    pub(super) fn unasked(&self) {
        self.board
            .update(|facts| facts.health = MemberHealth::Unasked);
    }

    /// Nobody keeps the rows up to date any more.
    pub(super) async fn released(&mut self) {
        let told = self.store(false, RELEASED.to_owned());
        if tokio::time::timeout(LAST_WORD, told).await.is_err() {
            warn!(cluster = %self.name, "the store was not told in time that the cluster was let go");
        }
    }

    /// One that does not tell its version is asked no sooner than one that does, or each probe would wait for it.
    fn is_of(&mut self, told: Result<String, MemberError>) {
        self.versioned = Instant::now();
        self.well = match told {
            Ok(version) => {
                self.version = version;
                HEALTHY.to_owned()
            }
            Err(error) => format!("{HEALTHY}, but get server version: {error}"),
        };
    }

    /// A member that was away for a moment may have been upgraded, and so may one that told its version a while ago.
    async fn refresh_version(&mut self, member: &Member) {
        if self.failures == 0 && self.versioned.elapsed() < VERSION_HOLDS {
            return;
        }
        let told = tokio::time::timeout(VERSION_TIMEOUT, member.version()).await;
        self.is_of(told.unwrap_or(Err(MemberError::TimedOut {
            phase: "answer with the version",
            after: VERSION_TIMEOUT,
        })));
    }

    /// Whether it may be the member that says that it has too much to do: something came of it a while ago. Of the control plane it may be its own word.
    fn was_there_lately(&self, member: &Member) -> bool {
        let was_heard = self.answered.elapsed() < LATELY || member.was_heard_within(LATELY);
        was_heard && !member.is_asked_by_control_plane()
    }

    /// Whether that is the end of what the log was told of.
    async fn good(&mut self) -> bool {
        self.answered = Instant::now();
        self.is_there().await
    }

    /// The same where that it is there is all that is known now.
    async fn is_there(&mut self) -> bool {
        self.failures = 0;
        self.trouble = None;
        let is_over = self.outages.ends(&self.name);
        self.metrics.healthy.set(1);
        self.board.update(|facts| {
            facts.version.clone_from(&self.version);
            facts.health = MemberHealth::Healthy(self.well.clone());
        });
        self.store(true, String::new()).await;
        is_over
    }

    /// Whether that had not been told before.
    async fn bad(&mut self, reason: ClusterHealthyReason, words: &str) -> bool {
        self.metrics.healthy.set(0);
        let news = Trouble::restated(self.trouble.as_ref(), words);
        let is_news = news.is_some();
        if is_news {
            self.reason = reason;
        }
        self.trouble = news.or(self.trouble.take());
        let words = self.trouble.as_ref().map_or("", |trouble| &trouble.words);
        let words = words.to_owned();
        let health = MemberHealth::NotReachable(self.reason, words);
        self.board.update(|facts| facts.health = health);
        // One failed probe does not make the rows stale: the streams still run.
        if self.failures >= FAILURES {
            // Whoever may search is told that, and not how the synchro reaches the member.
            let reason = ClusterHealthyReason::NotReachable;
            self.store(false, reason.as_str().to_owned()).await;
        }
        is_news
    }

    /// Tells the store what changed; if that fails, the next probe tries again.
    async fn store(&mut self, healthy: bool, reason: String) {
        let now = (
            armadex_storage::Health { healthy, reason },
            self.version.clone(),
        );
        let stands = |(known, told): &(_, Instant)| *known == now && told.elapsed() < RETOLD;
        if self.stored.as_ref().is_some_and(stands) {
            return;
        }
        let version = (!self.version.is_empty()).then_some(self.version.as_str());
        // What the store does not answer is taken for unknown: it may be told, or not, or be told later.
        self.stored = None;
        let (sink, owner) = (&self.shared.sink, self.shared.owner.text());
        let told = sink.set_health(self.cluster, &owner, &now.0, version);
        let told = told.await;
        self.untold = told.is_err();
        match told {
            Ok(()) => {
                self.shared.store_works(&self.name);
                self.stored = Some((now, Instant::now()));
            }
            Err(error) if self.shared.has_lost(&error) => self.left.cancel(),
            Err(error) => {
                if let Some(words) = self.shared.store_fails(&self.name, &error) {
                    warn!(cluster = %self.name, error = words, "the store was not told of the member's health, retrying; others that fail alike are not told of");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncWriteExt as _, BufReader};

    use super::*;
    use crate::config::Config;
    use crate::testing::{ScriptedMember, Stage, lines, request};

    fn of_nobody_asked(shared: Arc<Shared>) -> Health {
        Health {
            metrics: Arc::default(),
            board: Arc::default(),
            cluster: ClusterId(1),
            left: CancellationToken::new(),
            name: "m".to_owned(),
            version: String::new(),
            versioned: Instant::now(),
            well: HEALTHY.to_owned(),
            failures: 0,
            trouble: None,
            reason: ClusterHealthyReason::NotReachable,
            outages: Outages::default(),
            answered: Instant::now(),
            alone_until: Instant::now(),
            untold: false,
            stored: None,
            shared,
        }
    }

    #[tokio::test]
    async fn a_member_that_does_not_tell_its_version_is_not_waited_for_at_each_probe() {
        let stage = Stage::new().await;
        let mut health = of_nobody_asked(stage.shared("one", Config::default()));
        tokio::time::pause();
        let member = request::through_pipes(|pipe| {
            drop(tokio::spawn(async move {
                let _open = pipe;
                pending::<()>().await;
            }));
        });
        tokio::time::advance(VERSION_HOLDS).await;
        let begun = Instant::now();
        for _ in 0..3 {
            health.refresh_version(&member).await;
        }
        assert!(begun.elapsed() < 2 * VERSION_TIMEOUT, "asked once");
        let words = "cluster health responded with ok, but get server version: no answer";
        assert!(health.well.starts_with(words), "{}", health.well);
    }

    #[tokio::test]
    async fn a_member_that_has_too_much_to_do_is_not_lost_and_is_left_alone_for_as_long_as_it_asks()
    {
        let (_stage, mut health) = whose_store_says_nothing().await;
        let asked = Arc::<AtomicUsize>::default();
        let member = that_asks_to_wait("12", &asked);
        health.failures = 1;
        for _ in 0..7 {
            assert_eq!(health.check(&member, None).await, Verdict::Fine);
            assert_eq!(health.failures, 0);
            tokio::time::advance(PROBE_PERIOD).await;
        }
        assert_eq!(asked.load(Ordering::Relaxed), 3, "at 0, 15 and 30 s");
    }

    /// As of a gateway that stands before a member that is gone.
    #[tokio::test]
    async fn who_says_for_minutes_that_a_member_has_too_much_to_do_is_not_believed() {
        let (_stage, mut health) = whose_store_says_nothing().await;
        let asked = Arc::<AtomicUsize>::default();
        let member = that_asks_to_wait("60", &asked);
        assert_eq!(health.check(&member, None).await, Verdict::Fine);
        assert_eq!(health.failures, 0);
        tokio::time::advance(LATELY).await;
        assert_eq!(health.check(&member, None).await, Verdict::Fine);
        let words = health.trouble.as_ref().map(Trouble::words);
        assert_eq!(words, Some("the member answered 429 Too Many Requests"));
        tokio::time::advance(DOUBTED_FOR).await;
        assert_eq!(health.check(&member, None).await, Verdict::Lost);
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn that_the_control_plane_has_too_much_to_do_tells_nothing_of_a_member() {
        let stage = Stage::new().await;
        let scripted = ScriptedMember::start("uid", &[]).await;
        let member = scripted.behind_control_plane();
        let mut health = of_nobody_asked(stage.shared("one", Config::default()));
        scripted.answers("/readyz", 429);
        for verdict in [Verdict::Fine, Verdict::Lost] {
            assert_eq!(health.check(&member, None).await, verdict);
        }
    }

    /// A store takes its time, and the clock stands still from here on.
    async fn whose_store_says_nothing() -> (Stage, Health) {
        let stage = Stage::new().await;
        stage.breaking.refuse("set_health", usize::MAX);
        let health = of_nobody_asked(stage.shared("one", Config::default()));
        tokio::time::pause();
        (stage, health)
    }

    /// A member that asks to be left alone for so many seconds, whatever it is asked.
    fn that_asks_to_wait(seconds: &'static str, asked: &Arc<AtomicUsize>) -> Arc<Member> {
        let counts = Arc::clone(asked);
        request::through_pipes(move |pipe| {
            let counts = Arc::clone(&counts);
            drop(tokio::spawn(async move {
                let mut socket = BufReader::new(pipe);
                request::Request::read(&mut socket).await;
                counts.fetch_add(1, Ordering::Relaxed);
                let answer = format!(
                    "HTTP/1.1 429 X\r\nretry-after: {seconds}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                );
                // Whoever asked may have gone.
                let _ = socket.write_all(answer.as_bytes()).await;
            }));
        })
    }

    #[tokio::test]
    async fn a_member_that_fails_every_other_probe_is_told_of_once() {
        let told = lines();
        let stage = Stage::new().await;
        let scripted = ScriptedMember::start("uid", &[]).await;
        let member = scripted.connect();
        let shared = stage.shared("one", Config::default());
        let mut health = of_nobody_asked(shared);
        for _ in 0..6 {
            scripted.answers("/readyz", 500);
            health.check(&member, None).await;
            assert_eq!(health.failures, 1);
            scripted.answers("/readyz", 200);
            health.check(&member, None).await;
            assert_eq!(health.failures, 0);
        }
        let told = told.told().len();
        assert_eq!(told, 2, "that it failed, and that it answers again");
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_trouble_in_other_words_is_told_once_a_minute() {
        let mut known: Option<Trouble> = None;
        let mut told = 0;
        for probe in 0..24 {
            let words = format!(
                "read udp 10.0.0.7:{}->10.0.0.10:53: i/o timeout",
                40_000 + probe
            );
            if let Some(news) = Trouble::restated(known.as_ref(), &words) {
                known = Some(news);
                told += 1;
            }
            tokio::time::advance(Duration::from_secs(5)).await;
        }
        assert_eq!(told, 2, "in two minutes");
        tokio::time::advance(2 * RESTATED).await;
        let words = known.as_ref().expect("told").words.clone();
        assert!(Trouble::restated(known.as_ref(), &words).is_none());
    }
}
