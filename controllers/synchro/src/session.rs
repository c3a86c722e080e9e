//! One cluster while its spec is valid: reach the member, run its streams, watch its health, follow its discovery.
//!
//! ```text
//! Reaching ──> Live ──> (two failed probes, another member, another connection) ──> Reaching
//! ```
//! Streams run only while Live. What they have stored stays, whatever happens here; only a type that is no longer wanted, or that
//! the member says it does not have, is hidden. Where the store says that the cluster has left, the session ends.

mod away;
mod back;
pub(crate) mod by_control_plane;
mod changes;
mod customs;
pub(crate) mod discoveries;
mod doubts;
mod health;
pub(crate) mod in_line;
pub(crate) mod new_types;
pub(crate) mod plan;
mod question;
mod reach;
pub(crate) mod reaching;
mod rediscovery;
mod strangers;
mod streams;
mod surer;
mod task;
#[cfg(test)]
mod tests;
pub(crate) mod unwanted;
mod urgency;
mod ways;

use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, LIVED, jittered};
use armadex_crds::IdentitySource;
use armadex_crds::conditions::ClusterHealthyReason;
use armadex_member::{Member, MemberError};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::audit::{AuditedCluster, Auditor};
use crate::session::away::Away;
use crate::session::health::{Health, PROBE_PERIOD, Verdict};
use crate::session::plan::{Scope, Served};
use crate::session::reach::{Reached, Unreached};
use crate::session::rediscovery::{Found, Rediscovery};
use crate::session::strangers::{Lost, Strangers};
use crate::session::streams::Streams;
pub(crate) use crate::session::task::{Session, Wanted};
use crate::session::ways::{Way, Ways};
use crate::stream::Connected;
use crate::told::board::Running;

/// A member that answers the probe and not what comes after it is asked four questions each time, one of them long: in the end once a minute. So is one that hangs, all that is asked first,
/// and whether it is there again in between.
const LAST_RETRY: Duration = Duration::from_secs(60);

/// How a pause ended.
#[derive(PartialEq, Eq)]
enum Paused {
    /// Its time is over, or that of the session.
    Over,
    /// Something else is wished for.
    Edited,
}

/// Why the streams do not run on.
enum Pause {
    /// The member does not answer.
    Unhealthy,
    /// Another cluster answers.
    Stranger,
    /// The member does not say any more who it is, in the way in which it did.
    Nameless,
    /// Another connection.
    Changed,
    /// The API server answers, which was asked by the control plane.
    Straight,
    /// The member says more surely who it is than when it was connected.
    Known,
    /// The session is to end.
    Cancelled,
}

impl Pause {
    /// Why the cluster that was connected is not there any more as it was known, if it is that.
    const fn lost(&self) -> Option<Lost> {
        match self {
            Self::Stranger => Some(Lost::Another),
            Self::Nameless => Some(Lost::Nameless),
            Self::Unhealthy | Self::Changed | Self::Straight | Self::Known | Self::Cancelled => {
                None
            }
        }
    }
}

impl Session {
    /// Runs until cancelled, or until the cluster has left the store; streams have written what they held when this returns.
    pub(crate) async fn run(mut self) {
        let mut health = Health::new(&self);
        let mut streams = Streams::new(&self);
        let mut backoff = Backoff::new(PROBE_PERIOD, LAST_RETRY);
        let mut strangers = Strangers::default();
        let (mut away, mut ways) = (Away::default(), Ways::default());
        let mut wanted = self.wanted.borrow_and_update().clone();
        while !self.cancel.is_cancelled() && !self.left.is_cancelled() {
            let now = self.wanted.borrow_and_update().clone();
            if now.connection != wanted.connection {
                ways = Ways::default();
            }
            wanted = now;
            let states = (&mut ways, &mut away);
            let reached = self.reach(&wanted, &mut health, &mut streams, states);
            let Some((reached, way)) = Box::pin(reached).await else {
                continue;
            };
            self.returned(&mut away, reached.identity.source());
            let begun = Instant::now();
            let found = (reached, &way);
            let live = self.live(&wanted, found, &mut ways, &mut health, &mut streams);
            let pause = Box::pin(live).await;
            self.board.update(|facts| facts.undiscovered = None);
            let lasted = begun.elapsed();
            strangers.connected_for(lasted);
            let lost = pause.lost();
            let is_paused = matches!(pause, Pause::Unhealthy) || lost.is_some();
            Box::pin(streams.stop(is_paused)).await;
            way.member.leave_connections();
            ways.lasted(&way, lasted);
            // Whoever waits now does so without a place among those that are asked by the control plane.
            drop(way);
            if matches!(pause, Pause::Unhealthy) {
                away.is_away(Instant::now());
            }
            match (pause, lost) {
                (Pause::Unhealthy, _) if lasted < LIVED => {
                    self.pause(backoff.next(rand::random())).await;
                }
                (_, Some(lost)) => {
                    let (words, wait) = strangers.found(lost, rand::random());
                    self.strange(words, wait, &mut health).await;
                    if self.pause(wait).await == Paused::Edited {
                        strangers = Strangers::default();
                    }
                }
                _ => backoff.reset(),
            }
        }
        health.unasked();
        if self.released.is_cancelled() {
            Box::pin(health.released()).await;
        }
    }

