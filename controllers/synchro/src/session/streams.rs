//! The streams of one cluster: started and stopped as the plan says, each a task of its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use armadex_crds::conditions::ResourceSyncReason;
use armadex_member::{Etags, Identity, Member};
use armadex_model::{ClusterName, GroupVersionResource, ResourceType};
use armadex_storage::{ClusterId, Phase, StoreError, StreamState};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::config::Shared;
use crate::incoming::convert::Converted;
use crate::incoming::involved::Involved;
use crate::incoming::memory::ClusterMemory;
use crate::session::discoveries::ByWay;
use crate::session::doubts::Doubts;
use crate::session::in_line::InLine;
use crate::session::plan::{Known, Missing, Plan, Scope};
use crate::session::rediscovery::{Found, Rediscovery, Rest};
use crate::session::task::Session;
use crate::session::unwanted;
use crate::session::ways::Way;
use crate::stream::objects::ClusterObjects;
use crate::stream::turns::ClusterTurns;
use crate::stream::{self, Connected, StreamContext};
use crate::told::board::Board;
use crate::told::metrics::ClusterMetrics;
use crate::told::outages::{self, Outages};
use crate::told::report::Report;

/// The streams of one cluster.
pub(super) struct Streams {
    shared: Arc<Shared>,
    metrics: Arc<ClusterMetrics>,
    board: Arc<Board>,
    name: ClusterName,
    cluster: ClusterId,
    left: CancellationToken,
    /// Turns to read lists, whichever connection they are read over.
    lists: Arc<ClusterTurns>,
    /// What fails now, over whichever connection: an outage that ends one comes back on the next.
    outages: Arc<Outages>,
    /// The memory that they may hold, over all connections as well.
    memory: Arc<ClusterMemory>,
    /// How many objects they have stored.
    objects: Arc<ClusterObjects>,
    /// Turns to ask what the member serves, likewise.
    discovery: ByWay,
    connected: Option<Arc<Connected>>,
    /// Who the member was that was connected last.
    member: Option<Identity>,
    running: BTreeMap<Arc<ResourceType>, Running>,
    /// What the store had at a look, until the plan that was made of it is carried out.
    stored: Vec<StreamState>,
    /// What leaves if the member's next whole answer has no place for it either.
    doubts: Doubts,
    /// What a plan found to be missing, and what was asked for then.
    missing: (Vec<Missing>, Scope),
    /// What runs is what a plan says.
    known: bool,
    /// A stream ended that the store did not have at the last look. Its opening may be on its way there.
    unseen: bool,
}

struct Running {
    report: Arc<Report>,
    /// The member serves an older version than the stored one.
    converted: Option<Arc<Converted>>,
    /// It is of Events, and those of other kinds are left out.
    involved: Option<Arc<Involved>>,
    cancel: CancellationToken,
    /// The store had it at the last look.
    stored: bool,
    task: AbortOnDropHandle<()>,
}

impl Streams {
    pub(super) fn new(session: &Session) -> Self {
        let memory = session.shared.memory_of_cluster();
        session.board.update(|facts| facts.planned = None);
        Self {
            shared: Arc::clone(&session.shared),
            metrics: session.shared.metrics.of(&session.name),
            board: Arc::clone(&session.board),
            name: session.name.clone(),
            cluster: session.cluster,
            left: session.left.clone(),
            lists: Arc::new(ClusterTurns::new(Arc::clone(&session.shared.lists))),
            outages: Arc::default(),
            objects: Arc::new(ClusterObjects::new(session.shared.config.max_objects)),
            discovery: by_way(session, &memory),
            memory,
            connected: None,
            member: None,
            running: BTreeMap::new(),
            stored: Vec::new(),
            doubts: Doubts::default(),
            missing: (session.board.facts().missing, Scope::default()),
            known: false,
            unseen: false,
        }
    }

    /// How the member may be asked what it serves.
    pub(super) fn discovery(&self) -> &ByWay {
        &self.discovery
    }

    /// Asks the member again and again what it serves, for whoever asks for this.
    pub(super) fn rediscovery(
        &self,
        way: &Way,
        asked: &Scope,
        (known, found): (Etags, Found),
    ) -> Rediscovery {
        let turns = match way.around {
            Some(_) => &self.discovery.around,
            None => &self.discovery.straight,
        };
        let (member, turns) = (Arc::clone(&way.member), Arc::clone(turns));
        let mut rediscovery = Rediscovery::new(member, turns, known, found);
        rediscovery.tells_of_customs(asked.asks_for_customs());
        rediscovery
    }

