//! One watch for each namespace that Secrets are named in, of metadata alone; the Secrets that are named are read one by one when their
//! version changed. What nobody names is neither read nor kept.
//!
//! A watch that breaks is gone on with, which loses nothing. One that breaks again and again, or is not allowed, is tried every half a minute and what is
//! named is read meanwhile, 20 in a second: where only `get` is granted, a rotated credential of six hundred is known after half a minute, and one of ten
//! thousand after eight.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_control_plane::{Objects, Trouble, TroubleKind, paged, watch_config};
use armadex_crds::ENDPOINTS_ANNOTATION;
use armadex_member::{SecretContent, SecretId, Sensitive};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use super::{Known, lock};
use crate::parts::Parts;
use crate::told::outages::{self, Outages};

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// A watch that broke no later than this ago is not to be had: a try may take a minute, and the next comes after half a one.
const IN_ROW: Duration = Duration::from_secs(120);
/// Between two Secrets of a round in which all are read because they cannot be watched: 20 in a second.
const READ_PERIOD: Duration = Duration::from_millis(50);
/// Secrets of a namespace that are read at the same time: a fleet of a thousand clusters begins with two thousand of them.
const PARALLEL_READS: usize = 8;
/// Of these such that failed the last time: a few that are never answered leave room for the others.
const LATE_READS: usize = PARALLEL_READS / 2;
/// A control plane that does not answer a read for so long is down, and the places are for those that it may answer.
const READ_LIMIT: Duration = Duration::from_secs(30);
const NO_ANSWER: &str = "the control plane does not answer in time";
/// In the place of a version, which is a number: whatever is there has to be read.
const UNKNOWN: &str = "unknown";

/// The Secrets that all clusters name.
pub(crate) struct SecretWatches {
    client: Client,
    parts: Arc<Parts>,
    namespaces: Mutex<BTreeMap<String, Namespace>>,
}

struct Namespace {
    named: Arc<Named>,
    _task: AbortOnDropHandle<()>,
}

/// The Secrets of a namespace that are named.
#[derive(Default)]
struct Named {
    secrets: Mutex<Entries>,
    /// Something became due.
    due: Notify,
}

/// By name.
#[derive(Default)]
struct Entries {
    by_name: BTreeMap<String, Entry>,
    /// Those that are to be read.
    due: BTreeSet<String>,
    /// The same of those that failed. They come after all others, or a few that are never answered would be tried again and again before the rest.
    late: BTreeSet<String>,
    /// What of that is being read.
    late_reads: BTreeSet<String>,
    /// What is read in turn because it cannot be watched.
    round: VecDeque<String>,
}

/// A Secret that is named.
struct Entry {
    known: Known,
    /// Of what is known.
    version: String,
    /// The last one that was told while it was being read.
    told: String,
    state: Reading,
    /// The last read of it failed.
    failed: bool,
    followers: Vec<Arc<Notify>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// What is known is what is there.
    Done,
    /// It is to be read.
    Due,
    /// It is being read.
    Now,
}

/// The right to a Secret; given back when dropped.
pub(super) struct Followed {
    watches: Arc<SecretWatches>,
    named: Arc<Named>,
    id: SecretId,
    changed: Arc<Notify>,
}

impl SecretWatches {
    pub(crate) fn new(client: Client, parts: Arc<Parts>) -> Self {
        Self {
            client,
            parts,
            namespaces: Mutex::default(),
        }
    }

    /// Whether there is a watch of this namespace.
    #[cfg(test)]
    pub(super) fn watches(&self, namespace: &str) -> bool {
        lock(&self.namespaces).contains_key(namespace)
    }