    /// The member answers. One that was put back to a backup and has taken so many changes since that it is past what is stored looks as if it had gone on: an
    /// audit finds what it does not have any more.
    fn returned(&self, away: &mut Away, known_by: IdentitySource) {
        if let Some(after) = away.returns(Instant::now(), known_by) {
            self.audits.begins_soon(after);
        }
    }

    /// Leaves a member alone that is lost as soon as it is reached: each time its discovery, its checks and its watches begin anew.
    async fn pause(&mut self, wait: Duration) -> Paused {
        tokio::select! {
            () = is_to_end(&self.cancel, &self.left) => Paused::Over,
            () = changed(&mut self.wanted) => Paused::Edited,
            () = tokio::time::sleep(wait) => Paused::Over,
        }
    }

    /// Says that the cluster that was connected is not the one that answers, as far as is known.
    async fn strange(&self, words: &str, wait: Duration, health: &mut Health) {
        warn!(cluster = %self.name, error = words, wait_s = wait.as_secs(), "the member is left alone for a while");
        let reason = ClusterHealthyReason::NotReachable;
        health.unreachable(reason, words).await;
    }

    /// Tries until the member answers. `None` if the wish changed or the session is to end. What is not wished for any more is hidden without it.
    async fn reach(
        &mut self,
        wanted: &Wanted,
        health: &mut Health,
        streams: &mut Streams,
        (ways, away): (&mut Ways, &mut Away),
    ) -> Option<(Reached, Way)> {
        let mut backoff = Backoff::new(PROBE_PERIOD, LAST_RETRY);
        let mut hung = false;
        let mut withdrawn = false;
        let shared = Arc::clone(&self.shared);
        let cluster = (&self.name, self.incarnation.as_str());
        let discovery = streams.discovery().clone();
        loop {
            let mut wait = jittered(PROBE_PERIOD, rand::random());
            let mut is_silent = false;
            withdrawn = withdrawn || streams.withdraw(&wanted.resources).await;
            let questions = ways.find(wanted, &shared, cluster, &discovery);
            let tried = tokio::select! {
                () = is_to_end(&self.cancel, &self.left) => return None,
                () = changed(&mut self.wanted) => return None,
                tried = shared.reaching.ask(hung, questions) => tried,
            };
            hung = reach::hangs(&tried);
            match tried.answer {
                Ok((reached, way)) => {
                    self.cluster = reached.cluster;
                    self.board.entered(reached.cluster);
                    return Some((reached, way));
                }
                Err(Unreached::Store(error)) if shared.has_lost(&error) => self.left.cancel(),
                Err(error) => {
                    if error.is_of_member() && !error.is_busy() {
                        away.is_away(Instant::now());
                    }
                    wanted.member.leave_connections();
                    self.unreached(wanted, &error, health).await;
                    if hung || error.is_no_silence() {
                        wait = backoff.next(rand::random());
                    }
                    is_silent = hung && !error.is_no_silence();
                    wait += error.asks_to_wait();
                }
            }
            tokio::select! {
                () = is_to_end(&self.cancel, &self.left) => return None,
                () = changed(&mut self.wanted) => return None,
                // Of one that answers the check and not what comes after it nothing is known by that.
                () = back::answers(&wanted.member), if is_silent => hung = false,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Says that the member was not reached, unless that was said, maybe in other words, a moment ago. One that has too much to do is there.
    async fn unreached(&self, wanted: &Wanted, error: &Unreached, health: &mut Health) {
        let (words, told) = (error.in_a_status(), error.to_string());
        let is_busy = error.is_busy();
        let is_news = is_busy || health.unreachable(error.reason(), &words).await;
        // Of a store that fails in another way the status has the same words.
        let is_news_to_the_log = is_news || words != told;
        if is_news_to_the_log && health.is_to_be_told(&told) {
            warn!(cluster = %self.name, error = told, "the member cannot be reached, retrying");
        }
        let server = wanted.member.server().to_string();
        self.board.update(|facts| {
            facts.apiserver = server;
            facts.around = None;
            let is_told_beside = is_busy && facts.running == Running::Yes;
            facts.undiscovered = is_told_beside.then(|| words.clone());
            let stands = matches!(facts.running, Running::Failed(_)) && !is_news;
            if facts.running != Running::Yes && !stands {
                facts.running = Running::Failed(words);
            }
        });
    }

    /// Runs the streams until something speaks against it.
    async fn live(
        &mut self,
        wanted: &Wanted,
        (reached, way): (Reached, &Way),
        ways: &mut Ways,
        health: &mut Health,
        streams: &mut Streams,
    ) -> Pause {
        let Reached {
            version,
            identity,
            discovery,
            etags,
            cluster,
        } = reached;
        self.say_connected(way, &version, identity.source());
        health.concerns(cluster);
        Box::pin(health.reached(version)).await;
        let (name, hurried) = (self.name.clone(), Arc::clone(&streams.discovery().hurried));
        let mut surer = std::pin::pin!(surer::is_told(&way.member, identity.source()));
        let mut again = std::pin::pin!(ways.straight_again(wanted, way, &name, hurried));
        let connected = streams.connect(cluster, Arc::clone(&way.member), identity);
        let mut resources = wanted.resources.clone();
        let found = Box::pin(self.apply(&resources, discovery.served(), streams)).await;
        // It is needed no more, and may have thousands of types.
        drop(discovery);
        let mut auditing = None;
        let mut rediscovery = streams.rediscovery(way, &resources, (etags, found));
        let mut probe = std::pin::pin!(tokio::time::sleep(PROBE_PERIOD));
        loop {
            let audit = || streams.are_known().then(|| self.audit(&connected));
            auditing = auditing.or_else(audit);
            tokio::select! {
                () = is_to_end(&self.cancel, &self.left) => return Pause::Cancelled,
                () = connected.stranger.cancelled() => return Pause::Stranger,
                () = connected.nameless.cancelled() => return Pause::Nameless,
                () = &mut again => return Pause::Straight,
                () = &mut surer => return Pause::Known,
                () = changed(&mut self.wanted) => {
                    let now = self.wanted.borrow_and_update().clone();
                    if now.connection != wanted.connection {
                        return Pause::Changed;
                    }
                    resources = now.resources;
                    Box::pin(streams.ask_for(&resources)).await;
                    rediscovery.asks_for(&resources);
                }
                () = &mut probe => {
                    if let Some(pause) = self.check(way, health, streams).await {
                        return pause;
                    }
                    streams.count();
                    probe.as_mut().reset(Instant::now() + jittered(PROBE_PERIOD, rand::random()));
                }
                answer = rediscovery.answer() => {
                    self.discovers(&way.member, &answer, &mut rediscovery);
                    match answer {
                        // What ended by itself begins anew with a whole answer.
                        Ok(None) if streams.any_ended() => rediscovery.now(),
                        Ok(None) => rediscovery.unchanged(),
                        Ok(Some(discovery)) => {
                            rediscovery.found(Box::pin(self.apply(&resources, discovery.served(), streams)).await);
                        }
                        // While the member does not say what it serves, everything stays as it is that somebody asks for.
                        Err(_) => drop(Box::pin(streams.withdraw(&resources)).await),
                    }
                }
            }
        }
    }

    /// Asks whether the member is well; gives why the streams do not run on, if so.
    async fn check(&self, way: &Way, health: &mut Health, streams: &Streams) -> Option<Pause> {
        tokio::select! {
            () = is_to_end(&self.cancel, &self.left) => Some(Pause::Cancelled),
            verdict = Box::pin(health.check(&way.member, streams.one())) => {
                (verdict == Verdict::Lost).then_some(Pause::Unhealthy)
            }
        }
    }

    /// Tells of a member that does not say what it serves.
    fn discovers<T>(
        &self,
        member: &Member,
        answer: &Result<T, MemberError>,
        rediscovery: &mut Rediscovery,
    ) {
        if let Err(error) = answer
            && rediscovery.failed(&reach::undiscovered(error, member, &self.name), error)
        {
            warn!(cluster = %self.name, error = %error, "discovery failed, retrying");
        }
        let trouble = rediscovery.lasting_trouble();
        self.board.update(|facts| facts.undiscovered = trouble);
    }

    fn say_connected(
        &self,
        way: &Way,
        version: &Result<String, MemberError>,
        identity: IdentitySource,
    ) {
        let version = version.as_deref().unwrap_or_default();
        match &way.around {
            None => info!(cluster = %self.name, version, "connected"),
            Some(why) => {
                info!(cluster = %self.name, version, reason = why, "connected by the control plane");
            }
        }
        self.board.update(|facts| {
            facts.apiserver = way.member.server().to_string();
            facts.around.clone_from(&way.around);
            facts.identity = Some(identity);
            facts.running = Running::Yes;
            facts.undiscovered = None;
        });
    }

    /// Compares what is stored with the member that is connected, for as long as that is held.
    fn audit(&self, connected: &Arc<Connected>) -> AbortOnDropHandle<()> {
        let cluster = AuditedCluster {
            shared: Arc::clone(&self.shared),
            name: self.name.clone(),
            id: self.cluster,
            board: Arc::clone(&self.board),
            metrics: self.shared.metrics.of(&self.name),
            connected: Arc::clone(connected),
            audits: Arc::clone(&self.audits),
        };
        let auditor = Auditor {
            cluster: Arc::new(cluster),
            asked: self.asked.clone(),
        };
        AbortOnDropHandle::new(tokio::spawn(auditor.run()))
    }

    /// Starts and stops streams as the plan says; gives what that was of what is asked for.
    async fn apply(&self, resources: &Scope, served: Served<'_>, streams: &mut Streams) -> Found {
        let known = match streams.known().await {
            Ok(known) => known,
            // Whoever does not know what is stored cannot know what has to stay.
            Err(error) => {
                if let Some(words) = self.shared.store_fails(self.name.as_str(), &error) {
                    warn!(cluster = %self.name, error = words, "the stored streams cannot be read, retrying; others that fail alike are not told of");
                }
                return Found::Unclear;
            }
        };
        let as_stored = plan::as_stored(served.discovery, &known);
        let served = Served {
            discovery: &as_stored.discovery,
            ..served
        };
        let draft = plan::negotiate(resources, served, &known, self.new_types.most());
        let begin = self.new_types.let_in(&draft.wants());
        let plan = plan::Plan {
            conversions: as_stored.conversions,
            ..draft.plan(&begin)
        };
        let rest = streams.apply(&plan).await;
        let found = Found::by(&plan, rest);
        self.board.update(|facts| {
            // Whoever asks for something else says so in the meantime.
            let is_wanted = self.wanted.has_changed().is_ok_and(|changed| !changed);
            facts.planned = is_wanted.then_some(plan.wait);
        });
        streams.miss(plan.missing, resources);
        found
    }
}

/// Waits until the session is told to end, or has nothing left to write to.
async fn is_to_end(cancel: &CancellationToken, left: &CancellationToken) {
    tokio::select! {
        () = cancel.cancelled() => {}
        () = left.cancelled() => {}
    }
}

/// Waits for another wish. Without anybody to make one it waits for ever; the session is cancelled then.
async fn changed(wanted: &mut watch::Receiver<Wanted>) {
    if wanted.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