    /// The cluster and the member that streams are started with from now on.
    pub(super) fn connect(
        &mut self,
        cluster: ClusterId,
        member: Arc<Member>,
        identity: Identity,
    ) -> Arc<Connected> {
        let lists = Arc::clone(&self.lists);
        let outages = Arc::clone(&self.outages);
        let memory = Arc::clone(&self.memory);
        // Of the same member what was listed stays so while it is away.
        if self.member.as_ref() != Some(&identity) {
            self.board.is_in_doubt();
        }
        self.member = Some(identity.clone());
        let connected = Connected::new(member, identity, lists, outages, memory);
        let connected = Arc::new(connected);
        self.cluster = cluster;
        self.known = false;
        // What an API server that has just started did not know yet is no reason to believe the next one that starts.
        self.doubts = Doubts::default();
        self.connected = Some(Arc::clone(&connected));
        connected
    }

    /// What is stored, by whichever process, and what runs.
    pub(super) async fn known(&mut self) -> Result<Known, StoreError> {
        let begun = Instant::now();
        let marks = self.running.values();
        let marks = Vec::from_iter(marks.map(|running| running.report.mark()));
        self.stored = self.shared.sink.streams(self.cluster).await?;
        self.objects.are(&self.stored, begun);
        let stored = self.stored.iter().map(|state| &state.resource);
        let states = self.stored.iter();
        let objects: BTreeMap<_, _> = states
            .map(|state| (&state.resource.gvr, state.objects))
            .collect();
        for ((runs, running), mark) in self.running.iter_mut().zip(marks) {
            let objects = objects.get(&runs.gvr);
            running.stored = objects.is_some();
            if let Some(objects) = objects {
                running.report.counted(*objects, mark);
            }
        }
        let unstored = self.running.iter().filter(|(_, running)| !running.stored);
        let unstored = unstored.map(|(runs, _)| &**runs);
        Ok(Known {
            types: stored.clone().chain(unstored).cloned().collect(),
            doubted: self.doubts.ripe(Instant::now()),
            listed: self.listed().into_iter().cloned().collect(),
            unconverted: self.unconverted().cloned().collect(),
        })
    }

    /// Types that the member serves as they are stored.
    fn unconverted(&self) -> impl Iterator<Item = &GroupVersionResource> {
        let running = self.running.iter();
        let unconverted = running.filter(|(_, running)| running.converted.is_none());
        unconverted.map(|(resource, _)| &resource.gvr)
    }

    /// Whether all that can run has been begun since the member was connected.
    pub(super) fn are_known(&self) -> bool {
        self.known
    }

    /// A type that is synced, one that goes well if there is such a one: one that waits for its first list may be forbidden.
    pub(super) fn one(&self) -> Option<&GroupVersionResource> {
        let types = self.running.iter();
        let goes = types.min_by_key(|(_, Running { report, .. })| {
            (report.fails(), report.shown().initial_list)
        });
        goes.map(|(resource, running)| match &running.converted {
            Some(converted) => converted.served(),
            None => &resource.gvr,
        })
    }

    /// Whether one of them ended without being told to.
    pub(super) fn any_ended(&self) -> bool {
        self.running
            .values()
            .any(|running| running.task.is_finished())
    }

    /// Stops what is no longer wanted and hides it, starts what is planned from what is known; what of it is left to do. Another version of a resource that has
    /// been listed is followed on until the planned one has been too: that may take long, or fail.
    pub(super) async fn apply(&mut self, plan: &Plan) -> Rest {
        let was_unseen = std::mem::take(&mut self.unseen);
        let have_to_do = plan.have_to_do(&self.listed(), &with_rows(&self.stored));
        let has_to_do = |replaced: &&ResourceType| have_to_do.contains(&replaced.gvr);
        let followed = Vec::from_iter(plan.replaced.iter().filter(has_to_do));
        let runs_on = |resource: &ResourceType, running: &Running| {
            let is_asked_for = plan.runs_on(resource) || followed.contains(&resource);
            let converted = running.converted.as_deref().map(Converted::conversion);
            !running.task.is_finished()
                && is_asked_for
                && plan.reads_on(&resource.gvr, converted)
                && plan.takes_on(&resource.gvr, running.involved.as_ref())
        };
        self.end_unless(runs_on).await;
        for resource in plan.types.iter().chain(followed) {
            if !self.running.contains_key(resource) {
                let resource = self.shared.types.of(resource);
                let conversion = plan.conversions.get(&resource.gvr);
                let converted = conversion.map(|by| Arc::new(Converted::new(*by, &resource)));
                let involved = plan.involved(&resource.gvr).cloned();
                let running = self.start(&resource, converted, involved);
                self.running
                    .extend(running.map(|running| (resource, running)));
            }
        }
        self.show();
        let rest = self.close_unwanted(plan, &have_to_do).await;
        self.stored = Vec::new();
        let doubted = &plan.kept.doubted | &plan.kept.gone;
        self.doubts.are(&doubted, Instant::now());
        self.objects.have_versions(&plan.apart);
        self.metrics.waiting_types.set(plan.wait as u64);
        self.board.all_have_begun();
        self.known = true;
        match was_unseen || self.unseen {
            true => Rest::Unclear,
            false => rest,
        }
    }

