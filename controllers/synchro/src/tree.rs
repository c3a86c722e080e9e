//! The task tree of one PediaCluster: finalizer, credentials, validation, session, status, and its end.
//!
//! Nothing here is shared with another cluster but the store and the limits in [`Shared`], so a bad cluster delays nobody.

mod direct;
mod edited;
mod entry;
pub(crate) mod finalizer;
mod idle;
mod labels;
mod made;
pub(crate) mod reference;
mod standing;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_control_plane::{Objects, Recorder, Trouble, TroubleKind};
use armadex_crds::{PediaCluster, RenderedConnection};
use armadex_member::{ConfigError, ControlPlane, Ground};
use armadex_model::ClusterName;
use armadex_storage::{ClusterId, StoreError};
use kube::{Client, Resource};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{error, info, warn};

use crate::config::Shared;
use crate::credentials::lifecycles::Lifecycles;
use crate::credentials::secrets::{SecretWatches, Secrets};
use crate::lock::lock;
use crate::named::Followed;
use crate::session::Wanted;
use crate::told::board::Running;
use crate::told::metrics::ClusterMetrics;
use crate::told::{keeper, outages};
use crate::tree::entry::{Entrant, Entry};
use crate::tree::idle::Idle;
use crate::tree::labels::Labels;
use crate::tree::made::{Made, Ready};
use crate::tree::reference::{References, Referred};
use crate::tree::standing::Standing;

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// As a condition tells it.
const BROKE_OFF: &str = "the synchro of this cluster broke off, it begins anew";
/// The same of one whose cluster the store takes nothing of.
const LOST: &str = "the cluster has left the store or was taken over, it joins anew if it is still for this synchro";
/// About two minutes.
const VANISHING_TRIES: usize = 10;

/// The PediaCluster as it is now, and whether this synchro still looks after it.
#[derive(Clone)]
pub(crate) struct Order {
    /// The object without its status, which is the larger part of it: whoever writes statuses has one of his own.
    pub(crate) object: Arc<PediaCluster>,
    /// All of it, until it is taken to him.
    pub(crate) whole: Arc<Mutex<Option<Arc<PediaCluster>>>>,
    /// How the tree is to end, if it is.
    pub(crate) ending: Option<Ending>,
}

/// How a tree ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The process ends; everything stays.
    Shutdown,
    /// Another synchro is to look after the cluster.
    Released,
    /// Another synchro does so already.
    TakenOver,
    /// The object went without waiting for its finalizer.
    Vanished,
    /// An object of the same name and another uid took its place.
    Replaced,
}

impl Order {
    /// To look after the object as it is.
    pub(crate) fn new(mut object: PediaCluster) -> Self {
        let status = object.status.take();
        let without_status = Arc::new(object.clone());
        object.status = status;
        Self {
            object: without_status,
            whole: Arc::new(Mutex::new(Some(Arc::new(object)))),
            ending: None,
        }
    }
}

/// One PediaCluster.
#[derive(Clone)]
pub(crate) struct Tree {
    pub(crate) shared: Arc<Shared>,
    pub(crate) client: Client,
    pub(crate) secrets: Arc<SecretWatches>,
    pub(crate) lifecycles: Arc<Lifecycles>,
    pub(crate) references: Arc<References>,
    pub(crate) recorder: Recorder,
    pub(crate) name: ClusterName,
    pub(crate) uid: String,
    pub(crate) orders: watch::Receiver<Order>,
    /// Its metrics are there for as long as it is.
    pub(crate) _counted: Arc<ClusterMetrics>,
}

/// What runs beside the tree's own loop.
struct Branches {
    standing: Arc<Standing>,
    secrets: Secrets,
    /// What a policy rendered under this name.
    policy: Followed<Option<RenderedConnection>>,
    /// The list of resources that the object refers to.
    referred: Referred,
    session: Option<Live>,
    /// The way to members by the control plane.
    control_plane: Option<ControlPlane>,
    /// What was last made of the object. It goes with a session: the next one has connections of its own.
    made: Made<Result<Ready, ConfigError>>,
    /// Since when no connection can be made of the object.
    refused: Option<Instant>,
    /// What was done while no session ran.
    idle: Option<Idle>,
    /// What the store knows of the object's labels.
    labels: Labels,
}

struct Live {
    begun: Instant,
    /// Why it may send its credentials where it does.
    ground: Ground,
    wanted: watch::Sender<Wanted>,
    asked: watch::Sender<String>,
    released: CancellationToken,
    cancel: CancellationToken,
    left: CancellationToken,
    task: AbortOnDropHandle<()>,
}