    /// Follows a Secret; `changed` is told whenever something else is known of it.
    pub(super) fn follow(self: &Arc<Self>, id: &SecretId, changed: Arc<Notify>) -> Followed {
        let mut namespaces = lock(&self.namespaces);
        let namespace = namespaces
            .entry(id.namespace.clone())
            .or_insert_with_key(|namespace| {
                Namespace::start(self.client.clone(), &self.parts, namespace)
            });
        namespace.named.add(&id.name, Arc::clone(&changed));
        Followed {
            watches: Arc::clone(self),
            named: Arc::clone(&namespace.named),
            id: id.clone(),
            changed,
        }
    }
}

impl Followed {
    pub(super) fn known(&self) -> Known {
        let secrets = lock(&self.named.secrets);
        let entry = secrets.by_name.get(&self.id.name);
        entry.map_or(Known::Unread, |entry| entry.known.clone())
    }
}

impl Drop for Followed {
    /// With the last Secret of a namespace its watch ends.
    fn drop(&mut self) {
        let mut namespaces = lock(&self.watches.namespaces);
        if self.named.remove(&self.id.name, &self.changed) {
            namespaces.remove(&self.id.namespace);
        }
    }
}

impl Namespace {
    fn start(client: Client, parts: &Parts, namespace: &str) -> Self {
        let named = Arc::<Named>::default();
        let work = follow(client, namespace.to_owned(), Arc::clone(&named));
        Self {
            named,
            _task: parts.start("the watch of Secrets", work),
        }
    }
}

impl Named {
    fn add(&self, name: &str, follower: Arc<Notify>) {
        let mut secrets = lock(&self.secrets);
        let Entries { by_name, due, .. } = &mut *secrets;
        let entry = by_name.entry(name.to_owned()).or_insert_with(|| {
            due.insert(name.to_owned());
            Entry {
                known: Known::Unread,
                version: String::new(),
                told: String::new(),
                state: Reading::Due,
                failed: false,
                followers: Vec::new(),
            }
        });
        entry.followers.push(follower);
        drop(secrets);
        self.due.notify_one();
    }

    /// Whether nothing of the namespace is named any more.
    fn remove(&self, name: &str, follower: &Arc<Notify>) -> bool {
        let mut secrets = lock(&self.secrets);
        if let Some(entry) = secrets.by_name.get_mut(name) {
            let mine = |other: &Arc<Notify>| Arc::ptr_eq(other, follower);
            if let Some(place) = entry.followers.iter().position(mine) {
                entry.followers.swap_remove(place);
            }
            if entry.followers.is_empty() {
                secrets.by_name.remove(name);
                secrets.due.remove(name);
                secrets.late.remove(name);
            }
        }
        secrets.by_name.is_empty()
    }

    /// The control plane has this version of a Secret.
    fn seen(&self, name: &str, version: &str) {
        lock(&self.secrets).seen(name, version);
    }

    /// Everything that is not among these is to be read, which tells whether it is there.
    fn not_among(&self, listed: &BTreeSet<String>) {
        let mut secrets = lock(&self.secrets);
        let others = secrets
            .by_name
            .keys()
            .filter(|name| !listed.contains(*name));
        let others: Vec<String> = others.cloned().collect();
        for name in others {
            secrets.seen(&name, UNKNOWN);
        }
    }

    /// All that is named is to be read in turn. What could not be read has a time of its own.
    fn begin_round(&self) {
        let mut secrets = lock(&self.secrets);
        let fit = secrets.by_name.iter().filter(|(_, entry)| !entry.failed);
        secrets.round = fit.map(|(name, _)| name.clone()).collect();
    }

    /// The next of those that is not read anyway.
    fn next_in_round(&self) -> Option<String> {
        let mut secrets = lock(&self.secrets);
        let Entries { by_name, round, .. } = &mut *secrets;
        while let Some(name) = round.pop_front() {
            let entry = by_name.get_mut(&name);
            if let Some(entry) = entry.filter(|entry| entry.state == Reading::Done) {
                entry.state = Reading::Now;
                return Some(name);
            }
        }
        None
    }

