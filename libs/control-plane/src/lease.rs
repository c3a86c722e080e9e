//! A Lease on the control plane: of the processes that want it one has it, for as long as it renews it.
//!
//! Clocks of different machines are not compared: a Lease has run out when it has not changed for its duration while it was looked at, or when its
//! holder is seen to be gone.
//!
//! Who cannot renew it goes on until it is seen to be somebody else's: members are synced while the control plane is away. What two processes could do
//! to each other meanwhile is kept right elsewhere: objects are changed in the version that was read and deleted by their uid, rows of the store have its epochs.

mod holder;
pub(crate) mod load;
pub(crate) mod replicas;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, WatchEvent};
use kube::{Client, ResourceExt};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::load::{LOAD, Load};
use crate::{Objects, Trouble, TroubleKind};

/// How long others wait for a process that does not renew: as Kubernetes' own, and Clusterpedia.
const DURATION: Duration = Duration::from_secs(15);
/// An answer that takes longer does not come.
const ANSWER: Duration = Duration::from_secs(5);
/// Between two tries, two looks at a Lease of somebody else that may not be watched, and two at the clock of one that is: about as long, or those who wait
/// would all come at once.
const RETRY: Duration = Duration::from_secs(2);
/// Between two renewals: one may go unanswered, and the next is still in time.
const RENEWAL: Duration = Duration::from_secs(3);
/// Watches in a row that are not answered, though the looks between them are: a proxy keeps them. Each would take [`ANSWER`] for nothing.
const UNANSWERED: u8 = 3;
/// By this annotation whoever holds a Lease says that others may work beside him, those of Leases like it: it has the holder's name, so that it says nothing of another one.
const SHARES: &str = "armadex.dev/shares";
/// A process that ends does not wait longer to give it back.
const RELEASE: Duration = Duration::from_secs(2);

/// Which Lease, and for whom.
#[derive(Clone, Debug)]
pub struct LeaseTerms {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who holds it, different for each process.
    pub holder: String,
    /// How the process stands to it, for those who ask how it is.
    pub standing: watch::Sender<LeaseStanding>,
}

/// How a process stands to its Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LeaseStanding {
    /// It does not have it: another process does, or it has not asked yet.
    #[default]
    Waits,
    /// It has it.
    Holds,
    /// It cannot even ask for it, and why; nobody then does the work for want of a right.
    Refused(String),
}

impl LeaseTerms {
    /// Another holder with each start.
    #[must_use]
    pub fn of_this_process(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            holder: holder::own(),
            standing: watch::Sender::default(),
        }
    }
}

/// A Lease that others may have.
pub struct Claim {
    api: Objects<Lease>,
    name: String,
    holder: String,
    standing: watch::Sender<LeaseStanding>,
    /// Whether it says of itself that others may work beside it.
    shares: bool,
    /// What was seen of it last.
    seen: Option<Seen>,
    /// A role of an earlier release has no right to watch it, and some proxies keep what comes in pieces until it ends.
    may_watch: bool,
    /// Watches in a row that were not answered, though looks were.
    unanswered: u8,
    told: String,
}

/// A Lease as it was seen.
struct Seen {
    version: String,
    since: Instant,
    duration: Duration,
    holder: String,
    /// Whether its holder lets others work beside him,
    shares: bool,
    /// and what he has of it then.
    load: Load,
}

impl Seen {
    /// A Lease as it is now, which was seen before or not.
    fn of(lease: &Lease, before: Option<&Self>) -> Self {
        let version = lease.resource_version().unwrap_or_default();
        let before = before.filter(|before| before.version == version);
        let spec = lease.spec.as_ref();
        let holder = spec.and_then(|spec| spec.holder_identity.clone());
        let holder = holder.unwrap_or_default();
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.unwrap_or_default();
        Self {
            version,
            since: before.map_or_else(Instant::now, |before| before.since),
            duration: Duration::from_secs(seconds.try_into().unwrap_or_default()),
            shares: lease.annotations().get(SHARES) == Some(&holder),
            load: Load::of(lease),
            holder,
        }
    }