/// Why a cluster has not left.
#[derive(Debug, thiserror::Error)]
enum Stays {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Refused(#[from] Trouble),
}

/// How a session ends without being told to.
enum Broke {
    /// Its cluster has left the store, or is another synchro's.
    Lost,
    /// Something is wrong.
    Failed(String),
}

/// A tree that is not over: what fails for its cluster then fails for nobody any more, and keeps no line of the log from being written.
struct Ended {
    shared: Arc<Shared>,
    name: ClusterName,
}

/// What the tree's loop comes to.
enum Turn {
    /// Wait for the next change.
    Wait,
    /// Something failed; try again.
    Retry,
    /// Look again at this time, or with the next change.
    Settle(Instant),
    /// The object is being deleted.
    Delete,
    /// End.
    End(Ending),
}

impl Tree {
    /// Runs until the cluster is no longer looked after, also when that breaks off: nobody else would begin it anew, and the status would
    /// tell for ever how it was.
    pub(crate) async fn run_to_its_end(mut self) {
        let _ending = Ended {
            shared: Arc::clone(&self.shared),
            name: self.name.clone(),
        };
        let standing = Arc::new(self.standing());
        let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
        loop {
            let begun = Instant::now();
            let run = tokio::spawn(self.clone().run(Arc::clone(&standing)));
            let Err(error) = AbortOnDropHandle::new(run).await else {
                return;
            };
            error!(cluster = %self.name, error = %error, "the tree of a cluster broke off, it begins anew");
            // Who breaks off at its end is not begun without a rest, either.
            let is_ended = self.orders.borrow().ending.is_some();
            let rest = async {
                standing.broke_off(BROKE_OFF).await;
                tokio::time::sleep(backoff.after(begun.elapsed(), rand::random())).await;
            };
            tokio::select! {
                _ = self.is_ended(), if !is_ended => {}
                () = rest => {}
            }
        }
    }

    /// Runs until the cluster is no longer looked after.
    async fn run(mut self, standing: Arc<Standing>) {
        let mut branches = self.branches(standing);
        let mut entry = Entry::Unknown;
        let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
        let mut sessions = Backoff::new(FIRST_RETRY, LAST_RETRY);
        let ending = loop {
            let turn = Box::pin(self.turn(&mut branches, &mut entry)).await;
            let again = match turn {
                Turn::End(ending) => break Some(ending),
                Turn::Delete => break None,
                Turn::Wait => {
                    backoff.reset();
                    None
                }
                Turn::Settle(time) => {
                    backoff.reset();
                    Some(time)
                }
                Turn::Retry => Some(Instant::now() + backoff.next(rand::random())),
            };
            tokio::select! {
                changed = self.orders.changed() => if changed.is_err() { break Some(Ending::Shutdown) },
                () = branches.secrets.changed() => {}
                () = branches.policy.changed() => {}
                () = branches.referred.changed() => {}
                broke = broke(&mut branches.session) => {
                    let lived = branches.session.as_ref().map(|live| live.begun.elapsed());
                    entry = self.bury(&mut branches, broke).await;
                    let rest = sessions.after(lived.unwrap_or_default(), rand::random());
                    self.rest(rest, &mut branches, &mut entry).await;
                }
                () = until(again) => {}
            }
        };
        if ending == Some(Ending::Released) {
            branches.release_session();
        }
        branches.end_session().await;
        match ending {
            None => Box::pin(self.off_board(branches)).await,
            Some(ending) => Box::pin(self.end(branches, ending)).await,
        }
    }

    fn standing(&self) -> Standing {
        let Order { object, whole, .. } = self.orders.borrow().clone();
        let object = lock(&whole).clone().unwrap_or(object);
        let words = (&self.client, &self.recorder);
        Standing::new(&self.shared, &self.name, words, &object)
    }

    fn branches(&self, standing: Arc<Standing>) -> Branches {
        Branches {
            standing,
            secrets: Secrets::new(Arc::clone(&self.secrets)),
            policy: self.lifecycles.follow(self.name.as_str()),
            referred: Referred::new(Arc::clone(&self.references)),
            session: None,
            control_plane: self.shared.config.control_plane.clone(),
            made: Made::default(),
            refused: None,
            idle: None,
            labels: Labels::default(),
        }
    }