    fn is_round_over(&self) -> bool {
        lock(&self.secrets).round.is_empty()
    }

    fn end_round(&self) {
        lock(&self.secrets).round.clear();
    }

    fn is_named(&self, name: &str) -> bool {
        lock(&self.secrets).by_name.contains_key(name)
    }

    /// The next Secrets to read, at most so many.
    fn take_due(&self, limit: usize) -> Vec<String> {
        let mut secrets = lock(&self.secrets);
        let mut taken = Vec::new();
        while taken.len() < limit
            && let Some(name) = secrets.next_due()
        {
            if let Some(entry) = secrets.by_name.get_mut(&name) {
                entry.state = Reading::Now;
                taken.push(name);
            }
        }
        taken
    }

    /// A Secret was read: its version and what is in it.
    fn read(&self, name: &str, version: String, now: Known) {
        let mut secrets = lock(&self.secrets);
        secrets.late_reads.remove(name);
        let Some(entry) = secrets.by_name.get_mut(name) else {
            return;
        };
        let told = std::mem::take(&mut entry.told);
        (entry.state, entry.failed) = (Reading::Done, false);
        entry.version = version;
        entry.know(now);
        if !told.is_empty() {
            secrets.seen(name, &told);
        }
    }

    /// A Secret could not be read. A credential that was read once stays in use meanwhile.
    fn failed(&self, name: &str, words: String) {
        let mut secrets = lock(&self.secrets);
        secrets.late_reads.remove(name);
        if let Some(entry) = secrets.by_name.get_mut(name) {
            entry.state = Reading::Done;
            entry.failed = true;
            entry.version.clear();
            if !matches!(entry.known, Known::Data(_)) {
                entry.know(Known::Failed(words));
            }
        }
    }
}

impl Entries {
    fn next_due(&mut self) -> Option<String> {
        if let Some(name) = self.due.pop_first() {
            return Some(name);
        }
        if self.late_reads.len() >= LATE_READS {
            return None;
        }
        let name = self.late.pop_first()?;
        self.late_reads.insert(name.clone());
        Some(name)
    }

    fn seen(&mut self, name: &str, version: &str) {
        let Some(entry) = self.by_name.get_mut(name) else {
            return;
        };
        match entry.state {
            Reading::Now => version.clone_into(&mut entry.told),
            Reading::Done if entry.version != version => {
                entry.state = Reading::Due;
                let due = match entry.failed {
                    true => &mut self.late,
                    false => &mut self.due,
                };
                due.insert(name.to_owned());
            }
            Reading::Done | Reading::Due => {}
        }
    }
}

impl Entry {
    /// Tells those who follow it if something else is known now; a new version with the same bytes and the same grant is no news.
    fn know(&mut self, now: Known) {
        if self.known != now {
            self.known = now;
            for follower in &self.followers {
                follower.notify_one();
            }
        }
    }
}

/// Runs until it is aborted with the last Secret that is named.
async fn follow(client: Client, namespace: String, named: Arc<Named>) {
    let metadata: Objects<PartialObjectMeta<Secret>> =
        Objects::namespaced(paged(client.clone()), &namespace);
    let api: Objects<Secret> = Objects::namespaced(client, &namespace);
    let mut events = std::pin::pin!(metadata.watch(watch_config(), |_| ()));
    let mut reads = FuturesUnordered::new();
    let mut following = Following::new(namespace, named);
    loop {
        let room = PARALLEL_READS.saturating_sub(reads.len());
        for name in following.take_due(room) {
            let api = api.clone();
            reads.push(async move {
                let read = timeout(READ_LIMIT, api.get_opt(&name)).await;
                (name, read)
            });
        }
        tokio::select! {
            () = following.named.due.notified() => {}
            () = is_time(following.next_read()) => following.read_again(),
            () = is_time(following.next_in_round()), if reads.len() < PARALLEL_READS => {}
            Some((name, read)) = reads.next() => match read {
                Ok(Ok(secret)) => following.read(&name, secret),
                Ok(Err(error)) => following.unread(name, outages::class_of(&error), error.message),
                Err(_) => following.unread(name, NO_ANSWER, NO_ANSWER.to_owned()),
            },
            event = next_after(following.rewatch, &mut events) => match event {
                Some(Ok(event)) => following.take_in(event),
                Some(Err(error)) => following.broke(&error),
                None => return,
            },
        }
    }
}