    /// Whether somebody else has it.
    fn is_held_beside(&self, own: &str) -> bool {
        !self.holder.is_empty() && self.holder != own && !self.is_over()
    }

    /// Whether nobody has it any more.
    fn is_over(&self) -> bool {
        self.since.elapsed() > self.duration || holder::is_gone(&self.holder)
    }
}

/// A Lease that is held. Dropping it stops the renewals, and others have it after its duration.
pub struct Held {
    lost: CancellationToken,
    doubted: Arc<Notify>,
    give_back: CancellationToken,
    load: watch::Sender<Load>,
    /// How often it was renewed.
    renewals: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

/// What came of a try.
enum Tried {
    Taken(Box<Lease>),
    HeldBy(String),
}

impl Claim {
    /// Of the Lease that the terms name.
    pub fn new(client: Client, terms: &LeaseTerms) -> Self {
        Self {
            api: Objects::namespaced(client, &terms.namespace),
            name: terms.name.clone(),
            holder: terms.holder.clone(),
            standing: terms.standing.clone(),
            shares: false,
            seen: None,
            may_watch: true,
            unanswered: 0,
            told: String::new(),
        }
    }

    /// Waits until it is held. Safe to cancel: what was taken meanwhile is given up after its duration.
    pub async fn hold(&mut self) -> Held {
        loop {
            match timeout(ANSWER, self.try_to_take()).await {
                Ok(Ok(Tried::Taken(lease))) => {
                    info!(
                        lease = self.name,
                        holder = self.holder,
                        "this process has the Lease"
                    );
                    self.told.clear();
                    return self.held(*lease);
                }
                Ok(Ok(Tried::HeldBy(holder))) => {
                    self.waits_for(&holder);
                    if self.comes_free().await {
                        continue;
                    }
                }
                Ok(Err(trouble)) => self.cannot_ask(&trouble.message),
                Err(_) => self.cannot_ask(&format!("no answer within {} s", ANSWER.as_secs())),
            }
            sleep(RETRY.mul_f64(rand::random_range(0.75..1.25))).await;
        }
    }

    /// Waits until it may be free: who holds it renews it again and again, and nothing is asked meanwhile. `false` if that is not known.
    async fn comes_free(&mut self) -> bool {
        let version = match &self.seen {
            Some(seen) if self.may_watch => seen.version.clone(),
            _ => return false,
        };
        match self.follow(&version).await {
            Ok(is_free) => {
                self.unanswered = 0;
                is_free
            }
            Err(trouble) => {
                let is_unanswered = trouble.kind == TroubleKind::Unanswered;
                self.unanswered = if is_unanswered {
                    self.unanswered + 1
                } else {
                    0
                };
                self.may_watch =
                    trouble.kind != TroubleKind::Forbidden && self.unanswered < UNANSWERED;
                false
            }
        }
    }

    /// Follows it from a version on. `false` if the watch ends before it is free.
    async fn follow(&mut self, version: &str) -> Result<bool, Trouble> {
        let (api, name) = (self.api.clone(), self.name.clone());
        let unanswered = |_| Trouble::unanswered();
        let events = timeout(ANSWER, api.watch_one(&name, version));
        let mut events = pin!(events.await.map_err(unanswered)??);
        let mut look = Instant::now() + RETRY;
        loop {
            let Ok(event) = timeout_at(look, events.try_next()).await else {
                look = Instant::now() + RETRY;
                match self.seen.as_ref().is_none_or(Seen::is_over) {
                    true => return Ok(true),
                    false => continue,
                }
            };
            match event? {
                Some(WatchEvent::Added(lease) | WatchEvent::Modified(lease)) => {
                    if self.holder_of(&lease).is_none() {
                        return Ok(true);
                    }
                }
                Some(WatchEvent::Deleted(_)) => return Ok(true),
                Some(WatchEvent::Bookmark(_)) => {}
                Some(WatchEvent::Error(_)) | None => return Ok(false),
            }
        }
    }