    /// Brings everything in line with the object as it is now.
    async fn turn(&mut self, branches: &mut Branches, entry: &mut Entry) -> Turn {
        let Order {
            object,
            whole,
            ending,
        } = self.orders.borrow_and_update().clone();
        if let Some(ending) = ending {
            return Turn::End(ending);
        }
        // Where others look after it they let it go, and its rows are hidden when it is gone.
        let observes = self.shared.config.observes;
        if object.metadata.deletion_timestamp.is_some() && !observes {
            return Turn::Delete;
        }
        let whole = lock(&whole).take();
        if let Some(whole) = whole {
            branches.standing.board.read(&whole);
        }
        if !finalizer::is_set(&object) && !observes {
            return self.add_finalizer(&object).await;
        }
        if self.shared.refusals.finalizers.ends(self.name.as_str()) {
            info!("finalizers are set again");
        }
        let entrant = self.entrant();
        let Some(cluster) = self.enter(branches, entry, &entrant).await else {
            return Turn::Retry;
        };
        // Before a session begins: one that goes on as a former cluster takes them along. One that runs is directed first.
        let mut is_labelled = true;
        if branches.session.is_none() {
            is_labelled = branches.label(entry, &entrant, (cluster, &object)).await;
        }
        let directed = self.direct(branches, &object, cluster);
        if let Some(words) = directed.ends {
            warn!(cluster = %self.name, reason = words, "the session ends");
            *entry = branches.dismiss_session().await;
        }
        if directed.refused && branches.session.is_none() {
            let told = idle::tell(&mut branches.idle, entry, &entrant, directed.asked).await;
            if told && is_labelled {
                branches.wait();
            }
            return branches.settle(told && is_labelled);
        }
        is_labelled = is_labelled && branches.label(entry, &entrant, (cluster, &object)).await;
        match directed.again {
            Some(again) => Turn::Settle(again),
            None => branches.settle(is_labelled),
        }
    }

    /// The number of the cluster in the store. Without one that is told.
    async fn enter(
        &self,
        branches: &mut Branches,
        entry: &mut Entry,
        entrant: &Entrant<'_>,
    ) -> Option<ClusterId> {
        let board = &branches.standing.board;
        let before = *entry;
        match entry.number(entrant).await {
            Ok(cluster) => {
                self.shared.store_outages.ends(self.name.as_str());
                // Since it has been known a session may have gone on as a former cluster.
                if *entry != before {
                    board.entered(cluster);
                    // Somebody else may have told it others meanwhile.
                    branches.labels = Labels::default();
                }
                Some(cluster)
            }
            Err(error) => {
                if let Some(words) = error.news(entrant) {
                    warn!(cluster = %self.name, error = words, "the cluster was not entered in the store, retrying; others that fail alike are not told of");
                }
                let running = Running::Failed(error.in_a_status());
                board.update(|facts| facts.running = running);
                None
            }
        }
    }

    /// The object with its finalizer is the next order.
    async fn add_finalizer(&self, object: &PediaCluster) -> Turn {
        match finalizer::add(&Objects::all(self.client.clone()), object).await {
            Ok(()) => Turn::Wait,
            Err(trouble) if trouble.kind == TroubleKind::Conflict => Turn::Wait,
            Err(trouble) => {
                let class = outages::class_of(&trouble);
                let refused = &self.shared.refusals.finalizers;
                if refused.begins(self.name.as_str(), class) {
                    warn!(cluster = %self.name, error = %trouble, "the finalizer was not set, retrying; others that are refused alike are not told of");
                }
                Turn::Retry
            }
        }
    }

    /// Says that a session ended by itself, which it did not, and gives what that means for the entry in the store.
    async fn bury(&self, branches: &mut Branches, broke: Broke) -> Entry {
        branches.session = None;
        branches.made = Made::default();
        match broke {
            Broke::Lost => {
                if self.shared.store_outages.begins(self.name.as_str(), LOST) {
                    warn!(cluster = %self.name, "{LOST}; others that are lost alike are not told of");
                }
                branches.standing.board.broke_off(LOST);
                Entry::lost()
            }
            Broke::Failed(words) => {
                error!(cluster = %self.name, error = words, "the session of a cluster broke off, it begins anew");
                branches.standing.broke_off(BROKE_OFF).await;
                // The store may have another number for the cluster by now.
                Entry::Unknown
            }
        }
    }