/// How the watch and the reads of a namespace are doing.
struct Following {
    namespace: String,
    named: Arc<Named>,
    /// What is named and was in the list that is being read.
    listed: BTreeSet<String>,
    /// The watch broke, which was told.
    failing: bool,
    /// When it broke last.
    broke_at: Instant,
    /// When the watch is tried again.
    rewatch: Instant,
    backoff: Backoff,
    /// The version to go on from was gone then.
    expired: Instant,
    expiries: Backoff,
    /// Another round of reads is due when this one is over.
    round_due: bool,
    /// When the next of a round is read.
    round_at: Instant,
    /// What could not be read, and when it is tried again.
    unread: BTreeMap<String, (Backoff, Instant)>,
    /// The same by time.
    again: BTreeSet<(Instant, String)>,
    outages: Outages,
}

impl Following {
    fn new(namespace: String, named: Arc<Named>) -> Self {
        Self {
            namespace,
            named,
            listed: BTreeSet::new(),
            failing: false,
            broke_at: Instant::now(),
            rewatch: Instant::now(),
            backoff: Backoff::new(FIRST_RETRY, LAST_RETRY),
            expired: Instant::now(),
            expiries: Backoff::new(FIRST_RETRY, LAST_RETRY),
            round_due: false,
            round_at: Instant::now(),
            unread: BTreeMap::new(),
            again: BTreeSet::new(),
            outages: Outages::default(),
        }
    }

    /// What is to be read now, at most so much.
    fn take_due(&mut self, limit: usize) -> Vec<String> {
        let mut taken = self.named.take_due(limit);
        let now = Instant::now();
        if taken.len() < limit && self.next_in_round().is_some_and(|at| at <= now) {
            if self.named.is_round_over() {
                self.round_due = false;
                self.named.begin_round();
            }
            self.round_at = now + READ_PERIOD;
            taken.extend(self.named.next_in_round());
        }
        taken
    }

    /// When the next of a round is read.
    fn next_in_round(&self) -> Option<Instant> {
        let has_round = self.round_due || !self.named.is_round_over();
        has_round.then_some(self.round_at)
    }

    fn read(&mut self, name: &str, secret: Option<Secret>) {
        self.is_no_longer_unread(name);
        let version = secret.as_ref().and_then(ResourceExt::resource_version);
        let now = secret.map_or(Known::Absent, data_of);
        self.named.read(name, version.unwrap_or_default(), now);
    }

    fn unread(&mut self, name: String, class: &str, words: String) {
        if self.outages.begins(&name, class) {
            warn!(
                secret = name,
                namespace = self.namespace,
                error = words,
                "a Secret cannot be read, retrying; others that fail alike are not told of"
            );
        }
        self.named.failed(&name, words);
        let now = Instant::now();
        let unread = self.unread.entry(name.clone());
        let (backoff, at) = unread.or_insert_with(|| (Backoff::new(FIRST_RETRY, LAST_RETRY), now));
        self.again.remove(&(*at, name.clone()));
        *at = now + backoff.next(rand::random());
        self.again.insert((*at, name));
    }

    fn is_no_longer_unread(&mut self, name: &str) {
        let Some((_, at)) = self.unread.remove(name) else {
            return;
        };
        self.again.remove(&(at, name.to_owned()));
        if self.outages.ends(name) {
            info!(
                namespace = self.namespace,
                "Secrets that could not be read are read again"
            );
        }
    }