    fn waits_for(&mut self, holder: &str) {
        self.standing.send_replace(LeaseStanding::Waits);
        if self.told != holder {
            info!(
                lease = self.name,
                holder, "another process has the Lease and does the work: this one waits"
            );
            holder.clone_into(&mut self.told);
        }
    }

    fn cannot_ask(&mut self, words: &str) {
        if self.told != words {
            warn!(
                lease = self.name,
                error = words,
                "the Lease cannot be asked for, and this process does none of the work without it, retrying: it needs get, list, watch, create and update (or --leader-elect=false, where there is one process alone)"
            );
            words.clone_into(&mut self.told);
        }
        let words = format!("Lease {} cannot be asked for: {words}", self.name);
        self.standing.send_replace(LeaseStanding::Refused(words));
    }

    fn held(&self, lease: Lease) -> Held {
        self.standing.send_replace(LeaseStanding::Holds);
        let (lost, give_back) = (CancellationToken::new(), CancellationToken::new());
        let doubted = Arc::new(Notify::new());
        let load = watch::Sender::new(Load::default());
        let (renewed, renewals) = watch::channel(0);
        let renewing = Renewing {
            api: self.api.clone(),
            holder: self.holder.clone(),
            shares: self.shares,
            lease,
            doubted: Arc::clone(&doubted),
            standing: self.standing.clone(),
            load: load.subscribe(),
            renewed,
        };
        let work = renewing.run(lost.clone(), give_back.clone());
        Held {
            lost,
            doubted,
            give_back,
            load,
            renewals,
            task: tokio::spawn(work),
        }
    }