    /// What had been listed at the last look.
    fn listed(&self) -> BTreeSet<&GroupVersionResource> {
        let is_live = |stored: &&StreamState| {
            let position = stored.position.as_ref();
            position.is_some_and(|position| position.phase == Phase::Live)
        };
        let listed = self.stored.iter().filter(is_live);
        listed.map(|stored| &stored.resource.gvr).collect()
    }

    /// The same when it is asked for something else. How much of that waits is not known before the member answers.
    pub(super) async fn ask_for(&mut self, asked: &Scope) {
        self.metrics.waiting_types.set(0);
        self.board.update(|facts| facts.planned = None);
        self.withdraw(asked).await;
    }

    /// This is missing of what is asked for.
    pub(super) fn miss(&mut self, missing: Vec<Missing>, asked: &Scope) {
        self.missing = (missing, asked.clone());
        self.show_missing(asked);
    }

    /// Of what was found to be missing all that is asked for now: who takes an edit back is told of all of it again.
    fn show_missing(&self, asked: &Scope) {
        let (missing, of) = &self.missing;
        let is_wanted = |missing: &&Missing| of == asked || missing.is_wanted(asked);
        let missing = missing.iter().filter(is_wanted).cloned().collect();
        self.board.update(|facts| facts.missing = missing);
    }

    /// Stops and hides what nobody asks for any more, whether the member answers or not; whether all of that is hidden.
    pub(super) async fn withdraw(&mut self, asked: &Scope) -> bool {
        self.end_unless(|resource, _| asked.asks_for(resource))
            .await;
        self.count();
        // Streams that are paused are shown as well.
        let mut shown = self.board.streams();
        shown.retain(|(resource, _)| asked.asks_for(resource));
        self.board.show_streams(shown);
        self.show_missing(asked);
        let hidden = unwanted::hide_all(&self.shared, (&self.name, self.cluster), asked).await;
        self.is_hidden(hidden)
    }

    /// Stops all of them; what they held is written. Their states stay in the status.
    pub(super) async fn stop(&mut self, pause: bool) {
        self.unseen |= !self.running.values().all(|running| running.stored);
        let reason = pause.then_some(ResourceSyncReason::Pause);
        let running = std::mem::take(&mut self.running);
        for stream in running.values() {
            stream.cancel.cancel();
        }
        for (_, stream) in running {
            stream.stop(reason, "").await;
        }
        self.count();
        self.metrics.waiting_types.set(0);
        self.connected = None;
    }