    /// The object is being deleted: its rows are hidden, then it may go.
    async fn off_board(mut self, branches: Branches) {
        let standing = Arc::clone(&branches.standing);
        drop(branches);
        // A store that is away may keep it for long, and nothing is synced meanwhile.
        let board = &standing.board;
        board.update(|facts| facts.running = Running::Shutdown);
        let api: Objects<PediaCluster> = Objects::all(self.client.clone());
        let reference = self.orders.borrow().object.object_ref(&());
        let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
        while let Err(stays) = self.leave_and_release(&api, &standing).await {
            self.stays(&stays);
            let wait = backoff.next(rand::random());
            tokio::select! {
                ending = self.is_ended() => {
                    standing.silence();
                    return self.leave_anyway(ending).await;
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
        info!(cluster = %self.name, "left");
        let note = match self.shared.config.purge_after.as_secs() {
            0 => "the cluster is hidden from search, its rows are being purged".to_owned(),
            after => {
                format!("the cluster is hidden from search, its rows are purged after {after} s")
            }
        };
        let event = keeper::event(false, "ClusterLeft", &note);
        keeper::publish(&self.shared, &self.recorder, &reference, &event).await;
    }

    /// The tree ends before its cluster has left. Somebody may have taken the finalizer away.
    async fn leave_anyway(&self, ending: Ending) {
        match ending {
            Ending::Vanished => self.vanish().await,
            Ending::Shutdown => {}
            Ending::Released | Ending::TakenOver | Ending::Replaced => {
                self.shared.strays.notify_one();
            }
        }
    }

    /// Hides the rows of a cluster whose object went by itself. A store that does not answer for so long is told by whoever looks for strays.
    async fn vanish(&self) {
        let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
        for _ in 0..VANISHING_TRIES {
            match self.leave().await {
                Ok(()) => return info!(cluster = %self.name, "vanished"),
                // Whoever has it finds out that it is gone.
                Err(error) if self.shared.has_lost(&error) => return,
                Err(error) => {
                    if let Some(words) = self.shared.store_fails(self.name.as_str(), &error) {
                        warn!(cluster = %self.name, error = words, "the cluster vanished and was not hidden, retrying; others that fail alike are not told of");
                    }
                }
            }
            tokio::time::sleep(backoff.next(rand::random())).await;
        }
        self.shared.strays.notify_one();
    }

    /// Nothing more is written to the status of an object that may go.
    async fn leave_and_release(
        &self,
        api: &Objects<PediaCluster>,
        standing: &Standing,
    ) -> Result<(), Stays> {
        self.leave().await?;
        standing.silence();
        let name = self.name.as_str();
        finalizer::remove(api, name, &self.uid).await?;
        if self.shared.refusals.departures.ends(name) {
            info!("clusters leave again");
        }
        Ok(())
    }

    async fn leave(&self) -> Result<(), StoreError> {
        self.shared.sink.leave(&self.name, &self.uid).await?;
        self.shared.store_works(self.name.as_str());
        self.shared.purge.notify_one();
        Ok(())
    }

    /// Of a thousand clusters that leave and cannot, one says why.
    fn stays(&self, stays: &Stays) {
        let name = self.name.as_str();
        let news = match stays {
            // Who has it lets it leave, and this tree ends.
            Stays::Store(error) if self.shared.has_lost(error) => None,
            Stays::Store(error) => self.shared.store_fails(name, error),
            Stays::Refused(trouble) => {
                let departures = &self.shared.refusals.departures;
                let is_news = departures.begins(name, outages::class_of(trouble));
                is_news.then(|| trouble.to_string())
            }
        };
        if let Some(words) = news {
            warn!(cluster = %self.name, error = words, "the cluster has not left yet, retrying; others that fail alike are not told of");
        }
    }

    /// For so long, or until there is an order that does not wait: to end, to let the cluster go, or to go on otherwise. What is written to the
    /// status is none, which we do ourselves. Nor are other labels: they are told, and the next session rests on.
    async fn rest(&mut self, time: Duration, branches: &mut Branches, entry: &mut Entry) {
        let before = Arc::clone(&self.orders.borrow().object);
        let is_urgent = |Order { object, ending, .. }: &Order| {
            let (metadata, before) = (&object.metadata, &before.metadata);
            ending.is_some()
                || metadata.deletion_timestamp.is_some()
                || metadata.generation != before.generation
        };
        let mut known = Arc::clone(&before);
        let mut rested = std::pin::pin!(tokio::time::sleep(time));
        loop {
            let is_heard = |order: &Order| {
                is_urgent(order) || order.object.metadata.labels != known.metadata.labels
            };
            known = tokio::select! {
                heard = self.orders.wait_for(is_heard) => match heard {
                    Ok(order) if !is_urgent(&order) => Arc::clone(&order.object),
                    _ => return,
                },
                () = &mut rested => return,
            };
            self.relabel(&known, branches, entry).await;
        }
    }

    /// Tells the store of the labels of a cluster that has no session. What it does not take is told again when that rest is over.
    async fn relabel(&self, object: &PediaCluster, branches: &mut Branches, entry: &mut Entry) {
        let entrant = self.entrant();
        let told = async {
            match self.enter(branches, entry, &entrant).await {
                Some(cluster) => branches.label(entry, &entrant, (cluster, object)).await,
                None => false,
            }
        };
        labels::in_time(told).await;
    }

    fn entrant(&self) -> Entrant<'_> {
        Entrant {
            shared: &self.shared,
            client: &self.client,
            name: &self.name,
            uid: &self.uid,
        }
    }

    /// Until there is an order to end.
    async fn is_ended(&mut self) -> Ending {
        let order = self.orders.wait_for(|order| order.ending.is_some()).await;
        // A channel that is closed means the same.
        let ending = order.ok().and_then(|order| order.ending);
        ending.unwrap_or(Ending::Shutdown)
    }

    async fn end(self, branches: Branches, ending: Ending) {
        match ending {
            Ending::Shutdown | Ending::Released => {
                let standing = &branches.standing;
                standing.board.update(|facts| {
                    facts.running = Running::Shutdown;
                    if ending == Ending::Released {
                        facts.sharding_name = None;
                        facts.synchro = None;
                    }
                });
                standing.last_word().await;
            }
            // What its status says is the other's to say.
            Ending::TakenOver => {}
            Ending::Vanished => self.vanish().await,
            // The new cluster's join hides this one; if it joins elsewhere, this one is a stray.
            Ending::Replaced => {}
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let name = self.name.as_str();
        self.shared.store_outages.ends(name);
        self.shared.refusals.forget(name);
    }
}

/// Until this time; without one for ever.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Until the session ends without being told to, and how it did.
async fn broke(session: &mut Option<Live>) -> Broke {
    let Some(live) = session else {
        return std::future::pending().await;
    };
    match (&mut live.task).await {
        Ok(()) if live.left.is_cancelled() => Broke::Lost,
        Ok(()) => Broke::Failed("it ended by itself".to_owned()),
        Err(error) => Broke::Failed(error.to_string()),
    }
}

impl Branches {
    /// Ends a session that may not go on, and gives what is known of the entry in the store then: the session may have gone on as a
    /// cluster that had left before.
    async fn dismiss_session(&mut self) -> Entry {
        let left = self.session.as_ref().map(|live| live.left.clone());
        self.end_session().await;
        let board = &self.standing.board;
        board.update(|facts| facts.running = Running::Waiting);
        match left {
            Some(left) if left.is_cancelled() => Entry::lost(),
            _ => Entry::Unknown,
        }
    }

    /// Tells the store the labels of the object, unless it knows; whether it does. A session that goes on as a former cluster says what number it has from then on.
    async fn label(
        &mut self,
        entry: &mut Entry,
        entrant: &Entrant<'_>,
        (cluster, object): (ClusterId, &PediaCluster),
    ) -> bool {
        let cluster = self.standing.board.entry().unwrap_or(cluster);
        let told = self.labels.tell((cluster, entry), entrant, object);
        match self.session {
            Some(_) => labels::in_time(told).await,
            None => told.await,
        }
    }

    /// What comes next where nothing else is to be done, and the store has been told all of it or not.
    fn settle(&self, is_told: bool) -> Turn {
        match self.labels.again() {
            _ if !is_told => Turn::Retry,
            Some(again) => Turn::Settle(again),
            None => Turn::Wait,
        }
    }

    /// Nothing has failed any more and nothing is tried: the cluster waits, as its other conditions say for what.
    fn wait(&self) {
        self.standing.board.update(|facts| {
            if let Running::Failed(_) = facts.running {
                facts.running = Running::Waiting;
            }
        });
    }

    /// Its last word to the store is that nobody looks after the cluster.
    fn release_session(&self) {
        if let Some(live) = &self.session {
            live.released.cancel();
        }
    }

    async fn end_session(&mut self) {
        let Some(Live { cancel, task, .. }) = self.session.take() else {
            return;
        };
        self.made = Made::default();
        cancel.cancel();
        if let Err(error) = task.await {
            warn!(error = %error, "a session did not end well");
        }
    }
}