    async fn try_to_take(&mut self) -> Result<Tried, Trouble> {
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            let metadata = ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            };
            let lease = self.as_own(Lease {
                metadata,
                spec: None,
            });
            return self.taken(self.api.create(&lease).await);
        };
        if let Some(holder) = self.holder_of(&lease) {
            return Ok(Tried::HeldBy(holder));
        }
        lease = self.as_own(lease);
        let replaced = self.api.replace(&self.name, &lease).await;
        self.taken(replaced)
    }

    /// The Lease as this process holds it.
    fn as_own(&self, mut lease: Lease) -> Lease {
        lease.spec = Some(taken(lease.spec.take().unwrap_or_default(), &self.holder));
        let annotations = lease.annotations_mut();
        annotations.remove(LOAD);
        match self.shares {
            true => annotations.insert(SHARES.to_owned(), self.holder.clone()),
            // It may have shared before.
            false => annotations.remove(SHARES),
        };
        lease
    }

    /// Who was faster is told with the next try.
    fn taken(&self, answer: Result<Lease, Trouble>) -> Result<Tried, Trouble> {
        match answer {
            Ok(lease) => Ok(Tried::Taken(Box::new(lease))),
            Err(trouble) if trouble.kind == TroubleKind::Conflict => {
                Ok(Tried::HeldBy("another process".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// Who has it; `None` if nobody does any more.
    fn holder_of(&mut self, lease: &Lease) -> Option<String> {
        let seen = Seen::of(lease, self.seen.as_ref());
        let seen = self.seen.insert(seen);
        seen.is_held_beside(&self.holder)
            .then(|| seen.holder.clone())
    }
}

/// After one who had it before, or nobody.
fn taken(before: LeaseSpec, holder: &str) -> LeaseSpec {
    let now = MicroTime(Timestamp::now());
    let transitions = before.lease_transitions.unwrap_or_default();
    let is_first = before.holder_identity.is_none();
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: Some(if is_first {
            0
        } else {
            transitions.saturating_add(1)
        }),
        ..before
    }
}

impl Held {
    /// Until it is held no more.
    pub async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Until it could not be renewed: whether it is still held is not known then.
    pub async fn doubted(&self) {
        self.doubted.notified().await;
    }

    /// Gives it back, for whoever waits.
    pub async fn release(mut self) {
        self.give_back.cancel();
        if timeout(RELEASE, &mut self.task).await.is_err() {
            warn!("the Lease was not given back in time, others have it when it has run out");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The renewals of a Lease.
struct Renewing {
    api: Objects<Lease>,
    holder: String,
    shares: bool,
    lease: Lease,
    doubted: Arc<Notify>,
    standing: watch::Sender<LeaseStanding>,
    load: watch::Receiver<Load>,
    renewed: watch::Sender<u64>,
}

impl Drop for Renewing {
    fn drop(&mut self) {
        self.standing.send_replace(LeaseStanding::Waits);
    }
}

impl Renewing {
    /// Who renews it no more, for whatever reason, does not have it.
    async fn run(mut self, lost: CancellationToken, give_back: CancellationToken) {
        let _lost = lost.drop_guard();
        tokio::select! {
            () = give_back.cancelled() => self.release().await,
            () = self.renew_on_and_on() => {}
        }
    }

    /// Returns when it is somebody else's.
    async fn renew_on_and_on(&mut self) {
        let mut failing = false;
        let mut wait = RENEWAL;
        loop {
            sleep(wait).await;
            let renewed = timeout(ANSWER, self.renew()).await;
            let words = match renewed {
                Ok(Ok(true)) => {
                    if std::mem::take(&mut failing) {
                        info!(lease = self.lease.name_any(), "the Lease is renewed again");
                    }
                    self.renewed.send_modify(|times| *times += 1);
                    wait = RENEWAL;
                    continue;
                }
                Ok(Ok(false)) => {
                    return warn!(
                        lease = self.lease.name_any(),
                        "another process has the Lease"
                    );
                }
                Ok(Err(trouble)) => trouble.message,
                Err(_) => format!("no answer within {} s", ANSWER.as_secs()),
            };
            if !std::mem::replace(&mut failing, true) {
                warn!(
                    lease = self.lease.name_any(),
                    error = words,
                    "the Lease was not renewed, retrying; until another process has it everything goes on"
                );
            }
            self.doubted.notify_one();
            wait = RETRY;
        }
    }

    async fn renew(&mut self) -> Result<bool, Trouble> {
        let now = MicroTime(Timestamp::now());
        let load = *self.load.borrow();
        let shares = self.shares.then(|| self.holder.clone());
        self.write(|lease| {
            lease.spec.get_or_insert_default().renew_time = Some(now.clone());
            // Somebody may have taken it away.
            if let Some(holder) = &shares {
                let annotations = lease.annotations_mut();
                annotations.insert(SHARES.to_owned(), holder.clone());
            }
            if Load::of(lease) != load {
                let annotations = lease.annotations_mut();
                annotations.insert(LOAD.to_owned(), load.to_string());
            }
        })
        .await
    }

    /// Changes it. `false` if it is somebody else's.
    async fn write(&mut self, change: impl Fn(&mut Lease)) -> Result<bool, Trouble> {
        match self.replace(&change).await {
            Err(trouble)
                if matches!(trouble.kind, TroubleKind::Missing | TroubleKind::Conflict) => {}
            replaced => return replaced.map(|()| true),
        }
        // Somebody may have put a label on it, or taken it away; or a renewal was carried out whose answer did not come.
        let name = self.lease.name_any();
        let Some(lease) = self.api.get_opt(&name).await? else {
            return Ok(false);
        };
        self.lease = lease;
        let spec = self.lease.spec.as_ref();
        let holder = spec.and_then(|spec| spec.holder_identity.as_ref());
        if holder != Some(&self.holder) {
            return Ok(false);
        }
        self.replace(&change).await.map(|()| true)
    }

    async fn replace(&mut self, change: impl Fn(&mut Lease)) -> Result<(), Trouble> {
        let name = self.lease.name_any();
        let mut lease = self.lease.clone();
        change(&mut lease);
        self.lease = self.api.replace(&name, &lease).await?;
        Ok(())
    }

    async fn release(&mut self) {
        let nobody = |lease: &mut Lease| {
            lease.spec.get_or_insert_default().holder_identity = Some(String::new());
        };
        if let Err(error) = self.write(nobody).await {
            warn!(lease = self.lease.name_any(), error = %error, "the Lease was not given back, others have it when it has run out");
        }
    }
}