    /// Stops those that do not go on.
    async fn end_unless(&mut self, goes_on: impl Fn(&ResourceType, &Running) -> bool) {
        let (keep, end): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|(resource, running)| goes_on(resource, running));
        self.running = keep;
        if !end.is_empty() {
            let resources = outages::named(end.keys().map(|resource| &resource.gvr));
            info!(cluster = %self.name, resources, "streams end");
        }
        for running in end.into_values() {
            self.unseen |= !running.stored;
            let words = "the resource synchro is moved";
            running
                .stop(Some(ResourceSyncReason::SynchroRemoved), words)
                .await;
        }
    }

    fn start(
        &self,
        resource: &Arc<ResourceType>,
        converted: Option<Arc<Converted>>,
        involved: Option<Arc<Involved>>,
    ) -> Option<Running> {
        let connected = self.connected.as_ref()?;
        let report = self.board.report(resource, converted.clone());
        let report = Arc::new(report.of_involved(involved.clone()));
        let cancel = CancellationToken::new();
        let context = StreamContext {
            shared: Arc::clone(&self.shared),
            connected: Arc::clone(connected),
            cluster: self.cluster,
            cluster_name: self.name.clone(),
            resource: Arc::clone(resource),
            converted: converted.clone(),
            involved: involved.clone(),
            report: Arc::clone(&report),
            objects: Arc::clone(&self.objects),
            metrics: Arc::clone(&self.metrics),
            cancel: cancel.clone(),
            left: self.left.clone(),
        };
        let mut stored = self.stored.iter();
        Some(Running {
            report,
            converted,
            involved,
            cancel,
            stored: stored.any(|stored| stored.resource.gvr == resource.gvr),
            task: AbortOnDropHandle::new(tokio::spawn(stream::run(context))),
        })
    }

    /// Tells operators how many run, and how many of these fail now.
    pub(super) fn count(&self) {
        let running = self.running.values();
        let failing = running.filter(|running| running.report.fails()).count();
        self.metrics.streams.set(self.running.len() as u64);
        self.metrics.failing_streams.set(failing as u64);
    }

    fn show(&self) {
        self.count();
        let shown = self
            .running
            .iter()
            .map(|(resource, running)| (Arc::clone(resource), Arc::clone(&running.report)));
        self.board.show_streams(shown.collect());
    }

    /// Includes what a former process stored; what of that is still shown.
    async fn close_unwanted(
        &self,
        plan: &Plan,
        have_to_do: &BTreeSet<GroupVersionResource>,
    ) -> Rest {
        let is_unwanted = |stored: &&StreamState| !plan.keeps(&stored.resource.gvr);
        let unwanted = self.stored.iter().filter(is_unwanted);
        let unwanted = unwanted.filter(|stored| !have_to_do.contains(&stored.resource.gvr));
        let of = (&self.name, self.cluster);
        let hidden = unwanted::hide(&self.shared, of, unwanted).await;
        match self.is_hidden(hidden) {
            false => Rest::Unclear,
            true if have_to_do.is_empty() => Rest::None,
            true => Rest::Versions,
        }
    }

    /// Whether all is. Where the cluster is another synchro's the session ends.
    fn is_hidden(&self, hidden: Result<bool, StoreError>) -> bool {
        hidden.unwrap_or_else(|taken_over| {
            self.shared.has_lost(&taken_over);
            self.left.cancel();
            false
        })
    }
}

impl Running {
    /// Ends the task; its last writes are waited for by whoever stops the whole process, not here.
    async fn stop(self, reason: Option<ResourceSyncReason>, words: &str) {
        let Self {
            report,
            cancel,
            task,
            ..
        } = self;
        cancel.cancel();
        if let Err(error) = task.await {
            warn!(error = %error, "a stream did not end well");
        }
        report.stopped(reason, words);
    }
}

/// How the member is asked what it serves on each way.
fn by_way(session: &Session, memory: &Arc<ClusterMemory>) -> ByWay {
    let shared = &session.shared;
    let line = InLine {
        metrics: shared.metrics.of(&session.name),
        board: Arc::clone(&session.board),
    };
    ByWay::among(&shared.discoveries, &session.name, memory, &line)
}

/// What has rows: what is hidden beside another version comes after all others, and what has most comes first.
fn with_rows(stored: &[StreamState]) -> Vec<&GroupVersionResource> {
    let mut with_rows = Vec::from_iter(stored.iter().filter(|stored| stored.objects > 0));
    with_rows.sort_by_key(|stored| (stored.is_beside, Reverse(stored.objects)));
    let types = with_rows.iter().map(|stored| &stored.resource.gvr);
    types.collect()
}

#[cfg(test)]
mod tests {
    use armadex_storage::TypeId;

    use super::*;
    use crate::testing::named;

    #[test]
    fn what_is_hidden_beside_another_comes_after_what_has_fewer_rows() {
        let stored = [
            ("v1", 0, false),
            ("v2", 9, true),
            ("v3", 1, false),
            ("v4", 2, false),
        ];
        let stored = stored.map(|(version, objects, is_beside)| StreamState {
            id: TypeId(1),
            resource: ResourceType {
                gvr: GroupVersionResource::new("example.com", version, "foos"),
                ..named("foos")
            },
            position: None,
            objects,
            is_beside,
        });
        let types = with_rows(&stored);
        let versions: Vec<_> = types.iter().map(|gvr| &*gvr.version).collect();
        assert_eq!(versions, ["v4", "v3", "v2"]);
    }
}