    /// When something is tried again that could not be read.
    fn next_read(&self) -> Option<Instant> {
        self.again.first().map(|(at, _)| *at)
    }

    fn read_again(&mut self) {
        let now = Instant::now();
        while self.next_read().is_some_and(|at| at <= now)
            && let Some((_, name)) = self.again.pop_first()
        {
            if self.named.is_named(&name) {
                self.named.seen(&name, UNKNOWN);
            } else {
                self.is_no_longer_unread(&name);
            }
        }
    }

    /// The watch broke. If it cannot be had all that is named is read instead.
    fn broke(&mut self, error: &Trouble) {
        let now = Instant::now();
        if error.kind == TroubleKind::Expired {
            let since = now - std::mem::replace(&mut self.expired, now);
            self.rewatch = now + self.expiries.after(since, rand::random());
            // It is listed anew. Where that leads to the same again there is no watch.
            if !self.expiries.is_repeated() {
                return;
            }
        }
        if !std::mem::replace(&mut self.failing, true) {
            warn!(
                namespace = self.namespace,
                error = %error,
                "Secrets cannot be watched, those that are named are read until they can"
            );
        }
        if now - std::mem::replace(&mut self.broke_at, now) > IN_ROW {
            self.backoff.reset();
        }
        let wait = self.backoff.next(rand::random());
        self.rewatch = self.rewatch.max(now + wait);
        self.round_due |= self.backoff.is_repeated() || self.expiries.is_repeated();
    }

    fn take_in(&mut self, event: Event<PartialObjectMeta<Secret>>) {
        // The first event only says that a list is about to be tried.
        if !matches!(event, Event::Init) {
            self.backoff.reset();
            if std::mem::take(&mut self.failing) {
                self.round_due = false;
                self.named.end_round();
                info!(namespace = self.namespace, "Secrets can be watched");
            }
        }
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let name = object.name_any();
                self.named.seen(&name, &version(&object));
                if self.named.is_named(&name) {
                    self.listed.insert(name);
                }
            }
            Event::InitDone => self.named.not_among(&std::mem::take(&mut self.listed)),
            Event::Apply(object) => self.named.seen(&object.name_any(), &version(&object)),
            Event::Delete(object) => self.named.seen(&object.name_any(), UNKNOWN),
        }
    }
}

/// Waits until this time; without one for ever.
async fn is_time(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn version(object: &PartialObjectMeta<Secret>) -> String {
    object.resource_version().unwrap_or_default()
}

/// The next event, asked for no earlier than at this time. Safe to cancel.
async fn next_after<S: futures::Stream + Unpin>(time: Instant, events: &mut S) -> Option<S::Item> {
    tokio::time::sleep_until(time).await;
    events.next().await
}

fn data_of(secret: Secret) -> Known {
    let endpoints = secret.annotations().get(ENDPOINTS_ANNOTATION).cloned();
    let data = secret.data.unwrap_or_default();
    let data = data
        .into_iter()
        .map(|(key, value)| (key, Sensitive::new(value.0)))
        .collect();
    Known::Data(Arc::new(SecretContent { data, endpoints }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_are_never_answered_leave_room_for_others() {
        let named = Named::default();
        for number in 0..PARALLEL_READS {
            named.add(&format!("lost-{number}"), Arc::default());
        }
        for name in named.take_due(PARALLEL_READS) {
            named.failed(&name, NO_ANSWER.to_owned());
            named.seen(&name, UNKNOWN);
        }
        let late = named.take_due(PARALLEL_READS);
        assert_eq!(late.len(), LATE_READS);
        named.add("new", Arc::default());
        assert_eq!(named.take_due(PARALLEL_READS - late.len()), ["new"]);
        named.failed(&late[0], NO_ANSWER.to_owned());
        assert_eq!(named.take_due(PARALLEL_READS).len(), 1);
    }
}
